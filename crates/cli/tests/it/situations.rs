//! The guides on real situations: what they quote is what their records give.

use crate::support::narrows;
use std::path::{Path, PathBuf};

const GUIDES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/situations");
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kept/situations");

/// The guides, each with the record of the same name, or with the records of its two sides.
fn guides() -> Vec<(String, PathBuf)> {
    let listed = std::fs::read_dir(GUIDES).unwrap().flatten();
    let mut found: Vec<(String, PathBuf)> = listed
        .map(|entry| entry.path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    found.sort();
    found
}

/// The lines of the blocks of output in a guide; `...` is what was left out.
fn quoted(guide: &str) -> Vec<String> {
    let blocks = guide.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).map(str::trim_end);
    lines.filter(|line| !line.is_empty() && line.trim() != "...").map(str::to_owned).collect()
}

#[test]
fn what_a_guide_quotes_is_what_its_record_gives_in_that_order() {
    let guides = guides();
    assert_eq!(guides.len(), 10, "{guides:?}");
    for (name, path) in guides {
        let record = Path::new(RECORDS).join(&name);
        assert!(record.is_dir(), "{name} has no record");
        let [before, after] = ["before", "after"].map(|side| format!("{name}/{side}"));
        let compares = record.join("before").is_dir();
        let words = if compares { vec!["compare", &before, &after] } else { vec!["diagnose", &name] };
        let mut command = narrows(Path::new(RECORDS), &words);
        let output = command.env("COLUMNS", "90").output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let mut lines = printed.lines().map(str::trim_end);
        let quoted = quoted(&std::fs::read_to_string(&path).unwrap());
        assert!(quoted.len() >= 5, "{name} quotes too little");
        for line in quoted {
            assert!(
                lines.any(|printed| printed == line),
                "{name}: `{line}` is not printed, or not there:\n{printed}"
            );
        }
    }
}

#[test]
fn every_guide_ends_with_what_was_learnt_and_what_to_change() {
    for (name, path) in guides() {
        let guide = std::fs::read_to_string(&path).unwrap();
        for heading in ["## What was learnt", "## What to change"] {
            assert!(guide.contains(heading), "{name} has no `{heading}`");
        }
    }
}
