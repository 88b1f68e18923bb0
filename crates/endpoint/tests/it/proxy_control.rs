//! A proxy answers what is asked of itself, passes every other conversation, and finds loops.

use crate::support::proxied::{Proxied, read_to_reset};
use crate::support::raw::Raw;
use crate::support::{HandClock, Running, TIMEOUT_NS, clock, eventually, options};
use narrows_endpoint::{Proxy, ProxyOptions, ServeErrorKind};
use narrows_engines::endpoint::ControlClient;
use narrows_engines::{Clock, ErrorKind, Tick};
use narrows_model::{Bytes, Role, Via};
use narrows_run::StopFlag;
use narrows_testkit::closed_port::ClosedPort;
use narrows_wire::hello::Purpose;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

const TOKEN: &[u8] = b"0123456789abcdef";

fn ask(address: SocketAddr, token: Option<&[u8]>) -> Result<ControlClient, narrows_engines::EngineError> {
    ControlClient::connect_proxy(&address.ip().to_string(), address.port(), token, clock(), TIMEOUT_NS)
}

fn through(address: SocketAddr) -> Result<ControlClient, narrows_engines::EngineError> {
    ControlClient::connect(&address.ip().to_string(), address.port(), None, clock(), TIMEOUT_NS)
}

#[test]
fn a_proxy_reports_its_own_facts_and_counters() {
    let (proxy, listener) = Proxied::before_listener(|_| {});
    let (mut client, mut server) = proxy.connect(&listener);
    client.write_all(&[7; 1000]).unwrap();
    server.read_exact(&mut [0; 1000]).unwrap();
    let mut control = ask(proxy.address, None).unwrap();
    assert!(control.facts().shares_machine);
    let sample = control.counters().unwrap();
    assert_eq!(sample.role, Role::Proxy);
    assert!(sample.process_cpu.is_some());
    let tcp = sample.tcp.unwrap();
    // Both sides of each connection that it forwards.
    assert!(tcp.connection_count >= 2 && tcp.received_bytes >= Bytes(1000), "{tcp:?}");
    control.end().unwrap();
}

#[test]
fn conversations_with_the_proxy_itself_leave_places_for_what_it_forwards() {
    let server = Running::start(options());
    let proxy = Proxied::start(server.address, |_| {});
    let mut conversations: Vec<ControlClient> = (0..64).map(|_| ask(proxy.address, None).unwrap()).collect();
    let error = ask(proxy.address, None).unwrap_err();
    assert!(error.to_string().contains("64 conversations about itself"), "{error}");
    through(proxy.address).unwrap().end().unwrap();
    conversations.pop().unwrap().end().unwrap();
    eventually("there is a place again", || ask(proxy.address, None).is_ok());
    conversations[0].counters().unwrap();
}

#[test]
fn a_conversation_that_is_silent_for_an_hour_gives_its_place_and_a_quiet_one_keeps_it() {
    let clock = std::sync::Arc::new(HandClock::default());
    let hand = std::sync::Arc::clone(&clock);
    let server = Running::start(options());
    let proxy = Proxied::start(server.address, |options| options.clock = hand);
    let mut conversations: Vec<ControlClient> = (0..64).map(|_| ask(proxy.address, None).unwrap()).collect();
    let mut silent = conversations.pop().unwrap();
    clock.wait_until(Tick(3_500_000_000_000));
    for quiet in &mut conversations {
        quiet.counters().unwrap();
    }
    assert!(ask(proxy.address, None).is_err(), "all places are taken");
    clock.wait_until(Tick(3_700_000_000_000));
    eventually("the silent one has given its place", || ask(proxy.address, None).is_ok());
    assert!(silent.counters().is_err());
    for quiet in &mut conversations {
        quiet.counters().unwrap();
    }
}

#[test]
fn a_proxy_whose_next_hop_is_gone_still_answers_for_itself() {
    let gone = ClosedPort::bind().unwrap();
    let proxy = Proxied::start(gone.address(), |_| {});
    assert_eq!(ask(proxy.address, None).unwrap().counters().unwrap().role, Role::Proxy);
    let error = through(proxy.address).unwrap_err();
    assert!(error.to_string().contains("cannot connect to"), "{error}");
}

#[test]
fn a_proxy_reports_where_it_leads_to_and_what_is_asked_through_it_is_answered_as_the_endpoint() {
    let server = Running::start(options());
    let proxy = Proxied::start(server.address, |_| {});
    let forwards_to = &ask(proxy.address, None).unwrap().facts().forwards_to.clone();
    assert_eq!(forwards_to, &[server.address.to_string(), server.address.to_string()]);
    let via = Via { host: proxy.address.ip().to_string(), port: proxy.address.port() };
    let (host, port) = (server.address.ip().to_string(), server.address.port());
    let behind = ControlClient::connect_via((&host, port), Some(&via), None, clock(), TIMEOUT_NS).unwrap();
    assert_eq!(behind.facts().address, server.address.to_string(), "its own, not the proxy's");
    assert!(behind.facts().forwards_to.is_empty());
    drop(behind);
    assert!(proxy.end().upstream_bytes > 0, "it passed the proxy");
}

