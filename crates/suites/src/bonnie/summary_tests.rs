//! From a plan and the trials of its cells to the native output: what a record with these times prints.

use super::request::{Edition, Request};
use super::testing::{planned, request};
use super::{ENTRY, PHASES, PhaseAction};
use narrows_analysis::{Input, RunFacts, analyse};
use narrows_model::{Bytes, Cell, Cut, Event, Histogram, Inventory, Plan, Summary};
use serde_json::json;

/// Milliseconds that the phases take.
const WALL_MS: [u64; PHASES.len()] = [21_000, 2500, 5000, 14_000, 1500, 800, 5000, 100, 900, 5000, 120, 1800];

fn inventory() -> Inventory {
    crate::testing::inventory("fs2", Bytes(256 << 20))
}

/// The trial of `cell`, in which process i takes i + 1 times as long; half of it on the processor.
fn trial(cell: &Cell, index: usize) -> Event {
    let load = &cell.workload;
    let (processes, wall_ns) = (u64::from(load.clients), WALL_MS[index] * 1_000_000);
    let visits = cell.stop.ops_max.map_or(load.objects.map_or(0, |set| set.count), |all| all / processes);
    let written = load.write_back_every.map_or(0, |every| visits / u64::from(every));
    let bytes = if load.objects.is_some() { 0 } else { load.block_bytes.0 };
    let clients: Vec<_> = (0..processes)
        .map(|client| {
            json!({
                "client_index": client, "host": "fs2", "op_count": visits + written, "bytes": (visits + written) * bytes,
                "elapsed_ns": (client + 1) * wall_ns, "user_ns": (client + 1) * wall_ns / 4,
                "system_ns": (client + 1) * wall_ns / 4,
            })
        })
        .collect();
    let mut response = Histogram::new();
    response.record(1_000_000 * (index as u64 + 1));
    let kind = |op: &str, count: u64| json!({"op": op, "block_bytes": bytes, "op_count": count, "bytes": count * bytes, "response": response});
    let kinds = if written > 0 { vec![kind("read", visits), kind("write", written)] } else { Vec::new() };
    let trial = serde_json::from_value(json!({
        "cell": cell.id, "trial": 0, "complete": true, "start_ns": 0, "first_done_ns": wall_ns,
        "last_done_ns": processes * wall_ns, "op_count": processes * (visits + written),
        "bytes": processes * (visits + written) * bytes, "response": response, "response_sum_ns": 0, "by_kind": kinds,
        "effective": null, "clients": clients, "errors": [], "counters": [], "file_bytes": load.file_bytes,
        "resident_ratio": null,
    }));
    Event::TrialFinished(Box::new(trial.unwrap()))
}

fn trials(plan: &Plan) -> Vec<Event> {
    let phases = plan.cells.iter().filter(|cell| cell.cut == Cut::Path);
    let index = |cell: &Cell| {
        PHASES.iter().position(|phase| cell.id.0.ends_with(&format!("/{}", phase.name))).unwrap()
    };
    phases.map(|cell| trial(cell, index(cell))).collect()
}

/// The summary of a run of `asked` with these times.
fn summary(asked: &Request) -> Summary {
    let plan = planned(asked);
    let (inventory, events) = (inventory(), trials(&plan));
    analyse(&Input { manifest: RunFacts::default(), plan: &plan, inventory: &inventory, events: &events })
}

fn output_and_reading(asked: &Request) -> String {
    let summary = summary(asked);
    let said = ENTRY.reading(&summary).join("\n- ");
    format!("{}\n- {said}\n", ENTRY.native(&summary).unwrap())
}

#[test]
fn a_fixed_summary_prints_the_tables_the_lines_and_the_reading_of_both_editions() {
    insta::assert_snapshot!("summary-2.00", output_and_reading(&request()));
    insta::assert_snapshot!(
        "summary-1.03",
        output_and_reading(&Request { edition: Edition::V1_03, ..request() })
    );
    insta::assert_snapshot!(
        "summary-processes",
        output_and_reading(&Request { processes: 2, runs: 2, ..request() })
    );
}

#[test]
fn rates_count_each_block_and_each_seek_once() {
    let text = ENTRY.native(&summary(&request())).unwrap();
    let fields: Vec<&str> = text.lines().last().unwrap().split(',').collect();
    // 512 MiB in 5 s, though each block was read and written; 8192 seeks in 0.8 s.
    assert_eq!((fields[13], fields[14], fields[19]), ("104857", "50", "10240"));
    assert_eq!((fields[9], fields[26]), ("975", "3276"));
    assert!(
        PHASES
            .iter()
            .filter(|phase| phase.action.write_back_every().is_some())
            .all(|phase| { matches!(phase.action, PhaseAction::Rewrite | PhaseAction::Seeks) })
    );
}

#[test]
fn stdout_has_tables_and_csv_and_nothing_of_our_own() {
    let printed = ENTRY.native(&summary(&request())).unwrap();
    let begins = ["Version  2.00", "      ", "Name:Size etc", "fs2  ", "Latency", "1.98,2.00,"];
    for line in printed.lines() {
        assert!(begins.iter().any(|begin| line.starts_with(begin)), "{line}");
    }
    assert!(printed.contains("+++++") && ENTRY.reading(&summary(&request()))[0].contains("(+++++)"));
}

#[test]
fn with_csv_alone_the_tables_stand_with_the_reading() {
    let asked = Request { csv_alone: true, ..request() };
    let summary = summary(&asked);
    let csv = ENTRY.native(&summary).unwrap();
    assert_eq!((csv.lines().count(), csv.matches(',').count()), (1, 49));
    let beside = &ENTRY.reading(&summary)[0];
    let whole = ENTRY.native(&self::summary(&request())).unwrap();
    assert_eq!(beside.clone() + &csv, whole);
}

#[test]
fn a_summary_of_another_suite_prints_nothing() {
    let mut summary = summary(&request());
    if let Some(suite) = &mut summary.suite {
        "ioperf".clone_into(&mut suite.name);
    }
    assert_eq!(ENTRY.native(&summary), None);
    assert!(ENTRY.reading(&summary).is_empty());
}
