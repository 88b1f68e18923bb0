//! `narrows suite bonnie` on this machine: its tables and CSV, its record, what it leaves; and mistakes in what is asked
//! of it.

use crate::support::suites::{Mistakes, with_verdict};
use crate::support::{Seen, Surroundings, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// Small, and without cuts: no test proves our own speed.
const SMALL: &[&str] =
    &["-s", "2:8k:100", "-r", "0", "-n", "1", "-f1", "-m", "here", "-z", "7", "--no-verdict", "--quiet"];

fn suite(folder: &Path, words: &str, more: &[&str]) -> Seen {
    let words: Vec<&str> = ["suite", "bonnie"].into_iter().chain(words.split_whitespace()).collect();
    run(folder, &[&words, more].concat())
}

/// The lines of CSV of 2.00, split.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().filter(|line| line.starts_with("1.98,")).map(|line| line.split(',').collect()).collect()
}

/// All phases, with a call for each byte of 1 MiB and files in two folders: what `-q` prints, and the summary.
static EVERY_PHASE: LazyLock<(Seen, Value)> = LazyLock::new(|| {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let small: Vec<&str> = SMALL.iter().map(|word| if *word == "1" { "1:100:10:2" } else { word }).collect();
    let seen = suite(folder.path(), "-q --out record", &small);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let summary = summary(folder.path());
    (seen, summary)
});

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("record/summary.json")).unwrap()).unwrap()
}

#[test]
fn phases_of_several_processes_are_measured_leave_nothing_and_are_reported_again_from_the_record() {
    let folder = strangers_folder();
    fs::create_dir(folder.path().join("own")).unwrap();
    let before = Surroundings::of(&folder.path().join("target"));
    // Without characters, whose phases another test has: a call for each byte, four times over.
    let small: Vec<&str> = SMALL.iter().map(|word| if *word == "-f1" { "-f" } else { word }).collect();
    let seen = suite(folder.path(), "-d target -p 2 -y -x 2 --out own/record", &small);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    before.assert_same(&folder.path().join("target"));
    let found = rows(&seen.stdout);
    assert_eq!(found.len(), 4, "{}", seen.stdout);
    for row in &found {
        assert_eq!((row.len(), row[2], row[4], row[5], row[7]), (50, "here", "7", "2M", "100"));
        let figures = row[11..15].iter().chain(&row[17..21]).chain(&row[26..38]);
        assert!(figures.copied().all(|figure| !figure.is_empty()), "{row:?}");
    }
    assert!(seen.stdout.contains("[run 2 of 2, process 2 of 2]"), "{}", seen.stdout);
    assert!(seen.stderr.contains("2.00 MiB per file is less than"), "{}", seen.stderr);
    let reported = run(folder.path(), &["diagnose", "own/record"]);
    assert!(reported.stdout.starts_with(&seen.stdout), "{}", reported.stdout);
}

#[test]
fn every_phase_does_what_it_says() {
    let (_, summary) = &*EVERY_PHASE;
    let cells = summary["cells"].as_array().unwrap();
    let kinds = |cell: &Value| -> Vec<u64> {
        cell["kinds"].as_array().unwrap().iter().map(|kind| kind["op_count"].as_u64().unwrap()).collect()
    };
    let reported: Vec<(&str, u64)> = cells
        .iter()
        .map(|cell| (cell["phase"].as_str().unwrap(), cell["per_client"][0]["ops"].as_u64().unwrap()))
        .collect();
    let data =
        [("putc", 1 << 20), ("put_block", 256), ("rewrite", 512), ("getc", 1 << 20), ("get_block", 256)];
    assert_eq!(reported[..5], data);
    assert_eq!(kinds(&cells[2]), [256, 256]);
    // Five that seek 20 times each, and write two blocks back.
    assert_eq!((reported[5], kinds(&cells[5])), (("seeks", 110), vec![100, 10]));
    let files = ["seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del"];
    assert_eq!(reported[6..], files.map(|name| (name, 1024)));
    assert!(cells.iter().all(|cell| cell["errors"].as_array().unwrap().is_empty()));
}

#[test]
fn with_q_stdout_has_the_csv_alone_and_stderr_the_tables() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    // Neither files nor characters: this test is about where the output goes.
    let small: Vec<&str> = SMALL
        .iter()
        .map(|word| match *word {
            "1" => "0",
            "-f1" => "-f",
            word => word,
        })
        .collect();
    let seen = suite(folder.path(), "-q -x 2 --out record", &small);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let (names, lines) = seen.stdout.split_once('\n').unwrap();
    assert!(names.starts_with("format_version,bonnie_version,name,"), "{names}");
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2, "{}", seen.stdout);
    assert!(lines.iter().all(|line| line.split(',').count() == names.split(',').count()), "{}", seen.stdout);
    assert!(lines.iter().all(|line| line.starts_with("1.98,2.00,here,1,7,2M,")), "{}", seen.stdout);
    assert!(seen.stderr.contains("Version  2.00       ------Sequential Output------"), "{}", seen.stderr);
}

