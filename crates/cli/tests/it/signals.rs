//! Signals: one Ctrl-C ends the present cell, two or SIGTERM end at once, a kill leaves what the next check names.

use crate::support::running::{
    Running, children_of, ends_within, full_pipe, wait_for_phases, wait_until_finished,
};
use crate::support::{Guarded, Seen, Surroundings, narrows, run, strangers_folder};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How soon an endpoint must be gone once its check was killed.
const CHILD_GONE_WITHIN: Duration = Duration::from_secs(2);

/// A check of `target` whose cells last as long as `cell_seconds` says, into `record`.
fn check(folder: &Path, cell_seconds: &str, more: &[&str]) -> Running {
    Running::start_command(check_command(folder, cell_seconds, more))
}

fn check_command(folder: &Path, cell_seconds: &str, more: &[&str]) -> Command {
    let words = [
        "check",
        "target",
        "--whole-plan",
        "--out",
        "record",
        "--op",
        "read",
        "--block",
        "4KiB",
        "--depth",
        "1",
    ];
    let times = ["--cell-seconds", cell_seconds, "--seconds", "600", "--seed", "7"];
    narrows(folder, &[&words[..], &times, more].concat())
}

/// Test folders of narrows in `target`; a stranger's has no marker.
fn test_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("target")).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.join("made-by-narrows").exists()).collect()
}

/// Fails unless the run ended with a verdict, a readable record and nothing else left.
#[track_caller]
fn assert_valid_partial(seen: &Seen, folder: &Path, before: &Surroundings) {
    seen.assert_said(4, &["record: record"]);
    assert!(seen.stdout.starts_with("INCOMPLETE"), "{}", seen.stdout);
    let again = run(folder, &["diagnose", "record"]);
    assert_eq!((again.code, &again.stdout), (Some(4), &seen.stdout), "{again:?}");
    assert_eq!(again.stderr, "", "the record is whole");
    fs::remove_dir_all(folder.join("record")).unwrap();
    before.assert_same(folder);
}

#[test]
fn one_interrupt_finishes_the_cell_and_gives_the_verdict() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let mut running = check(folder.path(), "1", &[]);
    running.wait_for("[1/");
    // Between two cells an interrupt would find no cell to finish.
    wait_for_phases(&folder.path().join("record"), &["prepare"], 2);
    running.signal("INT");
    running.wait_for("stopping after this cell");
    // The cell that was running is whole.
    running.wait_for("[2/");
    assert_valid_partial(&running.end(), folder.path(), &before);
}

#[test]
fn a_second_interrupt_stops_a_cell_that_would_last_for_minutes() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let mut running = check(folder.path(), "100", &["--json"]);
    // A signal before the first cell finds none to stop after.
    wait_for_phases(&folder.path().join("record"), &["warm_up", "measure"], 1);
    running.signal("INT");
    running.wait_for("stopping after this cell");
    running.signal("INT");
    running.wait_for("stopping now");
    let seen = running.end();
    // Nothing was measured: that is said, and the JSON is whole nevertheless.
    assert!(matches!(seen.code, Some(3 | 4)), "{seen:?}");
    serde_json::from_str::<serde_json::Value>(&seen.stdout).unwrap();
    assert_eq!(run(folder.path(), &["diagnose", "record"]).code, seen.code);
    fs::remove_dir_all(folder.path().join("record")).unwrap();
    before.assert_same(folder.path());
}

#[test]
fn a_terminate_stops_at_once_and_keeps_the_cells_before() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let mut running = check(folder.path(), "1", &[]);
    running.wait_for("[1/");
    running.signal("TERM");
    running.wait_for("stopping now");
    assert_valid_partial(&running.end(), folder.path(), &before);
}

#[test]
fn a_check_with_a_server_of_its_own_ends_it_when_it_is_asked_to_stop() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let mut running = check(folder.path(), "1", &["--server", "self"]);
    running.wait_for("[1/");
    running.signal("TERM");
    assert_valid_partial(&running.end(), folder.path(), &before);
}

#[test]
fn a_terminate_after_an_interrupt_is_noticed_while_nobody_reads_stderr() {
    let folder = strangers_folder();
    let study = "title = \"signals\"\ntarget = \"target\"\nseconds = 120\n[workload]\nfile = \"1MiB\"\n\
                 [stop]\nmeasure = \"60s\"\ntrials = 1\n";
    fs::write(folder.path().join("study.toml"), study).unwrap();
    let before = Surroundings::of(folder.path());
    let (reader, writer) = full_pipe();
    let mut command = narrows(folder.path(), &["run", "study.toml", "--out", "record", "--quiet"]);
    command.stdout(Stdio::null()).stderr(writer);
    let mut child = Guarded(command.spawn().unwrap());
    // The command has the other writer.
    drop(command);
    // The first cell, of the generator alone, is short.
    wait_for_phases(&folder.path().join("record"), &["warm_up", "measure"], 3);
    let pid = child.0.id().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    signal("-INT");
    assert!(!ends_within(&mut child.0, Duration::from_millis(500)), "its cell lasts longer");
    signal("-TERM");
    wait_until_finished(&folder.path().join("record"));
    drop(reader);
    assert!(ends_within(&mut child.0, Duration::from_secs(20)), "it does not end");
    fs::remove_dir_all(folder.path().join("record")).unwrap();
    before.assert_same(folder.path());
}

