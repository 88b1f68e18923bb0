//! `narrows suite io500` on this machine: its phases and their order, its score, its record, what it leaves; and mistakes in what is
//! asked of it.

use crate::support::suites::Mistakes;
use crate::support::{Seen, Surroundings, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Little of everything, by three processes.
const LITTLE: &str = "--bytes-easy 512k --transfer-easy 64k --segments-hard 7 --items 120 --clients 3";

fn suite(folder: &Path, words: &str) -> Seen {
    let words: Vec<&str> = ["suite", "io500"].into_iter().chain(words.split_whitespace()).collect();
    run(folder, &words)
}

/// What was printed on stderr, without its line breaks.
fn remarks(seen: &Seen) -> String {
    seen.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The loads of a record at `path`, each with the operations and the bytes of its clients.
fn loads(path: &Path) -> Vec<(String, Vec<u64>, Vec<u64>)> {
    let text = fs::read_to_string(path.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let of_cell = |cell: &Value| {
        assert!(cell["errors"].as_array().unwrap().is_empty(), "{cell}");
        let clients = cell["per_client"].as_array().unwrap();
        let each = |key: &str| clients.iter().map(|client| client[key].as_u64().unwrap()).collect();
        let name = format!("{}/{}", cell["test"].as_str().unwrap(), cell["phase"].as_str().unwrap());
        (name, each("ops"), each("bytes"))
    };
    summary["cells"].as_array().unwrap().iter().map(of_cell).collect()
}

/// The lines of phases: name, score, unit, seconds.
fn results(text: &str) -> Vec<(String, f64, String, f64)> {
    let lines = text.lines().filter(|line| line.starts_with("[RESULT] "));
    lines
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, name, score, unit, ":", "time", seconds, "seconds", ..] = words.as_slice() else {
                panic!("{line}")
            };
            ((*name).to_owned(), score.parse().unwrap(), (*unit).to_owned(), seconds.parse().unwrap())
        })
        .collect()
}

const PHASES: [&str; 12] = [
    "ior-easy-write",
    "mdtest-easy-write",
    "ior-hard-write",
    "mdtest-hard-write",
    "find",
    "ior-easy-read",
    "mdtest-easy-stat",
    "ior-hard-read",
    "mdtest-hard-stat",
    "mdtest-easy-delete",
    "mdtest-hard-read",
    "mdtest-hard-delete",
];

/// The three figures of the line of the score.
fn score(text: &str) -> [f64; 3] {
    let line = text.lines().find(|line| line.starts_with("[SCORE ] ")).unwrap();
    let figures: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(line.ends_with(" [INVALID]"), "{line}");
    figures.try_into().unwrap()
}

#[test]
fn the_phases_come_in_io500s_order_and_the_score_is_that_of_their_results() {
    let folder = strangers_folder();
    fs::create_dir(folder.path().join("own")).unwrap();
    let before = Surroundings::of(&folder.path().join("target"));
    let seen = suite(folder.path(), &format!("-d target {LITTLE} --no-verdict --quiet --out own/record"));
    assert_eq!(seen.code, Some(0), "{seen:?}");
    before.assert_same(&folder.path().join("target"));
    let results = results(&seen.stdout);
    assert_eq!(results.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), PHASES, "{}", seen.stdout);
    for (name, score, unit, seconds) in &results {
        assert_eq!(unit, if name.starts_with("ior") { "GiB/s" } else { "kIOPS" }, "{name}");
        assert!(*score > 0.0 && *seconds < 60.0, "{name} {score} {seconds}");
    }
    let mean = |unit: &str| {
        let scores: Vec<f64> =
            results.iter().filter(|(_, _, found, _)| found == unit).map(|(_, score, ..)| *score).collect();
        scores.iter().product::<f64>().powf(1.0 / scores.len() as f64)
    };
    let (bandwidth, kiops) = (mean("GiB/s"), mean("kIOPS"));
    // Scores are printed with six digits after the point, and slow ones of little files have few figures.
    for (found, expected) in
        score(&seen.stdout).into_iter().zip([bandwidth, kiops, (bandwidth * kiops).sqrt()])
    {
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}: {}", seen.stdout);
    }
    for words in ["not an IO500 submission", "IO500 phases by narrows (own run)\n3 rank(s) on 1 node(s); "] {
        assert!(seen.stdout.contains(words), "{words}: {}", seen.stdout);
    }
    for words in
        ["has every rank write for 300 s", "under 1 s", "share its caches", "every rank lists the one folder"]
    {
        assert!(remarks(&seen).contains(words), "{words}: {}", seen.stderr);
    }
    let again = run(folder.path(), &["diagnose", "own/record"]);
    assert!(again.stdout.starts_with(&seen.stdout), "{}", again.stdout);
}

