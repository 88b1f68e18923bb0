//! `narrows compare`: two sides of one or more records, and what cannot be compared.

use crate::support::{Seen, Surroundings, record, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

const STEADY: [u64; 4] = [1000, 1004, 996, 1001];
const SLOWER: [u64; 4] = [800, 803, 797, 801];

/// The records `a` and `b` in a new folder.
fn two(a: &[u64], b: &[u64]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    record::write_repeated(&folder.path().join("a"), "aaaa", a);
    record::write_repeated(&folder.path().join("b"), "bbbb", b);
    folder
}

/// The folders of records `a` and `b` in a new folder, measured in turn, a run for each number.
fn two_sides(a: &[u64], b: &[u64]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    record::write_runs(&folder.path().join("a"), 10, a);
    record::write_runs(&folder.path().join("b"), 11, b);
    folder
}

/// Compares `a` and `b` with these words more; both records stay as they are.
#[track_caller]
fn compared(folder: &Path, words: &[&str]) -> Seen {
    let before = Surroundings::of(folder);
    let seen = run(folder, &[&["compare", "a", "b"], words].concat());
    before.assert_same(folder);
    seen.assert_orderly();
    seen
}

fn json(seen: &Seen) -> Value {
    serde_json::from_str(&seen.stdout).unwrap()
}

#[test]
fn slower_runs_are_worse_and_the_other_way_round_better() {
    let folder = two_sides(&STEADY, &SLOWER);
    let seen = compared(folder.path(), &[]);
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""), "{seen:?}");
    assert!(seen.stdout.starts_with("B is worse than A in 3 of 3 loads."), "{seen:?}");
    let back = run(folder.path(), &["compare", "b", "a"]);
    assert!(back.stdout.starts_with("B is better than A in 3 of 3 loads."), "{back:?}");
}

