//! From a plan and the trials of its cells to the native output: what a record with these counts and times prints.

use super::plan::PostmarkPhase;
use super::request::Request;
use super::settings::{PostmarkSettings, ReportForm};
use super::testing::{planned, request};
use super::{ENTRY, native_output};
use narrows_analysis::{Input, RunFacts, analyse};
use narrows_model::{Bytes, Cut, Event, Histogram, Inventory, Op, Plan, Summary};
use serde_json::{Value, json};

/// Operations and bytes of one kind.
type KindTotals = (Op, u64, u64);

/// What a phase did, and in how many milliseconds.
struct PhaseTotals<'a> {
    phase: PostmarkPhase,
    kinds: &'a [KindTotals],
    ms: u64,
}

fn inventory() -> Inventory {
    crate::testing::inventory("here", Bytes(256 << 20))
}

fn response(count: u64, each_ns: u64) -> Histogram {
    let mut histogram = Histogram::new();
    (0..count).for_each(|_| histogram.record(each_ns));
    histogram
}

/// The trial of a phase.
fn trial(plan: &Plan, done: &PhaseTotals<'_>) -> Event {
    let is_it = |cell: &&narrows_model::Cell| cell.cut == Cut::Path && cell.id.0 == done.phase.name();
    let cell = plan.cells.iter().find(is_it).unwrap();
    let (ops, bytes) = done.kinds.iter().fold((0, 0), |sum, kind| (sum.0 + kind.1, sum.1 + kind.2));
    let ns = done.ms * 1_000_000;
    let kinds: Vec<Value> = done
        .kinds
        .iter()
        .map(|(op, count, bytes)| {
            json!({
                "op": op, "block_bytes": 512, "op_count": count, "bytes": bytes,
                "response": response(*count, 10_000 * (*op as u64 + 1)),
            })
        })
        .collect();
    let is_mixed = done.phase == PostmarkPhase::Transactions;
    let event = serde_json::from_value(json!({
        "cell": cell.id, "trial": 0, "complete": true, "start_ns": 0, "first_done_ns": ns, "last_done_ns": ns,
        "op_count": ops, "bytes": bytes, "response": response(ops, 20_000), "response_sum_ns": ns,
        "by_kind": if is_mixed { kinds } else { Vec::new() }, "effective": null,
        "clients": [{
            "client_index": 0, "host": "here", "op_count": ops, "bytes": bytes, "elapsed_ns": ns,
            "user_ns": ns / 4, "system_ns": ns / 4,
        }],
        "errors": [], "counters": [], "file_bytes": cell.workload.file_bytes, "resident_ratio": null,
    }));
    Event::TrialFinished(Box::new(event.unwrap()))
}

fn summary(asked: &Request, done: &[PhaseTotals<'_>]) -> Summary {
    let plan = planned(asked);
    let events: Vec<Event> = done.iter().map(|done| trial(&plan, done)).collect();
    let inventory = inventory();
    let input = Input { manifest: RunFacts::default(), plan: &plan, inventory: &inventory, events: &events };
    analyse(&input)
}

const CREATED: &[KindTotals] = &[(Op::Put, 500, 2_600_001)];
/// 500 transactions, of which three appends met full files.
const WORKED: &[KindTotals] =
    &[(Op::Get, 250, 1_300_007), (Op::Append, 247, 600_011), (Op::Put, 260, 1_400_003), (Op::Delete, 240, 0)];
const DELETED: &[KindTotals] = &[(Op::Delete, 520, 0)];

fn asked(report: ReportForm) -> Request {
    let memory = inventory().host.memory_bytes;
    let settings = PostmarkSettings { report, subdirectories: 10, ..PostmarkSettings::default() };
    Request { settings, memory, ..request() }
}

fn whole() -> [PhaseTotals<'static>; 3] {
    [
        PhaseTotals { phase: PostmarkPhase::Create, kinds: CREATED, ms: 800 },
        PhaseTotals { phase: PostmarkPhase::Transactions, kinds: WORKED, ms: 2500 },
        PhaseTotals { phase: PostmarkPhase::Delete, kinds: DELETED, ms: 200 },
    ]
}

#[test]
fn a_fixed_summary_prints_its_report_and_its_reading() {
    let summary = summary(&asked(ReportForm::Verbose), &whole());
    let said = ENTRY.reading(&summary).join("\n- ");
    insta::assert_snapshot!("summary", format!("{}\n- {said}\n", ENTRY.native(&summary).unwrap()));
}

#[test]
fn data_on_a_server_is_in_no_page_cache_of_this_machine() {
    let mut summary = summary(&asked(ReportForm::Verbose), &whole());
    for cell in &mut summary.cells {
        cell.target = "nfs://fs/export/own".parse().unwrap();
    }
    let said = ENTRY.reading(&summary).join("\n");
    assert!(said.contains("the server's memory") && !said.contains("page cache"), "{said}");
}

#[test]
fn a_terse_report_has_the_rates_of_the_same_counts_and_bytes() {
    let summary = summary(&asked(ReportForm::Terse), &whole());
    // By hand: 3.5 s in all; created 760 / 3.5, 500 / 0.8, 260 / 2.5; written 4600015 bytes.
    let expected = "4 3 200.00 217.14 625.00 104.00 100.00 98.80 217.14 2600.00 96.00 371430.57 1314290.00\n";
    assert_eq!(native_output(&summary).unwrap().report, expected);
}

#[test]
fn a_run_out_of_files_has_no_report_and_says_what_to_set() {
    let out: &[KindTotals] = &[(Op::Get, 900, 9), (Op::Delete, 500, 0)];
    let mut request = asked(ReportForm::Verbose);
    (request.settings.transactions, request.settings.bias_create) = (1000, Some(0));
    let done = [
        PhaseTotals { phase: PostmarkPhase::Create, kinds: CREATED, ms: 800 },
        PhaseTotals { phase: PostmarkPhase::Transactions, kinds: out, ms: 900 },
    ];
    let summary = summary(&request, &done);
    let printed = native_output(&summary).unwrap();
    assert!(
        printed.report.is_empty() && printed.phases.contains("transactions.....out of files!\n"),
        "{printed:?}"
    );
    assert!(ENTRY.reading(&summary)[0].starts_with("out of files after 500 of 1000 transactions"));
}

#[test]
fn a_run_that_was_stopped_has_no_report() {
    let [create, work, _] = whole();
    let stopped = summary(&asked(ReportForm::Verbose), &[create, work]);
    let printed = native_output(&stopped).unwrap();
    assert!(
        printed.report.is_empty()
            && printed
                .phases
                .ends_with("Deleting files...\nincomplete: the run ended in this phase, and has no report\n"),
        "{printed:?}"
    );
    assert!(ENTRY.reading(&stopped)[0].starts_with("deletion alone was not completed"));
}

#[test]
fn a_summary_of_another_suite_prints_nothing() {
    let mut summary = summary(&asked(ReportForm::Verbose), &whole());
    assert_eq!(summary.cells.iter().filter(|cell| cell.block_bytes == Bytes(512)).count(), 3);
    if let Some(suite) = &mut summary.suite {
        "jovian".clone_into(&mut suite.name);
    }
    assert_eq!(ENTRY.native(&summary), None);
    assert!(ENTRY.reading(&summary).is_empty());
}