#[test]
fn a_second_terminate_ends_a_check_while_nobody_reads_its_result() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let (reader, writer) = full_pipe();
    let mut running = Running::start_into(check_command(folder.path(), "1", &[]), writer.into());
    running.wait_for("[1/");
    running.signal("TERM");
    running.wait_for("stopping now");
    wait_until_finished(&folder.path().join("record"));
    // The result is printed next. A signal that comes before that is only a second request to stop.
    let is_ended = (0..50).any(|_| {
        running.signal("TERM");
        running.ends_within(Duration::from_millis(200))
    });
    assert!(is_ended, "it waits for its reader");
    let seen = running.end();
    seen.assert_said(4, &["while the output waited for its reader", "in the record record"]);
    drop(reader);
    fs::remove_dir_all(folder.path().join("record")).unwrap();
    before.assert_same(folder.path());
}

#[test]
fn a_check_that_fails_leaves_no_test_folder() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    run(folder.path(), &["check", "target", "--out", "precious.txt"]).assert_said(2, &["precious.txt"]);
    run(folder.path(), &["check", "target", "--cell-seconds", "0.01"]).assert_said(2, &["--cell-seconds"]);
    before.assert_same(folder.path());
}

#[test]
fn the_next_check_names_what_a_killed_one_left_and_how_to_remove_it() {
    let folder = strangers_folder();
    let mut running = check(folder.path(), "1", &[]);
    running.wait_for("[1/");
    let left = test_folders(folder.path());
    assert_eq!(left.len(), 1, "{left:?}");
    let name = left[0].file_name().unwrap().to_str().unwrap().to_owned();
    let while_it_runs = run(folder.path(), &["check", "target", "--plan"]);
    assert!(!while_it_runs.stderr.contains(&name), "its owner lives: {}", while_it_runs.stderr);
    running.signal("KILL");
    running.wait_until_all_are_gone(CHILD_GONE_WITHIN);
    drop(running);
    let next = run(folder.path(), &["check", "target", "--plan"]);
    next.assert_said(0, &["left its test folder target/", &name, "narrows clean target --remove"]);
    assert!(!next.stderr.contains("unmarked"), "a stranger's folder is not narrows': {}", next.stderr);
    assert!(left[0].exists(), "it is named, not removed");
    let kept = run(folder.path(), &["diagnose", "record"]);
    assert_eq!(kept.code, Some(4), "{kept:?}");
}

#[test]
fn an_endpoint_does_not_outlive_the_check_that_started_it() {
    let folder = strangers_folder();
    let mut running = check(folder.path(), "1", &["--server", "self"]);
    running.wait_for("[1/");
    running.signal("KILL");
    // The endpoint has the same stderr open: its end is the end of all processes.
    running.wait_until_all_are_gone(CHILD_GONE_WITHIN);
}

/// SIGHUP, SIGINT and SIGTERM in the masks of `/proc/PID/status`.
const ENDING_SIGNALS: u64 = 1 | 1 << 1 | 1 << 14;

/// The mask `key` of the process or thread at `folder` of `/proc`.
fn mask(folder: &Path, key: &str) -> u64 {
    let status = fs::read_to_string(folder.join("status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap()
}

#[test]
fn one_thread_receives_signals_and_children_start_with_none_blocked() {
    let folder = strangers_folder();
    let study = "title = \"signals\"\ntarget = \"target\"\nseconds = 120\n[workload]\nclients = 2\n\
                 file = \"1MiB\"\n[stop]\nmeasure = \"60s\"\ntrials = 1\n";
    fs::write(folder.path().join("study.toml"), study).unwrap();
    let running = Running::start(folder.path(), &["run", "study.toml", "--out", "record"]);
    // By then the clients have said that they are ready.
    wait_for_phases(&folder.path().join("record"), &["warm_up", "measure"], 1);
    let process = PathBuf::from(format!("/proc/{}", running.pid()));
    let threads: Vec<PathBuf> =
        fs::read_dir(process.join("task")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let receives = |thread: &&PathBuf| mask(thread, "SigBlk:") & ENDING_SIGNALS == 0;
    assert_eq!(threads.iter().filter(receives).count(), 1, "of {} threads", threads.len());
    let children = children_of(running.pid());
    assert_eq!(children.len(), 2, "{children:?}");
    for child in &children {
        assert_eq!(mask(child, "SigBlk:"), 0, "{}", child.display());
        assert_eq!(mask(child, "SigIgn:") & ENDING_SIGNALS, 0, "{}", child.display());
    }
    running.signal("TERM");
    let seen = running.end();
    assert!(matches!(seen.code, Some(3 | 4)), "{seen:?}");
}
