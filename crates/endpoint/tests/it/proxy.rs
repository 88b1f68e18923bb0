//! A proxy passes every byte once and in order, both ways, and every end of a side as what it was.

use crate::support::proxied::{MODES, Proxied, content, read_all, read_to_reset};
use crate::support::{self, HandClock, Running, TIMEOUT_NS, eventually, options};
use narrows_engines::endpoint::ControlClient;
use narrows_engines::{Clock, Tick};
use narrows_model::Bytes;
use narrows_model::relay::ForwardMode;
use narrows_testkit::closed_port::ClosedPort;
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

/// Both sides send `length` bytes at once and end; each must get the other's.
fn exchange(mut client: TcpStream, mut server: TcpStream, seed: u64, length: usize) {
    let (there, back) = (content(seed, length), content(!seed, length));
    std::thread::scope(|scope| {
        for (socket, sent) in [(client.try_clone().unwrap(), &there), (server.try_clone().unwrap(), &back)] {
            scope.spawn(move || {
                (&socket).write_all(sent).unwrap();
                socket.shutdown(Shutdown::Write).unwrap();
            });
        }
        let got_back = scope.spawn(move || read_all(&mut client));
        assert!(read_all(&mut server) == there);
        assert!(got_back.join().unwrap() == back);
    });
}

#[test]
fn both_directions_pass_whole_in_every_mode_and_with_every_buffer() {
    for mode in MODES {
        for (buffer_bytes, length) in [(1, 3_000), (32, 100_000), (4096, 1_000_000), (131_072, 5_000_000)] {
            let (proxy, listener) = Proxied::with_mode(mode, buffer_bytes);
            let (client, server) = proxy.connect(&listener);
            exchange(client, server, buffer_bytes, length);
            let totals = proxy.end();
            assert_eq!(
                (totals.upstream_bytes, totals.downstream_bytes),
                (length as u64, length as u64),
                "{mode:?}"
            );
        }
    }
}

#[test]
fn sixty_four_connections_at_once_do_not_mix() {
    for mode in MODES {
        let (proxy, listener) = Proxied::with_mode(mode, 8192);
        std::thread::scope(|scope| {
            for seed in 0..64 {
                // One after the other, so that it is known whose the accepted side is.
                let (client, server) = proxy.connect(&listener);
                scope.spawn(move || exchange(client, server, seed, 200_000));
            }
        });
        assert_eq!(proxy.end().connection_count, 64, "{mode:?}");
    }
}

#[test]
fn an_end_of_one_direction_is_passed_on_and_the_other_continues() {
    for mode in MODES {
        let (proxy, listener) = Proxied::with_mode(mode, 4096);
        let (mut client, mut server) = proxy.connect(&listener);
        client.write_all(b"question").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read_all(&mut server), b"question");
        // Only now, after its client's end, does the server answer.
        let answer = content(1, 300_000);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                server.write_all(&answer).unwrap();
                server.shutdown(Shutdown::Write).unwrap();
            });
            assert!(read_all(&mut client) == answer, "{mode:?}");
        });
    }
}

#[test]
fn a_server_that_speaks_first_is_heard_by_a_silent_client() {
    let (proxy, listener) = Proxied::with_mode(ForwardMode::Splice, 4096);
    let (mut client, mut server) = proxy.connect(&listener);
    server.write_all(b"220 ready").unwrap();
    let mut greeting = [0; 9];
    client.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"220 ready");
}

#[test]
fn what_only_begins_like_a_hello_passes_too() {
    let (proxy, listener) = Proxied::with_mode(ForwardMode::Splice, 4096);
    let (mut client, mut server) = proxy.connect(&listener);
    // The first bytes of a hello, and nothing more for as long as the server has not got them.
    client.write_all(&[44, 0, 0, 0, 1]).unwrap();
    let mut got = [0; 5];
    server.read_exact(&mut got).unwrap();
    assert_eq!(got, [44, 0, 0, 0, 1]);
}

fn reset(socket: TcpStream) {
    socket2::SockRef::from(&socket).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    drop(socket);
}

#[test]
fn a_reset_of_either_side_reaches_the_other_as_a_reset() {
    for mode in MODES {
        let (proxy, listener) = Proxied::with_mode(mode, 4096);
        let sent = content(1, 100);
        for is_client in [true, false] {
            let (client, server) = proxy.connect(&listener);
            let (mut resets, mut remains) = if is_client { (client, server) } else { (server, client) };
            resets.write_all(&sent).unwrap();
            let mut first = [0; 100];
            remains.read_exact(&mut first).unwrap();
            assert_eq!(first[..], sent);
            reset(resets);
            assert_eq!(read_to_reset(&mut remains), b"", "{mode:?}");
        }
    }
}

