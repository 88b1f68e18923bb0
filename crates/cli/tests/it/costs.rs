//! What a command would cost is compared with limits before it begins; beyond them it needs `--yes`.

use crate::support::{Seen, Surroundings, run, strangers_folder};
use std::path::Path;

/// Writes and reads 256 KiB, and reads a dummy file of 2 MiB before each read.
const DISPLACING: &[&str] =
    &["suite", "jovian", "local", "--root", "target", "--flush-bytes", "2MiB", "--bytes", "256KiB"];
const SHORT: &[&str] = &["--trials", "2", "--no-verdict", "--quiet", "--out", "own/record"];

fn displacing(folder: &Path, more: &[&str]) -> Seen {
    std::fs::create_dir_all(folder.join("own")).unwrap();
    run(folder, &[DISPLACING, SHORT, more].concat())
}

#[test]
fn a_run_that_displaces_caches_leaves_all_as_it_is_without_yes() {
    let folder = strangers_folder();
    let before = Surroundings::of(&folder.path().join("target"));
    let seen = displacing(folder.path(), &[]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{seen:?}");
    let message = seen.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("reads dummy files of 4.00 MiB in all"), "{message}");
    assert!(message.contains("--yes") && message.contains("--plan"), "{message}");
    assert!(!folder.path().join("own/record").exists());
    before.assert_same(&folder.path().join("target"));
}

#[test]
fn with_yes_the_same_run_is_made() {
    let folder = strangers_folder();
    let seen = displacing(folder.path(), &["--yes"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(folder.path().join("own/record").exists());
}

#[test]
fn a_plan_states_the_costs_and_needs_no_yes() {
    let folder = strangers_folder();
    let seen = displacing(folder.path(), &["--plan"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let words = seen.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("COSTS") && words.contains("reads dummy files of 4.00 MiB in all"), "{words}");
}

#[test]
fn a_study_longer_than_fifteen_minutes_needs_yes_and_a_shorter_one_does_not() {
    let folder = strangers_folder();
    let study = "target = \"target\"\nseconds = 7200\ncuts = []\n[workload]\nop = \"write\"\nblock = \"4KiB\"\nfile = \"1MiB\"\n";
    std::fs::write(folder.path().join("study.toml"), study).unwrap();
    let long = run(folder.path(), &["run", "study.toml", "--cell-seconds", "300", "--trials", "4"]);
    assert_eq!((long.code, long.stdout.as_str()), (Some(2), ""), "{long:?}");
    assert!(long.stderr.contains("lasts at most"), "{}", long.stderr);
    let short = run(folder.path(), &["run", "study.toml", "--cell-seconds", "0.2", "--quiet"]);
    assert_eq!(short.code, Some(0), "{short:?}");
}

#[test]
fn a_relay_beyond_four_times_the_memory_needs_yes() {
    let folder = strangers_folder();
    let words =
        ["relay", "--sweep", "client", "--sizes", "64KiB", "--bytes", "1TiB", "--trials", "1000", "--quiet"];
    let seen = run(folder.path(), &words);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{seen:?}");
    assert!(seen.stderr.contains("moves") && seen.stderr.contains("--yes"), "{}", seen.stderr);
}
