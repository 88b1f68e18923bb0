//! `narrows suite jovian` on processes of this machine: its tables, its record, what it leaves; and mistakes in what is
//! asked of it.

use crate::support::running::Served;
use crate::support::{Seen, Surroundings, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Small, and without cuts: no test proves our own speed.
const SMALL: &[&str] = &["--bytes", "768KiB", "--trials", "3", "--no-verdict", "--seed", "7", "--quiet"];

fn suite(folder: &Path, words: &str, more: &[&str]) -> Seen {
    let words: Vec<&str> = ["suite", "jovian"].into_iter().chain(words.split_whitespace()).collect();
    run(folder, &[&words, more].concat())
}

fn summary(folder: &Path, record: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join(record).join("summary.json")).unwrap()).unwrap()
}

/// The fields of the row of `label` in each of the two tables.
fn rows(stdout: &str, label: &str) -> Vec<Vec<String>> {
    let rows = stdout.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    rows.filter(|fields| fields.first().is_some_and(|first| first == label)).collect()
}

#[test]
fn all_modes_run_on_this_machine_leave_nothing_and_report_the_same_from_the_record() {
    let folder = strangers_folder();
    fs::create_dir(folder.path().join("own")).unwrap();
    let before = Surroundings::of(&folder.path().join("target"));
    let words = "one-to-many c1-s1 c2-s2 many-to-many pp-2 --flush drop --root target --out own/record";
    let seen = suite(folder.path(), words, SMALL);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    before.assert_same(&folder.path().join("target"));
    assert!(seen.stdout.contains("means of 3 trials without the least and the greatest"), "{}", seen.stdout);
    for (label, request) in [("local", "64KiB"), ("c1-s1", "64KiB"), ("c2-s2", "128KiB"), ("pp-2", "128KiB")]
    {
        let rows = rows(&seen.stdout, label);
        assert_eq!(rows.len(), 2, "{label}: {}", seen.stdout);
        for row in rows {
            assert_eq!(row[1], request);
            assert!(row[2].parse::<f64>().unwrap() > 0.0);
            assert_eq!(row[4] == "-", label == "local", "{row:?}");
        }
    }
    assert!(seen.stderr.contains("768 KiB per client is less than"), "{}", seen.stderr);
    let reported = run(folder.path(), &["diagnose", "own/record"]);
    assert!(reported.stdout.starts_with(&seen.stdout), "{}", reported.stdout);
    assert!(reported.stdout.contains("- 768 KiB per client is less than"));
}

#[test]
fn each_client_moves_its_bytes_in_both_directions_and_reads_find_caches_emptied() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let seen = suite(folder.path(), "c2-s2 --flush drop --out record --json", SMALL);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let summary = summary(folder.path(), "record");
    assert_eq!(serde_json::from_str::<Value>(&seen.stdout).unwrap(), summary);
    assert_eq!((&summary["topology"], &summary["suite"]["name"]), (&"one-to-many".into(), &"jovian".into()));
    let cells: Vec<&Value> = summary["cells"].as_array().unwrap().iter().collect();
    assert_eq!(cells.len(), 4, "local and c2-s2, each written and read");
    for cell in cells {
        let clients = cell["clients"].as_u64().unwrap();
        assert_eq!(cell["suite"], "jovian");
        assert_eq!(cell["phase"], cell["op"]);
        assert_eq!(cell["test"], if clients == 2 { "c2-s2" } else { "local" });
        assert_eq!(cell["trials"].as_array().unwrap().len(), 3);
        assert_eq!(cell["bytes"]["application"], clients * 3 * 768 * 1024, "{}", cell["id"]);
        assert!(cell["errors"].as_array().unwrap().is_empty());
        assert!(
            near(figure(cell, "trimmed_rate_trial_count").unwrap(), 1.0),
            "the middle one of three trials"
        );
        let mut rates = rates_of(cell);
        rates.sort_by(f64::total_cmp);
        assert!(near(figure(cell, "trimmed_rate_bytes_per_s").unwrap(), rates[1]), "{}", cell["id"]);
    }
    let of = |test: &str, op: &str, name: &str| {
        let cell =
            summary["cells"].as_array().unwrap().iter().find(|cell| cell["test"] == test && cell["op"] == op);
        figure(cell.unwrap(), name)
    };
    for op in ["write", "read"] {
        let ideal = 2.0 * of("local", op, "trimmed_rate_bytes_per_s").unwrap();
        let wanted = of("c2-s2", op, "trimmed_rate_bytes_per_s").unwrap() / ideal;
        assert!(near(of("c2-s2", op, "scaling_ratio").unwrap(), wanted), "{op}");
        assert_eq!(of("local", op, "scaling_ratio"), None);
    }
    let reported: Value =
        serde_json::from_str(&run(folder.path(), &["diagnose", "record", "--json"]).stdout).unwrap();
    assert_eq!(reported["cells"], summary["cells"]);
}

/// The value of a cell's metric.
fn figure(cell: &Value, id: &str) -> Option<f64> {
    cell["metrics"].as_array().unwrap().iter().find(|metric| metric["id"] == id)?["value"].as_f64()
}

fn rates_of(cell: &Value) -> Vec<f64> {
    let rates = cell["trials"].as_array().unwrap().iter().map(|trial| trial["rate_bytes_per_s"].as_f64());
    rates.collect::<Option<_>>().unwrap()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * other.abs()
}

