//! `narrows scale`: the curve of a folder, its record and its plan, and what is refused.

use crate::support::{Seen, Surroundings, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Short enough for a test: what is compared here are counts and shapes, not rates.
const SHORT: [&str; 12] = [
    "--clients",
    "1,2,3",
    "--block",
    "64KiB",
    "--file",
    "1MiB",
    "--cell-seconds",
    "0.1",
    "--trials",
    "2",
    "--seed",
    "5",
];

fn scale(folder: &Path, words: &[&str]) -> Seen {
    run(folder, &[&["scale", "target", "--quiet"], &SHORT[..], words].concat())
}

#[test]
fn a_folder_gives_a_curve_a_record_that_says_the_same_and_data_to_plot() {
    let folder = strangers_folder();
    let target = folder.path().join("target");
    let before = Surroundings::of(&target);
    let seen = scale(folder.path(), &["--out", "record", "--op", "read,write", "--plot-data", "points.csv"]);
    seen.assert_orderly();
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    before.assert_same(&target);

    let summary: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("record/summary.json")).unwrap())
            .unwrap();
    let curves = [&summary["scaling"], &summary["more_scaling"][0]];
    for (curve, op) in curves.into_iter().zip(["read", "write"]) {
        assert_eq!(curve["op"], op);
        let points = curve["points"].as_array().unwrap();
        assert_eq!(
            points.iter().map(|point| point["clients"].as_u64().unwrap()).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        for point in points {
            assert!(point["rate"].as_f64().unwrap() > 0.0, "{point}");
            assert_eq!(point["fairness_ratio"].is_null(), point["clients"] == 1, "{point}");
        }
        assert!(curve["model"].is_null(), "three points choose no law");
        assert!(!curve["shared_stage"]["evidence"].as_array().unwrap().is_empty());
    }

    let again = run(folder.path(), &["diagnose", "record"]);
    assert_eq!((again.code, &again.stdout), (seen.code, &seen.stdout), "{again:?}");
    assert!(seen.stdout.contains("SCALING  read of 64KiB"), "{}", seen.stdout);
    assert!(seen.stdout.contains("at least 5 are needed to choose one"), "{}", seen.stdout);

    let plotted = fs::read_to_string(folder.path().join("points.csv")).unwrap();
    let lines: Vec<&str> = plotted.lines().collect();
    assert_eq!(lines.len(), 1 + 6, "{plotted}");
    assert!(lines[0].starts_with("op,block_bytes,queue_depth,clients,unit,rate,"), "{plotted}");
    assert!(lines[4].starts_with("write,65536,1,1,B/s,"), "{plotted}");
    assert!(lines.iter().all(|line| line.split(',').count() == 15), "{plotted}");
}

#[test]
fn a_plan_makes_nothing_and_its_study_can_be_run_by_itself() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let seen = scale(folder.path(), &["--plan", "--plot-data", "points.csv"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    for clients in ["c1", "c2", "c3"] {
        assert!(seen.stdout.contains(&format!("path/read/64KiB/qd1/{clients}")), "{}", seen.stdout);
    }
    before.assert_same(folder.path());
}

#[test]
fn json_is_the_summary_and_nothing_else() {
    let folder = strangers_folder();
    let seen = scale(folder.path(), &["--json", "--out", "record"]);
    let document: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(document["scaling"]["points"].as_array().unwrap().len(), 3);
    assert_eq!(document["more_scaling"].as_array().unwrap().len(), 0);
    let plan: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("record/plan.json")).unwrap()).unwrap();
    fs::write(folder.path().join("again.toml"), plan["study"]["text"].as_str().unwrap()).unwrap();
    let planned = run(folder.path(), &["run", "again.toml", "--plan"]);
    assert_eq!(planned.code, Some(0), "{planned:?}");
}

#[test]
fn what_shows_no_scaling_is_refused_before_anything_is_made() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let refused = |words: &[&str], said: &[&str]| {
        let seen = run(folder.path(), &[&["scale"], words].concat());
        seen.assert_said(2, said).assert_no_result();
    };
    refused(&["target", "--clients", "3"], &["--clients: found one number of clients", "1,2,4,8,16,32"]);
    refused(&["target", "--clients", "0,1"], &["0"]);
    refused(&["sim:local-ssd", "--clients", "1,2"], &["machine of its own"]);
    refused(&["missing", "--clients", "1,2"], &["missing"]);
    refused(&["target", "--clients", "1,2", "--plot-data", "no/such/folder"], &["--plot-data"]);
    refused(
        &["target", "--clients", "1,2", "--plot-data", "target/data-0"],
        &["--plot-data target/data-0: exists already"],
    );
    refused(&["target/data-0", "--clients", "1,2", "--op", "write"], &["exists"]);
    before.assert_same(folder.path());
}
