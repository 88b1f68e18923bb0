//! From a plan and the trials of its cells to the native output: what a record with these times prints.

use super::sheet::csv as sheet_csv;
use super::surface::{csv as surface_csv, svg as surface_svg};
use super::testing::words;
use super::{ENTRY, Request};
use crate::suite::Suite;
use narrows_analysis::{Input, RunFacts, analyse};
use narrows_model::{Bytes, Cut, Event, Histogram, Inventory, Plan, Summary};
use serde_json::json;

fn inventory() -> Inventory {
    crate::testing::inventory("client", Bytes(16 << 20))
}

/// The trials of `plan`, in which a kB takes a microsecond, each client one more.
fn trials(plan: &Plan) -> Vec<Event> {
    let cells = plan.cells.iter().filter(|cell| cell.cut == Cut::Path);
    let trial = |cell: &narrows_model::Cell| {
        let clients = u64::from(cell.workload.clients);
        let bytes = cell.stop.bytes_max.unwrap().0 / clients;
        let count = bytes / cell.workload.block_bytes.0;
        let took = |client: u64| (client + 1) * bytes / 1024 * 1000;
        let each: Vec<_> = (0..clients)
            .map(|client| {
                json!({
                    "client_index": client, "host": "client", "op_count": count, "bytes": bytes,
                    "elapsed_ns": took(client), "user_ns": took(0) / 4, "system_ns": 0,
                })
            })
            .collect();
        let trial = serde_json::from_value(json!({
            "cell": cell.id, "trial": 0, "complete": true, "start_ns": 0, "first_done_ns": took(0),
            "last_done_ns": took(clients - 1), "op_count": clients * count, "bytes": clients * bytes,
            "response": Histogram::new(), "response_sum_ns": 0, "effective": null, "clients": each, "errors": [],
            "counters": [], "file_bytes": cell.workload.file_bytes, "resident_ratio": null,
        }));
        Event::TrialFinished(Box::new(trial.unwrap()))
    };
    cells.map(trial).collect()
}

fn summary(line: &str) -> Summary {
    let mut request = Request::from_words(&words(line)).unwrap();
    request.has_cuts = false;
    let plan = request.plan(crate::testing::folder(Bytes(4096))).unwrap();
    let (inventory, events) = (inventory(), trials(&plan));
    let command = words(&format!("narrows suite iozone {line}"));
    let input = Input {
        manifest: RunFacts { command, ..RunFacts::default() },
        plan: &plan,
        inventory: &inventory,
        events: &events,
    };
    Summary { complete: true, ..analyse(&input) }
}

#[test]
fn a_run_that_was_stopped_has_no_last_line_and_no_figure_of_a_part_of_a_test() {
    let line = "-s 4m -r 64k -i 0 -i 1";
    let whole = ENTRY.native(&summary(line)).unwrap();
    assert!(
        whole.contains("\niozone test complete.\n") && whole.contains("1000000  1000000  1000000  1000000")
    );
    let mut stopped = summary(line);
    stopped.complete = false;
    let is_reread =
        |cell: &&mut narrows_model::summary::CellSummary| cell.cut == Cut::Path && cell.id.contains("reread");
    let last = stopped.cells.iter_mut().find(is_reread).unwrap();
    last.per_client[0].ops -= 1;
    let text = ENTRY.native(&stopped).unwrap();
    assert!(!text.contains("test complete") && text.contains("1000000  1000000  1000000        0"), "{text}");
}

#[test]
fn a_fixed_summary_of_auto_mode_prints_its_table_and_sheet() {
    let text = ENTRY.native(&summary("-a -n 4m -g 8m -y 1m -q 4m -R -i 0 -i 1")).unwrap();
    insta::assert_snapshot!("summary_auto", text);
    // A kB takes a microsecond.
    assert!(text.contains("4096    1024  1000000  1000000"), "{text}");
}

#[test]
fn a_fixed_summary_of_throughput_mode_prints_its_groups_and_its_reading() {
    let summary = summary("-l 1 -u 2 -i 0 -s 1m -r 64 -O");
    let said = ENTRY.reading(&summary).join("\n- ");
    insta::assert_snapshot!("summary_throughput", format!("{}\n- {said}\n", ENTRY.native(&summary).unwrap()));
}

#[test]
fn a_surface_is_printed_as_csv_and_drawn() {
    let summary = summary("-a -n 4m -g 8m -y 1m -q 2m -i 0");
    assert_eq!(surface_csv(&summary).unwrap().lines().count(), 1 + 2 * 2 * 2);
    assert!(surface_svg(&summary).unwrap().contains(">rewrite</text>"));
    assert!(sheet_csv(&summary).unwrap().contains("\n4096,1000000,1000000\n"));
    assert_eq!(surface_svg(&self::summary("-t 2 -i 0")), None);
}

#[test]
fn a_summary_of_another_suite_prints_nothing() {
    let mut summary = summary("-i 0");
    if let Some(suite) = &mut summary.suite {
        "ioperf".clone_into(&mut suite.name);
    }
    assert_eq!((ENTRY.native(&summary), sheet_csv(&summary)), (None, None));
    assert!(ENTRY.reading(&summary).is_empty() && surface_csv(&summary).is_none());
}
