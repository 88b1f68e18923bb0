//! Studies whose target is striped over several others: folders, files that exist, endpoints; and mistakes in them.

use crate::support::{Seen, Surroundings, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server of `root` that ends with this process' test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(root: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_narrows"))
            .args(["serve", "--listen", "127.0.0.1:0", "--until-stdin-ends", "--root"])
            .arg(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(self.child.wait());
    }
}

// A cap on the load: no test proves our own speed. A window in which a client that waits for a CPU completes a request.
const LOAD: &str = "[workload]\nblock = \"16KiB\"\nfile = \"256KiB\"\nmax_rate = \"8MiB/s\"\n\
                    [sweep]\nop = [\"read\", \"write\"]\n[stop]\nwarm_up = \"0s\"\nmeasure = \"250ms\"\n";

fn study(folder: &Path, head: &str, words: &[&str]) -> Seen {
    fs::write(folder.join("study.toml"), format!("{head}\n{LOAD}")).unwrap();
    run(folder, &[&["run", "study.toml", "--quiet", "--seed", "7", "--seconds", "60"], words].concat())
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("record/summary.json")).unwrap()).unwrap()
}

fn paths(summary: &Value) -> Vec<&Value> {
    summary["cells"].as_array().unwrap().iter().filter(|cell| cell["cut"] == "path").collect()
}

#[test]
fn a_stripe_of_folders_writes_its_parts_in_folders_of_its_own_and_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    for member in ["a", "b"] {
        fs::create_dir(folder.path().join(member)).unwrap();
    }
    let seen = study(folder.path(), "target = \"stripe:a,b?unit=4KiB\"", &["--out", "record"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let summary = summary(folder.path());
    let cells = paths(&summary);
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert_eq!(cell["effective"]["engine"], "stripe of psync");
        assert!(
            cell["rate_bytes_per_s"].as_f64().unwrap() > 0.0 && cell["errors"].as_array().unwrap().is_empty()
        );
    }
    assert_eq!(run(folder.path(), &["diagnose", "record"]).stdout, seen.stdout);
    for member in ["a", "b"] {
        assert_eq!(fs::read_dir(folder.path().join(member)).unwrap().count(), 0, "{member}");
    }
}

#[test]
fn files_that_exist_are_read_round_and_never_changed() {
    let folder = strangers_folder();
    fs::write(folder.path().join("one"), vec![1; 70_000]).unwrap();
    fs::write(folder.path().join("two"), vec![2; 90_000]).unwrap();
    let before = Surroundings::of(folder.path());
    let text = "target = \"stripe:one,two?unit=4KiB\"\n[workload]\nblock = \"8KiB\"\nmax_rate = \"4MiB/s\"\n\
                [sweep]\nop = [\"read\", \"write\"]\n[stop]\nmeasure = \"60ms\"\n";
    fs::write(folder.path().join("study.toml"), text).unwrap();
    let seen = run(folder.path(), &["run", "study.toml", "--quiet", "--out", "record", "--json"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let summary: Value = serde_json::from_str(&seen.stdout).unwrap();
    // Whole units of the shorter file, twice: 17 of 4 KiB each.
    assert_eq!(paths(&summary)[0]["file_bytes"], 2 * 17 * 4096);
    assert!(paths(&summary)[0]["errors"].as_array().unwrap().is_empty());
    let reasons = summary["skipped"].to_string();
    assert!(reasons.contains("exists already and is only read"), "{reasons}");
    fs::remove_dir_all(folder.path().join("record")).unwrap();
    fs::remove_file(folder.path().join("study.toml")).unwrap();
    before.assert_same(folder.path());
}

#[test]
fn a_stripe_of_endpoints_is_cut_at_each_of_them_and_its_sessions_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let roots = ["a", "b"].map(|name| folder.path().join(name));
    for root in &roots {
        fs::create_dir(root).unwrap();
    }
    let servers = [Server::start(&roots[0]), Server::start(&roots[1])];
    let members = [&servers[0], &servers[1]].map(|server| format!("tcp://{}/disk", server.address)).join(",");
    let head = format!(
        "target = \"stripe:{members}?unit=4KiB&peer_depth=2\"\ncuts = [\"network_stream\", \"server_memory\", \"server_storage\"]"
    );
    let seen = study(folder.path(), &head, &["--out", "record"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let summary = summary(folder.path());
    // Whether a durable write ends within so short a window is the disk's to say.
    let count = |cut: &str| {
        let cells = summary["cells"].as_array().unwrap().iter().filter(|cell| cell["cut"] == cut);
        cells.filter(|cell| cell["errors"].as_array().unwrap().is_empty()).count()
    };
    let counts = ["path", "network_stream", "server_memory", "server_storage"].map(count);
    assert_eq!(counts, [2, 6, 2, 4], "{seen:?} {} {}", summary["failed"], summary["skipped"]);
    assert_eq!(paths(&summary)[0]["effective"]["engine"], "stripe of endpoint");
    for root in &roots {
        assert_eq!(fs::read_dir(root).unwrap().count(), 0, "{}", root.display());
    }
}

#[test]
fn a_stripe_of_a_file_and_a_folder_is_refused_before_anything_is_touched() {
    let folder = strangers_folder();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("study.toml"), "target = \"stripe:empty,precious.txt\"\n").unwrap();
    let before = Surroundings::of(folder.path());
    let seen = run(folder.path(), &["run", "study.toml", "--json"]);
    seen.assert_said(2, &["files that exist", "folders"]).assert_no_result();
    before.assert_same(folder.path());
}

#[test]
fn one_place_by_two_names_is_no_stripe_over_two() {
    let folder = strangers_folder();
    fs::create_dir_all(folder.path().join("empty/in")).unwrap();
    fs::write(folder.path().join("study.toml"), "target = \"stripe:empty,empty/in/..\"\n").unwrap();
    let before = Surroundings::of(folder.path());
    let seen = run(folder.path(), &["run", "study.toml", "--json"]);
    seen.assert_said(2, &["empty/in/..", "the same place under two names"]).assert_no_result();
    before.assert_same(folder.path());
}

#[test]
fn a_mistake_in_a_stripe_is_reported_with_its_line_and_what_is_allowed() {
    let folder = strangers_folder();
    fs::write(folder.path().join("study.toml"), "title = \"x\"\ntarget = \"stripe:/a,/b?unit=1000\"\n")
        .unwrap();
    let seen = run(folder.path(), &["run", "study.toml", "--json"]);
    seen.assert_said(2, &["study.toml:2:", "a unit of 1000B", "a multiple of 512", "stripe:MEMBER,MEMBER"]);
}

#[test]
fn a_member_that_does_not_answer_could_not_run_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("a");
    fs::create_dir(&root).unwrap();
    let server = Server::start(&root);
    // A port that was free a moment ago: nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let head = format!("target = \"stripe:tcp://{}/disk,tcp://{free}/disk\"", server.address);
    study(folder.path(), &head, &["--json"]).assert_said(3, &[&free.to_string()]).assert_no_result();
}
