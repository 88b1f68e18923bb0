//! Signals before the load: whatever a command is waiting for by then, it ends at once and leaves nothing.

use crate::support::running::Running;
use crate::support::{Surroundings, strangers_folder};
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Documented: a second for what was made; the rest is a busy machine's. Contacting a server takes 5 s by itself.
const ENDED_WITHIN: Duration = Duration::from_secs(3);

/// Sends SIGTERM to `running` and fails unless it ends soon with exit code 3, says why and leaves `folder` as it was.
#[track_caller]
fn assert_ends(mut running: Running, folder: &Path, before: &Surroundings) {
    running.signal("TERM");
    running.wait_until_all_are_gone(ENDED_WITHIN);
    let seen = running.end();
    seen.assert_said(3, &["SIGTERM", "nothing was measured"]);
    before.assert_same(folder);
}

#[test]
fn a_terminate_ends_a_check_that_waits_for_a_server() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    // It accepts and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let running = Running::start(folder.path(), &["check", "target", "--server", &address]);
    let (connected, _) = silent.accept().unwrap();
    assert_ends(running, folder.path(), &before);
    drop(connected);
}

#[test]
fn a_terminate_ends_a_command_that_waits_for_its_input() {
    let folder = strangers_folder();
    let made = Command::new("mkfifo").arg(folder.path().join("study.toml")).status().unwrap();
    assert!(made.success());
    let before = Surroundings::of(folder.path());
    let running = Running::start(folder.path(), &["run", "study.toml"]);
    // Once the pipe has a writer, its reader has installed its handlers and waits for the first byte.
    let writer = std::fs::OpenOptions::new().write(true).open(folder.path().join("study.toml")).unwrap();
    assert_ends(running, folder.path(), &before);
    drop(writer);
}

/// Looks at what another process makes, a millisecond apart: a minute in all.
const LOOKS: u32 = 60_000;

#[test]
fn a_terminate_while_a_test_folder_is_being_made_leaves_none() {
    if Command::new("strace").arg("-V").output().is_err() {
        drop(writeln!(std::io::stderr(), "skipped: strace is missing"));
        return;
    }
    let folder = strangers_folder();
    // The folder is there, and the process that has made it does not know for two seconds.
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "--signal=none", "-o", "/dev/null", "-e", "trace=mkdirat"]);
    traced.args(["-e", "inject=mkdirat:delay_exit=2000000", env!("CARGO_BIN_EXE_narrows")]);
    traced.args(["check", "target", "--cell-seconds", "0.2", "--seconds", "600", "--yes", "--out", "record"]);
    let running = Running::start_command({
        traced.current_dir(folder.path());
        traced
    });
    let is_made = || {
        let names = std::fs::read_dir(folder.path().join("target")).unwrap();
        names
            .map(|entry| entry.unwrap().file_name())
            .any(|name| name.to_string_lossy().starts_with(".narrows-") && name != ".narrows-unmarked")
    };
    let seen = (0..LOOKS).any(|_| {
        std::thread::park_timeout(Duration::from_millis(1));
        is_made()
    });
    assert!(seen, "no test folder is made");
    let tracer = running.pid();
    let children = std::fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children")).unwrap();
    let sent = Command::new("kill").args(["-TERM", children.trim()]).status().unwrap();
    assert!(sent.success(), "{children}");
    let seen = running.end();
    // A signal that a very busy machine delivers late stops the load.
    assert!(matches!(seen.code, Some(3 | 4)), "{seen:?}");
    seen.assert_orderly();
    assert!(!is_made(), "a test folder is left: {seen:?}");
}
