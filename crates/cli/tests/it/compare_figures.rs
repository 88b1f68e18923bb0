//! `narrows compare` with files: published figures beside imports and records of suites.

use crate::support::run;
use serde_json::Value;
use std::fs;

const PUBLISHED: &str = include_str!("../../../suites/tests/data/bonnie_pvfs2_bgl_2005.csv");
const PRINTED: &str = include_str!("../../../suites/tests/data/postmark_long.txt");

#[test]
fn outputs_of_one_tool_are_compared_without_the_names_of_their_machines() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.csv"), PUBLISHED).unwrap();
    let newer = PUBLISHED.lines().last().unwrap().replace("fs2,", "vm,").replace("49354", "98708");
    fs::write(folder.path().join("new.csv"), newer + "\n").unwrap();
    let seen = run(folder.path(), &["compare", "old.csv", "new.csv"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let block = seen.stdout.lines().find(|line| line.contains("fs2 put_block")).unwrap();
    assert!(block.ends_with("2.00"), "{}", seen.stdout);
    assert!(seen.stdout.contains("no ratio here is"), "{}", seen.stdout);
    let json = run(folder.path(), &["compare", "old.csv", "new.csv", "--json"]);
    let found: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(found["schema"], "narrows.figures/1");
    assert_eq!(found["rows"].as_array().unwrap().len(), 12);
}

#[test]
fn a_published_report_is_compared_with_the_record_of_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.txt"), PRINTED).unwrap();
    let words = "suite postmark --number 60 --transactions 200 --no-verdict --quiet --out record";
    let made = run(folder.path(), &words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(made.code, Some(0), "{made:?}");
    let seen = run(folder.path(), &["compare", "old.txt", "record"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    for words in
        ["transactions", "appended with transactions", "data written", "record of the suite postmark", "CPUs"]
    {
        assert!(seen.stdout.contains(words), "{words}: {}", seen.stdout);
    }
}

#[test]
fn a_folder_of_records_is_the_mean_of_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.txt"), PRINTED).unwrap();
    fs::create_dir(folder.path().join("runs")).unwrap();
    for record in ["runs/1", "runs/2"] {
        let words =
            format!("suite postmark --number 60 --transactions 200 --no-verdict --quiet --out {record}");
        let made = run(folder.path(), &words.split_whitespace().collect::<Vec<_>>());
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    let seen = run(folder.path(), &["compare", "old.txt", "runs", "--json"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let found: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(found["b"]["run_count"], 2);
    assert!(
        seen.stdout.contains("B is the mean of 2 runs") && seen.stdout.contains("A does not have"),
        "{seen:?}"
    );
    let words = "suite iozone . -s 64k -i 0 --no-verdict --quiet --out runs/3";
    run(folder.path(), &words.split_whitespace().collect::<Vec<_>>());
    run(folder.path(), &["compare", "old.txt", "runs"])
        .assert_said(2, &["different suites"])
        .assert_no_result();
}

#[test]
fn what_cannot_be_compared_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.csv"), PUBLISHED).unwrap();
    fs::write(folder.path().join("old.txt"), PRINTED).unwrap();
    fs::write(folder.path().join("bad.txt"), "nothing\n").unwrap();
    run(folder.path(), &["compare", "old.csv", "old.txt"])
        .assert_said(2, &["have no figure in common", "the same benchmark with the same options"])
        .assert_no_result();
    run(folder.path(), &["compare", "old.csv", "bad.txt"])
        .assert_said(2, &["bad.txt cannot be imported"])
        .assert_no_result();
    run(folder.path(), &["compare", "old.csv", "old.txt", "--fail-if-worse"])
        .assert_said(2, &["nothing is called worse"])
        .assert_no_result();
    run(folder.path(), &["compare", "old.csv", "missing"])
        .assert_said(2, &["missing does not exist"])
        .assert_no_result();
}
