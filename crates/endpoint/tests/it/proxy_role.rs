//! The proxy of the buffer experiment, played by a proxy for whoever may ask it.

use crate::support::proxied::{MODES, Proxied, content};
use crate::support::{Running, TIMEOUT_NS, clock, options};
use narrows_engines::endpoint::{ControlClient, RoleClient};
use narrows_model::counters::Role;
use narrows_model::relay::{ForwardMode, RelaySockets, RelayTransport};
use narrows_model::{Bytes, Nanos};
use narrows_wire::relay::{
    Hop, HopAddress, RelaySignal, RoleCommand, RoleReply, RoleSpec, SIGNAL_BYTES, Ticket,
};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

const TOTAL: u64 = 1 << 20;

fn asked(role: Role, forward: ForwardMode, next: Option<Hop>) -> RoleSpec {
    RoleSpec {
        role,
        buffer: Bytes(1000),
        total: Bytes(TOTAL),
        sockets: RelaySockets {
            transport: RelayTransport::Tcp,
            no_delay: false,
            send_buffer: None,
            receive_buffer: None,
            wait_all: false,
        },
        forward,
        content_key: None,
        next,
        silence_ns: Nanos(20_000_000_000),
    }
}

fn heard(role: &mut RoleClient) -> RoleReply {
    let looks = (0..2000).map(|_| role.receive(Duration::from_millis(20)).unwrap());
    looks.flatten().next().unwrap()
}

fn ready(role: &mut RoleClient, asked: RoleSpec) -> Hop {
    role.send(&RoleCommand::Prepare(Box::new(asked))).unwrap();
    match heard(role) {
        RoleReply::Ready { listens: Some(hop) } => hop,
        other => unreachable!("{other:?}"),
    }
}

fn of_proxy(proxy: &Proxied) -> RoleClient {
    let (host, port) = (proxy.address.ip().to_string(), proxy.address.port());
    RoleClient::from_control(ControlClient::connect_proxy(&host, port, None, clock(), TIMEOUT_NS).unwrap())
}

#[test]
fn a_proxy_plays_its_role_between_a_client_and_an_endpoint() {
    let server = Running::start(options());
    let proxy = Proxied::start(server.address, |_| {});
    for mode in MODES {
        let mut behind = RoleClient::from_control(server.control());
        let mut between = of_proxy(&proxy);
        let last = ready(&mut behind, asked(Role::Server, mode, None));
        let first = ready(&mut between, asked(Role::Proxy, mode, Some(last)));
        let HopAddress::Tcp { host, port } = &first.place else { unreachable!("proxies listen for TCP") };
        let mut stream = TcpStream::connect((host.as_str(), *port)).unwrap();
        stream.write_all(&first.ticket.0).unwrap();
        let mut word = [0; SIGNAL_BYTES];
        stream.read_exact(&mut word).unwrap();
        assert_eq!(RelaySignal::decode(word).unwrap(), RelaySignal::Ready);
        stream.write_all(&content(1, usize::try_from(TOTAL).unwrap())).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        stream.read_exact(&mut word).unwrap();
        assert_eq!(RelaySignal::decode(word).unwrap(), RelaySignal::Received(Bytes(TOTAL)));
        let RoleReply::Done(done) = heard(&mut between) else { unreachable!("the trial was whole") };
        assert_eq!(done.output.role, Role::Proxy);
        assert_eq!(done.output.reads.total(), Bytes(TOTAL));
        assert_eq!(done.output.writes.total(), Bytes(TOTAL));
        assert!(done.output.reads.by_bytes.keys().all(|bytes| *bytes <= 1000), "{mode:?}");
    }
}

#[test]
fn a_proxy_plays_no_other_role_and_leads_nowhere_else() {
    let server = Running::start(options());
    let proxy = Proxied::start(server.address, |_| {});
    let mut role = of_proxy(&proxy);
    let elsewhere = |host: &str| {
        let place = HopAddress::Tcp { host: host.to_owned(), port: 9 };
        asked(Role::Proxy, ForwardMode::Copy, Some(Hop { place, ticket: Ticket([0; 16]) }))
    };
    let cases = [
        ("can only be the proxy", asked(Role::Server, ForwardMode::Copy, None)),
        ("is not part", elsewhere("192.0.2.1")),
        ("is not part", elsewhere("localhost")),
    ];
    for (part, asked) in cases {
        role.send(&RoleCommand::Prepare(Box::new(asked))).unwrap();
        let RoleReply::Failed { message } = heard(&mut role) else { unreachable!("it must be refused") };
        assert!(message.contains(part), "{message}");
    }
}
