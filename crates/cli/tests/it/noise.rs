//! `narrows noise`: one check several times, its records, and what they show.

use crate::support::{Seen, Surroundings, run, strangers_folder};
use std::path::Path;

const SHORT: &[&str] =
    &["--op", "read", "--block", "4KiB", "--depth", "1", "--cell-seconds", "0.2", "--seconds", "6"];

fn noise(folder: &Path, words: &[&str]) -> Seen {
    run(folder, &[&["noise", "target", "--seed", "7", "--runs", "2", "--quiet"], SHORT, words].concat())
}

#[test]
fn runs_are_repeated_with_the_next_seed_each_and_can_be_one_side_of_a_comparison() {
    let folder = strangers_folder();
    let before = Surroundings::of(&folder.path().join("target"));
    let seen = noise(folder.path(), &["--out", "own/noise"]);
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    assert!(
        seen.stdout.starts_with("2 runs of the same path: the standard deviation of a run is at most"),
        "{seen:?}"
    );
    assert!(seen.stdout.contains("WHAT RUNS SHOW") && seen.stdout.contains("5 % needs"), "{}", seen.stdout);
    before.assert_same(&folder.path().join("target"));
    let again = run(folder.path(), &["diagnose", "own/noise", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    let seeds: Vec<_> =
        found["side"]["runs"].as_array().unwrap().iter().map(|run| run["seed"].clone()).collect();
    assert_eq!(seeds, [7, 8]);
    let compared = run(folder.path(), &["compare", "own/noise/run-001", "own/noise/run-002"]);
    assert!(compared.stdout.contains("noise TARGET"), "{compared:?}");
}

#[test]
fn the_costs_of_all_runs_count_and_need_yes() {
    let folder = strangers_folder();
    let words = ["noise", "target", "--runs", "100", "--seconds", "60", "--out", "own/noise"];
    let seen = run(folder.path(), &words);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{seen:?}");
    let message = seen.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("it may last longer than 15 min") && message.contains("--yes"), "{message}");
    assert!(!folder.path().join("own/noise").exists());
}

#[test]
fn a_folder_with_something_in_it_is_refused_before_anything_is_run() {
    let folder = strangers_folder();
    let seen = noise(folder.path(), &["--out", "target"]);
    seen.assert_said(2, &["target is not an empty folder", "nothing was changed"]).assert_no_result();
}
