//! A study of several folders of which one takes no files: its cells are left out with the reason, the others measured.

use crate::support::{Seen, Surroundings, run};
use std::fs;
use std::path::Path;

/// Reads in two folders; `/proc` takes no files from anybody.
const BOTH: &str = r#"
target = ["data", "/proc"]
cuts = []
[workload]
file = "1MiB"
[stop]
warm_up = "0s"
measure = "50ms"
"#;

fn study(folder: &Path, text: &str, words: &[&str]) -> Seen {
    fs::write(folder.join("study.toml"), text).unwrap();
    run(folder, &[&["run", "study.toml", "--seed", "7", "--trials", "1"], words].concat())
}

#[test]
fn the_cells_of_a_folder_that_takes_no_files_are_left_out_and_the_others_measured() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let before = Surroundings::of(&folder.path().join("data"));
    let seen = study(folder.path(), BOTH, &["--out", "record"]);
    seen.assert_said(0, &[]);
    let reported = seen.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        reported.contains("test folder in /proc") && reported.contains("this user may write"),
        "{reported}"
    );
    assert!(seen.stdout.contains("1 cell measured") && seen.stdout.contains("1 left out"), "{}", seen.stdout);
    before.assert_same(&folder.path().join("data"));
}

#[test]
fn where_no_folder_takes_files_nothing_could_be_measured() {
    let folder = tempfile::tempdir().unwrap();
    let seen = study(folder.path(), &BOTH.replace("\"data\", ", ""), &["--out", "record"]);
    seen.assert_said(3, &["give a folder that this user may write to"]);
}
