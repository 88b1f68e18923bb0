//! `narrows suite ioperf` on this machine: its table, its record, what it leaves; and mistakes in what is asked of it.

use crate::support::suites::{Mistakes, with_verdict};
use crate::support::{Seen, Surroundings, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Small, and without cuts: no test proves our own speed.
const SMALL: &[&str] = &["--count", "40", "--no-verdict", "--seed", "7", "--quiet", "--tag", "here"];

fn suite(folder: &Path, words: &str, more: &[&str]) -> Seen {
    let words: Vec<&str> = ["suite", "ioperf"].into_iter().chain(words.split_whitespace()).collect();
    run(folder, &[&words, more].concat())
}

fn fields(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The lines of the table that end in fifteen figures.
fn rows(stdout: &str) -> Vec<Vec<&str>> {
    stdout.lines().map(fields).filter(|fields| fields.len() == 17 && fields[0] != "tag").collect()
}

#[test]
fn all_rows_are_measured_leave_nothing_and_are_reported_again_from_the_record() {
    let folder = strangers_folder();
    fs::create_dir(folder.path().join("own")).unwrap();
    let before = Surroundings::of(&folder.path().join("target"));
    let seen = suite(folder.path(), "target --processes 3 --passes 2 --out own/record", SMALL);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    before.assert_same(&folder.path().join("target"));
    let found = rows(&seen.stdout);
    let names: Vec<&str> = found.iter().map(|row| row[0]).collect();
    assert_eq!(
        names,
        ["here", "1PV_here_test", "NPV_here_test", "<here.*>", "here.1", "here.2", "here.3"],
        "{}",
        seen.stdout
    );
    for row in &found {
        assert_eq!(row[1], "320");
        assert!(
            row[2..].iter().all(|figure| figure.parse::<f64>().is_ok_and(|value| value > 0.0)),
            "{row:?}"
        );
    }
    assert_eq!(found[2][1..], found[3][1..]);
    assert!(seen.stderr.contains("fwrite of 3 processes, KB/sec: sum"), "{}", seen.stderr);
    assert!(seen.stderr.contains("320 KiB per file is less than"), "{}", seen.stderr);
    let reported = run(folder.path(), &["diagnose", "own/record"]);
    assert!(reported.stdout.starts_with(&seen.stdout), "{}", reported.stdout);
}

#[test]
fn columns_are_made_of_bytes_wall_time_and_cpu_time_of_each_process() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let seen = suite(folder.path(), ". --rows 1PV --csv --passes 2 --out record", SMALL);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let text = fs::read_to_string(folder.path().join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let row: Vec<&str> = seen.stdout.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(row[..2], ["1PV_here_test", "320"]);
    let cells = summary["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 5);
    for (index, cell) in cells.iter().enumerate() {
        let client = &cell["per_client"][0];
        let number = |key: &str| client[key].as_f64().unwrap();
        let (wall_s, cpu_s) = (number("elapsed_s"), number("user_s") + number("system_s"));
        // Two passes of 40 I/Os: of 8 KB each, or of 20 bytes.
        let kb = 80.0 * if index == 4 { 20.0 / 1024.0 } else { 8.0 };
        assert_eq!(client["ops"], 80);
        assert!((number("bytes") / 1024.0 - kb).abs() < 1e-9, "{client}");
        let reported: Vec<f64> =
            row[2 + 3 * index..5 + 3 * index].iter().map(|text| text.parse().unwrap()).collect();
        let made = [kb / wall_s, kb / cpu_s, 100.0 * cpu_s / wall_s];
        for (reported, made) in reported.iter().zip(made) {
            assert!((reported - made).abs() < 0.0051, "{reported} {made}: {}", seen.stdout);
        }
        assert!(cpu_s <= wall_s * 1.01 + 0.001, "a process of one thread has one CPU: {client}");
        let file_bytes = if index == 4 { 20 } else { 8192 };
        assert_eq!(cell["block_bytes"], file_bytes);
        assert_eq!(cell["requested"]["engine"], "stdio");
    }
}

#[test]
fn the_table_is_what_the_importer_reads() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for (name, format) in [("table.txt", ""), ("table.csv", "--csv")] {
        let seen = suite(folder.path(), &format!(". --processes 2 --out {name}.d {format}"), SMALL);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        fs::write(folder.path().join(name), &seen.stdout).unwrap();
        let read = run(folder.path(), &["import", "ioperf", name]);
        assert_eq!(read.code, Some(0), "{read:?}");
        assert!(read.stdout.contains(" of 6 rows obey CPU%"), "{}", read.stdout);
        let reproduced = "<here.*>: the mean of 2 hosts is reproduced to the last digit in 15 of 15";
        assert!(read.stdout.contains(reproduced), "{}", read.stdout);
    }
}

#[test]
fn short_phases_are_flagged() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let seen = suite(folder.path(), ". --out record", SMALL);
    assert!(seen.stdout.contains("too short to be a rate, under 0.5 s: "), "{}", seen.stdout);
    // Where putc is fast as well, none is long enough.
    let reported = ["fread of here", "every test of here"];
    assert!(reported.iter().any(|reported| seen.stdout.contains(reported)), "{}", seen.stdout);
    assert!(seen.stderr.contains("Careful: a window was too short"), "{}", seen.stderr);
}

#[test]
fn a_verdict_stands_beside_the_table_and_the_server_is_looked_at() {
    let seen = with_verdict("ioperf", ". --count 40 --tag here");
    assert_eq!(rows(&seen.stdout).len(), 1, "{}", seen.stdout);
}

#[test]
fn mistakes_are_refused_before_anything_is_made_and_say_what_to_do() {
    let mistakes = Mistakes::of("ioperf");
    let refused = |words, said: &[&str]| mistakes.refused(words, said);
    refused(". --count 0", &["count: found 0", "published are --count 5000"]);
    refused(". --buffer 0", &["buffer: found 0; allowed: 1 to 65536"]);
    refused(". --passes 0", &["passes: found 0; allowed: 1 to 1000"]);
    refused(". --passes -1", &["'--passes <N>'", "`-1` is not a whole number from 1 to 1000"]);
    refused(". --processes -2", &["`-2` is not a whole number from 1 to 256"]);
    refused(". --buffer -8", &["`-8` is not a whole number from 1 to 65536"]);
    refused(". --count -1", &["`-1` is not a whole number from 1 to"]);
    refused(". --processes 257", &["processes: found 257; allowed: 1 to 256"]);
    refused("missing", &["missing", "give a folder or file that exists"]);
    refused("file", &["file is a file; give the folder"]);
    refused(". --count 100000000000", &["that are free there", "--count"]);
    refused(". --tag NPV", &["tag: found `NPV`"]);
    refused(". --flush never", &["invalid value 'never'"]);
    refused(". --cell-seconds 0.01", &["--cell-seconds", "0.1 to 3600"]);
}
