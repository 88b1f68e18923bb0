//! Client processes that die or stop answering: their cell fails, the others are ended, the run continues and ends in
//! time.

use crate::support::run;
use crate::support::running::{Running, TWO_CELLS_OF_TWO_CLIENTS, wait_for_phases};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn start(folder: &Path, text: &str) -> Running {
    fs::write(folder.join("study.toml"), text).unwrap();
    Running::start(folder, &["run", "study.toml", "--out", "record", "--seed", "7", "--trials", "1"])
}

/// The client processes of `parent` that live and are not among `known`, once there are two.
fn clients(parent: u32, known: &[u32]) -> Vec<u32> {
    let (_open, pause) = std::sync::mpsc::channel::<()>();
    for _ in 0..2000 {
        let found = children(parent);
        if found.len() == 2 && !found.iter().any(|pid| known.contains(pid)) {
            return found;
        }
        let _ = pause.recv_timeout(Duration::from_millis(5));
    }
    panic!("two clients of {parent} were not seen, but {:?}", children(parent));
}

fn children(parent: u32) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent_of_client(*pid) == Some(parent)).collect()
}

/// The parent of `pid` where that is a client process.
fn parent_of_client(pid: u32) -> Option<u32> {
    let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let lives = fields.next()? != "Z";
    (lives && command.contains("__client")).then(|| fields.next()?.parse().ok())?
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().unwrap();
    assert!(sent.success(), "kill -{name} {pid}");
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("record/summary.json")).unwrap()).unwrap()
}

/// Cells that failed and cells with figures.
fn counts(folder: &Path) -> (usize, usize) {
    let reported = summary(folder);
    let count = |key: &str| reported[key].as_array().unwrap().len();
    (count("failed"), count("cells"))
}

#[test]
fn a_client_that_is_killed_fails_its_cell_and_the_next_has_fresh_clients() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = start(folder.path(), TWO_CELLS_OF_TWO_CLIENTS);
    let first = clients(running.pid(), &[]);
    wait_for_phases(&folder.path().join("record"), &["measure"], 1);
    signal(first[0], "KILL");
    let said = running.wait_for("FAILED");
    assert!(said.contains(" of 2 ended (killed by signal 9)") && said.contains("dmesg"), "{said}");
    let second = clients(running.pid(), &first);
    assert!(children(running.pid()).iter().all(|pid| second.contains(pid)), "the other client was ended");
    let seen = running.end();
    seen.assert_said(4, &["record: record"]);
    assert!(seen.stdout.starts_with("FAILED: 1 cell could not be measured"), "{}", seen.stdout);
    assert_eq!(counts(folder.path()).0, 1);
    let again = run(folder.path(), &["diagnose", "record"]);
    assert_eq!((again.code, &again.stdout), (Some(4), &seen.stdout), "{again:?}");
}

#[test]
fn a_client_that_is_killed_before_the_load_fails_its_cell() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = start(folder.path(), TWO_CELLS_OF_TWO_CLIENTS);
    // One alone: once it is lost, the run ends the other, and there is none to signal.
    signal(clients(running.pid(), &[])[0], "KILL");
    let said = running.wait_for("FAILED");
    assert!(said.contains("ended (killed by signal 9)") || said.contains("did not take"), "{said}");
    running.end().assert_said(4, &["record: record"]);
}

#[test]
fn a_client_that_stops_answering_fails_its_cell_and_the_run_ends_in_bounded_time() {
    let folder = tempfile::tempdir().unwrap();
    let text = TWO_CELLS_OF_TWO_CLIENTS.replace(", \"8KiB\"", "").replace("\"4s\"", "\"1s\"");
    let mut running = start(folder.path(), &text);
    let first = clients(running.pid(), &[]);
    wait_for_phases(&folder.path().join("record"), &["measure"], 1);
    signal(first[1], "STOP");
    let said = running.wait_for("FAILED");
    assert!(said.contains(" of 2 does not answer: no message from it for 10 s"), "{said}");
    let seen = running.end();
    assert!(matches!(seen.code, Some(3 | 4)), "{seen:?}");
    assert_eq!(counts(folder.path()).0, 1);
}

#[test]
fn an_interrupt_ends_a_run_whose_client_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = start(folder.path(), TWO_CELLS_OF_TWO_CLIENTS);
    let first = clients(running.pid(), &[]);
    wait_for_phases(&folder.path().join("record"), &["measure"], 1);
    signal(first[1], "STOP");
    running.signal("INT");
    running.wait_for("stopping after this cell");
    running.signal("INT");
    running.wait_for("stopping now");
    let seen = running.end();
    seen.assert_said(seen.code.unwrap(), &["did not end within 5 s of the request to stop"]);
    assert!(matches!(seen.code, Some(3 | 4)), "{seen:?}");
}
