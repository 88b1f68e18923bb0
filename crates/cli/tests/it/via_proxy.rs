//! `narrows check` and `narrows run` of an endpoint through `narrows proxy`: what is reported, and what is refused.

use crate::support::running::{Running, Served};
use crate::support::{Surroundings, run, strangers_folder};
use narrows_testkit::closed_port::ClosedPort;
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

/// An endpoint and a proxy before it, by their addresses.
fn path(folder: &Path) -> (Served, Served) {
    let server = Served::start(folder, &[]);
    let proxy = Served::of("proxy", folder, &["--to", &server.address]);
    (server, proxy)
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("record/summary.json")).unwrap()).unwrap()
}

#[test]
fn a_check_through_a_proxy_reports_its_cpu_and_what_the_stream_past_it_transfers() {
    let folder = tempfile::tempdir().unwrap();
    let (server, proxy) = path(folder.path());
    let target = format!("tcp://{}/memory?via={}", server.address, proxy.address);
    // A window of under half a second has no CPU time of other processes: stalls of a busy machine shorten it.
    let words = [
        "check",
        &target,
        "--whole-plan",
        "--op",
        "read",
        "--seconds",
        "12",
        "--cell-seconds",
        "0.8",
        "--block",
        "64KiB",
        "--depth",
        "8",
    ];
    let seen = run(folder.path(), &[&words[..], &["--out", "record", "--detail"]].concat());
    assert!(matches!(seen.code, Some(0 | 4)), "{}", seen.stderr);
    assert!(seen.stdout.contains(&format!("({})", proxy.address)), "the path names it: {}", seen.stdout);
    let reported = summary(folder.path());
    assert_eq!((&reported["target"], &reported["topology"]), (&target.into(), &"client-proxy-server".into()));
    let cells = reported["cells"].as_array().unwrap();
    let of_cut = |cut: &str| cells.iter().filter(|cell| cell["cut"] == cut).collect::<Vec<_>>();
    for cut in ["path", "network_stream", "direct_stream"] {
        assert!(!of_cut(cut).is_empty(), "{cut}");
    }
    for cell in [of_cut("path"), of_cut("network_stream")].concat() {
        assert!(cell["cpu"]["proxy"]["busy_ratio"].as_f64().unwrap() > 0.0, "{cell}");
    }
    assert_eq!(of_cut("direct_stream").len(), of_cut("network_stream").len());
    assert_eq!(of_cut("direct_path").len(), 1, "reading; the path over IPv6 is written");
    for cell in of_cut("direct_path") {
        assert!(
            cell["rate_bytes_per_s"].as_f64().unwrap() > 0.0 && cell["errors"] == Value::Array(vec![]),
            "{cell}"
        );
    }
    assert!(of_cut("direct_stream").iter().all(|cell| cell["rate_bytes_per_s"].as_f64().unwrap() > 0.0));
    let hosts = reported["hosts"].as_array().unwrap();
    assert!(hosts.iter().any(|host| host["roles"][0] == "proxy"));
    let again = run(folder.path(), &["diagnose", "record", "--detail"]);
    assert_eq!(again.stdout, seen.stdout);
}

#[test]
fn a_study_through_a_proxy_has_its_counters_beside_every_cell() {
    let folder = tempfile::tempdir().unwrap();
    let (server, proxy) = path(folder.path());
    // Beside a busy program the counters of a shorter window are less than 50 ticks apart, and not charged to a role.
    let text = format!(
        "target = \"tcp://{}/memory?via={}\"\ncuts = [\"network_stream\"]\n[workload]\nfile = \"4MiB\"\n[stop]\nmeasure = \"1.5s\"\n",
        server.address, proxy.address
    );
    fs::write(folder.path().join("study.toml"), text).unwrap();
    run(folder.path(), &["run", "study.toml", "--out", "record"]).assert_said(0, &[]);
    let reported = summary(folder.path());
    let cells = reported["cells"].as_array().unwrap();
    assert!(cells.len() == 2 && cells.iter().all(|cell| !cell["cpu"]["proxy"].is_null()), "{reported}");
}

