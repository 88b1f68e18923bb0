//! Records and observation files written by earlier versions still give the verdicts that they gave then.
//!
//! `kept/records` contains records written by version 0.1.0 on 2026-11-23: a folder, the same kind of path through an
//! endpoint, a link of 100 Mbit/s between two network namespaces, a proxy, a study and a buffer experiment. A snapshot
//! has the verdict without its evidence. One that changes needs a reason in the commit.

use crate::support::run;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The lines of a verdict that must not change by accident: what limits, what is cleared, what is unknown, findings.
fn verdict(document: &Value) -> String {
    let mut lines = String::new();
    let diagnosis = &document["diagnosis"];
    let list = |key: &str| diagnosis[key].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let joined = |values: &Value| values.as_array().unwrap().iter().map(text).collect::<Vec<_>>().join(",");
    for entry in list("limiting") {
        let [segment, relation, scope, regime] =
            ["segment", "relation", "scope", "regime"].map(|key| text(&entry[key]));
        let confidence = entry["confidence"].as_f64().unwrap();
        let gain = entry["relief_gain_ratio"].as_f64().map_or("-".to_owned(), |gain| format!("{gain:.2}"));
        let codes = joined(&entry["codes"]);
        writeln!(
            lines,
            "limiting {segment} {confidence:.2} {relation} {scope} gain {gain} [{codes}] {regime}"
        )
        .unwrap();
    }
    for key in ["exonerated", "not_measured"] {
        list(key).for_each(|entry| writeln!(lines, "{key} {}", text(&entry["segment"])).unwrap());
    }
    for finding in list("findings") {
        let [code, severity] = ["code", "severity"].map(|key| text(&finding[key]));
        writeln!(lines, "finding {code} {severity} {}", joined(&finding["cells"])).unwrap();
    }
    for cell in document["cells"].as_array().into_iter().flatten() {
        if let Some(segment) = cell["limiting"].as_str() {
            writeln!(lines, "cell {} {segment}", text(&cell["id"])).unwrap();
        }
    }
    lines
}

fn assert_as_kept(name: &str, input: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let seen = run(folder.path(), &["diagnose", "--json", &input.display().to_string()]);
    let document: Value = serde_json::from_str(&seen.stdout).unwrap_or_else(|_| panic!("{name}: {seen:?}"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../kept/verdicts");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, verdict(&document)));
}

/// The entries of a folder of the project, sorted.
fn entries(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut all: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn records_of_version_0_1_0_give_the_verdicts_that_they_gave_then() {
    let records = entries("tests/kept/records");
    assert!(records.len() >= 6, "{records:?}");
    for record in records {
        assert_as_kept(&format!("record_{}", stem(&record)), &record);
    }
}

#[test]
fn observation_files_give_the_verdicts_that_they_gave_in_version_0_1_0() {
    let files = entries("../../docs/examples/observations");
    let files: Vec<_> = files.iter().filter(|path| path.extension() == Some("toml".as_ref())).collect();
    assert!(files.len() >= 14, "{files:?}");
    for file in files {
        assert_as_kept(&format!("observations_{}", stem(file)), file);
    }
}
