//! The server of the buffer experiment, played by an endpoint for whoever asks over a control connection.

use crate::support::{Running, TIMEOUT_NS, options};
use narrows_engines::endpoint::{ControlClient, RoleClient};
use narrows_engines::{ErrorKind, MonotonicClock};
use narrows_model::counters::Role;
use narrows_model::relay::{ForwardMode, RelaySockets, RelayTransport};
use narrows_model::{Bytes, Nanos};
use narrows_wire::relay::{
    Hop, HopAddress, RelaySignal, RoleCommand, RoleReply, RoleReport, RoleSpec, SIGNAL_BYTES, TICKET_BYTES,
};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

fn asked(buffer: u64, total: u64) -> RoleSpec {
    RoleSpec {
        role: Role::Server,
        buffer: Bytes(buffer),
        total: Bytes(total),
        sockets: RelaySockets {
            transport: RelayTransport::Tcp,
            no_delay: false,
            send_buffer: None,
            receive_buffer: None,
            wait_all: false,
        },
        forward: ForwardMode::Copy,
        content_key: None,
        next: None,
        silence_ns: Nanos(20_000_000_000),
    }
}

fn send_prepare(role: &mut RoleClient, asked: &RoleSpec) {
    role.send(&RoleCommand::Prepare(Box::new(asked.clone()))).unwrap();
}

fn heard(role: &mut RoleClient) -> RoleReply {
    let looks = (0..2000).map(|_| role.receive(Duration::from_millis(20)).unwrap());
    looks.flatten().next().unwrap()
}

fn ready(role: &mut RoleClient) -> Hop {
    match heard(role) {
        RoleReply::Ready { listens: Some(hop) } => hop,
        other => unreachable!("{other:?}"),
    }
}

fn done(role: &mut RoleClient) -> RoleReport {
    match heard(role) {
        RoleReply::Done(done) => *done,
        other => unreachable!("{other:?}"),
    }
}

fn failure(role: &mut RoleClient) -> String {
    match heard(role) {
        RoleReply::Failed { message } => message,
        other => unreachable!("{other:?}"),
    }
}

/// A stream to `hop` that may begin.
fn joined(hop: &Hop) -> TcpStream {
    let HopAddress::Tcp { host, port } = &hop.place else { unreachable!("endpoints listen for TCP") };
    let mut stream = TcpStream::connect((host.as_str(), *port)).unwrap();
    stream.write_all(&hop.ticket.0).unwrap();
    let mut word = [0; SIGNAL_BYTES];
    stream.read_exact(&mut word).unwrap();
    assert_eq!(RelaySignal::decode(word).unwrap(), RelaySignal::Ready);
    stream
}

#[test]
fn an_endpoint_plays_the_server_trial_after_trial() {
    let server = Running::start(options());
    let mut role = RoleClient::from_control(server.control());
    for buffer in [32, 1000, 4096] {
        let asked = asked(buffer, 100_000);
        send_prepare(&mut role, &asked);
        let mut stream = joined(&ready(&mut role));
        stream.write_all(&vec![0; 100_000]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut word = [0; SIGNAL_BYTES];
        stream.read_exact(&mut word).unwrap();
        assert_eq!(RelaySignal::decode(word).unwrap(), RelaySignal::Received(Bytes(100_000)));
        let done = done(&mut role);
        done.check(&asked).unwrap();
        assert_eq!(done.output.reads.total(), Bytes(100_000));
        assert!(done.output.segments.unwrap().data_in_count > 0);
    }
    server.stop().unwrap();
}

#[test]
fn what_an_endpoint_does_not_play_is_an_answer_and_the_conversation_continues() {
    let server = Running::start(options());
    let mut role = RoleClient::from_control(server.control());
    let hop = Hop {
        place: HopAddress::Tcp { host: "127.0.0.1".into(), port: 1 },
        ticket: narrows_wire::relay::Ticket([0; TICKET_BYTES]),
    };
    let cases: [(RoleSpec, &str); 3] = [
        (RoleSpec { role: Role::Proxy, next: Some(hop.clone()), ..asked(64, 64) }, "can only be the server"),
        (RoleSpec { role: Role::Client, next: Some(hop), ..asked(64, 64) }, "can only be the server"),
        (asked(0, 64), "a buffer of 0 bytes"),
    ];
    for (wrong, word) in &cases {
        send_prepare(&mut role, wrong);
        let message = failure(&mut role);
        assert!(message.contains(word), "{message}");
    }
    let mut unix = asked(64, 64);
    unix.sockets.transport = RelayTransport::Unix;
    send_prepare(&mut role, &unix);
    assert!(failure(&mut role).contains("Unix sockets"));
    send_prepare(&mut role, &asked(64, 64));
    let _ = ready(&mut role);
}

#[test]
fn buffers_beyond_the_servers_memory_are_refused() {
    let small = narrows_endpoint::ServeOptions { memory_bytes_max: 4 << 20, ..options() };
    let server = Running::start(small);
    let mut role = RoleClient::from_control(server.control());
    send_prepare(&mut role, &asked(64 << 20, 1 << 30));
    let message = failure(&mut role);
    assert!(message.contains("memory"), "{message}");
}

#[test]
fn a_role_that_waits_ends_with_a_stop_with_its_connection_and_with_the_server() {
    let server = Running::start(options());
    let mut role = RoleClient::from_control(server.control());
    send_prepare(&mut role, &asked(64, 64));
    let _ = ready(&mut role);
    role.send(&RoleCommand::Stop).unwrap();
    assert!(failure(&mut role).contains("on request"));
    send_prepare(&mut role, &asked(64, 64));
    let hop = ready(&mut role);
    role.hang_up();
    let HopAddress::Tcp { host, port } = &hop.place else { unreachable!("endpoints listen for TCP") };
    crate::support::eventually("it listens no more", || TcpStream::connect((host.as_str(), *port)).is_err());
    let mut role = RoleClient::from_control(server.control());
    send_prepare(&mut role, &asked(64, 64));
    let _ = ready(&mut role);
    server.stop().unwrap();
}

#[test]
fn an_endpoint_that_is_asked_as_a_proxy_says_what_it_is() {
    let server = Running::start(options());
    let address = server.address;
    let clock = Arc::new(MonotonicClock::new());
    let host = address.ip().to_string();
    let error = ControlClient::connect_proxy(&host, address.port(), None, clock, TIMEOUT_NS).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.to_string().contains("not a `narrows proxy`"), "{error}");
}
