//! Peers that stall a server: it ends them at their deadlines, serves others meanwhile, and ends itself at once.

use crate::support::raw::{Raw, opening};
use crate::support::{HandClock, Running, clock, control, eventually, options};
use narrows_endpoint::ServeOptions;
use narrows_engines::{Clock, Tick};
use narrows_model::Layer;
use narrows_wire::hello::{ClientHello, Nonce, Purpose};
use narrows_wire::open::OpenRequest;
use narrows_wire::request::{RequestHeader, RequestKind};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

const TOKEN: &[u8] = b"0123456789abcdef0123456789abcdef";
const SECOND_NS: u64 = 1_000_000_000;

fn with_hand_clock(change: impl FnOnce(&mut ServeOptions)) -> (Running, Arc<HandClock>) {
    let clock = Arc::new(HandClock::default());
    let hand: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
    let mut options = ServeOptions { clock: hand, ..options() };
    change(&mut options);
    (Running::start(options), clock)
}

/// Whether the server has closed or cut the connection.
fn is_over(socket: &mut TcpStream) -> bool {
    socket.set_nonblocking(true).unwrap();
    let mut bytes = [0; 4096];
    loop {
        match socket.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }
}

#[test]
fn a_hello_that_trickles_in_is_over_at_its_deadline() {
    let (server, clock) = with_hand_clock(|_| {});
    let (_, hello) = ClientHello::start(Purpose::Control, Nonce([1; 32]), None);
    let mut trickle = TcpStream::connect(server.address).unwrap();
    // A later connection is served: this one has been let in.
    server.control().end().unwrap();
    for (second, byte) in hello[..12].iter().enumerate() {
        clock.wait_until(Tick(second as u64 * SECOND_NS));
        let _ = trickle.write_all(&[*byte]);
    }
    eventually("the hello's time is over", || is_over(&mut trickle));
}

#[test]
fn an_opening_that_never_comes_is_over_at_its_deadline() {
    let (server, clock) = with_hand_clock(|_| {});
    let mut mute = Raw::greet(server.address, Purpose::Data, None).unwrap();
    let mut connection = server.control();
    clock.wait_until(Tick(11 * SECOND_NS));
    eventually("the opening's time is over", || is_over(&mut mute.socket));
    connection.counters().unwrap();
}

#[test]
fn strangers_do_not_lock_out_who_knows_the_token() {
    let token = Some(TOKEN.to_vec());
    let server = Running::start(ServeOptions { token, connections_max: 2, ..options() });
    let strangers: Vec<_> = (0..80).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    control(server.address, Some(TOKEN)).unwrap().end().unwrap();
    drop(strangers);
}

/// A connection that asks for much and reads nothing.
fn deaf(address: SocketAddr) -> Raw {
    let open =
        OpenRequest { block_bytes: 1 << 20, depth: 64, ..opening(Layer::Memory, &["x"], 1 << 20, None) };
    let mut raw = Raw::data(address, &open).unwrap();
    let read =
        RequestHeader { kind: RequestKind::Read, tag: 0, object: 0, length_bytes: 1 << 20, offset_bytes: 0 };
    raw.socket.write_all(&read.encode().repeat(64)).unwrap();
    raw
}

#[test]
fn a_peer_that_reads_nothing_is_cut_soon_after_its_time() {
    let (server, clock) = with_hand_clock(|options| {
        options.connections_max = 1;
        options.seconds_max = Some(60);
    });
    let mut connection = deaf(server.address);
    assert!(control(server.address, None).is_err(), "there is one place alone");
    clock.wait_until(Tick(61 * SECOND_NS));
    let mut now_s = 61;
    eventually("its place is free", || {
        // A little is read, so that no single write of the server waits too long.
        let _ = connection.socket.read(&mut [0; 256]);
        now_s = (now_s + 1).min(70);
        clock.wait_until(Tick(now_s * SECOND_NS));
        control(server.address, None).is_ok()
    });
}

#[test]
fn a_server_ends_at_once_whatever_its_peers_do() {
    let root = tempfile::tempdir().unwrap();
    let server =
        Running::start(ServeOptions { root: Some(root.path().to_owned()), connections_max: 4, ..options() });
    let connection = server.control();
    let mut peers = vec![deaf(server.address).socket];
    let source = Raw::data(server.address, &opening(Layer::Source, &[], 0, None)).unwrap();
    peers.push(source.socket);
    let late = OpenRequest { block_bytes: 1 << 20, depth: 16, ..opening(Layer::Disk, &["x"], 1 << 20, None) };
    peers.push(Raw::data(server.address, &late).unwrap().socket);
    // One too many: it is sent the refusal and does not close.
    let mut refused = TcpStream::connect(server.address).unwrap();
    let (_, hello) = ClientHello::start(Purpose::Control, Nonce([1; 32]), None);
    refused.write_all(&hello).unwrap();
    let mut said = [0; 64];
    assert!(refused.read(&mut said).unwrap() > 0);
    peers.push(refused);
    let mut mute = TcpStream::connect(server.address).unwrap();
    mute.write_all(&[44]).unwrap();
    peers.push(mute);
    let before_ns = clock_now();
    server.stop().unwrap();
    let took_ns = clock_now().saturating_sub(before_ns);
    assert!(took_ns < 3 * SECOND_NS, "{took_ns} ns");
    assert_eq!(crate::support::names_in(root.path()), [""; 0]);
    drop((peers, connection));
}

fn clock_now() -> u64 {
    static CLOCK: std::sync::OnceLock<Arc<dyn Clock>> = std::sync::OnceLock::new();
    CLOCK.get_or_init(clock).now().0
}