#[test]
fn the_document_has_its_schema_and_every_pair_with_its_ratio() {
    let folder = two_sides(&STEADY, &SLOWER);
    let seen = compared(folder.path(), &["--json"]);
    let found = json(&seen);
    assert_eq!((&found["schema"], &found["verdict"]), (&"narrows.comparison/1".into(), &"worse".into()));
    assert_eq!(found["counts"]["worse_count"], 3);
    let cells = found["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 3);
    for cell in cells {
        let rate = &cell["figures"][0];
        let geometric = |ops: &[u64]| ops.iter().map(|ops| *ops as f64).product::<f64>().powf(0.25);
        let expected = geometric(&SLOWER) / geometric(&STEADY);
        assert!((rate["ratio"].as_f64().unwrap() - expected).abs() < 1e-9, "{rate}");
        assert_eq!(rate["spread"]["source"], "runs");
        assert_eq!((&cell["runs_a"]["used_count"], &cell["runs_b"]["used_count"]), (&4.into(), &4.into()));
        assert!(rate["interval"]["high"].as_f64().unwrap() < 0.82, "{rate}");
    }
}

#[test]
fn a_worse_run_sets_the_exit_code_and_no_other_does() {
    let worse = two_sides(&STEADY, &SLOWER);
    assert_eq!(compared(worse.path(), &["--fail-if-worse"]).code, Some(1));
    assert_eq!(compared(worse.path(), &["--fail-if-worse", "--margin", "30%"]).code, Some(0));
    assert_eq!(run(worse.path(), &["compare", "b", "a", "--fail-if-worse"]).code, Some(0));
    let same = two_sides(&STEADY, &STEADY);
    let seen = compared(same.path(), &["--fail-if-worse"]);
    assert_eq!(seen.code, Some(0));
    assert!(
        seen.stdout.starts_with("B and A are equivalent: a difference of more than 3 % is ruled out"),
        "{seen:?}"
    );
}

#[test]
fn single_runs_are_undecided_and_say_what_is_assumed_and_what_decides() {
    // Repetitions within one run do not show how much runs differ.
    let folder = two(&STEADY, &SLOWER);
    let seen = compared(folder.path(), &["--fail-if-worse"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let text = seen.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.starts_with("Undecided"), "{text}");
    assert!(text.contains("A deviation of 45 % from run to run is assumed"), "{text}");
    assert!(text.contains("`narrows noise TARGET`, then --noise DIR"), "{text}");
    let far = two(&STEADY, &[100, 101, 100, 99]);
    let seen = compared(far.path(), &[]);
    assert!(seen.stdout.starts_with("B is worse than A in 3 of 3 loads."), "a tenth is no chance: {seen:?}");
}

#[test]
fn single_runs_are_decided_by_the_noise_of_the_path() {
    let folder = two(&STEADY, &SLOWER);
    record::write_runs(&folder.path().join("noise"), 30, &[1001, 1000, 1003, 998, 999]);
    let seen = compared(folder.path(), &["--noise", "noise"]);
    assert!(seen.stdout.starts_with("B is worse than A in 3 of 3 loads."), "{seen:?}");
    assert!(seen.stdout.contains("noise: noise, 5 runs of"), "{seen:?}");
    let shaky = tempfile::tempdir().unwrap();
    record::write_repeated(&shaky.path().join("a"), "aaaa", &STEADY);
    record::write_repeated(&shaky.path().join("b"), "bbbb", &SLOWER);
    record::write_runs(&shaky.path().join("noise"), 30, &[1000, 800, 1200, 900, 1100]);
    let seen = compared(shaky.path(), &["--noise", "noise"]);
    assert!(seen.stdout.starts_with("Undecided"), "{seen:?}");
    assert!(seen.stdout.contains("runs a side"), "{seen:?}");
}

#[test]
fn sides_that_were_not_measured_in_turn_are_named() {
    let folder = tempfile::tempdir().unwrap();
    record::write_runs(&folder.path().join("a"), 10, &STEADY);
    record::write_runs(&folder.path().join("b"), 40, &SLOWER);
    let seen = compared(folder.path(), &[]);
    assert!(seen.stdout.contains("Measure in turn: A, B, B, A."), "{seen:?}");
    let in_turn = compared(two_sides(&STEADY, &SLOWER).path(), &[]);
    assert!(!in_turn.stdout.contains("in turn"), "{in_turn:?}");
}

#[test]
fn a_folder_with_something_else_beside_its_records_is_refused() {
    let folder = two_sides(&STEADY, &SLOWER);
    fs::create_dir(folder.path().join("a/notes")).unwrap();
    run(folder.path(), &["compare", "a", "b"]).assert_said(2, &["a/notes"]).assert_no_result();
}

#[test]
fn a_folder_of_records_is_diagnosed_as_its_noise() {
    let folder = two_sides(&STEADY, &SLOWER);
    let seen = run(folder.path(), &["diagnose", "a"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(
        seen.stdout.starts_with("4 runs of the same path: the standard deviation of a run is at most 0.33 %"),
        "{seen:?}"
    );
    let found = json(&run(folder.path(), &["diagnose", "a", "--json"]));
    assert_eq!(found["schema"], "narrows.noise/1");
    assert_eq!(found["loads"][0]["needed"][1]["difference_ratio"], 0.05);
}

#[test]
fn a_record_and_its_copy_are_the_same_run() {
    let folder = two(&STEADY, &SLOWER);
    let words = "are records of the same run";
    run(folder.path(), &["compare", "a", "a"]).assert_said(2, &[words]).assert_no_result();
    fs::create_dir(folder.path().join("copy")).unwrap();
    for entry in fs::read_dir(folder.path().join("a")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join("copy").join(entry.file_name())).unwrap();
    }
    run(folder.path(), &["compare", "a", "copy"]).assert_said(2, &[words, "copy"]).assert_no_result();
}

#[test]
fn what_is_no_record_is_reported_of_both_at_once() {
    let folder = two(&STEADY, &SLOWER);
    let (x, y) =
        ("x does not exist", "y does not exist; name a record, a folder of records, or a file of figures");
    run(folder.path(), &["compare", "x", "y"]).assert_said(2, &[x, y]).assert_no_result();
    fs::write(folder.path().join("file"), "x").unwrap();
    let seen = run(folder.path(), &["compare", "a", "file"]);
    seen.assert_said(2, &["a is no record of a suite", "file cannot be imported"]).assert_no_result();
    let path = folder.path().join("b/manifest.json");
    let text = fs::read_to_string(&path).unwrap().replace("narrows.record/1", "narrows.record/7");
    fs::write(path, text).unwrap();
    run(folder.path(), &["compare", "a", "b"])
        .assert_said(2, &["narrows.record/7", "newer"])
        .assert_no_result();
}

#[test]
fn a_record_cut_anywhere_is_compared_as_far_as_it_is_whole_and_not_trusted() {
    let folder = two(&STEADY, &SLOWER);
    let path = folder.path().join("b/events.jsonl");
    let whole = fs::read(&path).unwrap();
    for part in 0..8 {
        fs::write(&path, &whole[..whole.len() * part / 8]).unwrap();
        let seen = compared(folder.path(), &["--json"]);
        match seen.code {
            Some(4) => assert_eq!(json(&seen)["b"]["runs"][0]["complete"], false, "{part}"),
            Some(2 | 3) => assert!(!seen.assert_no_result().stderr.is_empty(), "{part}: {seen:?}"),
            _ => unreachable!("{part}: {seen:?}"),
        }
    }
    fs::write(&path, &whole[..whole.len() * 7 / 8]).unwrap();
    let seen = compared(folder.path(), &["--fail-if-worse"]);
    assert_eq!(seen.code, Some(4), "what cannot be relied on crosses no threshold");
    assert!(seen.stdout.contains("DO NOT RELY ON THIS"), "{}", seen.stdout);
}

#[test]
fn runs_of_other_work_have_nothing_in_common_and_are_reported_why() {
    let folder = two(&STEADY, &SLOWER);
    for file in ["plan.json", "events.jsonl"] {
        let path = folder.path().join("b").join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"queue_depth\": 1,", "\"queue_depth\": 8,")).unwrap();
    }
    let seen = run(folder.path(), &["compare", "a", "b"]);
    seen.assert_said(2, &["no load in common", "depth 1 here, 8 there", "the same study"]).assert_no_result();
}

#[test]
fn a_margin_without_percent_is_refused_with_an_example() {
    let folder = two(&STEADY, &SLOWER);
    run(folder.path(), &["compare", "a", "b", "--margin", "0.03"]).assert_said(2, &["write 3%"]);
}
