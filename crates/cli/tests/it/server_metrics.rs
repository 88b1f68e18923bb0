//! `--server-metrics`: what an exporter reports becomes the server's counters, and one that cannot be read ends no run.

use crate::support::web::{Bucket, serve_bucket, serve_web, web_answer};
use crate::support::{Seen, narrows, run, strangers_folder};
use narrows_sys::clock::Monotonic;
use narrows_testkit::closed_port::ClosedPort;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A study of the bucket at `address` with so many trials of its one cell.
fn study_text(address: &str, trials: u32) -> String {
    format!(
        "target = \"s3://bucket/p?endpoint=http://{address}\"\ncuts = []\n[workload]\nop = \"read\"\nblock = \"16KiB\"\n\
         file = \"256KiB\"\n[stop]\nmeasure = \"1s\"\nwarm_up = \"100ms\"\ntrials = {trials}\n"
    )
}

/// The text of an exporter of a machine of one CPU.
fn text(busy_s: f64, idle_s: f64) -> String {
    format!(
        "# TYPE node_cpu_seconds_total counter\nnode_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {idle_s:.2}\n\
         node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {busy_s:.2}\n\
         node_disk_read_bytes_total{{device=\"sda\"}} 4096\nnode_disk_io_time_seconds_total{{device=\"sda\"}} 1\n"
    )
}

fn plain(body: &str) -> Vec<u8> {
    web_answer("200 OK", "content-type: text/plain; version=0.0.4\r\nconnection: close\r\n", body.as_bytes())
}

/// Runs the study on a bucket with the metrics at `address`; what was seen, and the bucket.
fn study(folder: &Path, address: &str) -> (Seen, Bucket) {
    study_of(folder, address, 1)
}

/// The same with so many trials.
fn study_of(folder: &Path, address: &str, trials: u32) -> (Seen, Bucket) {
    let (bucket, at) = serve_bucket();
    fs::write(folder.join("study.toml"), study_text(&at, trials)).unwrap();
    let url = format!("http://{address}");
    let words = ["run", "study.toml", "--out", "record", "--seed", "7", "--server-metrics", &url];
    let mut command = narrows(folder, &words);
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let seen = Seen { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
    (seen, bucket)
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("record/summary.json")).unwrap()).unwrap()
}

fn server_cpu(summary: &Value) -> &Value {
    let cells = summary["cells"].as_array().unwrap();
    &cells.iter().find(|cell| cell["cut"] == "path").unwrap()["cpu"]["server"]
}

#[test]
fn a_server_whose_exporter_reports_a_full_cpu_has_a_full_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Monotonic::new();
    let address = serve_web(move |_| plain(&text(clock.now_ns() as f64 / 1e9 + 10.0, 1000.0)));
    let (seen, bucket) = study(folder.path(), &address);
    seen.assert_said(0, &[]);
    let summary = summary(folder.path());
    let metrics = &summary["server_metrics"];
    assert_eq!(metrics["url"], format!("http://{address}/metrics"), "{seen:?}");
    assert!(metrics["read_count"].as_u64().unwrap() > 0 && metrics["missed_count"] == 0, "{metrics}");
    let cpu = server_cpu(&summary);
    assert_eq!(cpu["basis"], "exporter", "{cpu}");
    assert!(cpu["busy_ratio"].as_f64().unwrap() > 0.8, "{cpu}");
    // Whether it also is what limits is for the lab to show: here the client's own CPU may take as much of the time.
    let findings = summary["diagnosis"]["findings"].as_array().unwrap();
    let full = findings.iter().find(|finding| finding["code"] == "server-cpu-full");
    let full = full.unwrap_or_else(|| panic!("{cpu}\n{:#}", summary["diagnosis"]));
    assert!(full["evidence"].to_string().contains("node_exporter"), "{full}");
    assert!(bucket.lock().unwrap().is_empty(), "nothing is left");
}

#[test]
fn an_exporter_that_repeats_stored_figures_is_not_believed_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let address = serve_web(|_| plain(&text(10.0, 1000.0)));
    let (seen, _bucket) = study(folder.path(), &address);
    seen.assert_said(0, &["the server's counters were not read", "advanced by 0.00 s", "the run goes on"]);
    let summary = summary(folder.path());
    assert!(summary["server_metrics"]["missed_count"].as_u64().unwrap() > 0);
    assert!(server_cpu(&summary).is_null());
}

