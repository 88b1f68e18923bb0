//! `narrows check` and `narrows run` of an endpoint through `narrows proxy`: what is told, and what is refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code, outside of test functions too")]

mod support;

use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use support::running::Served;
use support::{Surroundings, run, strangers_folder};

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
fn a_check_through_a_proxy_tells_its_cpu_and_what_the_stream_past_it_carries() {
    let folder = tempfile::tempdir().unwrap();
    let (server, proxy) = path(folder.path());
    let target = format!("tcp://{}/memory?via={}", server.address, proxy.address);
    let words =
        ["check", &target, "--seconds", "12", "--cell-seconds", "0.3", "--block", "64KiB", "--depth", "8"];
    let seen = run(folder.path(), &[&words[..], &["--out", "record", "--detail"]].concat());
    assert!(matches!(seen.code, Some(0 | 4)), "{}", seen.stderr);
    assert!(seen.stdout.contains(&format!("({})", proxy.address)), "the path names it: {}", seen.stdout);
    let told = summary(folder.path());
    assert_eq!((&told["target"], &told["topology"]), (&target.into(), &"client-proxy-server".into()));
    let cells = told["cells"].as_array().unwrap();
    let of_cut = |cut: &str| cells.iter().filter(|cell| cell["cut"] == cut).collect::<Vec<_>>();
    for cell in [of_cut("path"), of_cut("network_stream")].concat() {
        assert!(cell["cpu"]["proxy"]["busy_ratio"].as_f64().unwrap() > 0.0, "{cell}");
    }
    assert_eq!(of_cut("direct_stream").len(), of_cut("network_stream").len());
    assert!(of_cut("direct_stream").iter().all(|cell| cell["rate_bytes_per_s"].as_f64().unwrap() > 0.0));
    let hosts = told["hosts"].as_array().unwrap();
    assert!(hosts.iter().any(|host| host["roles"][0] == "proxy"));
    let again = run(folder.path(), &["diagnose", "record", "--detail"]);
    assert_eq!(again.stdout, seen.stdout);
}

#[test]
fn a_study_through_a_proxy_has_its_counters_beside_every_cell() {
    let folder = tempfile::tempdir().unwrap();
    let (server, proxy) = path(folder.path());
    let text = format!(
        "target = \"tcp://{}/memory?via={}\"\ncuts = [\"network_stream\"]\n[workload]\nfile = \"4MiB\"\n[stop]\nmeasure = \"0.3s\"\n",
        server.address, proxy.address
    );
    fs::write(folder.path().join("study.toml"), text).unwrap();
    run(folder.path(), &["run", "study.toml", "--out", "record"]).assert_said(0, &[]);
    let told = summary(folder.path());
    let cells = told["cells"].as_array().unwrap();
    assert!(cells.len() == 2 && cells.iter().all(|cell| !cell["cpu"]["proxy"].is_null()), "{told}");
}

#[test]
fn what_answers_at_the_proxys_address_must_be_a_proxy_that_leads_to_the_endpoint() {
    let folder = strangers_folder();
    let (server, proxy) = path(folder.path());
    let other = Served::start(folder.path(), &[]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
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
