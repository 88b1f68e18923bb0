//! `narrows predict`: what a record gives, what it refuses, and bad input.

use crate::support::run;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A study of `null:`, whose workers are as fast as memory: the curve is of its CPUs.
fn record(folder: &Path, study: &str) {
    fs::write(folder.join("study.toml"), study).unwrap();
    let seen = run(folder, &["run", "study.toml", "--out", "record", "--quiet", "--seed", "3"]);
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
}

const BY_CLIENTS: &str = "target = \"null:\"\ncuts = []\n[workload]\nblock = \"4KiB\"\nfile = \"64KiB\"\n[sweep]\nclients = [1, 2, 4]\n\
                          [stop]\nwarm_up = \"10ms\"\nmeasure = \"60ms\"\n";
const BY_DEPTH: &str = "target = \"null:\"\ncuts = []\n[workload]\nfile = \"64KiB\"\n[sweep]\ndepth = [1, 2]\n\
                        [stop]\nwarm_up = \"10ms\"\nmeasure = \"60ms\"\n";

#[test]
fn a_record_with_clients_gives_rates_or_says_why_not_and_only_reads() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), BY_CLIENTS);
    let before = crate::support::Surroundings::of(folder.path());
    let seen = run(folder.path(), &["predict", "record", "--clients", "1..16", "--json"]);
    seen.assert_orderly();
    before.assert_same(folder.path());
    let document: Value = serde_json::from_str(&seen.stdout).unwrap();
    // Whether the CPUs of this machine were full with 4 clients is its own: each outcome has its form.
    match seen.code {
        Some(0 | 4) => {
            assert_eq!(document["schema"], "narrows.extrapolation/1");
            let rates = document["loads"][0]["rates"].as_array().unwrap();
            let clients: Vec<u64> = rates.iter().map(|rate| rate["clients"].as_u64().unwrap()).collect();
            assert_eq!(clients, [1, 2, 4, 8, 16]);
            for rate in rates {
                let value = |key: &str| rate["interval"][key].as_f64().unwrap();
                assert!(
                    value("low") <= rate["rate"].as_f64().unwrap() && value("low") < value("high"),
                    "{rate}"
                );
            }
        }
        Some(3) => {
            assert_eq!(document["error"]["code"], 3);
            assert!(!document["error"]["hint"].is_null(), "{document}");
        }
        other => panic!("{other:?}: {seen:?}"),
    }
}

#[test]
fn records_without_a_curve_and_words_that_mean_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), BY_DEPTH);
    let refused = |words: &[&str], said: &[&str]| {
        run(folder.path(), &[&["predict"], words].concat()).assert_said(2, said).assert_no_result();
    };
    refused(&["record"], &["several numbers of clients", "narrows scale"]);
    refused(&["missing"], &["missing"]);
    refused(&["record", "--clients", "4..1"], &["`4..1`"]);
    refused(&["record", "--clients", "0"], &["1..1024"]);
    refused(&["record", "--add", "disks=many"], &["disks=2, link=10Gbit or server-cpu=2x"]);
    refused(&["study.toml"], &["study.toml"]);
}
