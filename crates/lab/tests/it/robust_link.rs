//! A link that is cut: nothing arrives any more, not even the end of a connection, and both sides find that in seconds.

use std::fs;
use std::time::Duration;

use crate::support::check::{serve, start_check};
use crate::support::lab;
use narrows_lab::clock::monotonic_ns;

/// The wait for an answer is 4 s and questions are half a second apart; the rest is a busy machine's.
const FOUND_WITHIN: Duration = Duration::from_secs(10);

#[test]
fn a_cut_link_ends_the_check_and_the_servers_session_within_seconds() {
    let Some(lab) = lab() else { return };
    let (server, client) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let root = lab.scratch().join("root");
    fs::create_dir(&root).unwrap();
    let served = serve(&lab, &server, Some(&root), |_| {});
    let words = "--whole-plan --seconds 300 --cell-seconds 1 --op read --block 64KiB --depth 4";
    let mut running = start_check(&lab, "cut", served.check_command(&client, "disk"), words);
    running.wait_for_line("server-storage");
    client.cut_link().unwrap();
    let from_ns = monotonic_ns();
    let checked = running.finish();
    let took = Duration::from_nanos(monotonic_ns() - from_ns);
    assert!(took < FOUND_WITHIN, "after {took:?}: {}", checked.stderr);
    assert_eq!(checked.exit_code, 4, "{}", checked.stderr);
    assert!(checked.stderr.contains(&served.address), "{}", checked.stderr);
    assert!(!checked.summary.complete && !checked.summary.cells.is_empty(), "{}", checked.stderr);
    // The server's kernel ends its side of the control connection too, and with it the session and what it stored.
    let is_empty = || fs::read_dir(&root).unwrap().count() == 0;
    let looks = Duration::from_millis(50);
    let ended = (0..200).any(|_| {
        std::thread::park_timeout(looks);
        is_empty()
    });
    assert!(ended, "the session is still there");
}
