//! `narrows suite mdtest` on this machine: its table, its record, what it leaves; ranks in one folder, shifted ranks, items that
//! are made untimed; and mistakes in what is asked of it.

use crate::support::suites::Mistakes;
use crate::support::{Seen, Surroundings, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Without cuts: no test proves our own speed.
const BARE: &str = "--no-verdict --quiet --out record";

fn suite(folder: &Path, words: &str) -> Seen {
    let words: Vec<&str> = ["suite", "mdtest"].into_iter().chain(words.split_whitespace()).collect();
    run(folder, &words)
}

/// What was printed on stderr, without its line breaks.
fn remarks(seen: &Seen) -> String {
    seen.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The phases of a record in `folder`, each with the operations and the bytes of its clients.
fn phases(folder: &Path) -> Vec<(String, Vec<u64>, Vec<u64>)> {
    let text = fs::read_to_string(folder.join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let of_cell = |cell: &Value| {
        assert!(cell["errors"].as_array().unwrap().is_empty(), "{cell}");
        let clients = cell["per_client"].as_array().unwrap();
        let each = |key: &str| clients.iter().map(|client| client[key].as_u64().unwrap()).collect();
        (cell["phase"].as_str().unwrap().to_owned(), each("ops"), each("bytes"))
    };
    summary["cells"].as_array().unwrap().iter().map(of_cell).collect()
}

/// The lines of the table with their four figures.
fn table(text: &str) -> Vec<(String, Vec<f64>)> {
    let rows = text.lines().skip_while(|line| !line.starts_with("   ---------")).skip(1);
    rows.take_while(|line| line.starts_with("   "))
        .map(|line| {
            let (title, figures) = line.split_at(22);
            let figures = figures.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
            (title.trim().to_owned(), figures)
        })
        .collect()
}

const TITLES: [&str; 7] = [
    "Directory creation",
    "Directory stat",
    "Directory removal",
    "File creation",
    "File stat",
    "File read",
    "File removal",
];

#[test]
fn all_phases_of_ranks_in_one_folder_leave_nothing_and_are_reported_again_from_the_record() {
    let folder = strangers_folder();
    fs::create_dir(folder.path().join("own")).unwrap();
    let before = Surroundings::of(&folder.path().join("target"));
    let seen = suite(
        folder.path(),
        "-d target -n 40 -w 100 -e 60 -i 2 --clients 3 --print-all-procs --no-verdict --quiet --out own/record",
    );
    assert_eq!(seen.code, Some(0), "{seen:?}");
    before.assert_same(&folder.path().join("target"));
    let rows = table(&seen.stdout);
    assert_eq!(rows.iter().map(|(title, _)| title.as_str()).collect::<Vec<_>>(), TITLES, "{}", seen.stdout);
    for (title, figures) in &rows {
        let [max, min, mean, deviation] = figures.as_slice() else { panic!("{title}: {figures:?}") };
        assert!(*min > 0.0 && min <= mean && mean <= max && *deviation >= 0.0, "{title}: {figures:?}");
    }
    for words in [
        "mdtest-4.1.0 by narrows was launched with 3 total task(s) on 1 node(s)\n",
        "Nodemap: 111\n",
        "3 tasks, 120 files/directories\n",
        "SUMMARY rate (in ops/sec): (of 2 iterations)\n",
        "iteration: 1\nTest Directory creation ",
    ] {
        assert!(seen.stdout.contains(words), "{words}: {}", seen.stdout);
    }
    // A rate of each of three ranks, in each of two iterations.
    let ranks: Vec<&str> = seen.stdout.lines().filter(|line| line.starts_with("Test File read ")).collect();
    assert!(ranks.len() == 2 && ranks.iter().all(|line| line.matches(',').count() == 2), "{}", seen.stdout);
    for words in ["under 1 s", "each rank visits what it has created itself", "Jain's index", "File read p50"]
    {
        assert!(remarks(&seen).contains(words), "{words}: {}", seen.stderr);
    }
    fs::write(folder.path().join("own/out"), &seen.stdout).unwrap();
    let imported = run(folder.path(), &["import", "mdtest", "own/out"]);
    assert_eq!(
        (imported.code, imported.stdout.matches("[[observation]]").count()),
        (Some(0), 7),
        "{imported:?}"
    );
    let again = run(folder.path(), &["diagnose", "own/record"]);
    assert!(again.stdout.starts_with(&seen.stdout), "{}", again.stdout);
}

#[test]
fn every_phase_visits_each_item_of_each_rank_once_however_ranks_are_shifted() {
    for more in ["", "-u", "-N 1", "-u -N 2 -R", "-Y -y --random-seed 3"] {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let seen = suite(folder.path(), &format!("-n 30 -w 100 -e 60 --clients 3 {more} {BARE}"));
        assert_eq!(seen.code, Some(0), "{more}: {seen:?}");
        let expected = [
            ("dir_create", 0),
            ("dir_stat", 0),
            ("dir_remove", 0),
            ("file_create", 100),
            ("file_stat", 0),
            ("file_read", 60),
            ("file_remove", 0),
        ];
        let expected = expected.map(|(phase, each)| (phase.to_owned(), vec![30; 3], vec![30 * each; 3]));
        assert_eq!(phases(folder.path()), expected, "{more}");
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["record"], "{more}");
    }
}

#[test]
fn items_that_no_phase_creates_are_made_untimed_and_removed_at_the_end() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for (words, expected) in [
        ("-F -T", vec!["file_stat"]),
        ("-T -r -N 1", vec!["dir_stat", "dir_remove", "file_stat", "file_remove"]),
        ("-D -r -u", vec!["dir_remove"]),
        ("-C", vec!["dir_create", "file_create"]),
    ] {
        let seen = suite(folder.path(), &format!("-n 20 -w 10 --clients 2 -i 2 {words} {BARE}"));
        assert_eq!(seen.code, Some(0), "{words}: {seen:?}");
        let found = phases(folder.path());
        assert!(found.iter().all(|(_, ops, _)| ops == &[20, 20]), "{words}: {found:?}");
        let names: Vec<&str> = found.iter().map(|(phase, ..)| phase.as_str()).collect();
        assert_eq!(names, [expected.clone(), expected].concat(), "{words}");
        assert_eq!(
            remarks(&seen).contains("made before, untimed"),
            words != "-C",
            "{words}: {}",
            seen.stderr
        );
        fs::remove_dir_all(folder.path().join("record")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{words}: nothing is left");
    }
}

/// Which segment limits so short phases, if any, depends on the machine: that they are diagnosed does not.
#[test]
fn the_cuts_of_the_path_are_measured_beside_the_phases_and_every_phase_is_diagnosed() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let words = "-n 100 -w 4k -e 4k --clients 2 --cell-seconds 0.1 --server self --quiet --out record";
    let seen = suite(folder.path(), words);
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    assert_eq!(table(&seen.stdout).len(), 7, "{}", seen.stdout);
    for words in ["Making files (2 at a time)", "Stat of files (2 at a time)", "Deleting files (2 at a time)"]
    {
        assert!(remarks(&seen).contains(words), "{words}: {}", seen.stderr);
    }
    let text = fs::read_to_string(folder.path().join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let is_of_path = |cell: &&Value| cell["cut"] == "path";
    let cells = summary["cells"].as_array().unwrap();
    let of_path = cells.iter().filter(is_of_path).count();
    assert!(of_path == 7 && cells.len() > 7, "{of_path} of {}", cells.len());
    let whole = run(folder.path(), &["diagnose", "record", "--detail"]);
    assert!(whole.stdout.contains("server.cpu"), "{}", whole.stdout);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["record"]);
}

#[test]
fn what_cannot_be_done_is_refused_by_the_letter_with_what_to_do() {
    let mistakes = Mistakes::of("mdtest");
    mistakes.refused("-W 60 -S", &["-W: found 60; allowed: 0", "-S: found it; allowed: nothing", "mpiio"]);
    mistakes.refused("-n 0", &["-n: found 0; allowed: 1 to 4194304"]);
    mistakes.refused("-D -E", &["-E: found -E with -D: nothing to do"]);
    mistakes.refused("-w 10 -e 20", &["-e: found 20 bytes of files that have 10", "give -w 20"]);
    mistakes.refused("-y", &["-y: found files without bytes"]);
    mistakes.refused("-N 1", &["-N: found 1 with 1 rank", "--clients or mpirun"]);
    mistakes.refused("-d file", &["is a file"]);
    mistakes.refused("-w x", &["-w"]);
}