#[test]
fn a_reset_in_the_middle_of_a_stream_both_ways_is_never_an_end() {
    for mode in MODES {
        let (proxy, listener) = Proxied::with_mode(mode, 4096);
        for seed in 0..20 {
            let (mut client, mut server) = proxy.connect(&listener);
            // The client reads nothing, so that the proxy is stuck in a write to it when the reset comes: either that
            // call or its read may report the reset, and the other only an end of stream.
            server.set_nonblocking(true).unwrap();
            let mut refused_in_a_row = 0;
            while refused_in_a_row < 200 {
                match server.write(&[0; 16_384]) {
                    Ok(_) => refused_in_a_row = 0,
                    Err(_) => refused_in_a_row += 1,
                }
                std::thread::yield_now();
            }
            server.set_nonblocking(false).unwrap();
            let sent = content(seed, 5_000 * (1 + usize::try_from(seed).unwrap()));
            client.write_all(&sent).unwrap();
            reset(client);
            let got = read_to_reset(&mut server);
            assert!(sent.starts_with(&got), "{mode:?}");
        }
    }
}

#[test]
fn a_slow_reader_stops_the_sender_and_still_gets_every_byte() {
    for mode in MODES {
        let (proxy, listener) = Proxied::before_listener(|options| {
            options.mode = mode;
            options.send_buffer = Some(Bytes(64 << 10));
            options.receive_buffer = Some(Bytes(64 << 10));
        });
        let (client, mut server) = proxy.connect(&listener);
        let sent = content(1, 16 << 20);
        client.set_nonblocking(true).unwrap();
        let mut taken = 0;
        let mut refused_in_a_row = 0;
        // Nobody reads: the path fills up and takes nothing more.
        while refused_in_a_row < 2000 {
            match (&client).write(&sent[taken..]) {
                Ok(length) => (taken, refused_in_a_row) = (taken + length, 0),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    refused_in_a_row += 1;
                    std::thread::yield_now();
                }
            }
        }
        assert!(taken < 8 << 20, "{mode:?}: {taken} bytes were taken though nobody reads");
        client.set_nonblocking(false).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (&client).write_all(&sent[taken..]).unwrap();
                client.shutdown(Shutdown::Write).unwrap();
            });
            assert!(read_all(&mut server) == sent, "{mode:?}");
        });
    }
}

#[test]
fn a_next_hop_that_refuses_resets_the_client_and_is_reported() {
    let gone = ClosedPort::bind().unwrap();
    let proxy = Proxied::start(gone.address(), |_| {});
    assert_eq!(read_to_reset(&mut proxy.dial()), b"");
    proxy.says("cannot connect to");
}

#[test]
fn connections_beyond_the_limit_are_reset_until_one_ends() {
    let (proxy, listener) = Proxied::before_listener(|options| options.connections_max = 2);
    let first = proxy.connect(&listener);
    let _second = proxy.connect(&listener);
    assert_eq!(read_to_reset(&mut proxy.dial()), b"");
    proxy.says("--max-connections");
    drop(first);
    eventually("there is room again", || {
        let mut client = proxy.dial();
        client.write_all(b"x").is_ok() && {
            listener.set_nonblocking(true).unwrap();
            let accepted = (0..1000).find_map(|_| {
                std::thread::yield_now();
                listener.accept().ok()
            });
            accepted.is_some()
        }
    });
}

/// Moves `clock` on by so many seconds.
fn pass_seconds(clock: &HandClock, seconds: u64) {
    let now = narrows_engines::Clock::now(clock);
    narrows_engines::Clock::wait_until(clock, now.after(seconds * 1_000_000_000));
}

#[test]
fn a_full_proxy_resets_a_connection_whose_client_has_sent_nothing_for_a_new_one() {
    let clock = std::sync::Arc::new(HandClock::default());
    let hand = std::sync::Arc::clone(&clock);
    let (proxy, listener) = Proxied::before_listener(|options| {
        options.connections_max = 3;
        options.clock = hand;
    });
    let (host, port) = (proxy.address.ip().to_string(), proxy.address.port());
    let mut control = ControlClient::connect_proxy(&host, port, None, support::clock(), TIMEOUT_NS).unwrap();
    // What the proxy connected to before it knew whom it talks with.
    listener.set_nonblocking(true).unwrap();
    while listener.accept().is_ok() {}
    listener.set_nonblocking(false).unwrap();
    // It has said something once, long before the other one came, and is the most silent of both.
    let (mut quiet, mut quiet_server) = proxy.connect(&listener);
    quiet.write_all(b"x").unwrap();
    quiet_server.read_exact(&mut [0]).unwrap();
    pass_seconds(&clock, 20);
    let (mut unused, _unused_server) = proxy.connect(&listener);
    // Its place is taken a moment after the listener has accepted it.
    eventually("two connections are forwarded", || {
        control.counters().unwrap().tcp.is_some_and(|tcp| tcp.connection_count >= 4)
    });
    pass_seconds(&clock, 29);
    assert_eq!(read_to_reset(&mut proxy.dial()), b"", "there is no room for it before 30 s have passed");
    pass_seconds(&clock, 1);
    let (mut new, mut new_server) = proxy.connect(&listener);
    assert_eq!(read_to_reset(&mut unused), b"");
    proxy.says("has been reset for a new one");
    for (client, server) in [(&mut quiet, &mut quiet_server), (&mut new, &mut new_server)] {
        client.write_all(b"z").unwrap();
        server.read_exact(&mut [0]).unwrap();
    }
}

