//! From a plan and the trials of its cells to the native output: what a record with these counts and times prints.

use super::request::{MdtestPhase, Request};
use super::testing::{planned, request};
use super::{ENTRY, MdtestTest, TESTS};
use narrows_analysis::{Input, RunFacts, analyse};
use narrows_model::workload::FolderTree;
use narrows_model::{Bytes, Cell, Cut, Event, Histogram, Plan, Summary};
use serde_json::json;

/// Milliseconds that the slower rank of two takes for its hundred items, by the lines of the table; the last two are of the
/// tree.
const WALL_MS: [u64; 9] = [2000, 800, 1500, 4000, 1000, 1600, 3000, 200, 100];

/// What a run had: the host of each rank, and items that a phase left out.
struct RunShape {
    hosts: [&'static str; 2],
    /// A phase and the items that its last rank did not visit.
    missing: Option<(&'static str, u64)>,
}

const ONE_HOST: RunShape = RunShape { hosts: ["here", "here"], missing: None };

/// The trial of `cell`, in which rank 0 takes three quarters of the time of rank 1, and iteration i i times as long.
fn trial(cell: &Cell, shape: &RunShape) -> Event {
    let (iteration, phase) = cell.id.0.split_once('/').unwrap();
    let iteration: u64 = iteration.strip_prefix("iteration").unwrap().parse().unwrap();
    let (of_tree, of_items): (Vec<&MdtestTest>, Vec<&MdtestTest>) =
        TESTS.iter().partition(|test| test.is_of_tree);
    let index = of_items.iter().chain(&of_tree).position(|test| test.name == phase).unwrap();
    let wall_ns = WALL_MS[index] * 1_000_000 * iteration;
    let set = cell.workload.objects.unwrap();
    let missing = shape.missing.filter(|(missing, _)| *missing == phase).map_or(0, |(_, count)| count);
    let mut done = vec![set.count; cell.workload.clients as usize];
    *done.last_mut().unwrap() -= missing;
    let op_count: u64 = done.iter().sum();
    let mut response = Histogram::new();
    for _ in 0..op_count {
        response.record(20_000 * (index as u64 + 1));
    }
    let ranks: Vec<_> = (0..done.len())
        .map(|rank| {
            let elapsed_ns = if rank == 0 { wall_ns / 4 * 3 } else { wall_ns };
            json!({
                "client_index": rank, "host": shape.hosts[rank], "op_count": done[rank], "bytes": 0,
                "elapsed_ns": elapsed_ns, "user_ns": elapsed_ns / 4, "system_ns": elapsed_ns / 5 * 3,
            })
        })
        .collect();
    let event = serde_json::from_value(json!({
        "cell": cell.id, "trial": 0, "complete": true, "start_ns": 0, "first_done_ns": wall_ns / 4 * 3,
        "last_done_ns": wall_ns, "op_count": op_count, "bytes": 0, "response": response,
        "response_sum_ns": wall_ns, "by_kind": [], "effective": null, "clients": ranks, "errors": [], "counters": [],
        "file_bytes": cell.workload.file_bytes, "resident_ratio": null,
    }));
    Event::TrialFinished(Box::new(event.unwrap()))
}

fn summary_of(plan: &Plan, shape: &RunShape) -> Summary {
    let phases = plan.cells.iter().filter(|cell| cell.cut == Cut::Path);
    let events: Vec<Event> = phases.map(|cell| trial(cell, shape)).collect();
    let inventory = crate::testing::inventory("here", Bytes(256 << 20));
    let manifest = RunFacts {
        started_at: "2026-03-19T17:55:06Z".to_owned(),
        command: ["narrows", "suite", "mdtest", "-d", "/data"].map(str::to_owned).to_vec(),
        ..RunFacts::default()
    };
    analyse(&Input { manifest, plan, inventory: &inventory, events: &events })
}

fn summary(asked: &Request) -> Summary {
    summary_of(&planned(asked), &ONE_HOST)
}

fn output_and_reading(asked: &Request) -> String {
    let summary = summary(asked);
    let said = ENTRY.reading(&summary).join("\n- ");
    format!("{}\n- {said}\n", ENTRY.native(&summary).unwrap())
}

#[test]
fn a_fixed_summary_prints_its_table_and_its_reading() {
    insta::assert_snapshot!("summary", output_and_reading(&request()));
    let all = Request {
        iterations: 2,
        rank_statistics: true,
        all_ranks: true,
        unique_folders: true,
        stride: 1,
        ..request()
    };
    insta::assert_snapshot!("summary-ranks", output_and_reading(&all));
}

#[test]
fn rates_are_all_items_over_the_time_of_the_slowest_rank() {
    let text = ENTRY.native(&summary(&Request { iterations: 2, ..request() })).unwrap();
    // By hand: 200 items in 4 and in 8 s are 50 and 25 a second; the deviation of a sample of two is 25 / sqrt(2).
    let line = "   File creation                  50.000         25.000         37.500         17.678\n";
    assert!(text.contains(line), "{text}");
    assert!(
        text.contains("\n2 tasks, 200 files/directories\n\nSUMMARY rate (in ops/sec): (of 2 iterations)\n"),
        "{text}"
    );
    assert!(!text.contains("Tree") && !text.contains("incomplete"), "{text}");
}

#[test]
fn a_tree_has_the_last_lines_whose_rates_are_of_the_folders_of_all_who_make_one() {
    let output = |unique_folders| {
        let tree = FolderTree { depth: 2, branch: 4, each_client: unique_folders, leaves_only: false };
        let asked = Request { items: 84, tree: Some(tree), unique_folders, ..request() };
        let summary = summary(&asked);
        (ENTRY.native(&summary).unwrap(), ENTRY.reading(&summary).join("\n"))
    };
    // By hand: 1 + 4 + 16 folders in 200 and in 100 ms, in 150 and 75 ms where rank 0 is alone, and twice as many by two ranks.
    let (text, said) = output(false);
    let lines = "   File removal                   56.000         56.000         56.000          0.000\n   \
                 Tree creation                 105.000        105.000        105.000          0.000\n   \
                 Tree removal                  210.000        210.000        210.000          0.000\n";
    assert!(text.ends_with(lines) && text.contains("2 tasks, 168 files/directories\n"), "{text}");
    assert!(said.contains("Tree creation, Tree removal: 21 folders made by rank 0 alone"), "{said}");
    assert!(said.contains("under 1 s") && !said.contains("Tree creation 200 ms"), "{said}");
    let (text, said) = output(true);
    assert!(text.contains("   Tree creation                 210.000 "), "{text}");
    assert!(said.contains("21 folders of each rank, counted for all 2, where mdtest counts"), "{said}");
}

#[test]
fn lines_that_are_not_asked_for_are_left_out() {
    let files = Request {
        kinds: vec![narrows_model::workload::ObjectKind::File],
        phases: vec![MdtestPhase::Stat, MdtestPhase::Remove],
        ..request()
    };
    let summary = summary(&files);
    let text = ENTRY.native(&summary).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("   File")).collect();
    assert!(
        lines.len() == 2 && lines[0].starts_with("   File stat ") && text.contains("200 files\n"),
        "{text}"
    );
    let said = ENTRY.reading(&summary).join("\n");
    assert!(said.contains("were made before, untimed") && !said.contains("created itself"), "{said}");
}

#[test]
fn a_phase_that_was_cut_short_has_no_line_and_is_named() {
    let plan = planned(&request());
    let shape = RunShape { missing: Some(("file_stat", 1)), ..ONE_HOST };
    let cut = summary_of(&plan, &shape);
    let text = ENTRY.native(&cut).unwrap();
    assert!(
        !text.contains("   File stat") && text.ends_with("incomplete, without a line: File stat\n"),
        "{text}"
    );
    assert!(
        ENTRY.reading(&cut)[0].starts_with("File stat: not all items were visited"),
        "{:?}",
        ENTRY.reading(&cut)
    );
}

#[test]
fn phases_that_a_stopped_run_did_not_begin_are_named_together() {
    let mut plan = planned(&request());
    plan.cells.truncate(plan.cells.len() - 2);
    let stopped = summary_of(&plan, &ONE_HOST);
    let text = ENTRY.native(&stopped).unwrap();
    assert!(text.ends_with("incomplete, without a line: File read, File removal\n"), "{text}");
    let said = &ENTRY.reading(&stopped)[0];
    assert_eq!(said, "not measured in every iteration, without a line in the table: File read, File removal");
}

#[test]
fn caches_are_named_where_the_item_was_created_on_the_same_host() {
    let said = |stride: u32, hosts: [&'static str; 2]| {
        let plan = planned(&Request { stride, ..request() });
        ENTRY.reading(&summary_of(&plan, &RunShape { hosts, ..ONE_HOST })).join("\n")
    };
    let apart = ["here", "there"];
    assert!(
        said(0, apart)
            .contains("Directory stat, File stat, File read: each rank visits what it has created itself")
    );
    let shifted = said(1, ["here", "here"]);
    assert!(shifted.contains("Directory stat, File stat: the ranks are shifted, but those who"), "{shifted}");
    // Twice by one of two is back at oneself.
    assert!(shifted.contains("File read: each rank visits what it has created itself"), "{shifted}");
    let hosts = said(1, apart);
    assert!(
        !hosts.contains("Directory stat, File stat:") && hosts.contains("File read: each rank"),
        "{hosts}"
    );
    let plan = planned(&Request { stride: 1, ..request() });
    let text = ENTRY.native(&summary_of(&plan, &RunShape { hosts: apart, ..ONE_HOST })).unwrap();
    assert!(text.contains(" on 2 node(s)\n") && text.contains("Nodemap: 10\n"), "{text}");
    assert!(text.contains("Shifting ranks by 1 for each phase.\n"), "{text}");
}

#[test]
fn a_summary_of_another_suite_prints_nothing() {
    let mut summary = summary(&request());
    if let Some(suite) = &mut summary.suite {
        "bonnie".clone_into(&mut suite.name);
    }
    assert_eq!(ENTRY.native(&summary), None);
    assert!(ENTRY.reading(&summary).is_empty());
}
