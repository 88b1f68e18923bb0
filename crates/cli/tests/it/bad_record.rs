//! A record that was damaged, or is none, is refused or read as far as it is whole; it is never written to.

use crate::support::{Seen, Surroundings, record, run};
use std::fs;
use std::path::Path;

/// Files of lines, which are read as far as they are whole: samples alone are figures too.
const LINES: [&str; 2] = ["events.jsonl", "samples.jsonl"];
const FILES: [&str; 5] = ["manifest.json", "plan.json", "inventory.json", "events.jsonl", "samples.jsonl"];

/// A record at `record` in a new folder.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    record::write(&folder.path().join("record"));
    folder
}

/// Diagnoses it as JSON; stdout is JSON or nothing, and the record is as before.
#[track_caller]
fn diagnose(folder: &Path) -> Seen {
    let before = Surroundings::of(folder);
    let seen = run(folder, &["diagnose", "record", "--json"]);
    before.assert_same(folder);
    seen.assert_orderly();
    match seen.code {
        Some(0 | 3 | 4) => {
            assert!(serde_json::from_str::<serde_json::Value>(&seen.stdout).is_ok(), "{seen:?}");
        }
        Some(2) => assert!(seen.assert_no_result().stderr.contains("record"), "{seen:?}"),
        _ => panic!("neither read nor refused: {seen:?}"),
    }
    seen
}

#[test]
fn a_whole_record_gives_its_verdict() {
    let folder = folder();
    let seen = diagnose(folder.path());
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""), "{seen:?}");
}

#[test]
fn a_record_in_which_nothing_was_measured_ends_like_the_run_that_left_it() {
    let folder = folder();
    let events = folder.path().join("record/events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    // The first line states that the run began; its samples are of a cell that the plan does not have.
    fs::write(&events, text.lines().next().unwrap().to_owned() + "\n").unwrap();
    fs::write(folder.path().join("record/samples.jsonl"), "").unwrap();
    let seen = diagnose(folder.path());
    seen.assert_said(
        3,
        &["nothing could be measured: path/read/0: the run ended before this cell was reached"],
    );
    assert!(seen.stdout.contains("\"cells\": []"), "{seen:?}");
}

#[test]
fn what_is_no_record_is_named_with_what_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let hint = "name the folder that a run of narrows wrote";
    run(folder.path(), &["diagnose", "record"]).assert_said(2, &["record", hint]);
    fs::create_dir(folder.path().join("record")).unwrap();
    run(folder.path(), &["diagnose", "record"]).assert_said(2, &["record/manifest.json", hint]);
    fs::write(folder.path().join("file"), "x").unwrap();
    run(folder.path(), &["diagnose", "file"]).assert_said(2, &["file", "a record is a folder", hint]);
    fs::write(folder.path().join("record/manifest.json"), "{\"schema\": \"other.thing/1\"}").unwrap();
    run(folder.path(), &["diagnose", "record"]).assert_said(2, &["other.thing/1", hint]);
}

#[test]
fn a_record_from_the_future_names_both_versions() {
    let folder = folder();
    let path = folder.path().join("record/manifest.json");
    let text = fs::read_to_string(&path).unwrap().replace("narrows.record/1", "narrows.record/7");
    fs::write(path, text).unwrap();
    diagnose(folder.path()).assert_said(2, &["narrows.record/7", "narrows.record/1", "newer"]);
}

#[test]
fn a_missing_file_is_named_and_missing_lines_are_reported() {
    for file in FILES {
        let folder = folder();
        fs::remove_file(folder.path().join("record").join(file)).unwrap();
        let seen = diagnose(folder.path());
        assert!(seen.stderr.contains(file), "{file}: {seen:?}");
        let code = if LINES.contains(&file) { 4 } else { 2 };
        assert_eq!(seen.code, Some(code), "{file}: {seen:?}");
    }
}

#[test]
fn a_file_cut_anywhere_is_read_as_far_as_it_is_whole_or_refused() {
    for file in FILES {
        let folder = folder();
        let path = folder.path().join("record").join(file);
        let whole = fs::read(&path).unwrap();
        for part in 0..8 {
            fs::write(&path, &whole[..whole.len() * part / 8]).unwrap();
            let seen = diagnose(folder.path());
            // Where whole lines are missing at the end, only the run's end is.
            let reported =
                seen.stderr.contains(file) || (matches!(seen.code, Some(3 | 4)) && file == "events.jsonl");
            let nothing_left = part == 0 && file == "samples.jsonl";
            assert!(reported || nothing_left, "{file} cut to {part}/8: {seen:?}");
        }
    }
}

#[test]
fn a_flipped_bit_is_found_or_changes_nothing_that_is_read() {
    let folder = folder();
    let sound = diagnose(folder.path()).stdout;
    let mut state = 1_u64;
    for file in ["events.jsonl", "samples.jsonl"] {
        let path = folder.path().join("record").join(file);
        let whole = fs::read(&path).unwrap();
        for _ in 0..24 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = usize::try_from(state >> 33).unwrap() % whole.len();
            let mut flipped = whole.clone();
            flipped[place] ^= 1 << (state % 8);
            fs::write(&path, &flipped).unwrap();
            let seen = diagnose(folder.path());
            let reported = seen.stderr.contains("damaged") || seen.stderr.contains(file);
            assert!(reported || seen.stdout == sound, "{file}, byte {place}: {seen:?}");
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn of_thousands_of_bad_lines_some_are_named_and_all_are_counted() {
    let folder = folder();
    let path = folder.path().join("record/samples.jsonl");
    let mut text = fs::read(&path).unwrap();
    text.resize(text.len() + 3000, b'\n');
    fs::write(&path, text).unwrap();
    let seen = diagnose(folder.path());
    seen.assert_said(4, &["samples.jsonl:4: not a line of a record", "narrows: and 2995 more places"]);
    assert_eq!(seen.stderr.lines().count(), 6, "{seen:?}");
}

#[test]
fn flipped_bits_in_whole_documents_never_end_in_a_panic() {
    let folder = folder();
    let mut state = 2_u64;
    for file in ["manifest.json", "plan.json", "inventory.json"] {
        let path = folder.path().join("record").join(file);
        let whole = fs::read(&path).unwrap();
        for _ in 0..24 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut flipped = whole.clone();
            flipped[usize::try_from(state >> 33).unwrap() % whole.len()] ^= 1 << (state % 8);
            fs::write(&path, &flipped).unwrap();
            diagnose(folder.path());
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn numbers_no_machine_has_end_in_no_panic() {
    for (file, from, to) in [
        ("plan.json", "\"budget_ns\": 60000000000", "\"budget_ns\": 18446744073709551615"),
        ("plan.json", "\"interval_ns\": 100000000", "\"interval_ns\": 0"),
        ("plan.json", "\"measure_ns\": 1000000000", "\"measure_ns\": 18446744073709551615"),
        ("plan.json", "\"queue_depth\": 1", "\"queue_depth\": 4294967295"),
        ("plan.json", "\"block_bytes\": 4096", "\"block_bytes\": 0"),
        ("inventory.json", "\"online_cpus\": 2", "\"online_cpus\": 0"),
    ] {
        let folder = folder();
        let path = folder.path().join("record").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no {from}: {text}");
        fs::write(&path, text.replace(from, to)).unwrap();
        diagnose(folder.path());
    }
}
