//! What tests of the binary share: running it, looking at what surrounds it, and a small record.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) mod record;
pub(crate) mod remote_shell;
pub(crate) mod running;
pub(crate) mod suites;
pub(crate) mod web;

/// Longer than any refusal takes, however busy the machine is.
const REFUSED_WITHIN: Duration = Duration::from_mins(1);

/// What a finished command left on the terminal.
pub(crate) struct Seen {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The binary under test, in `folder`, without input.
pub(crate) fn narrows(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.args(words).current_dir(folder).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
    command
}

/// Runs the binary to its end.
pub(crate) fn run(folder: &Path, words: &[&str]) -> Seen {
    let mut command = assert_cmd::Command::from_std(narrows(folder, words));
    let output = command.timeout(REFUSED_WITHIN).output().unwrap();
    Seen {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Most characters of stdout that a failing test shows.
const SHOWN_CHARS: usize = 300;

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stdout: String = self.stdout.chars().take(SHOWN_CHARS).collect();
        write!(f, "exit {:?}\nstdout: {stdout}\nstderr: {}", self.code, self.stderr)
    }
}

impl Seen {
    /// Fails unless it ended with `code` and said all of `words` on stderr, in a message and not in a panic.
    #[track_caller]
    pub(crate) fn assert_said(&self, code: i32, words: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not said: {}", self.stderr);
        }
        self.assert_orderly()
    }

    /// Fails if a panic or a debug form reached the user, or stdout is neither empty nor results.
    #[track_caller]
    pub(crate) fn assert_orderly(&self) -> &Self {
        for mark in ["panicked", "RUST_BACKTRACE", "unwrap()", "Os {", "EngineError {"] {
            assert!(!self.stderr.contains(mark) && !self.stdout.contains(mark), "{self:?}");
        }
        self
    }

    /// Fails unless nothing was written to stdout but, with `--json`, why the command failed, with its exit code.
    #[track_caller]
    pub(crate) fn assert_no_result(&self) -> &Self {
        if self.stdout.is_empty() {
            return self;
        }
        let document: Value = serde_json::from_str(&self.stdout).unwrap();
        assert_eq!(document["error"]["code"].as_i64(), self.code.map(i64::from), "{}", self.stdout);
        assert!(self.stderr.contains(document["error"]["message"].as_str().unwrap()), "{self:?}");
        self
    }
}

/// Everything below a folder: names, kinds, rights, times of files and contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Surroundings {
    entries: BTreeMap<PathBuf, (u32, i64, Vec<u8>)>,
}

impl Surroundings {
    /// All below `folder` now.
    pub(crate) fn of(folder: &Path) -> Self {
        let mut entries = BTreeMap::new();
        collect(folder, &mut entries);
        Self { entries }
    }

    /// Fails unless all below `folder` is as it was.
    #[track_caller]
    pub(crate) fn assert_same(&self, folder: &Path) {
        let now = Self::of(folder);
        let names = |all: &Self| all.entries.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(self), names(&now), "files came or went");
        assert!(*self == now, "the content, time or rights of a file changed");
    }
}

fn collect(folder: &Path, entries: &mut BTreeMap<PathBuf, (u32, i64, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let status = fs::symlink_metadata(&path).unwrap();
        let mode = status.permissions().mode();
        if status.is_dir() {
            collect(&path, entries);
            entries.insert(path, (mode, 0, Vec::new()));
        } else if status.is_file() {
            let content = fs::read(&path).unwrap_or_default();
            entries.insert(path, (mode, status.mtime_nsec(), content));
        } else {
            entries.insert(path, (mode, 0, Vec::new()));
        }
    }
}

/// A folder with a stranger's files in it, some under names that narrows uses itself.
pub(crate) fn strangers_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("precious.txt"), "not narrows' file").unwrap();
    fs::create_dir(at("target")).unwrap();
    fs::write(at("target/data-0"), vec![7; 100_000]).unwrap();
    fs::write(at("target/mount-proof"), "mine").unwrap();
    fs::create_dir(at("target/.narrows-unmarked")).unwrap();
    fs::write(at("target/.narrows-unmarked/keep"), "mine").unwrap();
    folder
}

/// A child that is killed when the test ends, however it ends.
#[derive(Debug)]
pub(crate) struct Guarded(pub(crate) Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
