//! Records and observation files written by earlier versions still give the verdicts that they gave then, and studies
//! the plans.
//!
//! `kept/records` contains records written by version 0.1.0 on 2026-11-23: a folder, the same kind of path through an
//! endpoint, a link of 100 Mbit/s between two network namespaces, a proxy, a study and a buffer experiment.
//! `kept/observations` and `kept/studies` are copies of the examples of that version, which the documentation may change.
//! A snapshot has the verdict without its evidence, or the plan without the text of its study. One that changes needs a
//! reason in the commit.

use crate::support::run;
use narrows_model::Bytes;
use narrows_study::{StudyFacts, parse, plan_study};
use narrows_testkit::verdict_text;
use serde_json::Value;
use std::collections::BTreeMap;
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

/// The values of `value` by the keys on the way to them.
fn leaves(value: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    match value.as_object().filter(|object| !object.is_empty()) {
        Some(object) => object.iter().for_each(|(key, value)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            leaves(value, &path, found);
        }),
        None => drop(found.insert(path.to_owned(), value.to_string())),
    }
}

/// What all cells of a plan share, then each cell: of the first everything, of the others what differs from the one before.
fn plan(document: &Value) -> String {
    let mut shared = document.clone();
    let cells = shared.as_object_mut().unwrap().remove("cells").unwrap();
    shared["study"].as_object_mut().unwrap().remove("text").unwrap();
    let mut lines = String::new();
    let mut before = BTreeMap::new();
    for part in std::iter::once(&shared).chain(cells.as_array().unwrap()) {
        let mut now = BTreeMap::new();
        leaves(part, "", &mut now);
        writeln!(lines, "{}", part["id"].as_str().unwrap_or("plan")).unwrap();
        for (key, value) in now.iter().filter(|(key, value)| before.get(*key) != Some(*value)) {
            writeln!(lines, "  {key} = {value}").unwrap();
        }
        if part.get("id").is_some() {
            before
                .keys()
                .filter(|key| !now.contains_key(*key))
                .for_each(|key| writeln!(lines, "  no {key}").unwrap());
            before = now;
        }
    }
    lines
}

/// Whether `text` is the snapshot `name` in `kept/FOLDER`.
fn assert_as_kept(folder: &str, name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(format!("../kept/{folder}"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn assert_verdict_as_kept(kind: &str, input: &Path) {
    let name = format!("{kind}_{}", stem(input));
    let folder = tempfile::tempdir().unwrap();
    let seen = run(folder.path(), &["diagnose", "--json", &input.display().to_string()]);
    let document: Value = serde_json::from_str(&seen.stdout).unwrap_or_else(|_| panic!("{name}: {seen:?}"));
    assert_as_kept("verdicts", &name, &verdict(&document));
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
        assert_verdict_as_kept("record", &record);
    }
}

#[test]
fn bars_of_kept_records_say_what_the_statements_say() {
    let mut bars = 0;
    for record in entries("tests/kept/records") {
        let folder = tempfile::tempdir().unwrap();
        let seen = run(folder.path(), &["diagnose", &record.display().to_string()]);
        let found = verdict_text::contradictions(&seen.stdout);
        assert!(found.is_empty(), "{}: {}\n{}", stem(&record), found.join("\n"), seen.stdout);
        bars += verdict_text::decided_bars(&seen.stdout);
    }
    assert!(bars >= 15, "{bars} bars were compared");
}

#[test]
fn observation_files_give_the_verdicts_that_they_gave_in_version_0_1_0() {
    let files = entries("tests/kept/observations");
    assert!(files.len() >= 14, "{files:?}");
    for file in files {
        assert_verdict_as_kept("observations", &file);
    }
}

#[test]
fn studies_of_version_0_1_0_give_the_plans_that_they_gave_then() {
    let files = entries("tests/kept/studies");
    assert!(files.len() >= 19, "{files:?}");
    // Of a machine nothing else is known, so that the plan is the same on all.
    let facts = StudyFacts { memory_bytes: Some(Bytes(8 << 30)), ..StudyFacts::default() };
    for file in files {
        let name = stem(&file);
        let study =
            parse(&fs::read_to_string(&file).unwrap(), &name).unwrap_or_else(|found| panic!("{found}"));
        let planned = plan_study(&study, &facts, 7).unwrap_or_else(|found| panic!("{name}: {found}"));
        assert_as_kept("plans", &name, &plan(&serde_json::to_value(&planned).unwrap()));
    }
}
