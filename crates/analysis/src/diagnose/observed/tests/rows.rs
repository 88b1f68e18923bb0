//! Every row of a file has a verdict, or an unknown with the reason.

use crate::diagnose_observations;
use crate::testing::observed::{cleared, finding_text, read};
use narrows_model::{Limiting, Observations, Segment};
use std::fmt::Write as _;

/// Reads of `rates` in MB/s at `counts` of what `keys` varies, each `N` replaced by the count, with `rest` in each row.
fn curve(keys: &str, counts: &[u32], rates: &[f64], rest: &str) -> Observations {
    let mut rows = String::new();
    for (count, rate) in counts.iter().zip(rates) {
        let keys = keys.replace('N', &count.to_string());
        let row = format!("id = \"n{count}\"\nop = \"read\"\nbytes_per_s = {rate}e6");
        writeln!(rows, "[[observation]]\n{row}\n{keys}\n{rest}").unwrap();
    }
    read(&rows)
}

/// The entries in whose load `id` is, which lists up to three names.
fn entries(all: &Observations, id: &str) -> Vec<Limiting> {
    let is_of = |entry: &Limiting| {
        entry.regime.contains("(all ") || entry.regime.split(['(', ')', ',', ' ']).any(|word| word == id)
    };
    diagnose_observations(all).limiting.into_iter().filter(is_of).collect()
}

fn segments(all: &Observations, id: &str) -> Vec<Segment> {
    entries(all, id).iter().map(|entry| entry.segment).collect()
}

/// The reason for which a row is unknown.
fn reason(all: &Observations, id: &str) -> String {
    let entries = entries(all, id);
    let [entry] = entries.as_slice() else { panic!("{id}: {entries:#?}") };
    assert_eq!(entry.segment, Segment::Unknown, "{id}");
    entry.evidence.iter().map(|evidence| evidence.text.clone() + "\n").collect()
}

#[test]
fn the_faster_of_a_pair_is_unknown_and_says_what_was_changed() {
    let all = curve("factor = { disks = N }", &[2, 4], &[50.0, 98.0], "");
    assert_eq!(segments(&all, "n2"), [Segment::Device]);
    let why = reason(&all, "n4");
    assert!(why.contains("n4: with disks of 4 it is faster") && why.contains("device"), "{why}");
}

#[test]
fn a_curve_of_clients_has_a_verdict_at_each_of_its_rows() {
    // Each adds its share up to 4; 8 add a tenth, 16 nothing, and 32 hinder each other.
    let counts = [1, 2, 4, 8, 16, 32];
    let all = curve("clients = N", &counts, &[30.0, 59.0, 110.0, 121.0, 122.0, 74.0], "");
    for id in ["n1", "n2"] {
        assert_eq!(segments(&all, id), [Segment::Client], "{id}");
    }
    let knee = reason(&all, "n4");
    assert!(knee.contains("fewer clients") && knee.contains("more"), "{knee}");
    for id in ["n8", "n16"] {
        let shared = segments(&all, id);
        assert!(shared.contains(&Segment::Server) && shared.contains(&Segment::Device), "{id}: {shared:?}");
    }
    assert_eq!(segments(&all, "n32"), [Segment::ServerContention]);
    assert!(finding_text(&all, "saturated").contains("8 clients reach 1.10 times the rate of 4"));
}

#[test]
fn requests_in_flight_that_are_too_few_are_named_below_the_knee() {
    for keys in ["in_flight_configured = N", "factor = { threads = N }", "factor = { jobs = N }"] {
        let all = curve(keys, &[2, 4, 8, 16], &[20.0, 39.0, 76.0, 77.0], "");
        for id in ["n2", "n4"] {
            assert_eq!(segments(&all, id), [Segment::WorkloadConcurrency], "{keys} {id}");
        }
        // Nothing but the client and the device is on this path, and one of them is full.
        assert_eq!(segments(&all, "n16"), [Segment::Client, Segment::Device], "{keys}");
    }
}