#[test]
fn every_rank_does_all_of_its_share_of_every_phase_however_ranks_are_shifted() {
    for more in ["", "--shift 0", "--shift 2"] {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let seen = suite(folder.path(), &format!("{LITTLE} {more} --no-verdict --quiet --out record"));
        assert_eq!(seen.code, Some(0), "{more}: {seen:?}");
        let (easy, hard) = ((8, 512 << 10), (7, 7 * 47_008));
        let expected = [
            ("ior-easy/write", easy),
            ("mdtest-easy/write", (120, 0)),
            ("ior-hard/write", hard),
            ("mdtest-hard/write", (120, 120 * 3901)),
            ("find/mdtest-easy", (120, 0)),
            ("find/mdtest-hard", (120, 0)),
            ("ior-easy/read", easy),
            ("mdtest-easy/stat", (120, 0)),
            ("ior-hard/read", hard),
            ("mdtest-hard/stat", (120, 0)),
            ("mdtest-easy/delete", (120, 0)),
            ("mdtest-hard/read", (120, 120 * 3901)),
            ("mdtest-hard/delete", (120, 0)),
        ];
        let expected = expected.map(|(name, (ops, bytes))| (name.to_owned(), vec![ops; 3], vec![bytes; 3]));
        assert_eq!(loads(&folder.path().join("record")), expected, "{more}");
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["record"], "{more}");
    }
}

#[test]
fn one_rank_reads_what_it_wrote_and_cuts_are_measured_beside_the_phases() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let words = "--bytes-easy 512k --transfer-easy 64k --segments-hard 7 --items 50 --cell-seconds 0.1 --server self \
                 --quiet --out record";
    let seen = suite(folder.path(), words);
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    assert_eq!(results(&seen.stdout).len(), 12, "{}", seen.stdout);
    assert!(remarks(&seen).contains("the one rank visits what it has created itself"), "{}", seen.stderr);
    let text = fs::read_to_string(folder.path().join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let cells = summary["cells"].as_array().unwrap();
    let of_path = cells.iter().filter(|cell| cell["cut"] == "path").count();
    assert!(of_path == 13 && cells.len() > 13, "{of_path} of {}", cells.len());
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["record"]);
}

#[test]
fn what_cannot_be_done_is_refused_by_the_option_with_what_to_do() {
    let mistakes = Mistakes::of("io500");
    mistakes.refused("--items 0", &["--items: found 0; allowed: 1 to 4194304"]);
    mistakes.refused("--segments-hard 0", &["--segments-hard: found 0"]);
    mistakes.refused("--bytes-easy 3m", &["--bytes-easy: found 3145728", "give --bytes-easy 2097152"]);
    mistakes.refused("--transfer-easy 100", &["--transfer-easy: found 100; allowed: 4096 to 67108864"]);
    mistakes.refused("--shift 1", &["--shift: found 1 with 1 rank", "--clients or mpirun"]);
    mistakes.refused(
        "--bytes-easy 16TiB --clients 4096",
        &["of files of all ranks at once", "that are free there"],
    );
    mistakes.refused("-d file", &["is a file"]);
}
