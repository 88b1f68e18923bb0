//! From a plan and the trials of its cells to the native output: what a record with these counts and times prints.

use super::ENTRY;
use super::request::Request;
use super::testing::{planned, request};
use narrows_analysis::{Input, RunFacts, analyse};
use narrows_model::{Bytes, Cell, Cut, Event, Histogram, Plan, Summary};
use serde_json::json;

/// What a run had: the host of each rank, and what a phase left out.
struct RunShape {
    hosts: [&'static str; 2],
    /// A load and the operations that its last rank did not do.
    missing: Option<(&'static str, u64)>,
    /// How many times the usual all phases last.
    times: u64,
}

const ONE_HOST: RunShape = RunShape { hosts: ["here", "here"], missing: None, times: 1 };

/// Milliseconds that the slower rank of two takes, by the loads in the order of a run.
const WALL_MS: [u64; 13] = [500, 2000, 1000, 4000, 100, 300, 200, 1600, 800, 1250, 3200, 1000, 5000];

/// The trial of `cell`, in which rank 0 takes four fifths of the time of rank 1.
fn trial(index: usize, cell: &Cell, shape: &RunShape) -> Event {
    let wall_ns = WALL_MS[index] * 1_000_000 * shape.times;
    let load = &cell.workload;
    let count = cell.stop.ops_max.map_or_else(|| load.objects.unwrap().count, |all| all / 2);
    let missing = shape.missing.filter(|(missing, _)| *missing == cell.id.0).map_or(0, |(_, count)| count);
    let done = [count, count - missing];
    let moved = if cell.stop.ops_max.is_some() { load.block_bytes.0 } else { 0 };
    let mut response = Histogram::new();
    for _ in 0..done[0] + done[1] {
        response.record(20_000);
    }
    let ranks: Vec<_> = (0..2)
        .map(|rank| {
            let elapsed_ns = if rank == 0 { wall_ns / 5 * 4 } else { wall_ns };
            json!({
                "client_index": rank, "host": shape.hosts[rank], "op_count": done[rank], "bytes": done[rank] * moved,
                "elapsed_ns": elapsed_ns, "user_ns": elapsed_ns / 10, "system_ns": elapsed_ns / 10,
            })
        })
        .collect();
    let event = serde_json::from_value(json!({
        "cell": cell.id, "trial": 0, "complete": true, "start_ns": 0, "first_done_ns": wall_ns / 5 * 4,
        "last_done_ns": wall_ns, "op_count": done[0] + done[1], "bytes": (done[0] + done[1]) * moved,
        "response": response, "response_sum_ns": wall_ns, "by_kind": [], "effective": null, "clients": ranks,
        "errors": [], "counters": [], "file_bytes": load.file_bytes, "resident_ratio": null,
    }));
    Event::TrialFinished(Box::new(event.unwrap()))
}

fn summary_of(plan: &Plan, shape: &RunShape) -> Summary {
    let phases = plan.cells.iter().filter(|cell| cell.cut == Cut::Path);
    let events: Vec<Event> = phases.enumerate().map(|(index, cell)| trial(index, cell, shape)).collect();
    let inventory = crate::testing::inventory("here", Bytes(256 << 20));
    let manifest = RunFacts {
        started_at: "2026-03-19T17:55:06Z".to_owned(),
        command: ["narrows", "suite", "io500", "-d", "/data"].map(str::to_owned).to_vec(),
        ..RunFacts::default()
    };
    analyse(&Input { manifest, plan, inventory: &inventory, events: &events })
}

fn output_and_reading(asked: &Request, shape: &RunShape) -> String {
    let summary = summary_of(&planned(asked), shape);
    let said = ENTRY.reading(&summary).join("\n- ");
    format!("{}\n- {said}\n", ENTRY.native(&summary).unwrap())
}

#[test]
fn a_fixed_summary_prints_its_lines_its_score_and_its_reading() {
    let asked = Request { memory: Some(Bytes(256 << 20)), ..request() };
    insta::assert_snapshot!("summary", output_and_reading(&asked, &ONE_HOST));
}

#[test]
fn scores_of_phases_are_all_bytes_or_files_over_the_time_of_the_slowest_rank() {
    let text = ENTRY.native(&summary_of(&planned(&request()), &ONE_HOST)).unwrap();
    for line in [
        // By hand: 2 MiB in 0.5 s; 2 x 10 x 47008 bytes in 1 s; 200 files in 2 s; 400 files of both sets in 0.1 + 0.3 s.
        "[RESULT]       ior-easy-write        0.003906 GiB/s : time 0.500 seconds [INVALID]\n",
        "[RESULT]       ior-hard-write        0.000876 GiB/s : time 1.000 seconds [INVALID]\n",
        "[RESULT]    mdtest-easy-write        0.100000 kIOPS : time 2.000 seconds [INVALID]\n",
        "[RESULT]                 find        1.000000 kIOPS : time 0.400 seconds\n",
        "[RESULT]        ior-easy-read        0.009766 GiB/s : time 0.200 seconds\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    assert_eq!(text.matches("[RESULT]").count(), 12, "{text}");
    assert!(text.contains(" [INVALID]\nThis is narrows' own run") && !text.contains("incomplete"), "{text}");
}

#[test]
fn a_phase_that_was_cut_short_has_no_line_and_leaves_no_score() {
    for load in ["ior-hard/read", "find/mdtest-hard"] {
        let shape = RunShape { missing: Some((load, 1)), ..ONE_HOST };
        let cut = summary_of(&planned(&request()), &shape);
        let text = ENTRY.native(&cut).unwrap();
        let name = if load.starts_with("find") { "find" } else { "ior-hard-read" };
        assert!(text.contains(&format!("\nincomplete, without a line: {name}\nno score: ")), "{text}");
        assert!(!text.contains("[SCORE ]") && text.matches("[RESULT]").count() == 11, "{text}");
        let said = &ENTRY.reading(&cut)[0];
        assert!(said.starts_with(&format!("{name}: not all was done")), "{said}");
    }
}

#[test]
fn phases_that_a_stopped_run_did_not_begin_leave_no_score() {
    let mut plan = planned(&request());
    plan.cells.truncate(plan.cells.len() - 2);
    let stopped = summary_of(&plan, &ONE_HOST);
    let text = ENTRY.native(&stopped).unwrap();
    assert!(
        text.contains("incomplete, without a line: mdtest-hard-read, mdtest-hard-delete\nno score"),
        "{text}"
    );
    assert!(ENTRY.reading(&stopped)[0].starts_with("mdtest-hard-read, mdtest-hard-delete: not measured"));
}

#[test]
fn caches_are_named_where_what_is_read_was_written_on_the_same_host() {
    let said = |asked: &Request, hosts: [&'static str; 2]| {
        ENTRY.reading(&summary_of(&planned(asked), &RunShape { hosts, ..ONE_HOST })).join("\n")
    };
    let own = said(&Request { typed_shift: Some(0), ..request() }, ["here", "there"]);
    assert!(own.contains("mdtest-hard-read: each rank visits what it has created itself"), "{own}");
    assert!(own.contains("--shift 1 shifts the ranks"), "{own}");
    let shifted = said(&request(), ["here", "here"]);
    assert!(
        shifted.contains(
            "ior-easy-read, mdtest-easy-stat, ior-hard-read, mdtest-hard-stat: the ranks are shifted, but"
        ),
        "{shifted}"
    );
    // Twice by one of two is back at oneself.
    assert!(shifted.contains("mdtest-hard-read: shifted by several times 1 of 2 ranks"), "{shifted}");
    let apart = said(&request(), ["here", "there"]);
    assert!(!apart.contains("the ranks are shifted, but"), "{apart}");
}

#[test]
fn files_that_memory_can_have_are_named_and_larger_ones_are_not() {
    let said = |memory| {
        let asked = Request { memory, ..request() };
        ENTRY.reading(&summary_of(&planned(&asked), &ONE_HOST)).join("\n")
    };
    let small = said(Some(Bytes(1 << 20)));
    assert!(small.contains("page cache") && small.contains("ior-hard-read 918 KiB"), "{small}");
    assert!(!small.contains("ior-easy-read 2.00 MiB"), "2 MiB are twice the memory: {small}");
    assert!(!said(None).contains("page cache"));
}

#[test]
fn phases_as_long_as_the_stonewall_are_not_marked_but_the_score_is() {
    let long = RunShape { times: 1000, ..ONE_HOST };
    let summary = summary_of(&planned(&request()), &long);
    let text = ENTRY.native(&summary).unwrap();
    assert_eq!(text.matches("[INVALID]").count(), 1, "{text}");
    let said = ENTRY.reading(&summary).join("\n");
    assert!(!said.contains("under 1 s") && !said.contains("has every rank write"), "{said}");
}

#[test]
fn a_summary_of_another_suite_prints_nothing() {
    let mut summary = summary_of(&planned(&request()), &ONE_HOST);
    if let Some(suite) = &mut summary.suite {
        "bonnie".clone_into(&mut suite.name);
    }
    assert_eq!(ENTRY.native(&summary), None);
    assert!(ENTRY.reading(&summary).is_empty());
}