#[test]
fn a_plateau_over_a_network_leaves_open_which_stage_is_full_until_others_are_seen_idle() {
    let path = "rtt_s = 0.0002";
    let all = curve("in_flight_configured = N", &[8, 16, 32], &[70.0, 71.0, 71.0], path);
    assert!(reason(&all, "n32").contains("more requests in flight add little or nothing"));
    let idle = "rtt_s = 0.0002\nbusy_ratio = { device = 0.2, network = 0.1, client = 0.1 }";
    let all = curve("in_flight_configured = N", &[8, 16, 32], &[70.0, 71.0, 71.0], idle);
    assert_eq!(segments(&all, "n32"), [Segment::Server]);
}

#[test]
fn clients_and_requests_that_grow_together_are_one_curve() {
    let keys = "clients = N\nfactor = { threads = N, nodes = N }";
    let all = curve(keys, &[1, 4, 8, 16], &[30.0, 115.0, 116.0, 80.0], "");
    assert_eq!(segments(&all, "n1"), [Segment::Client]);
    assert!(segments(&all, "n8").contains(&Segment::Server), "{:?}", segments(&all, "n8"));
    assert_eq!(segments(&all, "n16"), [Segment::ServerContention]);
    let text = finding_text(&all, "retrograde");
    assert!(text.contains("16 clients (with 16 nodes and 16 threads) reach 0.69 times"), "{text}");
}

#[test]
fn a_grid_of_two_factors_is_read_along_each_and_not_across() {
    let mut rows = String::new();
    for (clients, threads, rate) in [(1, 1, 10.0), (1, 4, 38.0), (4, 1, 39.0), (4, 4, 40.0)] {
        writeln!(rows, "[[observation]]\nid = \"c{clients}t{threads}\"\nop = \"read\"\nbytes_per_s = {rate}e6\nclients = {clients}\nfactor = {{ threads = {threads} }}").unwrap();
    }
    let all = read(&rows);
    assert!(finding_text(&all, "saturated").contains("(c1t4, c4t4)"));
    assert!(!finding_text(&all, "saturated").contains("(c1t1, c4t4)"));
}

#[test]
fn two_resources_raised_together_without_effect_are_both_cleared() {
    let keys = "factor = { disks = N, server_threads = N }";
    let all = curve(keys, &[2, 4], &[50.0, 51.0], "rtt_s = 0.001");
    assert!(cleared(&all, Segment::Device) && cleared(&all, Segment::ServerThreads));
}

#[test]
fn of_two_resources_raised_together_that_the_rate_follows_one_limits() {
    let keys = "factor = { disks = N, server_threads = N }";
    let all = curve(keys, &[2, 4], &[50.0, 97.0], "");
    assert_eq!(segments(&all, "n2"), [Segment::Device, Segment::ServerThreads]);
    assert!(entries(&all, "n2").iter().all(|entry| entry.confidence <= 0.5));
    let idle = curve(keys, &[2, 4], &[50.0, 97.0], "busy_ratio = { device = 0.1 }");
    assert_eq!(segments(&idle, "n2"), [Segment::ServerThreads]);
}

#[test]
fn a_server_that_was_measured_idle_is_not_blamed_where_clients_hinder_each_other() {
    let all = curve("clients = N", &[4, 8], &[100.0, 60.0], "busy_ratio = { server = 0.1 }\nrtt_s = 0.001");
    assert!(!segments(&all, "n8").contains(&Segment::ServerContention));
    assert!(finding_text(&all, "retrograde").contains("measured mostly idle"));
}

#[test]
fn no_row_of_a_published_file_vanishes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/observations");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut count = 0;
    for path in files.filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let all = super::example(name);
        let covered = super::covered(&all);
        for one in &all.observations {
            assert!(covered.contains(&one.id), "{name}: {} is in no entry", one.id);
            count += 1;
        }
    }
    assert!(count > 150, "{count}");
}
