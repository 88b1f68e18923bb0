//! Studies of whole objects in a folder: several clients, what a summary shows, what is left behind, what is refused.

use crate::support::{Seen, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A study with this text, run in `folder` into `record`.
fn study(folder: &Path, text: &str) -> Seen {
    fs::write(folder.join("study.toml"), text).unwrap();
    run(folder, &["run", "study.toml", "--out", "record", "--seed", "7", "--quiet"])
}

/// The cells of the path in the summary of the record in `folder`, in the order of the run.
fn cells(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let cells = summary["cells"].as_array().unwrap().clone();
    cells.into_iter().filter(|cell| cell["cut"] == "path").collect()
}

/// Operations of each cell's trial: its rate over its time, both of which the summary has.
fn operations(folder: &Path) -> Vec<f64> {
    let of_cell = |cell: &Value| {
        let trial = &cell["trials"][0];
        (trial["ops_per_s"].as_f64().unwrap() * trial["elapsed_s"].as_f64().unwrap()).round()
    };
    cells(folder).iter().map(of_cell).collect()
}

#[test]
fn clients_and_workers_have_objects_of_their_own_and_leave_none() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("target")).unwrap();
    let seen = study(
        folder.path(),
        "target = \"target\"\ncell_order = \"as_written\"\n[workload]\nclients = 2\nworkers = 3\n\
         [workload.objects]\ncount = 500\nmax = 2000\nfolders = 4\n[stop]\nmeasure = \"30s\"\n\
         [sweep]\nop = [\"put\", \"stat\", \"get\", \"delete\"]\n",
    );
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    assert!(!seen.stdout.contains("DATA LOST"), "{}", seen.stdout);
    assert_eq!(operations(folder.path()), [1000.0; 4]);
    assert_eq!(fs::read_dir(folder.path().join("target")).unwrap().count(), 0);
}

#[test]
fn transactions_on_a_folder_are_reported_by_kind_of_request() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("target")).unwrap();
    let seen = study(
        folder.path(),
        "target = \"target\"\n[workload]\nblock = 512\n[workload.objects]\ncount = 200\nmin = 500\n\
         max = 10000\ncalls = \"streams\"\n[workload.transactions]\ncount = 2000\n[stop]\nmeasure = \"30s\"\n",
    );
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    let cells = cells(folder.path());
    let kinds = cells[0]["kinds"].as_array().unwrap();
    let counts: Vec<(&str, u64)> =
        kinds.iter().map(|kind| (kind["op"].as_str().unwrap(), kind["op_count"].as_u64().unwrap())).collect();
    let ops: Vec<&str> = counts.iter().map(|(op, _)| *op).collect();
    assert_eq!((cells.len(), ops), (1, vec!["get", "append", "put", "delete"]));
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    assert!((3500..=4000).contains(&all), "{counts:?}");
}

#[test]
fn a_file_that_exists_is_no_place_for_objects_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("theirs"), vec![1; 10_000]).unwrap();
    for (ops, code, words) in [
        ("op = \"put\"", 2, "narrows never changes files that it did not create"),
        ("op = \"stat\"", 3, "theirs is a file, and whole files need a folder"),
        ("op = \"delete\"", 3, "theirs is a file, and whole files need a folder"),
    ] {
        let seen = study(folder.path(), &format!("target = \"theirs\"\n[workload]\n{ops}\n"));
        let said = format!("{}{}", seen.stdout, seen.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(seen.code == Some(code) && said.contains(words), "{ops}: {seen:?}");
        assert_eq!(fs::read(folder.path().join("theirs")).unwrap(), vec![1; 10_000]);
        drop(fs::remove_dir_all(folder.path().join("record")));
    }
}