#[test]
fn a_dummy_file_is_read_before_reads_and_few_trials_are_reported() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let words = "c1-s2 --flush-bytes 2MiB --ack late --peer-depth 2 --disk-threads 1 --priority client --yes --out record";
    let few = ["--bytes", "256KiB", "--trials", "2", "--no-verdict", "--quiet"];
    let seen = suite(folder.path(), words, &few);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stdout.contains("plain means of 2 of 2 trials"), "{}", seen.stdout);
    assert!(
        seen.stdout
            .contains("acknowledged when they are on disk, a dummy file of 2.00 MiB read before reads")
    );
    assert!(seen.stderr.contains("the dummy file of 2.00 MiB is less than"), "{}", seen.stderr);
}

#[test]
fn servers_that_are_named_are_used_and_local_is_not_added() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for node in ["a", "b"] {
        fs::create_dir(folder.path().join(node)).unwrap();
    }
    let servers: Vec<Served> =
        ["a", "b"].iter().map(|node| Served::start(folder.path(), &["--root", node])).collect();
    let addresses = servers.iter().map(|server| server.address.clone()).collect::<Vec<_>>().join(",");
    let words = format!("c1-s1 c1-s2 --servers {addresses} --flush drop --out record");
    let seen = suite(folder.path(), &words, SMALL);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert_eq!((rows(&seen.stdout, "c1-s2").len(), rows(&seen.stdout, "local").len()), (2, 0));
    assert!(seen.stderr.contains("name local as well as the other labels"), "{}", seen.stderr);
    let launched =
        format!("pp-2 --nodes {addresses} --client-command env --client-command env --flush none --out two");
    let seen = suite(folder.path(), &launched, SMALL);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert_eq!(rows(&seen.stdout, "pp-2").len(), 2);
    drop(servers);
    let seen = suite(folder.path(), &words.replace("record", "three"), SMALL);
    seen.assert_said(3, &["Connection refused", "narrows serve"]).assert_no_result();
}

#[test]
fn a_plan_is_reported_and_nothing_is_measured() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let words = "local c1-s2 --plan --flush drop --no-verdict";
    let seen = suite(folder.path(), words, &["--bytes", "768KiB"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    for word in ["until their bytes are transferred", "c1-s2/path/write/128KiB", "768 KiB each in 5 trials"] {
        assert!(seen.stdout.contains(word), "{word}: {}", seen.stdout);
    }
    assert!(!seen.stdout.contains("prepares") && !seen.stdout.contains("dummy"), "{}", seen.stdout);
    let seen = suite(folder.path(), "local c1-s2 --plan --flush-bytes 300MiB", &["--bytes", "768KiB"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    // Of the cuts alone: the suite's own writes make their files.
    let said = seen.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "before 10 trials of 2 reading cells, untimed, a dummy file of 300 MiB is read at every serving machine: up \
         to 2.93 GiB at each of them",
        "prepares",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_asked_for_is_refused_with_its_place_and_what_to_do() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let refusals: &[(&str, &[&str])] = &[
        ("", &["<LABEL>"]),
        ("c1s4", &["c1s4 (word 1): no such label", "is c1-s4 meant?"]),
        ("local c0-s1 pp-0", &["c0-s1 (word 2)", "pp-0 (word 3)"]),
        ("one-to-many", &["one-to-many (word 1) without a label"]),
        ("one-to-many pp-2", &["put many-to-many before it"]),
        ("local --unit 1000", &["--unit 512 and --unit 1024"]),
        ("local --unit 0", &["--unit"]),
        ("c1-s2 --bytes 100001", &["the nearest is --bytes 131072", "c1-s2"]),
        ("c1-s64 --unit 2MiB", &["--unit 1048576 is the maximum for c1-s64"]),
        ("local --root missing", &["missing", "give a folder"]),
        ("c1-s1 --root missing", &["missing", "give a folder"]),
        ("c1-s1 --root precious.txt", &["is a file"]),
        ("local --root precious.txt", &["precious.txt"]),
        ("local c1-s1 --root target,.", &["several folders only for local"]),
        ("local --root target,target/..", &["--root target/..", "same file system"]),
        ("c1-s1 --servers a:1 --disk-threads 1", &["--disk-threads", "narrows serve"]),
        ("c1-s1 --servers a:1 --priority server", &["--priority", "narrows serve"]),
        ("c1-s2 --servers 127.0.0.1:1", &["c1-s2, which needs 2 servers, and 1 addresses"]),
        ("c1-s1 --servers here", &["--servers here names no port"]),
        ("c1-s2 --servers a:1,a:1", &["name each of them once"]),
        ("local --nodes a:1,b:2", &["local has none", "pp-2"]),
        ("pp-2 --servers a:1,b:2", &["name them with --nodes"]),
        ("c1-s1 --servers a:1 --nodes b:2", &["cannot be used with"]),
        ("local --flush drop --flush-bytes 1MiB", &["--flush-bytes needs --flush dummy"]),
        ("local --flush-bytes 0", &["--flush-bytes"]),
        ("local --client-command env", &["--client-command needs"]),
        ("pp-2 --nodes a:1,b:2 --client-command env", &["there are 2 clients"]),
        ("local --trials 0", &["--trials"]),
        ("local --token-file missing", &["token file missing"]),
    ];
    for (words, said) in refusals {
        let seen = suite(folder.path(), words, &[]);
        seen.assert_said(2, said).assert_no_result();
    }
    before.assert_same(folder.path());
}
