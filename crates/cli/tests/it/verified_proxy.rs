//! Verified blocks between a client and an endpoint, through a proxy that stalls or is killed: none is wrong, and what
//! was cut off is never reported as complete.

use crate::support::run;
use crate::support::running::{Running, Served};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

const MODES: [&str; 3] = ["copy", "splice", "uring"];

/// How long the proxy is stopped, and how long it then runs.
const STALL: Duration = Duration::from_millis(40);

/// Stalls of one load.
const STALLS: u32 = 12;

/// The kill falls so long after the end of the first cell, amid the second.
const AMID: Duration = Duration::from_millis(250);

/// What a verification may not find.
const WRONG: [&str; 4] = ["mismatch_count", "wrong_bytes", "unread_bytes", "undecided_bytes"];

/// An endpoint and a proxy before it.
struct Path2 {
    _server: Served,
    proxy: Served,
}

impl Path2 {
    fn start(folder: &Path, mode: &str) -> Self {
        let server = Served::start(folder, &[]);
        let proxy = Served::of("proxy", folder, &["--to", &server.address, "--mode", mode]);
        Self { _server: server, proxy }
    }

    /// A study of verified reads and writes at random through the proxy, in cells of these block sizes.
    fn load(&self, folder: &Path, blocks: &str, measure: &str) -> Running {
        let text = format!(
            "target = \"tcp://{}/memory\"\ncuts = []\ncell_order = \"as_written\"\nseconds = 120\n\
             [workload]\nops = {{ read = 1, write = 1 }}\nfile = \"4MiB\"\ndepth = 8\nworkers = 2\n\
             order = \"random_with_replacement\"\nverify = true\n[stop]\nmeasure = \"{measure}\"\n\
             [sweep]\nblock = {blocks}\n",
            self.proxy.address
        );
        fs::write(folder.join("study.toml"), text).unwrap();
        Running::start(folder, &["run", "study.toml", "--out", "record", "--seed", "7"])
    }
}

/// Lets real time pass: a stalled process raises no event.
fn pause(time: Duration) {
    let (_open, waits) = std::sync::mpsc::channel::<()>();
    let _ = waits.recv_timeout(time);
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("record/summary.json")).unwrap()).unwrap()
}

#[test]
fn every_block_is_whole_through_a_proxy_that_stands_still_again_and_again() {
    for mode in MODES {
        let folder = tempfile::tempdir().unwrap();
        let path = Path2::start(folder.path(), mode);
        let mut load = path.load(folder.path(), "[\"16KiB\"]", "1200ms");
        load.wait_for("seed 7");
        for _ in 0..STALLS {
            path.proxy.signal("STOP");
            pause(STALL);
            path.proxy.signal("CONT");
            pause(STALL);
        }
        let seen = load.end();
        seen.assert_said(0, &[]);
        assert!(seen.stdout.contains("VERIFIED DATA"), "{mode}: {}", seen.stdout);
        let found = &summary(folder.path())["cells"][0]["verification"];
        for wrong in WRONG {
            assert_eq!(found[wrong], 0, "{mode}: {wrong}: {found}");
        }
        assert!(found["checked_bytes"].as_u64().unwrap() > 1 << 20, "{mode}: {found}");
        assert_eq!(found["read_back_bytes"], 4 << 20, "{mode}: {found}");
    }
}

#[test]
fn a_proxy_that_is_killed_leaves_what_was_whole_and_no_cell_that_only_looks_so() {
    for mode in MODES {
        let folder = tempfile::tempdir().unwrap();
        let mut path = Path2::start(folder.path(), mode);
        let mut load = path.load(folder.path(), "[\"16KiB\", \"64KiB\"]", "1200ms");
        load.wait_for("[1/2]");
        pause(AMID);
        path.proxy.kill9();
        let seen = load.end();
        seen.assert_said(4, &["record: record"]);
        let reported = summary(folder.path());
        assert_eq!(reported["complete"], false, "{mode}");
        let cells = reported["cells"].as_array().unwrap();
        assert_eq!(cells[0]["verification"]["read_back_bytes"], 4 << 20, "{mode}: {}", cells[0]);
        for cell in cells {
            let found = &cell["verification"];
            if !found.is_null() {
                assert_eq!(
                    (&found["mismatch_count"], &found["wrong_bytes"]),
                    (&0.into(), &0.into()),
                    "{found}"
                );
            }
        }
        assert!(!seen.stdout.contains("WRONG DATA"), "{mode}: {}", seen.stdout);
        let again = run(folder.path(), &["diagnose", "record"]);
        assert_eq!((again.code, &again.stdout), (Some(4), &seen.stdout), "{mode}");
    }
}