#[test]
fn a_full_proxy_cuts_no_quiet_run_and_refuses_the_next_one_with_a_reason() {
    let clock = std::sync::Arc::new(HandClock::default());
    let hand = std::sync::Arc::clone(&clock);
    let server = Running::start(options());
    let proxy = Proxied::start(server.address, |options| {
        options.connections_max = 2;
        options.clock = hand;
    });
    let run = || {
        let (host, port) = (proxy.address.ip().to_string(), proxy.address.port());
        ControlClient::connect(&host, port, None, support::clock(), TIMEOUT_NS)
    };
    let mut quiet = [run().unwrap(), run().unwrap()];
    pass_seconds(&clock, 600);
    let error = run().unwrap_err().to_string();
    assert!(error.contains("2 connections, its limit") && error.contains("--max-connections"), "{error}");
    for client in &mut quiet {
        client.counters().unwrap();
    }
}

#[test]
fn a_silent_connection_is_reset_and_a_busy_one_is_not() {
    let clock = std::sync::Arc::new(HandClock::default());
    let hand = std::sync::Arc::clone(&clock);
    let (proxy, listener) = Proxied::before_listener(|options| {
        options.idle_ns_max = Some(1_000_000_000);
        options.clock = hand;
    });
    let (mut busy, mut busy_server) = proxy.connect(&listener);
    let (mut silent, _silent_server) = proxy.connect(&listener);
    for _ in 0..4 {
        busy.write_all(b"x").unwrap();
        busy_server.read_exact(&mut [0]).unwrap();
        let now = narrows_engines::Clock::now(&*clock);
        narrows_engines::Clock::wait_until(&*clock, now.after(400_000_000));
        // The proxy looks once between two steps of the clock.
        busy_server.write_all(b"y").unwrap();
        busy.read_exact(&mut [0]).unwrap();
        std::thread::park_timeout(std::time::Duration::from_millis(60));
    }
    assert_eq!(read_to_reset(&mut silent), b"");
    proxy.says("--idle-seconds");
    busy.write_all(b"z").unwrap();
    busy_server.read_exact(&mut [0]).unwrap();
}

#[test]
fn the_end_of_the_proxy_resets_what_is_open() {
    for mode in MODES {
        let (proxy, listener) = Proxied::with_mode(mode, 4096);
        let (mut client, mut server) = proxy.connect(&listener);
        client.write_all(b"x").unwrap();
        server.read_exact(&mut [0]).unwrap();
        proxy.end();
        assert_eq!(read_to_reset(&mut client), b"", "{mode:?}");
        assert_eq!(read_to_reset(&mut server), b"", "{mode:?}");
    }
}

#[test]
fn a_connection_whose_server_is_gone_and_whose_client_takes_nothing_is_reset_after_a_minute() {
    let hand = std::sync::Arc::new(HandClock::default());
    let clock = std::sync::Arc::clone(&hand);
    let (proxy, listener) = Proxied::before_listener(|options| {
        options.clock = clock;
        options.connections_max = 1;
    });
    let (client, server) = proxy.connect(&listener);
    (&client).write_all(b"no hello of narrows").unwrap();
    (&server).read_exact(&mut [0; 19]).unwrap();
    server.set_nonblocking(true).unwrap();
    // Until the client's side is full and stays so: the proxy waits for it alone.
    let mut full_count = 0;
    while full_count < 20_000 {
        full_count = if (&server).write(&[1; 8192]).is_ok() { 0 } else { full_count + 1 };
        std::thread::yield_now();
    }
    SockRef::from(&server).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    drop(server);
    hand.wait_until(Tick(50_000_000_000));
    let mut refused = proxy.dial();
    let _ = refused.write_all(b"x");
    assert_eq!(read_to_reset(&mut refused), b"", "the only place is taken");
    hand.wait_until(Tick(150_000_000_000));
    eventually("its place is free", || {
        hand.wait_until(Tick(hand.now().0 + 1_000_000));
        let mut next = proxy.dial();
        next.write_all(b"y").is_ok() && {
            next.set_nonblocking(true).unwrap();
            listener.set_nonblocking(true).unwrap();
            listener.accept().is_ok()
        }
    });
    drop(client);
}
