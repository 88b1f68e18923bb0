//! Roles played in threads of this process, against each other and against fakes.

use super::*;
use narrows_engines::MonotonicClock;
use narrows_model::relay::{ForwardMode, RelaySockets, RelayTransport};
use narrows_model::{Bytes, Nanos};
use narrows_run::StopRequest;
use narrows_testkit::closed_port::ClosedPort;
use narrows_wire::relay::{HopAddress, RelaySignal, SIGNAL_BYTES, TICKET_BYTES};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

const TCP: RelaySockets = RelaySockets {
    transport: RelayTransport::Tcp,
    no_delay: false,
    send_buffer: None,
    receive_buffer: None,
    wait_all: false,
};

fn asked(role: Role, buffer: u64, total: u64, next: Option<Hop>) -> RoleSpec {
    RoleSpec {
        role,
        buffer: Bytes(buffer),
        total: Bytes(total),
        sockets: TCP,
        forward: ForwardMode::Copy,
        content_key: None,
        next,
        silence_ns: Nanos(20_000_000_000),
    }
}

type RoleOutcome = Result<RoleReport, RoleError>;

/// A role in a thread of its own.
struct Playing {
    ready: Receiver<Option<Hop>>,
    stop: StopFlag,
    thread: JoinHandle<RoleOutcome>,
}

impl Playing {
    fn start(asked: RoleSpec) -> Self {
        let (sender, ready) = channel();
        let stop = StopFlag::default();
        let flag = stop.clone();
        let thread = std::thread::spawn(move || {
            let clock = MonotonicClock::new();
            let listen = IpAddr::V4(Ipv4Addr::LOCALHOST);
            let site = RoleSite { clock: &clock, stop: &flag, listen };
            play(&asked, &site, &mut |hop| {
                sender.send(hop).map_err(|error| RoleError::failed(error.to_string()))
            })
        });
        Self { ready, stop, thread }
    }

    fn hop(&self) -> Hop {
        self.ready.recv().unwrap().unwrap()
    }

    fn outcome(self) -> RoleOutcome {
        self.thread.join().unwrap()
    }

    fn failure(self) -> String {
        self.outcome().unwrap_err().to_string()
    }
}

fn connect(hop: &Hop) -> TcpStream {
    let HopAddress::Tcp { host, port } = &hop.place else { unreachable!("the tests of fakes use TCP") };
    TcpStream::connect((host.as_str(), *port)).unwrap()
}

/// A connection that has shown its ticket and received word that the path is ready.
fn joined(hop: &Hop) -> TcpStream {
    let mut stream = connect(hop);
    stream.write_all(&hop.ticket.0).unwrap();
    let mut word = [0; SIGNAL_BYTES];
    stream.read_exact(&mut word).unwrap();
    assert_eq!(RelaySignal::decode(word).unwrap(), RelaySignal::Ready);
    stream
}

/// A next hop that the test plays itself.
fn fake_hop() -> (TcpListener, Hop) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hop = hop_at(listener.local_addr().unwrap());
    (listener, hop)
}

fn hop_at(address: SocketAddr) -> Hop {
    let ticket = narrows_wire::relay::Ticket([5; TICKET_BYTES]);
    Hop { place: HopAddress::Tcp { host: "127.0.0.1".into(), port: address.port() }, ticket }
}

fn admitted(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; TICKET_BYTES]).unwrap();
    stream
}

/// Plays a trial of client, proxy (with a buffer) and server, and returns them in that order.
fn trial(total: u64, [client, proxy, server]: [u64; 3], change: impl Fn(&mut RoleSpec)) -> Vec<RoleReport> {
    let role = |role, buffer, next| {
        let mut asked = asked(role, buffer, total, next);
        change(&mut asked);
        Playing::start(asked)
    };
    let server = role(Role::Server, server, None);
    let mut next = server.hop();
    let proxy = (proxy > 0).then(|| role(Role::Proxy, proxy, Some(next.clone())));
    if let Some(proxy) = &proxy {
        next = proxy.hop();
    }
    let client = role(Role::Client, client, Some(next));
    let all = std::iter::once(client).chain(proxy).chain([server]);
    all.map(|playing| playing.outcome().unwrap()).collect()
}

fn only(calls: &narrows_model::relay::CallSizes, bytes: u64, total: u64) {
    assert_eq!(calls.by_bytes.iter().collect::<Vec<_>>(), [(&bytes, &(total / bytes))]);
}