#[test]
fn an_exporter_that_turns_hostile_after_the_start_ends_no_run() {
    type Answer = fn() -> Vec<u8>;
    let hostile: [(Answer, &str); 4] = [
        (|| web_answer("500 Oops", "", b"no"), "status 500"),
        (|| web_answer("302 Found", "location: http://127.0.0.1:1/\r\n", b""), "redirections"),
        (|| plain("node_cpu_seconds_total{cpu=\"\x1b[2J\",mode=\"idle\"} NaN\n"), "no counter's value"),
        (
            || b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 999999\r\n\r\n# x\n".to_vec(),
            "end",
        ),
    ];
    for (answer, words) in hostile {
        let folder = tempfile::tempdir().unwrap();
        let count = AtomicU64::new(0);
        let address = serve_web(move |_| match count.fetch_add(1, Ordering::Relaxed) {
            0 => plain(&text(10.0, 1000.0)),
            _ => answer(),
        });
        let (seen, _bucket) = study(folder.path(), &address);
        seen.assert_said(0, &["the server's counters were not read", words]);
        assert!(!seen.stderr.contains('\x1b'), "{seen:?}");
        assert!(server_cpu(&summary(folder.path())).is_null());
    }
}

#[test]
fn an_exporter_that_falls_silent_is_not_asked_for_the_rest_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let asked = Arc::clone(&count);
    let address = serve_web(move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) > 0 {
            std::thread::park_timeout(Duration::from_mins(1));
        }
        plain(&text(10.0, 1000.0))
    });
    let (seen, _bucket) = study_of(folder.path(), &address, 2);
    seen.assert_said(0, &["not read any more: 2 readings in a row", "the run goes on"]);
    assert_eq!(seen.stderr.matches("not read any more").count(), 1, "{seen:?}");
    assert_eq!(count.load(Ordering::Relaxed), 3, "one before the run, and two that were waited for");
    let summary = summary(folder.path());
    assert!(summary["server_metrics"]["missed_count"].as_u64().unwrap() > 1);
    assert!(server_cpu(&summary).is_null());
}

#[test]
fn urls_that_lead_to_no_exporter_are_refused_before_any_load() {
    let folder = tempfile::tempdir().unwrap();
    let html = serve_web(|_| web_answer("200 OK", "content-type: text/html\r\n", b"<html></html>"));
    let other = serve_web(|_| plain("process_cpu_seconds_total 1\n"));
    let closed_port = ClosedPort::bind().unwrap();
    let closed = closed_port.address().to_string();
    for (address, code, words) in [
        (html.as_str(), 2, "text/html instead of text/plain"),
        (&other, 2, "no node_cpu_seconds_total"),
        (&closed, 3, "check that node_exporter runs there"),
    ] {
        let (seen, bucket) = study(folder.path(), address);
        seen.assert_said(code, &["--server-metrics", words]).assert_no_result();
        assert!(!folder.path().join("record").exists());
        assert!(bucket.lock().unwrap().is_empty(), "nothing is left");
    }
}

#[test]
fn an_exporter_of_this_machine_itself_is_refused_before_any_load() {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let booted_s: u64 =
        stat.lines().find_map(|line| line.strip_prefix("btime ")).unwrap().trim().parse().unwrap();
    let clock = Monotonic::new();
    let address = serve_web(move |request| {
        let shift_s = if request.path.contains("other") { 100 } else { 0 };
        let boot = format!("node_boot_time_seconds {}\n", booted_s - shift_s);
        plain(&(text(clock.now_ns() as f64 / 1e9 + 10.0, 1000.0) + &boot))
    });
    let folder = tempfile::tempdir().unwrap();
    let (seen, bucket) = study(folder.path(), &address);
    let words = format!("http://{address}/metrics reports this machine itself");
    seen.assert_said(2, &["--server-metrics", &words, "give the exporter of the server"]).assert_no_result();
    assert!(!folder.path().join("record").exists());
    assert!(bucket.lock().unwrap().is_empty(), "nothing is left");
    // The same machine that booted at another time would be another one.
    let (seen, _bucket) = study(folder.path(), &format!("{address}/other"));
    seen.assert_said(0, &[]);
}

#[test]
fn what_is_no_plain_http_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_bucket, at) = serve_bucket();
    fs::write(folder.path().join("study.toml"), study_text(&at, 1)).unwrap();
    for url in ["https://server:9100/metrics", "server:9100", "http://me:hidden@server:9100/"] {
        let mut command = narrows(folder.path(), &["run", "study.toml", "--plan", "--server-metrics", url]);
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("--server-metrics") && !said.contains("hidden"), "{said}");
    }
}

#[test]
fn targets_without_a_server_of_others_are_refused() {
    let folder = strangers_folder();
    let url = "http://127.0.0.1:9/metrics";
    let seen = run(folder.path(), &["check", "target", "--server-metrics", url]);
    seen.assert_said(2, &["--server-metrics needs a target on a server"]).assert_no_result();
    let seen = run(folder.path(), &["check", "target", "--server", "self", "--server-metrics", url]);
    seen.assert_said(2, &["reports its own counters"]).assert_no_result();
}