#[test]
fn a_conversation_with_the_endpoint_behind_passes_untouched() {
    let server = Running::start(options());
    let proxy = Proxied::start(server.address, |_| {});
    let mut behind = through(proxy.address).unwrap();
    assert_eq!(behind.counters().unwrap().role, Role::Server);
    behind.end().unwrap();
}

#[test]
fn the_token_guards_the_proxy_itself_and_nothing_that_passes() {
    let server = Running::start(options());
    let proxy = Proxied::start(server.address, |options| options.token = Some(TOKEN.to_vec()));
    assert_eq!(ask(proxy.address, None).unwrap_err().kind, ErrorKind::Token);
    assert_eq!(ask(proxy.address, Some(b"another, as long")).unwrap_err().kind, ErrorKind::Token);
    ask(proxy.address, Some(TOKEN)).unwrap().end().unwrap();
    through(proxy.address).unwrap().end().unwrap();
}

#[test]
fn an_open_proxy_forwards_for_all_and_answers_nobody() {
    let server = Running::start(options());
    let proxy = Proxied::start(server.address, |options| {
        options.listen = SocketAddr::from(([0, 0, 0, 0], 0));
        options.open = true;
    });
    let address = SocketAddr::from(([127, 0, 0, 1], proxy.address.port()));
    let error = ask(address, None).unwrap_err();
    assert!(error.to_string().contains("--open"), "{error}");
    through(address).unwrap().end().unwrap();
}

#[test]
fn a_proxy_stores_nothing_and_runs_nothing() {
    let (proxy, _listener) = Proxied::before_listener(|_| {});
    let mut control = ask(proxy.address, None).unwrap();
    let error = control.stores_file("x", "y").unwrap_err();
    assert!(error.to_string().contains("endpoint behind it"), "{error}");
    assert_eq!(control.counters().unwrap().role, Role::Proxy);
}

#[test]
fn an_endpoint_that_is_asked_as_a_proxy_says_what_it_is() {
    let server = Running::start(options());
    let error = ask(server.address, None).unwrap_err();
    assert!(error.to_string().contains("not a `narrows proxy`"), "{error}");
}

/// Two proxies that lead to each other.
fn ring(connections_max: u32) -> (Proxied, Proxied) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let first = Proxied::start(free, |options| options.connections_max = connections_max);
    let second = Proxied::start(first.address, |options| {
        options.listen = free;
        options.connections_max = connections_max;
    });
    (first, second)
}

#[test]
fn a_hello_that_comes_back_is_refused_as_a_loop() {
    let (first, _second) = ring(64);
    let Err(error) = Raw::greet(first.address, Purpose::Control, None) else {
        unreachable!("nobody is there to answer")
    };
    // Either the nonce came back first, or the limit of connections ended the loop.
    let text = error.to_string();
    assert!(text.contains("leads back to itself"), "{text}");
}

#[test]
fn a_loop_of_foreign_connections_ends_at_the_limit() {
    let (first, second) = ring(8);
    let mut client = first.dial();
    client.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(read_to_reset(&mut client), b"");
    eventually("the limit is told", || {
        first.has_said("--max-connections") || second.has_said("--max-connections")
    });
}

#[test]
fn a_hello_in_pieces_is_still_the_proxys_own() {
    let (proxy, _listener) = Proxied::before_listener(|_| {});
    let (_, hello) =
        narrows_wire::hello::ClientHello::start(Purpose::Proxy, narrows_wire::hello::Nonce([9; 32]), None);
    let mut client = TcpStream::connect(proxy.address).unwrap();
    client.set_nodelay(true).unwrap();
    for piece in hello.chunks(7) {
        client.write_all(piece).unwrap();
        std::thread::yield_now();
    }
    let mut kind = [0; 5];
    client.read_exact(&mut kind).unwrap();
    assert_eq!(kind[4], 2, "a challenge");
}

/// What a refusal must say, and the options that it is of.
type Adapt<'a> = (&'a str, &'a dyn Fn(&mut ProxyOptions));

#[test]
fn what_cannot_be_is_refused_before_anything_listens() {
    let refused = |adapt: &dyn Fn(&mut ProxyOptions)| {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut options = ProxyOptions::new(listen, "127.0.0.1:9", clock());
        adapt(&mut options);
        Proxy::bind(options, StopFlag::default()).unwrap_err()
    };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    let bad: [Adapt<'_>; 8] = [
        ("a buffer of 0", &|options| options.buffer = Bytes(0)),
        ("64 MiB", &|options| options.buffer = Bytes((64 << 20) + 1)),
        ("socket buffer", &|options| options.send_buffer = Some(Bytes(1 << 40))),
        ("connection", &|options| options.connections_max = 0),
        ("--open", &|options| options.listen = SocketAddr::from(([0, 0, 0, 0], 0))),
        ("16", &|options| options.token = Some(b"short".to_vec())),
        ("HOST:PORT", &|options| options.to = "nowhere".to_owned()),
        ("own listening address", &|options| {
            options.listen = taken;
            options.to = taken.to_string();
        }),
    ];
    for (part, adapt) in bad {
        let error = refused(adapt);
        assert_eq!(error.kind, ServeErrorKind::Options, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(refused(&|options| options.listen = taken).kind, ServeErrorKind::Address);
}
