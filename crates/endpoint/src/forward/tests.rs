//! Bytes through every mode: none lost, none twice, none out of order.

use super::*;
use narrows_model::Nanos;
use narrows_sys::clock::Monotonic;
use narrows_testkit::tcp_pair;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

const MODES: [ForwardMode; 3] = [ForwardMode::Copy, ForwardMode::Splice, ForwardMode::Uring];

/// A byte that identifies its place: the pattern does not repeat within any buffer.
fn byte_at(place: usize) -> u8 {
    let mixed = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_be_bytes()[0] ^ mixed.to_be_bytes()[4]
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(byte_at).collect()
}

#[test]
fn all_bytes_arrive_in_order_whatever_the_buffer() {
    for mode in MODES {
        for buffer_bytes in [1, 32, 4096, 131_072] {
            let (mut client, front) = UnixStream::pair().unwrap();
            let (back, mut server) = UnixStream::pair().unwrap();
            let sent = content(if buffer_bytes == 1 { 5_000 } else { 500_000 });
            let mut table = CallTable::new(buffer_bytes);
            let arrived = std::thread::scope(|scope| {
                scope.spawn(|| {
                    client.write_all(&sent).unwrap();
                    client.shutdown(Shutdown::Write).unwrap();
                });
                let reader = scope.spawn(|| {
                    let mut arrived = Vec::new();
                    server.read_to_end(&mut arrived).unwrap();
                    arrived
                });
                let stop = StopFlag::default();
                let moved =
                    forward(front.as_fd(), back.as_fd(), mode, buffer_bytes, &mut table, &stop).unwrap();
                assert_eq!(moved, Bytes(sent.len() as u64));
                back.shutdown(Shutdown::Write).unwrap();
                reader.join().unwrap()
            });
            assert!(arrived == sent, "{mode:?} {buffer_bytes}");
            assert_eq!(table.reads().total(), Bytes(sent.len() as u64));
            assert_eq!(table.writes().total(), Bytes(sent.len() as u64));
            assert!(table.reads().by_bytes.keys().all(|bytes| *bytes <= buffer_bytes as u64));
        }
    }
}

/// How long a request of whole buffers takes to its last byte, the sender's end staying open: the shortest of some.
fn shortest_request(mode: ForwardMode, buffer_bytes: usize, buffers: usize) -> Nanos {
    let clock = Monotonic::new();
    let (mut client, front) = tcp_pair().unwrap();
    let (back, mut server) = tcp_pair().unwrap();
    let request = content(buffers * buffer_bytes);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut table = CallTable::new(buffer_bytes);
            forward(front.as_fd(), back.as_fd(), mode, buffer_bytes, &mut table, &StopFlag::default())
                .unwrap();
        });
        let mut arrived = vec![0; request.len()];
        let times = (0..5).map(|_| {
            let started_ns = clock.now_ns();
            client.write_all(&request).unwrap();
            server.read_exact(&mut arrived).unwrap();
            assert!(arrived == request, "{mode:?}");
            clock.now_ns() - started_ns
        });
        let shortest = times.min().unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        Nanos(shortest)
    })
}

#[test]
fn the_last_buffer_of_a_request_is_not_slowed() {
    // The network stack delays data for 200 ms when more is announced to follow.
    const CORK_DELAY: Nanos = Nanos(150_000_000);
    for mode in MODES {
        for buffers in [1, 2, 64] {
            let shortest = shortest_request(mode, 1024, buffers);
            assert!(shortest < CORK_DELAY, "{mode:?} {buffers}: {shortest:?}");
        }
    }
}
