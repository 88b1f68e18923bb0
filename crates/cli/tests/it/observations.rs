//! `narrows diagnose` on observation files: verdicts as text and JSON, and files that cannot be read.

use crate::support::{run, strangers_folder};
use std::fs;
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/observations")
}

#[test]
fn the_proxy_sweep_names_the_proxys_cpu_with_its_cost_a_call() {
    let seen = run(&examples(), &["diagnose", "relay-proxy.toml"]);
    seen.assert_said(0, &[]);
    for part in ["Limited by the proxy's CPU", "65.3 us", "LIMITING", "NOT MEASURED", "narrows explain"] {
        assert!(seen.stdout.contains(part), "{part}: {}", seen.stdout);
    }
}

#[test]
fn json_is_the_document_of_its_schema() {
    let seen = run(&examples(), &["diagnose", "relay-client.toml", "--json"]);
    seen.assert_said(0, &[]);
    let document: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(document["schema"], "narrows.diagnosis/1");
    assert_eq!(document["diagnosis"]["limiting"][0]["segment"], "client.cpu");
    let slugs: Vec<&str> = document["diagnosis"]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["slug"].as_str().unwrap())
        .collect();
    assert!(slugs.contains(&"per_call"), "{slugs:?}");
    let call_s = document["per_call"][0]["call_s"].as_f64().unwrap();
    assert!((call_s - 28.8e-6).abs() < 0.1e-6, "{call_s}");
}

#[test]
fn every_example_gives_a_verdict() {
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let seen = run(&examples(), &["diagnose", path.to_str().unwrap()]);
            seen.assert_said(0, &[]);
            assert!(
                seen.stdout.contains("observations, measured elsewhere"),
                "{}: {}",
                path.display(),
                seen.stdout
            );
        }
    }
}

#[test]
fn all_problems_of_a_file_are_reported_at_once_with_exit_code_2() {
    let folder = strangers_folder();
    let text = "schema = \"narrows.observations/9\"\ntitel = \"x\"\n[[observation]]\nid = \"a\"\nbytes_per_s = -1\nclients = 0\n\
                [[observation]]\nid = \"a\"\n[[claim]]\ntext = \"t\"\nleft = \"1 /\"\nright = 2\n";
    fs::write(folder.path().join("o.toml"), text).unwrap();
    let seen = run(folder.path(), &["diagnose", "o.toml", "--json"]);
    seen.assert_said(
        2,
        &["these observations cannot be read", "did you mean `title`?", "problems in o.toml"],
    )
    .assert_no_result();
    for line in [1, 2, 5, 6, 8, 11] {
        assert!(seen.stderr.contains(&format!("o.toml:{line}:")), "line {line}: {}", seen.stderr);
    }
}

#[test]
fn what_is_no_file_of_observations_is_bad_input() {
    let folder = strangers_folder();
    fs::write(folder.path().join("bytes.toml"), [0xff, 0xfe, 0]).unwrap();
    fs::write(folder.path().join("empty.toml"), "").unwrap();
    for (name, said) in [("bytes.toml", "UTF-8"), ("empty.toml", "schema"), ("missing.toml", "missing.toml")]
    {
        run(folder.path(), &["diagnose", name]).assert_said(2, &[said]).assert_no_result();
    }
}
