//! A client that asks all the while whether its peer answers, and stops, gives its places after a minute; others keep them.
//!
//! What a stopped process does to a server is exactly this: its connections stay, and nothing arrives on them.

use crate::support::proxied::Proxied;
use crate::support::{HandClock, Running, TIMEOUT_NS, clock, control, eventually, open, options, workload};
use narrows_endpoint::ServeOptions;
use narrows_engines::endpoint::{ControlClient, PeerProbe};
use narrows_engines::{Clock, EngineError, OpenSpec, StopFlag, Tick};
use narrows_model::{Layer, Op};
use std::net::SocketAddr;
use std::sync::Arc;

const SECOND_NS: u64 = 1_000_000_000;

/// A server with as many places, and the clock that a test moves.
fn server(connections_max: u32) -> (Running, Arc<HandClock>) {
    let hand = Arc::new(HandClock::default());
    let clock = Arc::clone(&hand) as Arc<dyn Clock>;
    (Running::start(ServeOptions { connections_max, clock, ..options() }), hand)
}

/// A proxy that takes part in two conversations about itself, and the clock that a test moves.
fn proxy() -> (Proxied, Running, Arc<HandClock>) {
    let (server, hand) = (Running::start(options()), Arc::new(HandClock::default()));
    let clock = Arc::clone(&hand);
    let proxy = Proxied::start(server.address, |options| {
        options.clock = clock;
        options.connections_max = 8;
    });
    (proxy, server, hand)
}

fn ask_proxy(address: SocketAddr) -> Result<ControlClient, EngineError> {
    ControlClient::connect_proxy(&address.ip().to_string(), address.port(), None, clock(), TIMEOUT_NS)
}

fn probe(client: &ControlClient) -> PeerProbe {
    let mut probe = PeerProbe::beside(client, None, TIMEOUT_NS, &StopFlag::default()).unwrap();
    probe.answer().unwrap();
    probe
}

/// Seconds after the minute of silence: who does not leave by itself is cut two seconds after it was noticed, whenever that
/// was. Below the hour after which anybody is cut.
fn later() -> impl Iterator<Item = u64> {
    62..3_000
}

/// Lets two hours pass in which the client only asks whether its peer answers; `knock` connects to the peer, after which
/// limits are looked at.
fn ask_for_two_hours(probe: &mut PeerProbe, hand: &HandClock, knock: impl Fn()) {
    for half_minute in 1..=240 {
        hand.wait_until(Tick(half_minute * 30 * SECOND_NS));
        probe.answer().unwrap();
        knock();
    }
}

#[test]
fn a_client_without_a_sign_of_life_for_a_minute_gives_its_places_at_a_server() {
    let (server, hand) = server(3);
    let mut client = server.control();
    let mut probe = probe(&client);
    let spec = server.spec(Layer::Memory, workload(Op::Write, 4096, 1));
    let _data = open(&OpenSpec { session: Some(client.session().to_owned()), ..spec }).unwrap();
    hand.wait_until(Tick(50 * SECOND_NS));
    assert!(control(server.address, None).is_err(), "all places are taken");
    hand.wait_until(Tick(61 * SECOND_NS));
    let mut seconds = later();
    eventually("its places are free", || {
        hand.wait_until(Tick(seconds.next().unwrap() * SECOND_NS));
        let all: Vec<_> = (0..3).map_while(|_| control(server.address, None).ok()).collect();
        all.len() == 3
    });
    let error = client.counters().unwrap_err().to_string();
    assert!(error.contains("no sign of life for 60 s"), "{error}");
    assert!(probe.answer().is_err());
}

#[test]
fn a_client_that_measures_elsewhere_for_hours_keeps_its_place_at_a_server() {
    let (server, hand) = server(2);
    let mut client = server.control();
    ask_for_two_hours(&mut probe(&client), &hand, || drop(control(server.address, None)));
    client.counters().unwrap();
}

#[test]
fn a_client_that_stops_after_its_last_question_gives_its_place_after_a_minute() {
    let (server, hand) = server(2);
    let mut client = server.control();
    drop(probe(&client));
    eventually("the server has noticed that nobody asks", || control(server.address, None).is_ok());
    hand.wait_until(Tick(61 * SECOND_NS));
    let mut seconds = later();
    eventually("its place is free", || {
        hand.wait_until(Tick(seconds.next().unwrap() * SECOND_NS));
        let all: Vec<_> = (0..2).map_while(|_| control(server.address, None).ok()).collect();
        all.len() == 2
    });
    assert!(client.counters().is_err());
}

#[test]
fn a_client_that_asks_no_more_and_ends_its_session_within_a_minute_is_not_cut() {
    let (server, hand) = server(2);
    let mut client = server.control();
    drop(probe(&client));
    hand.wait_until(Tick(59 * SECOND_NS));
    eventually("limits were looked at", || control(server.address, None).is_ok());
    client.counters().unwrap();
    client.end().unwrap();
}

#[test]
fn a_client_without_a_sign_of_life_for_a_minute_gives_its_places_at_a_proxy() {
    let (proxy, _server, hand) = proxy();
    let mut client = ask_proxy(proxy.address).unwrap();
    let mut probe = probe(&client);
    hand.wait_until(Tick(50 * SECOND_NS));
    assert!(ask_proxy(proxy.address).is_err(), "all places are taken");
    hand.wait_until(Tick(61 * SECOND_NS));
    let mut seconds = later();
    eventually("its places are free", || {
        hand.wait_until(Tick(seconds.next().unwrap() * SECOND_NS));
        let all: Vec<_> = (0..2).map_while(|_| ask_proxy(proxy.address).ok()).collect();
        all.len() == 2
    });
    assert!(client.counters().is_err() && probe.answer().is_err());
}

#[test]
fn a_client_that_measures_elsewhere_for_hours_keeps_its_place_at_a_proxy() {
    let (proxy, _server, hand) = proxy();
    let mut client = ask_proxy(proxy.address).unwrap();
    ask_for_two_hours(&mut probe(&client), &hand, || drop(ask_proxy(proxy.address)));
    client.counters().unwrap();
}

#[test]
fn a_probe_of_an_unknown_session_is_answered_and_watches_nothing() {
    let (server, hand) = server(3);
    let mut ended = server.control();
    let mut probe = probe(&ended);
    ended.counters().unwrap();
    let mut other = server.control();
    drop(ended);
    eventually("its session has ended", || control(server.address, None).is_ok());
    probe.answer().unwrap();
    hand.wait_until(Tick(70 * SECOND_NS));
    eventually("limits were looked at", || control(server.address, None).is_ok());
    other.counters().unwrap();
}