/// As published. TCP promises it to nobody: a segment may end within a write, and a reader that is close behind sees it.
#[test]
fn a_server_whose_buffer_divides_the_clients_reads_whole_buffers_alone_where_writes_stay_whole() {
    const TOTAL: u64 = 4 << 20;
    for (client, server) in [(4096, 4096), (4096, 1024), (4096, 32), (960, 48), (16 << 10, 1 << 10)] {
        let total = TOTAL / client * client;
        let done = trial(total, [client, 0, server], |asked| asked.sockets.transport = RelayTransport::Unix);
        only(&done[0].output.writes, client, total);
        only(&done[1].output.reads, server, total);
    }
}

#[test]
fn return_values_sum_to_the_bytes_of_the_trial_on_every_role_and_transport() {
    const TOTAL: u64 = 1 << 20;
    for transport in [RelayTransport::Tcp, RelayTransport::Unix] {
        for buffers in [[32, 0, 4096], [64, 48, 1000], [4096, 33, 4096], [131_072, 4096, 65_536]] {
            let done = trial(TOTAL, buffers, |asked| asked.sockets.transport = transport);
            let (client, server) = (&done[0].output, &done[done.len() - 1].output);
            only(&client.writes, buffers[0], TOTAL);
            assert_eq!(server.reads.total(), Bytes(TOTAL));
            for role in &done {
                assert!(role.output.elapsed_ns > Nanos(0));
                assert_eq!(role.output.segments.is_some(), transport == RelayTransport::Tcp);
            }
            if let [_, proxy, _] = &done[..] {
                assert_eq!(
                    (proxy.output.reads.total(), proxy.output.writes.total()),
                    (Bytes(TOTAL), Bytes(TOTAL))
                );
                assert!(proxy.output.reads.by_bytes.keys().all(|bytes| *bytes <= buffers[1]));
            }
            assert!(done[0].trial_elapsed_ns.unwrap() >= client.elapsed_ns);
        }
    }
}

#[test]
fn without_delay_each_write_is_a_segment_and_what_was_sent_was_received() {
    const TOTAL: u64 = 64 << 10;
    let done = trial(TOTAL, [512, 0, 4096], |asked| asked.sockets.no_delay = true);
    let (client, server) = (done[0].output.segments.unwrap(), done[1].output.segments.unwrap());
    assert!(client.data_out_count >= 1 && client.data_out_count <= TOTAL / 512 + client.retransmitted_count);
    assert!(server.data_in_count <= client.data_out_count);
    assert_eq!((client.data_in_count, server.data_out_count), (0, 0), "words are not counted");
}

#[test]
fn socket_buffers_are_set_before_the_sockets_are_joined() {
    let done = trial(1 << 20, [4096, 0, 4096], |asked| {
        asked.sockets.send_buffer = Some(Bytes(32 << 10));
        asked.sockets.receive_buffer = Some(Bytes(48 << 10));
    });
    // The kernel doubles what is asked for: socket(7).
    assert_eq!(done[0].output.granted_send_buffer, Some(Bytes(64 << 10)));
    assert_eq!(done[1].output.granted_receive_buffer, Some(Bytes(96 << 10)));
}

#[test]
fn a_verified_stream_passes_every_way_of_forwarding_without_fault() {
    for forward in [ForwardMode::Copy, ForwardMode::Splice] {
        for buffers in [[48, 0, 33], [48, 4096, 33], [4096, 33, 1000]] {
            let total = 4096 * 48;
            let done = trial(total, buffers, |asked| {
                (asked.content_key, asked.forward) = (Some(11), forward);
            });
            assert_eq!(done[done.len() - 1].content_fault, None);
        }
    }
}

