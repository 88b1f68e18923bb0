//! Openings that never become whole: their memory is bounded, and so is their time.

use crate::support::raw::Raw;
use crate::support::{HandClock, Running, eventually, open, options, workload};
use narrows_endpoint::ServeOptions;
use narrows_engines::{Clock, Tick};
use narrows_model::{Layer, Op};
use narrows_wire::hello::Purpose;
use narrows_wire::open::REQUEST_BYTES_MAX;
use std::io::{Read, Write};
use std::sync::Arc;

/// A connection that has sent the length of the largest opening, its kind, and all but its last bytes; `None` where the
/// server did not take so much.
fn half_an_opening(server: &Running) -> Option<Raw> {
    let mut raw = Raw::greet(server.address, Purpose::Data, None).unwrap();
    let length = u32::try_from(REQUEST_BYTES_MAX).unwrap().to_le_bytes();
    let bytes = [&length[..], &[8], &vec![b' '; REQUEST_BYTES_MAX - 64]].concat();
    raw.socket.write_all(&bytes).is_ok().then_some(raw)
}

/// What the server says to the end of the connection; `None` where it is reset.
fn last_words(mut raw: Raw) -> Option<String> {
    let mut said = Vec::new();
    raw.socket.read_to_end(&mut said).ok()?;
    Some(String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn unfinished_openings_take_bounded_memory_and_end_within_seconds() {
    let clock = Arc::new(HandClock::default());
    let hand: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
    let server = Running::start(ServeOptions { memory_bytes_max: 128 << 20, clock: hand, ..options() });
    // Room for 8 MiB: of half an opening twice its 2 MiB is charged.
    let all: Vec<Raw> = (0..8).filter_map(|_| half_an_opening(&server)).collect();
    // An opening of the usual size is granted meanwhile.
    let usual = server.spec(Layer::Memory, workload(Op::Write, 4096, 1));
    eventually("a usual opening is granted", || open(&usual).is_ok());
    clock.wait_until(Tick(6_000_000_000));
    let words: Vec<String> = all.into_iter().filter_map(last_words).collect();
    let count = |part: &str| words.iter().filter(|said| said.contains(part)).count();
    assert!((1..=2).contains(&count("opening the connection took longer than 5 s")), "{words:?}");
    assert_eq!(count("unfinished openings"), words.len() - count("longer than 5 s"), "{words:?}");
    // All is free again.
    drop(half_an_opening(&server));
    open(&usual).unwrap().close().unwrap();
}
