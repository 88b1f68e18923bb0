//! Records that were written when a suite's request was stored as words and numbers: each still gives the native output,
//! the reading and the verdict that it gave then.
//!
//! `expected-native.txt`, `expected-reading.txt` and `expected-verdict.json` in each record are what the program that wrote
//! it printed (`narrows suite`: stdout, the sentences before the verdict on stderr, segments of the summary's diagnosis).

use narrows_analysis::{RunFacts, Summarizer, conclude};
use narrows_model::Summary;
use narrows_record::Record;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The records: for each suite one of its usual output, and one of another form.
const RECORDS: [&str; 10] = [
    "bonnie",
    "bonnie-1.03",
    "ioperf",
    "ioperf-csv",
    "iozone",
    "iozone-processes",
    "jovian",
    "jovian-local",
    "postmark",
    "postmark-terse",
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/records").join(name)
}

fn expected(name: &str, file: &str) -> String {
    std::fs::read_to_string(folder(name).join(file)).unwrap()
}

fn summary_of(name: &str) -> Summary {
    let record = Record::open(&folder(name)).unwrap();
    let manifest = record.manifest();
    let facts = RunFacts {
        narrows_version: manifest.narrows_version.clone(),
        started_at: manifest.started_at.clone(),
        command: manifest.command.clone(),
    };
    let mut summarizer = Summarizer::new(facts, record.plan(), record.inventory());
    for event in &mut record.timeline().unwrap() {
        summarizer.event(&event.unwrap());
    }
    narrows_suites::with_metrics(conclude(summarizer.finish()))
}

#[test]
fn old_records_print_what_they_printed() {
    for name in RECORDS {
        let summary = summary_of(name);
        let entry = narrows_suites::entry_of(&summary).unwrap();
        assert!(summary.suite.as_ref().is_some_and(|suite| suite.request.is_null()), "{name}");
        assert_eq!(entry.native(&summary).unwrap(), expected(name, "expected-native.txt"), "{name}");
        // Tables are printed as they are, sentences as items of a list.
        let reading: String = entry.reading(&summary).into_iter().fold(String::new(), |text, sentence| {
            if sentence.ends_with('\n') { text + &sentence + "\n" } else { text + "- " + &sentence + "\n" }
        });
        assert_eq!(reading, expected(name, "expected-reading.txt"), "{name}");
    }
}

#[test]
fn old_records_have_the_verdict_that_they_had() {
    for name in RECORDS {
        let diagnosis = summary_of(name).diagnosis;
        let limiting: Vec<_> = diagnosis
            .limiting
            .iter()
            .map(|entry| json!({"segment": entry.segment, "codes": entry.codes}))
            .collect();
        let exonerated: Vec<_> = diagnosis.exonerated.iter().map(|entry| entry.segment).collect();
        let not_measured: Vec<_> = diagnosis.not_measured.iter().map(|entry| entry.segment).collect();
        let found = json!({"limiting": limiting, "exonerated": exonerated, "not_measured": not_measured});
        let wanted: serde_json::Value =
            serde_json::from_str(&expected(name, "expected-verdict.json")).unwrap();
        assert_eq!(found, wanted, "{name}");
    }
}
