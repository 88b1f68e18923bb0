//! Peers that stop without a word, at any moment: found within seconds, and never a result that looks whole.

use crate::support::running::{Running, Served, children_of, wait_for_phases};
use crate::support::{Seen, Surroundings, run, strangers_folder};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The wait for an answer is 4 s and questions are half a second apart; the rest is a busy machine's.
const FOUND_WITHIN: Duration = Duration::from_secs(10);

/// Runs `words` in `folder`, stops `peer` (and lets it go on in the end) as soon as `pattern` was printed and as many phases
/// of the record have begun; what was seen, found in time.
#[track_caller]
fn stopped_at(folder: &Path, words: &[&str], peer: &Served, pattern: &str, phases: usize) -> Seen {
    let mut running = Running::start(folder, &[words, &["--out", "record"]].concat());
    running.wait_for(pattern);
    if phases > 0 {
        wait_for_phases(&folder.join("record"), &["warm_up", "measure"], phases);
    }
    peer.signal("STOP");
    running.wait_until_all_are_gone(FOUND_WITHIN);
    let seen = running.end();
    peer.signal("CONT");
    seen
}

/// Fails unless the run says that it is incomplete, names the peer, and its record says the same.
#[track_caller]
fn assert_incomplete(folder: &Path, seen: &Seen, peer: &Served) {
    assert_eq!(seen.code, Some(4), "{seen:?}");
    let stderr = seen.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["no answer within", &peer.address, "what was measured is kept", "record: record"] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    assert_reason(&seen.stdout, &peer.address);
    let again = run(folder, &["diagnose", "record"]);
    assert_eq!((again.code, &again.stdout), (Some(4), &seen.stdout), "{again:?}");
}

/// Fails unless a result has the reason on its first screen, and advice that fits it.
#[track_caller]
fn assert_reason(stdout: &str, address: &str) {
    let first = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["INCOMPLETE", "no answer within", address, "mend what ended the run"] {
        assert!(first.contains(words), "{words}: {stdout}");
    }
    assert!(!first.contains("more time"), "{stdout}");
}

const CELLS: [&str; 11] = [
    "--whole-plan",
    "--cell-seconds",
    "0.5",
    "--seconds",
    "300",
    "--op",
    "read",
    "--block",
    "64KiB",
    "--depth",
    "4",
];

#[test]
fn a_server_that_stops_before_anything_was_measured_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(folder.path(), &[]);
    let target = format!("tcp://{}/memory", server.address);
    let words = [&["check", &target][..], &CELLS].concat();
    let seen = stopped_at(folder.path(), &words, &server, "[1/", 0);
    assert!(matches!(seen.code, Some(3 | 4)), "{seen:?}");
    assert!(seen.stderr.contains(&server.address), "{}", seen.stderr);
}

#[test]
fn a_server_that_stops_during_a_cell_ends_the_check_with_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(folder.path(), &[]);
    let target = format!("tcp://{}/memory", server.address);
    let words = [&["check", &target][..], &CELLS].concat();
    let seen = stopped_at(folder.path(), &words, &server, "[3/", 5);
    assert_incomplete(folder.path(), &seen, &server);
}

#[test]
fn a_server_that_stops_in_a_check_that_may_end_sooner_is_the_reason_in_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(folder.path(), &[]);
    let target = format!("tcp://{}/memory", server.address);
    let words = ["check", &target, "--seconds", "60"];
    let seen = stopped_at(folder.path(), &words, &server, "path read", 3);
    assert_incomplete(folder.path(), &seen, &server);
    let json = run(folder.path(), &["diagnose", "record", "--json"]).stdout;
    let summary: serde_json::Value = serde_json::from_str(&json).unwrap();
    let reason = summary["ended_by"].as_str().unwrap();
    assert!(reason.contains(&server.address) && reason.contains("no answer within"), "{reason}");
}

#[test]
fn a_server_that_stops_during_a_cell_of_its_own_ends_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    let server = Served::start(folder.path(), &["--root", root.path().to_str().unwrap()]);
    let target = format!("tcp://{}/disk", server.address);
    let words = [&["check", &target][..], &CELLS].concat();
    let mut running = Running::start(folder.path(), &[&words[..], &["--out", "record"]].concat());
    // The line of a cell is printed when it has ended; the next one at the server runs then.
    running.wait_for("server-storage");
    server.signal("STOP");
    running.wait_until_all_are_gone(FOUND_WITHIN);
    let seen = running.end();
    server.signal("CONT");
    assert_incomplete(folder.path(), &seen, &server);
}

#[test]
fn a_proxy_that_stops_is_named_and_not_the_server_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(folder.path(), &[]);
    let proxy = Served::of("proxy", folder.path(), &["--to", &server.address]);
    let target = format!("tcp://{}/memory?via={}", server.address, proxy.address);
    let words = [&["check", &target][..], &CELLS].concat();
    let seen = stopped_at(folder.path(), &words, &proxy, "[3/", 5);
    assert_incomplete(folder.path(), &seen, &proxy);
}

#[test]
fn a_stopped_role_of_the_buffer_experiment_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(folder.path(), &[]);
    let words = [
        "relay",
        "--server",
        &server.address,
        "--sweep",
        "both",
        "--sizes",
        "32",
        "--bytes",
        "8MiB",
        "--trials",
        "50",
    ];
    let seen = stopped_at(folder.path(), &words, &server, "[1/", 0);
    assert!(matches!(seen.code, Some(3 | 4)), "{seen:?}");
    assert!(seen.stderr.contains("no answer within 4000 ms"), "{}", seen.stderr);
}

#[test]
fn a_stopped_server_of_the_check_itself_is_ended_and_the_record_finished() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let words = [&["check", "target", "--server", "self", "--out", "record"][..], &CELLS].concat();
    let mut running = Running::start(folder.path(), &words);
    running.wait_for("[1/");
    wait_for_phases(&folder.path().join("record"), &["warm_up", "measure"], 3);
    let children = children_of(running.pid());
    assert_eq!(children.len(), 1, "{children:?}");
    let server = children[0].file_name().unwrap().to_str().unwrap().to_owned();
    let sent = Command::new("kill").args(["-STOP", &server]).status().unwrap();
    assert!(sent.success(), "kill -STOP {server}");
    // The endpoint has the same stderr open: it is gone by then too.
    running.wait_until_all_are_gone(FOUND_WITHIN);
    let seen = running.end();
    assert_eq!(seen.code, Some(4), "{seen:?}");
    assert!(seen.stderr.contains("no answer within") && seen.stdout.contains("INCOMPLETE"), "{seen:?}");
    let manifest = fs::read_to_string(folder.path().join("record/manifest.json")).unwrap();
    assert!(manifest.contains("\"complete\": \"failed\""), "{manifest}");
    fs::remove_dir_all(folder.path().join("record")).unwrap();
    before.assert_same(folder.path());
}
