//! `narrows suite iozone` on this machine: its table, its files, its record, what it leaves; and mistakes in what is asked.

use crate::support::running::{Running, full_pipe, wait_until_finished};
use crate::support::{Seen, Surroundings, narrows, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Without cuts: no test proves our own speed.
const BARE: &[&str] = &["--no-verdict", "--seed", "7", "--quiet"];

fn suite(folder: &Path, words: &str) -> Seen {
    let words: Vec<&str> = ["suite", "iozone"].into_iter().chain(words.split_whitespace()).collect();
    run(folder, &[&words, BARE].concat())
}

/// Rows of the table: file, record and their figures.
fn rows(stdout: &str) -> Vec<Vec<f64>> {
    let fields =
        |line: &str| -> Option<Vec<f64>> { line.split_whitespace().map(|word| word.parse().ok()).collect() };
    stdout.lines().filter_map(fields).filter(|row| row.len() > 2).collect()
}

#[test]
fn auto_mode_measures_every_pair_leaves_nothing_and_is_reported_again_from_the_record() {
    let folder = strangers_folder();
    fs::create_dir(folder.path().join("own")).unwrap();
    let before = Surroundings::of(&folder.path().join("target"));
    let line = "-a -g 128 -R target --out own/record -b own/sheet.csv --surface-csv own/s.csv --surface-svg own/s.svg";
    let seen = suite(folder.path(), line);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    before.assert_same(&folder.path().join("target"));
    let (table, _) = seen.stdout.split_once("iozone test complete.").unwrap();
    let found = rows(table);
    assert_eq!(found.len(), 5 + 6, "{}", seen.stdout);
    assert!(found.iter().all(|row| row.len() == 15 && row.iter().all(|figure| *figure >= 1.0)), "{found:?}");
    assert!(seen.stderr.contains("files of at most 128 KiB are smaller than"), "{}", seen.stderr);
    let own = |name: &str| fs::read_to_string(folder.path().join("own").join(name)).unwrap();
    assert_eq!(own("s.csv").lines().count(), 1 + 11 * 13);
    assert!(own("s.svg").ends_with("</svg>\n") && own("sheet.csv").contains("\"Re-Fread report\""));
    let reported = run(folder.path(), &["diagnose", "own/record"]);
    assert!(reported.stdout.starts_with(&seen.stdout), "{}", reported.stdout);
}

#[test]
fn what_it_prints_is_imported_again_as_table_sheet_file_and_throughput() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let whole = suite(folder.path(), "-a -g 64 -i 0 -i 1 -i 9 -i 12 -R -b sheet.csv --out auto");
    let several = suite(folder.path(), "-t 2 -s 64 -r 4 -i 0 -i 8 --out several");
    assert_eq!((whole.code, several.code), (Some(0), Some(0)), "{whole:?} {several:?}");
    let blocks = whole.stdout.split_once("Excel output is below:").unwrap().1;
    let files =
        [("table.txt", whole.stdout.as_str()), ("blocks.txt", blocks), ("several.txt", &several.stdout)];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let count = |name: &str| {
        let seen = run(folder.path(), &["import", "iozone", name]);
        assert_eq!(seen.code, Some(0), "{name}: {seen:?}");
        seen.stdout.matches("[[observation]]").count()
    };
    // Five records of eight columns; of two processes three tests, each as its parent and as the processes saw it.
    let counts = ["table.txt", "blocks.txt", "sheet.csv", "several.txt"].map(count);
    assert_eq!(counts, [40, 40, 40, 6]);
}

