//! `--fail-if`: what is refused before any load, and how runs end by it.

use crate::support::run;
use serde_json::Value;

const STUDY: &str = "target = \"sim:local-ssd\"\nseconds = 60\n[workload]\norder = \"random\"\nblock = \"4KiB\"\n\
                     file = \"16MiB\"\n[stop]\nmeasure = \"100ms\"\n[sweep]\ndepth = [1, 16]\n";

fn studied(words: &[&str]) -> (tempfile::TempDir, crate::support::Seen) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.toml"), STUDY).unwrap();
    let all = [&["run", "s.toml", "--quiet", "--out", "record"], words].concat();
    let seen = run(folder.path(), &all);
    (folder, seen)
}

#[test]
fn conditions_that_mean_nothing_are_refused_together_before_any_load() {
    let folder = tempfile::tempdir().unwrap();
    let words =
        ["check", ".", "--json", "--fail-if", "read speed < 5", "--fail-if", "random read iops < fast"];
    let seen = run(folder.path(), &words);
    seen.assert_said(2, &["`read speed < 5`", "allowed metrics", "`random read iops < fast`", "20000"]);
    let error: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(error["error"]["kind"], "bad_input", "{seen:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_condition_that_contains_ends_a_run_with_code_1_and_its_record_as_well() {
    let (folder, seen) =
        studied(&["--fail-if", "random read 4KiB x16 iops > 1", "--fail-if", "depth=1 read p99 > 1h"]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(
        seen.stdout.contains("  FAILED: random read 4KiB x16 iops > 1; read 4KiB x16 has "),
        "{}",
        seen.stdout
    );
    assert!(seen.stdout.contains("  passed: depth=1 read p99 > 1h; read 4KiB x1 has "), "{}", seen.stdout);
    let again = run(folder.path(), &["diagnose", "record", "--json"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    let summary: Value = serde_json::from_str(&again.stdout).unwrap();
    let states: Vec<&Value> =
        summary["thresholds"].as_array().unwrap().iter().map(|outcome| &outcome["state"]).collect();
    assert_eq!(states, ["failed", "passed"]);
    assert_eq!(summary["thresholds"][0]["unit"], "ops/s");
}

#[test]
fn a_run_whose_conditions_do_not_contain_is_done_and_one_without_their_figure_is_no_basis() {
    let (_folder, passed) = studied(&["--fail-if", "read iops < 1"]);
    assert_eq!(passed.code, Some(0), "{passed:?}");
    assert_eq!(passed.stdout.matches("  passed: read iops < 1").count(), 2, "a line each: {}", passed.stdout);
    let (_folder, missing) = studied(&["--fail-if", "read commit p99 > 1ms"]);
    assert_eq!(missing.code, Some(4), "{missing:?}");
    assert!(missing.stdout.contains("NOT MEASURED: read commit p99 > 1ms"), "{}", missing.stdout);
}

#[test]
fn a_load_that_the_time_leaves_out_is_not_measured_and_no_mistake() {
    let both =
        ["--seconds", "1", "--fail-if", "depth=1 read iops < 1", "--fail-if", "depth=16 read iops < 1"];
    let (_folder, seen) = studied(&both);
    assert_eq!(seen.code, Some(4), "{seen:?}");
    assert_eq!(seen.stdout.matches("  passed: depth=").count(), 1, "{}", seen.stdout);
    assert_eq!(seen.stdout.matches("  NOT MEASURED: depth=").count(), 1, "{}", seen.stdout);
    let (_folder, wrong) = studied(&["--seconds", "1", "--fail-if", "depth=2 read iops < 1"]);
    wrong.assert_said(2, &["depth=2 read iops < 1", "its loads are"]);
}

#[test]
fn a_check_measures_the_load_of_its_condition_also_where_its_verdict_needs_it_not() {
    let folder = tempfile::tempdir().unwrap();
    let words =
        ["check", ".", "--json", "--quiet", "--op", "read", "--seconds", "14", "--cell-seconds", "0.1"];
    let seen = run(folder.path(), &[&words[..], &["--fail-if", "read 64KiB rate < 1B/s"]].concat());
    let summary: Value = serde_json::from_str(&seen.stdout).unwrap();
    let outcomes = summary["thresholds"].as_array().unwrap();
    assert!(
        !outcomes.is_empty() && outcomes.iter().all(|outcome| outcome["state"] == "passed"),
        "{outcomes:?}"
    );
    assert!(outcomes[0]["cell"].as_str().unwrap().starts_with("path/read/64KiB/"), "{outcomes:?}");
}

#[test]
fn noise_has_no_conditions() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["noise", ".", "--fail-if", "read iops < 5"])
        .assert_said(2, &["--fail-if", "narrows check"]);
}