#[test]
fn bytes_that_a_hop_changes_or_loses_are_found_at_the_server() {
    let content = |skip: u64| {
        let mut bytes = vec![0; 4096];
        super::content::StreamContent::new(3).fill(skip, &mut bytes);
        bytes
    };
    for (bytes, word) in [(content(64), "64 bytes before it are lost"), (vec![0; 4096], "was changed")] {
        let mut prepare = asked(Role::Server, 512, 4096, None);
        prepare.content_key = Some(3);
        let server = Playing::start(prepare);
        let mut stream = joined(&server.hop());
        stream.write_all(&bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let fault = server.outcome().unwrap().content_fault.unwrap();
        assert!(fault.contains(word), "{fault}");
    }
}

#[test]
fn a_stranger_is_closed_and_the_ticket_holder_served() {
    let server = Playing::start(asked(Role::Server, 4096, 4096, None));
    let hop = server.hop();
    let mut stranger = connect(&hop);
    stranger.write_all(&[0; TICKET_BYTES]).unwrap();
    assert_eq!(stranger.read(&mut [0; 1]).unwrap_or(0), 0, "it is closed");
    let mut stream = joined(&hop);
    stream.write_all(&[0; 4096]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(server.outcome().unwrap().output.reads.total(), Bytes(4096));
}

#[test]
fn strangers_that_say_nothing_keep_the_ticket_holder_waiting_for_none_of_them() {
    let server =
        Playing::start(RoleSpec { silence_ns: Nanos(3_000_000_000), ..asked(Role::Server, 64, 64, None) });
    let hop = server.hop();
    // Each alone would have two seconds: together more than the role waits.
    let strangers: Vec<_> = (0..100).map(|_| connect(&hop)).collect();
    let mut stream = joined(&hop);
    stream.write_all(&[7; 64]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(server.outcome().unwrap().output.reads.total(), Bytes(64));
    drop(strangers);
}

#[test]
fn a_role_that_only_strangers_come_to_says_so() {
    let server =
        Playing::start(RoleSpec { silence_ns: Nanos(300_000_000), ..asked(Role::Server, 64, 64, None) });
    let hop = server.hop();
    let _strangers: Vec<_> = (0..3).map(|_| connect(&hop)).collect();
    let error = server.outcome().unwrap_err().to_string();
    assert!(error.contains("3 connections to its port had no valid ticket"), "{error}");
}

#[test]
fn a_stream_that_ends_early_is_reported_with_what_came() {
    let server = Playing::start(asked(Role::Server, 4096, 1 << 20, None));
    let mut stream = joined(&server.hop());
    stream.write_all(&[0; 5000]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let done = server.outcome().unwrap();
    assert_eq!(done.output.reads.total(), Bytes(5000), "who asked sees that it is not the trial's");
}

#[test]
fn a_byte_too_many_is_no_result() {
    let server = Playing::start(asked(Role::Server, 100, 1000, None));
    let mut stream = joined(&server.hop());
    stream.write_all(&[0; 1001]).unwrap();
    assert!(server.failure().contains("more bytes arrived than the trial has"));
}

#[test]
fn a_peer_that_stands_still_is_given_up_after_the_silence_that_was_asked_for() {
    let quick = |role, next| RoleSpec { silence_ns: Nanos(200_000_000), ..asked(role, 4096, 1 << 30, next) };
    let server = Playing::start(quick(Role::Server, None));
    let mut stream = joined(&server.hop());
    stream.write_all(&[0; 100]).unwrap();
    let failure = server.failure();
    assert!(
        failure.contains("nothing was transferred for 0.2 s") && failure.contains("after 100 bytes"),
        "{failure}"
    );
    // Nobody comes.
    let server = Playing::start(quick(Role::Server, None));
    assert!(server.failure().contains("the previous hop"));
    // A next hop that takes nothing more once the socket is full.
    let (listener, hop) = fake_hop();
    let client = Playing::start(quick(Role::Client, Some(hop)));
    let mut stream = admitted(&listener);
    stream.write_all(&RelaySignal::Ready.encode()).unwrap();
    let failure = client.failure();
    assert!(failure.contains("the next hop to accept more"), "{failure}");
}

#[test]
fn a_next_hop_that_refuses_closes_or_speaks_otherwise_is_reported() {
    let closed = ClosedPort::bind().unwrap();
    let hop = hop_at(closed.address());
    for role in [Role::Client, Role::Proxy] {
        let failure = Playing::start(asked(role, 64, 64, Some(hop.clone()))).failure();
        assert!(failure.contains("connect to 127.0.0.1") && failure.contains("refused"), "{failure}");
    }
    for (answer, word) in [
        (&b""[..], "closed before the message"),
        (&b"HTTP/1.1 400 Bad"[..], "is not a hop"),
        (&RelaySignal::Received(Bytes(1)).encode()[..], "end of a stream before its start"),
    ] {
        let (listener, hop) = fake_hop();
        let client = Playing::start(asked(Role::Client, 64, 64, Some(hop)));
        admitted(&listener).write_all(answer).unwrap();
        let failure = client.failure();
        assert!(failure.contains(word), "{failure}");
    }
}

#[test]
fn a_server_that_misreports_what_it_contains_is_found_by_the_client() {
    let (listener, hop) = fake_hop();
    let client = Playing::start(asked(Role::Client, 64, 6400, Some(hop)));
    let mut stream = admitted(&listener);
    stream.write_all(&RelaySignal::Ready.encode()).unwrap();
    stream.read_exact(&mut [0; 6400]).unwrap();
    stream.write_all(&RelaySignal::Received(Bytes(6399)).encode()).unwrap();
    let failure = client.failure();
    assert!(failure.contains("sent 6400 bytes and has 6399"), "{failure}");
}

#[test]
fn a_role_that_waits_heeds_a_stop() {
    let server = Playing::start(asked(Role::Server, 4096, 4096, None));
    let _ = server.hop();
    server.stop.ask(StopRequest::Now);
    assert_eq!(server.outcome().unwrap_err(), RoleError::Stopped);
}
