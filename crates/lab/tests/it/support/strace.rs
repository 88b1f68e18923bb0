//! A suite under strace: what it prints, and the system calls of each of its threads.
//!
//! It does not interpret the calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use narrows_lab::narrows_bin;

/// The call that the C library makes first in every thread. It gives a thread its place in time even where the first of
/// the calls asked for is late.
const FIRST_CALL: &str = "set_robust_list";

/// A system call as strace prints it.
#[derive(Debug)]
pub(crate) struct TracedCall {
    /// Seconds since 1970 with six decimals: of one width, so that texts are in the order of times.
    pub(crate) at_s: String,
    /// Name, arguments and return value: `read(3</data-0>, ""..., 4096) = 4096`.
    pub(crate) text: String,
}

/// A run of a suite under strace.
#[derive(Debug)]
pub(crate) struct TracedRun {
    /// Standard output of the suite.
    pub(crate) stdout: String,
    /// The calls of each thread in their order; threads in the order of their start.
    pub(crate) threads: Vec<Vec<TracedCall>>,
}

/// Runs `narrows suite WORDS` under strace without cuts and verdict, with its record in `scratch`.
///
/// `calls` are the names of the system calls to trace, separated by commas.
///
/// # Panics
///
/// If the suite fails, or strace prints a line without a time.
pub(crate) fn traced_suite(scratch: &Path, calls: &str, words: &[&str]) -> TracedRun {
    let mut command = Command::new("strace");
    command.args(["-ff", "-y", "-ttt", "-s", "0", "--seccomp-bpf", "-e", "signal=none"]);
    command.args(["-e", &format!("trace={FIRST_CALL},{calls}")]);
    command.arg("-o").arg(scratch.join("trace")).arg(narrows_bin().unwrap());
    command.arg("suite").args(words).args(["--no-verdict", "--quiet", "--out"]).arg(scratch.join("record"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let entries = fs::read_dir(scratch).unwrap().map(|entry| entry.unwrap().path());
    let is_trace = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("trace.");
    let mut threads: Vec<Vec<TracedCall>> = entries.filter(is_trace).map(|path| calls_in(&path)).collect();
    // Thread ids do not give the order: they start again from the lowest once the highest was given out.
    threads.retain(|calls| !calls.is_empty());
    threads.sort_by(|one, other| one[0].at_s.cmp(&other[0].at_s));
    TracedRun { stdout: String::from_utf8(output.stdout).unwrap(), threads }
}

/// The lines of one thread's trace, which `-ttt` has made.
pub(crate) fn calls_in(trace: &Path) -> Vec<TracedCall> {
    let text = fs::read(trace).unwrap();
    let text = String::from_utf8_lossy(&text);
    let call = |line: &str| {
        let (at_s, text) = line.split_once(' ').unwrap_or_else(|| panic!("no time: {line:?}"));
        TracedCall { at_s: at_s.to_owned(), text: text.to_owned() }
    };
    text.lines().map(call).collect()
}