#[test]
fn the_output_of_both_editions_is_what_the_importer_reads() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    // Characters of the older edition are the whole file, which is the smallest then.
    let older: Vec<&str> = SMALL
        .iter()
        .filter(|word| **word != "-f1")
        .map(|word| if *word == "2:8k:100" { "1:8k:100" } else { word })
        .collect();
    let ran = |words: &str| {
        let seen = suite(folder.path(), words, &older);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        seen
    };
    let tables = |printed: &str| -> String {
        printed.split_inclusive('\n').filter(|line| !line.contains(',')).collect()
    };
    let old = ran("-q --edition 1.03 --out old.d");
    let fast = ran("--edition 1.03 -f --out fast.d");
    for (name, text, count) in [
        ("new", &EVERY_PHASE.0.stdout, 12),
        ("old", &old.stdout, 12),
        ("text", &tables(&old.stderr), 12),
        ("text-fast", &tables(&fast.stdout), 10),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
        let read = run(folder.path(), &["import", "bonnie", name]);
        assert_eq!(read.code, Some(0), "{read:?}");
        let found = read.stdout.matches("[[observation]]").count();
        assert_eq!(found, count, "{name}: {text}\n{}", read.stdout);
    }
}

/// What a program of Debian's package makes of `text`; `None` where it is not installed, and nobody insists (`CI=true`
/// does).
#[allow(clippy::print_stdout, reason = "the reason of a skipped test must be seen")]
#[allow(clippy::disallowed_methods, reason = "whether a skip is a failure is the environment's to say")]
fn piped(program: &str, text: &str) -> Option<String> {
    let started =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = started else {
        let why = format!("{program} is not installed (package bonnie++): not tested");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
        println!("{why}");
        return None;
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{program}: {said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_packages_own_readers_take_the_csv() {
    let csv = &EVERY_PHASE.0.stdout;
    assert_eq!(csv.lines().filter(|line| !line.starts_with("1.98,")).count(), 0, "CSV alone: {csv}");
    let row = rows(csv)[0].clone();
    if let Some(text) = piped("bon_csv2txt", csv) {
        assert_eq!(text.matches("1:100:10/2").count(), 1, "{text}");
        for latency in &row[38..] {
            assert!(text.contains(latency), "{latency}: {text}");
        }
    }
    if let Some(html) = piped("bon_csv2html", csv) {
        assert!(html.contains("here") && html.contains(row[49]), "{html}");
    }
}

#[test]
fn a_verdict_stands_beside_the_tables_and_the_server_is_looked_at() {
    let seen = with_verdict("bonnie", "-f -n 0 -s 2 -r 0");
    assert_eq!(rows(&seen.stdout).len(), 1, "{}", seen.stdout);
}

#[test]
fn mistakes_are_refused_before_anything_is_made_and_say_what_to_do() {
    let mistakes = Mistakes::of("bonnie");
    let refused = |words, said: &[&str]| mistakes.refused(words, said);
    refused("-s 1", &["-s: found a file of 1 MiB where the memory is", "or -r 0"]);
    refused("-s x", &["-s: found `x`; allowed: MiB[:chunk[:seeks[:seekers]]]"]);
    refused("-s -1", &["-s: found `-1`"]);
    refused("-s 1:1000 -r 0", &["a chunk of 1000 bytes", "the next one is 1024"]);
    refused("-s 1:8k:0 -r 0", &["seeks: found 0"]);
    refused("-s 1:8k:1:0 -r 0", &["seekers: found 0"]);
    refused("-s 0 -n 0", &["nothing to do"]);
    refused("-n 16:10:20", &["at most 10 and at least 20 bytes", "-n 16:20:10"]);
    refused("-n 16:-1", &["-n: found", "links"]);
    refused("-n 5000", &["-n: found 5000; allowed: 0 to 4096"]);
    refused("-x 0", &["-x: found 0; allowed: 1 to 1000"]);
    refused("-p -1", &["-p: found -1", "no semaphores"]);
    refused("-y", &["-y: found no -p", "-p N starts N processes"]);
    refused("-p 2 -y p", &["-y: found p", "no prompt"]);
    refused("-u nobody-like-this", &["-u: found nobody-like-this", "sudo -u nobody-like-this"]);
    refused("-c 4", &["-c: found 4; allowed: -p N"]);
    refused("-Z /dev/urandom", &["-Z: found", "-z 7 repeats a run"]);
    refused("-g users", &["-g: found users"]);
    refused("-f20 --edition 1.03", &["-f: found a size", "omit the size"]);
    refused("-f fast", &["-f: found `fast`"]);
    refused("-m a,b", &["-m: found `a,b`"]);
    refused("-r x", &["invalid value 'x'"]);
    refused("-r -1", &["'-r <MiB>'", "`-1` is not a whole number from 0 to"]);
    refused("-x -1", &["'-x <N>'", "`-1` is not a whole number from 1 to 1000"]);
    refused("-k", &["unexpected argument '-k'", "--help"]);
    refused("--edition 1.96", &["invalid value '1.96'", "1.03, 2.00"]);
    refused("-d missing", &["missing", "give a folder or file that exists"]);
    refused("-d file", &["file is a file; give the folder"]);
    refused("-s 900000000 -r 0", &["that are free there", "name another folder with -d"]);
}

#[test]
fn the_plan_says_what_would_be_run_and_makes_nothing() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let seen = suite(folder.path(), "--plan", SMALL);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    for word in ["run1/putc", "run1/seeks", "run1/ran_del"] {
        assert!(seen.stdout.contains(word), "{word}: {}", seen.stdout);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
