//! From a plan and the trials of its cells to the native output: what a record with these times prints.

use super::ENTRY;
use super::request::{Request, RowKind};
use super::testing::{PUBLISHED, request};
use crate::suite::Suite;
use narrows_analysis::{Input, RunFacts, analyse};
use narrows_model::{Bytes, Cut, Event, Histogram, Inventory, Plan, Summary};
use serde_json::json;

/// Wall and CPU time of each published test of the client, in the ticks of 10 ms that it was measured in.
const PUBLISHED_TICKS: [(u64, u64); 5] = [(454, 55), (9, 9), (442, 368), (303, 303), (6, 5)];
const TICK_NS: u64 = 10_000_000;

fn inventory() -> Inventory {
    crate::testing::inventory("ibmtest", Bytes(256 << 20))
}

/// The trials of `plan`, in which process i takes i + 1 times the published times.
fn trials(plan: &Plan) -> Vec<Event> {
    let cells = plan.cells.iter().filter(|cell| cell.cut == Cut::Path).enumerate();
    let trials = cells.flat_map(|(index, cell)| {
        let (wall, cpu) = PUBLISHED_TICKS[index % 5];
        let processes = u64::from(cell.workload.clients);
        let count = cell.stop.ops_max.unwrap() / processes;
        let bytes = count * cell.workload.block_bytes.0;
        (0..cell.trials).map(move |trial| {
            let clients: Vec<_> = (0..processes)
                .map(|client| {
                    json!({
                        "client_index": client, "host": "ibmtest", "op_count": count, "bytes": bytes,
                        "elapsed_ns": (client + 1) * wall * TICK_NS, "user_ns": (client + 1) * cpu * TICK_NS,
                        "system_ns": 0,
                    })
                })
                .collect();
            let trial = serde_json::from_value(json!({
                "cell": cell.id, "trial": trial, "complete": true, "start_ns": 0,
                "first_done_ns": wall * TICK_NS, "last_done_ns": processes * wall * TICK_NS,
                "op_count": processes * count, "bytes": processes * bytes, "response": Histogram::new(),
                "response_sum_ns": 0, "effective": null, "clients": clients, "errors": [], "counters": [],
                "file_bytes": cell.workload.file_bytes, "resident_ratio": null,
            }));
            Event::TrialFinished(Box::new(trial.unwrap()))
        })
    });
    trials.collect()
}

/// The summary of a run of `asked` with these times.
fn summary(asked: &Request) -> Summary {
    let plan = asked.plan(crate::testing::folder(asked.buffer_bytes())).unwrap();
    let (inventory, events) = (inventory(), trials(&plan));
    let input = Input { manifest: RunFacts::default(), plan: &plan, inventory: &inventory, events: &events };
    analyse(&input)
}

#[test]
fn the_published_times_print_the_published_row() {
    let asked = Request { csv: true, ..request() };
    let text = ENTRY.native(&summary(&asked)).unwrap();
    let row = PUBLISHED.lines().find(|line| line.starts_with("client-to-server,ibmtest,")).unwrap();
    assert_eq!(text.lines().nth(1), row.strip_prefix("client-to-server,"));
    // Passes that take the same time have the figures of one of them.
    let passes = ENTRY.native(&summary(&Request { passes: 3, ..asked })).unwrap();
    assert_eq!(passes, text);
}

#[test]
fn a_fixed_summary_prints_its_table_and_its_reading() {
    let asked = Request { rows: RowKind::ALL.to_vec(), processes: 2, passes: 2, ..request() };
    let summary = summary(&Request { memory: inventory().host.memory_bytes, ..asked });
    let said = ENTRY.reading(&summary).join("\n- ");
    let text = format!("{}\n- {said}\n", ENTRY.native(&summary).unwrap());
    insta::assert_snapshot!("summary", text);
}

#[test]
fn how_processes_spread_stands_in_the_summary_as_metrics() {
    let asked = Request { rows: vec![RowKind::OneProcess, RowKind::Processes], processes: 2, ..request() };
    let summary = summary(&asked);
    let metric = |id: &str, name: &str| {
        let cell = summary.cells.iter().find(|cell| cell.id == id).unwrap();
        cell.metrics.iter().find(|metric| metric.id == name).map(|metric| metric.value)
    };
    // The second process takes twice the time of the first: rates r and r / 2.
    let rate = 40_000.0 * 1024.0 / 4.54;
    let near = |name: &str, value: f64| {
        let found = metric("NPV/fwrite", name).unwrap();
        assert!((found - value).abs() < 1e-9 * value, "{name}: {found}, {value}");
    };
    near("client_rate_bytes_per_s_sum", 1.5 * rate);
    near("client_rate_bytes_per_s_median", 0.75 * rate);
    near("client_rate_bytes_per_s_min", 0.5 * rate);
    near("client_rate_bytes_per_s_max", rate);
    // Jain: (3/2)^2 / (2 x 5/4). The sample's deviation is r / (2 sqrt 2), over 3/4 r.
    near("client_rate_fairness_ratio", 0.9);
    near("client_rate_variation_ratio", 2.0_f64.sqrt() / 3.0);
    assert_eq!(metric("NPV/fwrite", "client_rate_mode_count"), None, "two are too few");
    assert_eq!(metric("1PV/fwrite", "client_rate_bytes_per_s_sum"), None, "one process has no spread");
}

#[test]
fn a_summary_of_another_suite_prints_nothing() {
    let mut summary = summary(&request());
    if let Some(suite) = &mut summary.suite {
        "jovian".clone_into(&mut suite.name);
    }
    assert_eq!(ENTRY.native(&summary), None);
    assert!(ENTRY.reading(&summary).is_empty());
}
