//! What the tests share: starting jobs, and reading what they leave.

use crate::launcher::MpiLauncher;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Longer than any job of these tests lasts, however busy the machine is.
const ENDED_WITHIN: Duration = Duration::from_mins(3);

/// What a finished job left on the terminal.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The launcher with these words, in `folder`.
pub(crate) fn mpirun(folder: &Path, words: &[&str]) -> Command {
    let mut command = launcher().command();
    command
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// That of the library which the binary under test is linked with.
pub(crate) fn launcher() -> MpiLauncher {
    MpiLauncher::from_library()
}

/// The binary under test.
pub(crate) fn narrows_mpi() -> &'static str {
    env!("CARGO_BIN_EXE_narrows-mpi")
}

/// Runs a job of `ranks` ranks of the binary under test to its end.
pub(crate) fn run(folder: &Path, ranks: u32, words: &[&str]) -> Ended {
    run_with(folder, ranks, &[], words)
}

/// The same where rank 0 ends with a code: the launcher kills all others at once, instead of a second later. What another rank
/// would print beside rank 0 may then be lost; `runs::an_error_of_the_command_is_said_once_with_its_exit_code` waits for it.
pub(crate) fn run_refused(folder: &Path, ranks: u32, words: &[&str]) -> Ended {
    run_with(folder, ranks, launcher().kill_at_once(), words)
}

fn run_with(folder: &Path, ranks: u32, launcher: &[&str], words: &[&str]) -> Ended {
    let ranks = ranks.to_string();
    wait(mpirun(folder, &[launcher, &["-np", &ranks, narrows_mpi()], words].concat()))
}

/// Runs `command` to its end, which must come in time.
pub(crate) fn wait(mut command: Command) -> Ended {
    let child = command.spawn().unwrap();
    let pid = child.id();
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiter = std::thread::spawn(move || sender.send(child.wait_with_output()));
    let received = receiver.recv_timeout(ENDED_WITHIN);
    let Ok(output) = received else {
        // Of the launcher alone, which ends its ranks.
        Command::new("kill").arg(pid.to_string()).status().unwrap();
        panic!("a job did not end within {ENDED_WITHIN:?}");
    };
    waiter.join().unwrap().unwrap();
    ended(output.unwrap())
}

fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The events of a record, in their order.
pub(crate) fn events(record: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(record.join("events.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["data"].clone()).collect()
}

/// Those of one kind.
pub(crate) fn events_of(record: &Path, kind: &str) -> Vec<Value> {
    events(record).into_iter().filter(|event| event["event"] == kind).collect()
}

/// A JSON file of a record.
pub(crate) fn json(path: PathBuf) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
