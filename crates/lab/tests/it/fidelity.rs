//! PostMark beside the packaged one, in turn: the same settings give the same report, but for what a clock decides.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::lab;
use crate::support::original::{original, suite_output};

/// Settings of one run each, but for its location.
const SETTINGS: [&str; 8] = [
    "",
    "set seed 1",
    "set seed 7\nset number 1000\nset transactions 3000",
    "set seed 2147483647\nset size 100 300\nset number 50\nset transactions 2000",
    "set subdirectories 10",
    "set seed 3\nset bias read 9\nset bias create 2\nset number 300\nset transactions 400",
    "set seed 5\nset bias create -1\nset transactions 300\nset buffering false\nset read 4096\nset write 1000",
    "set size 1 2\nset number 30\nset transactions 500\nset seed 12",
];

/// What stdout has of a run, without what a clock decides: times, and rates in brackets.
fn lines(text: &str) -> Vec<String> {
    let counted = |line: &str| match line.split_once(" seconds") {
        Some((time, rest)) if time.trim().parse::<f64>().is_ok() => format!("SECONDS{rest}"),
        _ => line.to_owned(),
    };
    text.lines().map(|line| counted(line.split('(').next().unwrap_or(line)).trim_end().to_owned()).collect()
}

/// What both print of these settings, original first.
fn printed(scratch: &Path, original: &Path, settings: &str) -> [Vec<String>; 2] {
    let folder = scratch.join("target");
    let script = scratch.join("script");
    fs::create_dir_all(&folder).unwrap();
    fs::write(&script, format!("set location {}\n{settings}\nrun\nquit\n", folder.display())).unwrap();
    let theirs = Command::new(original).arg(&script).output().unwrap();
    assert!(theirs.status.success(), "{theirs:?}");
    let ours = suite_output(&["postmark", script.to_str().unwrap()]);
    [lines(&String::from_utf8_lossy(&theirs.stdout)), lines(&ours)]
}

#[test]
fn the_same_settings_print_the_same_report() {
    let Some(lab) = lab() else { return };
    let Some(original) = original("postmark") else { return };
    for settings in SETTINGS {
        let [theirs, ours] = printed(lab.scratch(), &original, settings);
        // The first line names who prints it.
        assert!(theirs[0].starts_with("PostMark v1.51") && ours[0].starts_with("PostMark v1.51"), "{ours:?}");
        assert_eq!(ours[1..], theirs[1..], "{settings}");
    }
}
