//! Studies that cannot be run: every problem at once, at its place, before anything is touched.

use crate::support::{Seen, Surroundings, run, strangers_folder};
use narrows_testkit::closed_port::ClosedPort;
use std::fs;
use std::path::Path;

/// Runs the study with these bytes in a stranger's folder, and fails if anything else there changes.
fn refused_bytes(bytes: &[u8], code: i32, said: &[&str]) -> Seen {
    let folder = strangers_folder();
    fs::write(folder.path().join("study.toml"), bytes).unwrap();
    refused_in(folder.path(), &["run", "study.toml", "--json", "--out", "record"], code, said)
}

fn refused_in(folder: &Path, words: &[&str], code: i32, said: &[&str]) -> Seen {
    let before = Surroundings::of(folder);
    let seen = run(folder, words);
    seen.assert_said(code, said).assert_no_result();
    before.assert_same(folder);
    seen
}

fn refused(text: &str, said: &[&str]) -> Seen {
    refused_bytes(text.as_bytes(), 2, said)
}

#[test]
fn all_problems_are_reported_at_once_each_with_its_line() {
    let text = r#"target = "null:"
secnods = 5
seconds = "long"
[workload]
block = "4 parsecs"
depth = 0
order = "zigzag"
think = 5
max_rate = "fast"
batch = 64
[sweep]
file = []
engine = ["null", "warp"]
"#;
    let seen = refused(text, &["this study cannot be run", "study.toml:2:", "`secnods`", "seconds"]);
    for line in [2, 3, 5, 6, 7, 8, 9, 12, 13] {
        assert!(seen.stderr.contains(&format!("study.toml:{line}:")), "line {line}: {}", seen.stderr);
    }
    for part in ["allowed:", "hint:", "^", "problems in study.toml"] {
        assert!(seen.stderr.contains(part), "{part}: {}", seen.stderr);
    }
}

#[test]
fn settings_that_do_not_go_together_are_reported_by_both_names() {
    refused(
        "target = \"null:\"\n[workload]\nblock = \"1MiB\"\nfile = \"64KiB\"\n",
        &["1MiB", "64KiB", "file"],
    );
    refused("target = \".\"\n[workload]\naccess = \"direct\"\nblock = \"1000B\"\n", &["multiple of 512"]);
    refused(
        "target = \".\"\n[workload]\nengine = \"psync\"\ndepth = 8\n",
        &["synchronous", "psync", "workers = 8"],
    );
}

#[test]
fn a_study_without_a_target_says_how_to_name_one() {
    refused("[workload]\nblock = \"4KiB\"\n", &["no target", "target = \"null:\""]);
    refused("", &["no target"]);
}

#[test]
fn what_is_no_toml_is_reported_with_its_place() {
    refused("target = \"null:\n", &["study.toml:1:"]);
    refused("target = \"null:\"\ntarget = \"null:\"\n", &["study.toml:2:", "target"]);
}

#[test]
fn what_is_no_text_or_no_study_is_not_read_on() {
    refused_bytes(b"target = \"null:\"\n\xff\xfe", 2, &["study.toml:2:", "UTF-8"]);
    refused_bytes(&vec![b'#'; (1 << 20) + 1], 2, &["has more than", "is this the right file?"]);
    let folder = strangers_folder();
    refused_in(folder.path(), &["run", "target"], 2, &["target", "it is a folder"]);
    refused_in(folder.path(), &["run", "absent.toml"], 2, &["absent.toml", "No such file"]);
    refused_in(folder.path(), &["run", "/dev/zero"], 2, &["has more than"]);
    refused_in(folder.path(), &["run", "-"], 2, &["stdin", "no target"]);
}

#[test]
fn every_path_that_is_not_there_is_named() {
    let seen = refused(
        "target = [\"absent-1\", \"target\", \"absent-2\"]\n",
        &["study.toml:1:11: target: found absent-1", "study.toml:1:33: target: found absent-2"],
    );
    assert!(!seen.stderr.contains("found target:"), "{}", seen.stderr);
    let text = "target = [\"absent\", \"sim:zzz\"]\n[workload]\nblock = \"x\"\n";
    refused(text, &["study.toml:1:11:", "study.toml:1:21:", "study.toml:3:9:", "3 problems"]);
}

#[test]
fn a_file_that_exists_is_not_written() {
    let text = "target = \"precious.txt\"\n[workload]\nop = \"write\"\nblock = \"1B\"\n";
    refused(text, &["study.toml:3:", "workload.op", "exists", "name its folder"]);
}

#[test]
fn an_endpoint_that_does_not_answer_could_not_run() {
    let closed = ClosedPort::bind().unwrap();
    let text = format!("target = \"tcp://{}/memory\"\n", closed.address());
    refused_bytes(text.as_bytes(), 3, &[&closed.address().to_string(), "refused"]);
}

#[test]
fn options_out_of_range_are_refused() {
    let folder = strangers_folder();
    fs::write(folder.path().join("study.toml"), "target = \"null:\"\n").unwrap();
    for words in [["--seconds", "0"], ["--cell-seconds", "0.001"], ["--trials", "0"], ["--seed", "x"]] {
        refused_in(folder.path(), &["run", "study.toml", words[0], words[1]], 2, &[words[0]]);
    }
}

#[test]
fn a_record_that_is_there_is_not_written_over() {
    let folder = strangers_folder();
    fs::write(folder.path().join("study.toml"), "target = \"target\"\n").unwrap();
    refused_in(
        folder.path(),
        &["run", "study.toml", "--quiet", "--out", "precious.txt"],
        2,
        &["precious.txt"],
    );
}

#[test]
fn a_simulated_machine_that_is_not_there_is_reported_with_the_nearest_name() {
    refused("target = \"sim:ten-gigabit-nsf\"\n", &["ten-gigabit-nsf", "is sim:ten-gigabit-nfs meant?"]);
    refused("target = [\"null:\", \"sim:qqqqqqqq\"]\n", &["sim:qqqqqqqq", "one of the built-in machines"]);
}
