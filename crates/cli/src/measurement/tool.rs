//! Programs of the system that say what the kernel does not: started, waited for within a bound, and read.

use narrows_sys::process::{StopSignal, die_with_parent, stop_child, wait_within};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longest wait for its end after SIGKILL, which a device that answers nothing delays.
const KILLED_WITHIN: Duration = Duration::from_secs(2);
/// More than any of them prints; a pipe has room for it.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// How a program ended: its exit code, where no signal ended it, and what it printed.
pub(super) struct ToolAnswer {
    pub(super) code: Option<i32>,
    pub(super) text: String,
    /// What it complained of.
    pub(super) complaint: String,
}

/// Why there is no answer.
pub(super) enum ToolFailure {
    /// There is no such program here.
    Missing,
    /// What happened.
    Failed(String),
}

/// Runs `program` with `arguments`, for at most `within`.
pub(super) fn run(program: &str, arguments: &[&OsStr], within: Duration) -> Result<ToolAnswer, ToolFailure> {
    let failed = |what: String| Err(ToolFailure::Failed(format!("{program}: {what}")));
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", search_path()).env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    die_with_parent(&mut command);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(ToolFailure::Missing),
        Err(error) => return failed(error.to_string()),
    };
    let Ok(Some(status)) = wait_within(&mut child, within) else {
        // One that the device blocks ends when the device answers.
        drop(stop_child(&mut child, StopSignal::Kill));
        drop(wait_within(&mut child, KILLED_WITHIN));
        return failed(format!("it did not end within {} s", within.as_secs()));
    };
    let text = child.stdout.take().map_or_else(|| Ok(String::new()), read_all);
    let complaint = child.stderr.take().map_or_else(|| Ok(String::new()), read_all);
    match (text, complaint) {
        (Ok(text), Ok(complaint)) => Ok(ToolAnswer { code: status.code(), text, complaint }),
        (Err(error), _) | (_, Err(error)) => failed(error.to_string()),
    }
}

/// What a program that has ended printed.
fn read_all(pipe: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    pipe.take(ANSWER_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// Users other than root often do not search where they are.
fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    if !path.is_empty() {
        path.push(":");
    }
    path.push("/usr/sbin:/sbin");
    path
}