#[test]
fn figures_are_those_of_the_record() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let seen = suite(folder.path(), "-s 256 -r 16 -i 0 -i 2 -N -+n --out record");
    let text = fs::read_to_string(folder.path().join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let row = rows(&seen.stdout).remove(0);
    let cells = summary["cells"].as_array().unwrap();
    let names: Vec<&str> = cells.iter().map(|cell| cell["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["write", "random-read", "random-write"]);
    let micros = |index: usize| cells[index]["per_client"][0]["elapsed_s"].as_f64().unwrap() * 1e6 / 16.0;
    // Without retests rewrite is 0.
    assert_eq!((row[0], row[1], row[3]), (256.0, 16.0, 0.0));
    for (figure, index) in [(row[2], 0), (row[4], 1), (row[5], 2)] {
        assert!((figure - micros(index)).abs() < 0.006, "{figure} {}", micros(index));
    }
}

#[test]
fn processes_together_run_the_originals_tests_in_its_order_from_one_process_on() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let seen = suite(folder.path(), "-u 2 -s 64 -r 4 --out record");
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let children =
        seen.stdout.lines().filter_map(|line| line.trim().strip_prefix("Children see throughput for "));
    let reported: Vec<&str> = children.filter_map(|line| line.split('\t').next()).collect();
    let wanted = [
        " 1 initial writers ",
        " 1 rewriters ",
        " 1 readers ",
        "1 re-readers ",
        "1 reverse readers ",
        "1 stride readers ",
        "1 random readers ",
        "1 mixed workload ",
        "1 random writers ",
        "1 pwrite writers ",
        "1 pread readers ",
        " 1 fwriters ",
        " 1 freaders ",
    ];
    assert_eq!(reported.len(), 2 * wanted.len(), "{reported:?}");
    assert_eq!(reported[..wanted.len()], wanted);
    assert!(reported[wanted.len()..].iter().all(|what| what.trim().starts_with("2 ")), "{reported:?}");
}

#[test]
fn processes_meet_the_stone_wall_and_later_tests_find_whole_files() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for name in ["a", "b"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let seen = suite(folder.path(), "-t 2 -i 0 -i 1 -s 4m -r 4 -O -F a/x b/y --out record");
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stdout.contains("Children see throughput for 2 re-readers \t="), "{}", seen.stdout);
    assert!(!seen.stderr.contains("DATA LOST"), "{}", seen.stderr);
    let text = fs::read_to_string(folder.path().join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    for cell in summary["cells"].as_array().unwrap() {
        let ops: Vec<u64> = (0..2).map(|index| cell["per_client"][index]["ops"].as_u64().unwrap()).collect();
        // The first to be done has done all of it, and nobody more.
        assert_eq!(ops.iter().max(), Some(&1024), "{ops:?}");
    }
    for name in ["a", "b"] {
        assert_eq!(fs::read_dir(folder.path().join(name)).unwrap().count(), 0);
    }
}

#[test]
fn the_first_client_that_is_done_ends_the_trial_for_all() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    // A block of a MiB is copied for one of the clients, which needs a thousand times as long for its share.
    let study = "target = [\"null:\", \"null:copy\"]\ntogether = true\n[workload]\nblock = \"1MiB\"\n\
                 file = \"64MiB\"\n[stop]\nops = 20000\nstone_wall = true\nmeasure = \"15s\"\n";
    fs::write(folder.path().join("wall.toml"), study).unwrap();
    let seen = run(folder.path(), &["run", "wall.toml", "--quiet", "--out", "record"]);
    let text = fs::read_to_string(folder.path().join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let is_both = |cell: &&Value| cell["per_client"].as_array().is_some_and(|clients| clients.len() == 2);
    let cell = summary["cells"].as_array().unwrap().iter().find(is_both).unwrap();
    let ops: Vec<u64> = (0..2).map(|index| cell["per_client"][index]["ops"].as_u64().unwrap()).collect();
    assert_eq!(ops[0], 10_000, "{seen:?}");
    assert!(ops[1] < 5000, "{ops:?}");
}

/// The share of each test's file that was cached when it began, where there was a file.
fn cached_shares(folder: &Path, letters: &str, record: &str) -> Vec<(String, f64)> {
    let seen = suite(folder, &format!("{letters} --out {record}"));
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let text = fs::read_to_string(folder.join(record).join("events.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["data"].clone());
    let share = |event: Value| {
        (event["event"] == "trial_finished").then_some(())?;
        Some((event["cell"].as_str()?.to_owned(), event["resident_ratio"].as_f64()?))
    };
    lines.filter_map(share).collect()
}

#[test]
fn a_named_mount_makes_every_test_begin_with_a_file_that_is_not_cached() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let tests = "-s 1m -r 64 -i 0 -i 1 -i 7";
    let warm = cached_shares(folder.path(), tests, "warm");
    let cold = cached_shares(folder.path(), &format!("{tests} -U / ."), "cold");
    let names: Vec<&str> = cold.iter().map(|(name, _)| name.as_str()).collect();
    let wanted = ["rewrite", "read", "reread", "fread", "freread"].map(|column| format!("1024/64/{column}"));
    assert_eq!(names, wanted);
    assert!(cold.iter().all(|(_, share)| *share < 0.02), "{cold:?}");
    assert!(warm.len() == 5 && warm.iter().all(|(_, share)| *share > 0.9), "{warm:?}");
}

#[test]
fn files_stay_where_that_is_asked_for() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let seen = suite(folder.path(), "-w -s 64 -r 4 -i 0 --out record");
    let kept = seen.stderr.lines().find_map(|line| line.strip_prefix("kept: ")).unwrap();
    let length = fs::metadata(folder.path().join(kept).join("data-0")).unwrap().len();
    assert_eq!(length, 65_536);
    let cleaned = run(folder.path(), &["clean", "--remove"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    let line = format!("{kept} (test folder): kept: its run was asked to leave its files\n");
    assert_eq!(cleaned.stdout, line);
    assert!(folder.path().join(kept).join("data-0").exists());
    let next = run(folder.path(), &["check", "--plan"]);
    assert!(!next.stderr.contains("left its test folder "), "{next:?}");
}

#[test]
fn files_that_shall_stay_do_so_where_a_signal_ends_the_printing() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    fs::create_dir(folder.path().join("b")).unwrap();
    let words = "suite iozone -w -t 2 -F a b/c -s 64 -r 4 -i 0 --out record";
    let words: Vec<&str> = words.split_whitespace().chain(BARE.iter().copied()).collect();
    let (reader, writer) = full_pipe();
    let mut running = Running::start_into(narrows(folder.path(), &words), writer.into());
    let kept = running.wait_for("kept: b/");
    wait_until_finished(&folder.path().join("record"));
    let is_ended = (0..50).any(|_| {
        running.signal("TERM");
        running.ends_within(Duration::from_millis(200))
    });
    assert!(is_ended, "it waits for its reader");
    drop(reader);
    let kept = kept.strip_prefix("kept: ").unwrap();
    let cleaned = run(folder.path(), &["clean", "b", "--remove"]);
    assert_eq!((cleaned.code, cleaned.stdout.contains("kept: its run")), (Some(0), true), "{cleaned:?}");
    // The marker, and the file of its process.
    assert_eq!(fs::read_dir(folder.path().join(kept)).unwrap().count(), 2, "{cleaned:?}");
}

#[test]
fn mistakes_are_reported_with_what_to_do_and_make_nothing() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    fs::write(folder.path().join("there.csv"), "mine").unwrap();
    for (line, found) in [
        ("-s 4 -r 64", "-r: found a record of 64 kB in a file of 4 kB"),
        ("-i 13", "-i: found `13`; allowed: a whole number from 0 to 12"),
        ("-s 64 -U", "-U without a value; allowed: -U MOUNT"),
        ("-s 64 -U /proc .", "-U /proc: does not contain the folder of the tests, "),
        ("-i 0 -k 4", "letters: found `-k`"),
        ("-+x", "letters: found `-+x`"),
        ("-a -g", "-g without a value"),
        ("-s 64 -b there.csv", "-b there.csv: exists already"),
        ("-s 64 --surface-svg none/s.svg", "is in a folder that does not exist"),
        ("-t 1 -F none/x", "none is not a folder"),
        ("there.csv", "there.csv is a file; give the folder"),
        ("-t 2 -s 64 --surface-svg s.svg", "--surface-svg: several processes (-t, -l, -u) have no surface"),
    ] {
        let seen = suite(folder.path(), line);
        assert_eq!((seen.code, seen.stderr.contains(found)), (Some(2), true), "{line}: {seen:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let help = run(folder.path(), &["suite", "iozone", "--help"]);
    assert!(help.stdout.contains("-+n") && help.stdout.contains("--surface-svg"), "{}", help.stdout);
}
