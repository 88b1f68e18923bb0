//! A test file that is replaced during a run by somebody who may write in the test folder: root, or a program of the same
//! user. Every engine, client processes and suites end the run, and nothing is written to what took its place.

use crate::support::Seen;
use crate::support::running::Running;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

/// What must not change.
static PRECIOUS: [u8; 1 << 16] = [b's'; 1 << 16];

/// What takes the place of a test file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replacement {
    /// A link to a file of somebody else.
    Link,
    /// Another file.
    File,
}

/// The file `data-0` of the run's test folder in `target`, as soon as something was written to it.
#[track_caller]
fn test_file(target: &Path) -> PathBuf {
    let (_open, pause) = channel::<()>();
    for _ in 0..60_000 {
        let entries = fs::read_dir(target).unwrap().map(|entry| entry.unwrap().path().join("data-0"));
        let found = entries.into_iter().find(|path| path.metadata().is_ok_and(|status| status.len() > 0));
        if let Some(path) = found {
            return path;
        }
        let _ = pause.recv_timeout(Duration::from_millis(1));
    }
    panic!("no test file was made in {}", target.display());
}

/// Runs `words`, which load the folder `target`, replaces the first test file by `replacement` while it is prepared, and
/// fails unless that ends the run, which leaves what took its place alone.
#[track_caller]
fn assert_ends(folder: &Path, words: &[&str], replacement: Replacement) {
    let at = |name: &str| folder.join(name);
    fs::create_dir(at("target")).unwrap();
    fs::write(at("precious"), PRECIOUS).unwrap();
    match replacement {
        Replacement::Link => symlink(at("precious"), at("other")).unwrap(),
        Replacement::File => fs::write(at("other"), PRECIOUS).unwrap(),
    }
    let running = Running::start(folder, words);
    let replaced = test_file(&at("target"));
    fs::rename(at("other"), &replaced).unwrap();
    let seen: Seen = running.end();
    let what = format!("{words:?} {replacement:?}");
    assert!(fs::read(at("precious")).unwrap() == PRECIOUS, "{what}: a foreign file changed: {seen:?}");
    assert!(fs::read(&replaced).unwrap() == PRECIOUS, "{what}: what took the place changed: {seen:?}");
    assert_eq!(replaced.is_symlink(), replacement == Replacement::Link, "{what}: it was not touched");
    seen.assert_said(4, &["data-0: it was replaced"]);
    let events = fs::read_to_string(at("record/events.jsonl")).unwrap();
    let failed_count = events.matches("\"cell_failed\"").count();
    assert!(failed_count <= 1, "{what}: no cell is tried afterwards: {seen:?}");
}

/// [`assert_ends`] for a study of many cells of `workload`, with both replacements. Whether the file is replaced during its
/// preparation, as it is on a machine that is not busy, or during a load makes no difference to what is promised.
#[track_caller]
fn assert_study_ends(workload: &str) {
    for replacement in [Replacement::Link, Replacement::File] {
        let folder = tempfile::tempdir().unwrap();
        let study = format!(
            "title = \"replaced\"\ntarget = \"target\"\nseconds = 120\n[workload]\nop = \"write\"\n\
             file = \"64MiB\"\n{workload}\n[stop]\nmeasure = \"2s\"\ntrials = 1\n[sweep]\n\
             block = [\"4KiB\", \"8KiB\", \"16KiB\", \"32KiB\", \"64KiB\", \"128KiB\", \"256KiB\", \"512KiB\"]\n"
        );
        fs::write(folder.path().join("study.toml"), study).unwrap();
        assert_ends(folder.path(), &["run", "study.toml", "--out", "record"], replacement);
    }
}

#[test]
fn a_replaced_file_ends_a_run_through_psync() {
    assert_study_ends("engine = \"psync\"");
}

#[test]
fn a_replaced_file_ends_a_run_through_uring() {
    assert_study_ends("engine = \"uring\"");
}

#[test]
fn a_replaced_file_ends_a_run_through_mmap() {
    assert_study_ends("engine = \"mmap\"");
}

#[test]
fn a_replaced_file_ends_a_run_through_stdio() {
    assert_study_ends("engine = \"stdio\"");
}

#[test]
fn a_replaced_file_ends_a_run_of_client_processes() {
    assert_study_ends("clients = 2");
}

#[test]
fn a_replaced_file_ends_a_suite() {
    for replacement in [Replacement::Link, Replacement::File] {
        let folder = tempfile::tempdir().unwrap();
        let words = "suite ioperf target --count 40000 --passes 3 --no-verdict --out record";
        assert_ends(folder.path(), &words.split(' ').collect::<Vec<_>>(), replacement);
    }
}