#[test]
fn what_answers_at_the_proxys_address_must_be_a_proxy_that_leads_to_the_endpoint() {
    let folder = strangers_folder();
    let (server, proxy) = path(folder.path());
    let other = Served::start(folder.path(), &[]);
    let closed_port = ClosedPort::bind().unwrap();
    let closed = closed_port.address().to_string();
    let before = Surroundings::of(folder.path());
    let check = |endpoint: &str, via: &str| {
        run(folder.path(), &["check", &format!("tcp://{endpoint}/memory?via={via}")])
    };
    let seen = check(&server.address, &other.address);
    seen.assert_said(2, &["no `narrows proxy` answers at", &other.address, "narrows proxy --listen"]);
    seen.assert_no_result();
    let seen = check(&other.address, &proxy.address);
    seen.assert_said(2, &["forwards to", &server.address, "not to", &other.address, "?via="])
        .assert_no_result();
    let seen = check(&server.address, &closed);
    seen.assert_said(3, &["no `narrows proxy` answers at", &closed]).assert_no_result();
    let seen = check(&server.address, "nowhere");
    seen.assert_said(2, &["the proxy `nowhere`, which names no port", "?via=PROXYHOST:PORT"])
        .assert_no_result();
    before.assert_same(folder.path());
}

/// A check of the endpoint's disk or memory through the proxy that has begun to measure the path.
fn begun(folder: &Path, layer: &str, server: &Served, proxy: &Served) -> Running {
    let target = format!("tcp://{}/{layer}?via={}", server.address, proxy.address);
    let words = [
        "check",
        &target,
        "--whole-plan",
        "--seconds",
        "10",
        "--cell-seconds",
        "0.6",
        "--block",
        "64KiB",
        "--depth",
        "8",
    ];
    let mut running = Running::start(folder, &[&words[..], &["--out", "record"]].concat());
    running.wait_for("server-memory");
    running
}

#[test]
fn a_proxy_that_dies_during_a_check_is_named_and_what_was_measured_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut proxy) = path(folder.path());
    let running = begun(folder.path(), "disk", &server, &proxy);
    proxy.kill9();
    // Closed, reset or refused, as the moment has it: each names the proxy.
    running.end().assert_said(4, &["proxy", &format!("via {}", proxy.address)]);
    assert!(!summary(folder.path())["cells"].as_array().unwrap().is_empty());
}

#[test]
fn a_path_leads_through_one_proxy_alone() {
    let folder = strangers_folder();
    let (server, inner) = path(folder.path());
    let outer = Served::of("proxy", folder.path(), &["--to", &inner.address]);
    let check = |endpoint: &str| {
        run(folder.path(), &["check", &format!("tcp://{endpoint}/memory?via={}", outer.address)])
    };
    let reported = format!("another proxy answers at {}", inner.address);
    check(&inner.address).assert_said(2, &[&reported, &outer.address]).assert_no_result();
    check(&server.address).assert_said(2, &["forwards to", &inner.address, "not to"]).assert_no_result();
}

#[test]
fn a_path_over_ipv6_leads_through_a_proxy_too() {
    if TcpListener::bind("[::1]:0").is_err() {
        return; // This machine has no such loopback.
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Served::at("[::1]:0", "serve", folder.path(), &[], Stdio::inherit());
    let to = ["--to", &server.address];
    let proxy = Served::at("[::1]:0", "proxy", folder.path(), &to, Stdio::inherit());
    let target = format!("tcp://{}/memory?via={}", server.address, proxy.address);
    let words = [
        "check",
        &target,
        "--whole-plan",
        "--op",
        "write",
        "--seconds",
        "8",
        "--cell-seconds",
        "0.2",
        "--block",
        "64KiB",
        "--depth",
        "8",
    ];
    let seen = run(folder.path(), &[&words[..], &["--out", "record"]].concat());
    assert!(matches!(seen.code, Some(0 | 4)), "{}", seen.stderr);
    let reported = summary(folder.path());
    assert_eq!(reported["target"], target.as_str());
    assert!(reported["cells"].as_array().unwrap().iter().any(|cell| cell["cut"] == "direct_path"));
}
