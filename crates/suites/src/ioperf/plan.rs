//! From a request and the plan of a check of the same folder to the plan of the suite: the check's cuts, then the tests.

use super::request::{Request, RowKind};
use super::{IoperfTest, TESTS};
use crate::folder::PreparedFolder;
use crate::suite::Suite;
use crate::suite_load::{SuiteLoad, TestPhase, behind_cuts, suite_cell};
use narrows_model::workload::{Prefill, StdioFlush, StdioOptions};
use narrows_model::{Bytes, Cell, EngineId, Op, Plan, Stop, Target, Workload};
use narrows_study::Problem;

/// The plan of `request` in `folder`.
///
/// # Shape
/// The check's cuts, then the rows after each other, each with the five tests in the published order on the same files.
///
/// # Errors
/// All that is wrong with the request.
pub(super) fn plan(request: &Request, folder: PreparedFolder) -> Result<Plan, Vec<Problem>> {
    let problems = request.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    let target = folder.target();
    let of_row = |row: &RowKind| TESTS.map(|test| cell(request, *row, &test, &target));
    let own = SuiteLoad {
        cells: request.rows.iter().flat_map(of_row).collect(),
        file_bytes_max: request.all_bytes(),
        write_bytes_max: written(request),
        touches: Vec::new(),
        source: request.source(),
    };
    Ok(behind_cuts(folder.check, own))
}

/// Bytes that the tests write.
fn written(request: &Request) -> Bytes {
    let writers = TESTS.iter().filter(|test| test.op == Op::Write).count() as u64;
    let times = writers.saturating_mul(u64::from(request.passes));
    let files = request.rows.iter().map(|row| u64::from(clients(request, *row))).sum::<u64>();
    Bytes(request.file_bytes().0.saturating_mul(times).saturating_mul(files))
}

fn clients(request: &Request, row: RowKind) -> u32 {
    if row == RowKind::Processes { request.processes } else { 1 }
}

/// A stream's own buffer: with that of the C library one flushed I/O would be several `write` of its size, so that tests
/// that write have one of the size of an I/O.
fn stream_buffer(request: &Request, test: &IoperfTest) -> Option<Bytes> {
    (test.op == Op::Write).then(|| request.buffer_bytes())
}

/// One test of one row.
fn cell(request: &Request, row: RowKind, test: &IoperfTest, target: &Target) -> Cell {
    let clients = clients(request, row);
    let flush = if test.op == Op::Write { request.flush.calls() } else { StdioFlush::None };
    let workload = Workload {
        engine: Some(EngineId::Stdio),
        op: test.op,
        block_bytes: test.block.unwrap_or(request.buffer_bytes()),
        file_bytes: request.file_bytes(),
        order: test.order,
        clients,
        own_process: row != RowKind::Run,
        stdio: StdioOptions { calls: test.calls, flush, buffer_bytes: stream_buffer(request, test) },
        prefill: Prefill::Nothing,
        ..Workload::default()
    };
    let ops_max = request.count.saturating_mul(u64::from(clients));
    let of = TestPhase { test: row.name(), phase: test.name };
    let cell = suite_cell(format!("{}/{}", row.name(), test.name), &of, target, workload);
    Cell { trials: request.passes, stop: Stop { ops_max: Some(ops_max), ..cell.stop }, ..cell }
}

#[cfg(test)]
mod tests {
    use super::super::testing::request;
    use super::*;
    use crate::suite::request_of;
    use narrows_model::workload::{Order, StdioCalls};
    use narrows_model::{Cut, Nanos};

    fn planned(request: &Request) -> Plan {
        plan(request, crate::testing::folder(request.buffer_bytes())).unwrap()
    }

    fn tests_of(plan: &Plan) -> Vec<&Cell> {
        plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect()
    }

    #[test]
    fn each_row_has_the_five_tests_in_order_and_each_process_all_ios() {
        let asked = Request { rows: RowKind::ALL.to_vec(), processes: 10, passes: 3, ..request() };
        let plan = planned(&asked);
        let ids: Vec<&str> = tests_of(&plan).iter().map(|cell| cell.id.0.as_str()).collect();
        assert_eq!(ids[..5], ["run/fwrite", "run/fread", "run/putc", "run/getc", "run/seek"]);
        assert_eq!((ids.len(), ids[5], ids[14]), (15, "1PV/fwrite", "NPV/seek"));
        for cell in tests_of(&plan) {
            let load = &cell.workload;
            assert_eq!(cell.stop.ops_max, Some(5000 * u64::from(load.clients)), "{}", cell.id);
            assert_eq!((cell.trials, load.prefill), (3, Prefill::Nothing));
            assert_eq!(load.own_process, !cell.id.0.starts_with("run"));
            assert_eq!(load.clients, if cell.id.0.starts_with("NPV") { 10 } else { 1 });
        }
    }

    #[test]
    fn writes_are_flushed_after_every_io_and_reads_are_not() {
        let plan = planned(&request());
        let wishes: Vec<_> = tests_of(&plan).iter().map(|cell| cell.workload.stdio).collect();
        let calls: Vec<_> = wishes.iter().map(|wish| (wish.calls, wish.flush)).collect();
        let (block, character) = (StdioCalls::Block, StdioCalls::Character);
        let (flushed, none) = (StdioFlush::Fflush, StdioFlush::None);
        assert_eq!(
            calls,
            [(block, flushed), (block, none), (character, flushed), (character, none), (block, none)]
        );
        let buffers: Vec<_> = wishes.iter().map(|wish| wish.buffer_bytes).collect();
        assert_eq!(buffers, [Some(Bytes(8192)), None, Some(Bytes(8192)), None, None]);
        let seek = tests_of(&plan)[4];
        assert_eq!(
            (seek.workload.block_bytes, seek.workload.order),
            (Bytes(20), Order::RandomWithReplacement)
        );
    }

    #[test]
    fn the_cuts_of_a_check_stand_before_the_tests_or_are_left_out() {
        let plan = planned(&request());
        let first = plan.cells.iter().position(|cell| cell.cut == Cut::Path).unwrap();
        assert!(first > 0 && plan.cells[first..].iter().all(|cell| cell.cut == Cut::Path));
        let bare = planned(&Request { has_cuts: false, ..request() });
        assert_eq!((bare.cells.len(), bare.load.planned_ns), (5, Nanos(0)));
        // Two tests write a file of 40000 KB.
        assert_eq!(bare.load.write_bytes_max, Some(Bytes(2 * 40_000 * 1024)));
    }

    #[test]
    fn the_budget_contains_every_pass() {
        let plan = planned(&Request { passes: 1000, rows: RowKind::ALL.to_vec(), ..request() });
        let all = plan.cells.iter().map(|cell| cell.planned_ns().as_secs_f64()).sum::<f64>();
        assert!(plan.budget_ns.as_secs_f64() > all);
    }

    #[test]
    fn a_record_says_what_was_asked_for() {
        let asked = Request { csv: true, memory: Some(Bytes(7)), ..request() };
        let read: Option<Request> = request_of(planned(&asked).suite.as_ref().unwrap());
        assert_eq!(read, Some(asked));
    }
}
