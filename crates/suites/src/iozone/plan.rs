//! From a request and the plan of a check of the same folder to the plan of the suite: the check's cuts, then the tests.

use super::columns::{AccessPattern, CallKind, IozoneColumn};
use super::request::{Request, SizePair, kb};
use crate::folder::PreparedFolder;
use crate::suite::Suite;
use crate::suite_load::{SuiteLoad, TestPhase, behind_cuts, suite_cell};
use narrows_model::workload::{
    Access, CacheState, Edges, OpShare, Order, Prefill, PsyncCalls, PsyncOptions, StdioOptions, SyncPolicy,
    VECTORS_MAX,
};
use narrows_model::{Bytes, Cell, EngineId, Op, Plan, Stop, Target, Workload};
use narrows_study::Problem;

/// The plan of `request` in `folder`: files are in the first of its targets, those of several processes each in its
/// own.
///
/// # Shape
/// The check's cuts; then for each number of processes, file size and record size the columns in their order.
///
/// # Errors
/// All that is wrong with the request.
pub(super) fn plan(request: &Request, folder: PreparedFolder) -> Result<Plan, Vec<Problem>> {
    let problems = request.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    let more = folder.targets.get(1..).unwrap_or_default();
    let cells = tests(request, &folder.target(), more);
    let own = SuiteLoad {
        file_bytes_max: request.all_bytes(),
        write_bytes_max: written(&cells),
        touches: more.iter().map(ToString::to_string).collect(),
        source: request.source(),
        cells,
    };
    Ok(behind_cuts(folder.check, own))
}

fn tests(request: &Request, target: &Target, more: &[Target]) -> Vec<Cell> {
    let (columns, pairs) = (request.columns(), request.pairs());
    let mut all = Vec::new();
    for processes in request.processes() {
        for pair in &pairs {
            for column in &columns {
                let mut cell = cell(request, column, *pair, processes, target);
                let others = usize::try_from(processes.saturating_sub(1)).unwrap_or(usize::MAX);
                cell.more_targets = more.iter().take(others).cloned().collect();
                all.push(cell);
            }
        }
    }
    all
}

/// Bytes that the tests write; half of what a mixed one moves.
fn written(tests: &[Cell]) -> Bytes {
    let of = |cell: &Cell| {
        let bytes = cell.stop.bytes_max.unwrap_or_default().0;
        match (cell.workload.op, cell.workload.op_mix.is_empty()) {
            (_, false) => bytes / 2,
            (Op::Write, true) => bytes,
            _ => 0,
        }
    };
    Bytes(tests.iter().fold(0, |sum: u64, cell| sum.saturating_add(of(cell))))
}

/// One column at one pair of sizes.
fn cell(request: &Request, column: &IozoneColumn, pair: SizePair, processes: u64, target: &Target) -> Cell {
    let records = pair.file_kb / pair.record_kb.max(1);
    let bytes = kb(pair.record_kb).0.saturating_mul(records).saturating_mul(processes);
    let test = if request.is_throughput() {
        format!("t{processes}/{}/{}", pair.file_kb, pair.record_kb)
    } else {
        format!("{}/{}", pair.file_kb, pair.record_kb)
    };
    let of = TestPhase { test: &test, phase: column.name };
    let workload = workload(request, column, pair, processes);
    let cell = suite_cell(format!("{test}/{}", column.name), &of, target, workload);
    Cell { stop: Stop { bytes_max: Some(Bytes(bytes)), ..cell.stop }, ..cell }
}

fn workload(request: &Request, column: &IozoneColumn, pair: SizePair, processes: u64) -> Workload {
    let options = request.options();
    let writes = column.op == Op::Write || column.is_mixed();
    let half = |op| OpShare { op, weight: 1.0 };
    Workload {
        engine: Some(if column.calls == CallKind::Stdio { EngineId::Stdio } else { EngineId::Psync }),
        op: column.op,
        op_mix: if column.is_mixed() { vec![half(Op::Read), half(Op::Write)] } else { Vec::new() },
        block_bytes: kb(pair.record_kb),
        file_bytes: kb(pair.file_kb),
        order: order(request, column, pair),
        access: if options.direct { Access::Direct } else { Access::Buffered },
        // A test that makes its file finds nothing of it in any cache.
        cache: match (&options.cold_mount, column.makes_file) {
            (Some(_), false) => CacheState::Cold,
            _ => CacheState::AsFound,
        },
        sync: match (writes, options.synchronous, options.times_sync) {
            (true, true, _) => SyncPolicy::Dsync,
            (true, false, true) => SyncPolicy::AtEnd,
            // As the original, which has closed the file where that is timed.
            (true, false, false) if !options.times_close => SyncPolicy::AfterEnd,
            _ => SyncPolicy::None,
        },
        clients: u32::try_from(processes).unwrap_or(u32::MAX),
        own_process: request.is_throughput(),
        // With the C library's own buffer a large record would be several calls, and small ones one together.
        stdio: StdioOptions {
            buffer_bytes: (column.calls == CallKind::Stdio).then(|| kb(pair.record_kb)),
            ..StdioOptions::default()
        },
        psync: PsyncOptions {
            calls: match column.calls {
                CallKind::AtPosition => PsyncCalls::AtPosition,
                CallKind::AtOffset | CallKind::Stdio | CallKind::Vectors => PsyncCalls::AtOffset,
            },
            vectors: (column.calls == CallKind::Vectors).then_some(VECTORS_MAX),
        },
        edges: Edges {
            purge_bytes: options.purge.then(|| request.purged_cache()).flatten(),
            times_close: options.times_close,
            stone_wall: processes > 1,
            // The parent's clock of the original stops when its children have synced, closed and ended.
            ends_apart: request.is_throughput(),
            primes: !request.is_throughput() && !options.verify && column.is_primed(),
            keeps_files: options.keeps,
        },
        verify: options.verify,
        prefill: match (column.makes_file, options.verify && processes > 1) {
            (true, false) => Prefill::Nothing,
            // What the stone wall left unwritten must be there to be verified.
            (true, true) => Prefill::Whole,
            // Data is checked against what the cell's own seed makes.
            (false, _) if options.verify => Prefill::Whole,
            (false, _) => Prefill::Kept,
        },
        ..Workload::default()
    }
}

fn order(request: &Request, column: &IozoneColumn, pair: SizePair) -> Order {
    match column.visit {
        AccessPattern::Forward => Order::Sequential,
        AccessPattern::Backward => Order::Backward,
        AccessPattern::Random => Order::Random,
        AccessPattern::OneRecord => Order::OneBlock,
        AccessPattern::Stride => {
            let stride_bytes = kb(pair.record_kb).0.saturating_mul(request.stride());
            Order::Stride { stride_bytes, ends_early: true }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::words;
    use super::*;
    use crate::suite::request_of;
    use crate::testing::folder;
    use narrows_model::Cut;

    fn planned(line: &str) -> Plan {
        let mut request = Request::from_words(&words(line)).unwrap();
        request.has_cuts = false;
        plan(&request, folder(Bytes(4096))).unwrap()
    }

    fn workload_of<'a>(plan: &'a Plan, id: &str) -> &'a Workload {
        &plan.cells.iter().find(|cell| cell.id.0 == id).unwrap().workload
    }

    #[test]
    fn each_pair_of_sizes_has_the_tests_in_their_order_and_each_continuesce_over_the_file() {
        let plan = planned("-a -g 128");
        assert_eq!(plan.cells.len(), (5 + 6) * 13);
        let first: Vec<&str> = plan.cells[..13].iter().map(|cell| cell.id.0.as_str()).collect();
        assert_eq!((first[0], first[8], first[12]), ("64/4/write", "64/4/stride-read", "64/4/freread"));
        for cell in &plan.cells {
            assert_eq!(
                (cell.stop.bytes_max, cell.trials),
                (Some(cell.workload.file_bytes), 1),
                "{}",
                cell.id
            );
        }
        // Of a file that the record does not divide, whole records.
        assert_eq!(planned("-s 100 -r 64").cells[0].stop.bytes_max, Some(Bytes(64 << 10)));
    }

    #[test]
    fn every_test_visits_the_file_by_its_own_calls_and_way() {
        let plan = planned("-i 0 -i 2 -i 3 -i 4 -i 5 -i 6 -i 11 -i 12 -s 1m -r 64");
        let order = |column: &str| workload_of(&plan, &format!("1024/64/{column}")).order;
        assert_eq!((order("random-read"), order("bkwd-read")), (Order::Random, Order::Backward));
        assert_eq!((order("record-rewrite"), order("write")), (Order::OneBlock, Order::Sequential));
        assert_eq!(order("stride-read"), Order::Stride { stride_bytes: 17 * 65_536, ends_early: true });
        let made: Vec<&str> = plan
            .cells
            .iter()
            .filter(|cell| cell.workload.prefill == Prefill::Nothing)
            .map(|cell| cell.id.0.as_str())
            .collect();
        assert_eq!(made, ["1024/64/write", "1024/64/fwrite", "1024/64/pwritev"]);
        assert_eq!(workload_of(&plan, "1024/64/fwrite").engine, Some(EngineId::Stdio));
        assert_eq!(workload_of(&plan, "1024/64/preadv").psync.vectors, Some(16));
        assert_eq!(workload_of(&plan, "1024/64/write").psync.vectors, None);
    }

    #[test]
    fn records_are_where_the_file_is_or_where_their_test_puts_them() {
        let plan = planned("-i 0 -i 1 -i 2 -i 3 -i 4 -i 5 -i 9 -i 10 -s 1m -r 64");
        let calls = |column: &str| workload_of(&plan, &format!("1024/64/{column}")).psync.calls;
        let sought = ["write", "rewrite", "read", "random-read", "random-write", "bkwd-read", "stride-read"];
        assert!(sought.iter().all(|column| calls(column) == PsyncCalls::AtPosition));
        assert_eq!(calls("record-rewrite"), PsyncCalls::AtPosition);
        assert!(
            ["pwrite", "re-pwrite", "pread", "re-pread"].iter().all(|c| calls(c) == PsyncCalls::AtOffset)
        );
    }

    #[test]
    fn test_1_of_one_process_reads_its_first_record_before_the_clock() {
        let primed = |line: &str| -> Vec<String> {
            let plan = planned(line);
            let cells = plan.cells.iter().filter(|cell| cell.workload.edges.primes);
            cells.map(|cell| cell.id.0.rsplit('/').next().unwrap().to_owned()).collect()
        };
        assert_eq!(primed(""), ["read", "reread"]);
        assert!(primed("-t 2").is_empty() && primed("-V 1").is_empty());
        let apart = |line: &str| planned(line).cells.iter().all(|cell| cell.workload.edges.ends_apart);
        assert!(apart("-t 2") && !apart(""));
    }

    #[test]
    fn letters_change_the_load() {
        let wishes = |line: &str, id: &str| workload_of(&planned(line), id).clone();
        assert_eq!(wishes("-e", "512/4/write").sync, SyncPolicy::AtEnd);
        assert_eq!(wishes("-e", "512/4/read").sync, SyncPolicy::None);
        assert_eq!(wishes("-o -e", "512/4/rewrite").sync, SyncPolicy::Dsync);
        assert_eq!(wishes("-I", "512/4/read").access, Access::Direct);
        assert!(wishes("-c", "512/4/fwrite").edges.times_close);
        // What a test wrote is synced behind it, unless nothing is left to sync.
        let synced =
            |line: &str, column: &str| wishes(line, &format!("512/4/{column}")).sync == SyncPolicy::AfterEnd;
        assert!(["write", "rewrite", "random-write", "fwrite"].iter().all(|column| synced("", column)));
        assert!(synced("-I", "write") && !synced("", "read") && !synced("", "fread"));
        assert!(["-e", "-o", "-c"].iter().all(|line| !synced(line, "write")));
        let is_cold =
            |line: &str, column: &str| wishes(line, &format!("512/4/{column}")).cache == CacheState::Cold;
        let visited = ["rewrite", "read", "reread", "random-read", "random-write", "record-rewrite", "fread"];
        assert!(visited.iter().all(|column| is_cold("-U /mnt", column) && !is_cold("", column)));
        assert!(!is_cold("-U /mnt", "write") && !is_cold("-U /mnt", "fwrite"));
        assert_eq!(wishes("-p -S 2m", "512/4/read").edges.purge_bytes, Some(Bytes(2 << 20)));
        assert_eq!(wishes("-p", "512/4/read").edges.purge_bytes, Some(Bytes(1 << 20)));
        let checked = wishes("-V 1", "512/4/record-rewrite");
        assert_eq!((checked.verify, checked.prefill), (true, Prefill::Whole));
        assert_eq!(
            wishes("-j 5 -i 0 -i 5", "512/4/stride-read").order,
            Order::Stride { stride_bytes: 5 * 4096, ends_early: true }
        );
    }

    #[test]
    fn processes_have_files_of_their_own_and_end_at_the_stone_wall() {
        let mut request =
            Request::from_words(&words("-l 1 -u 3 -i 0 -i 8 -s 64 -r 4 -F /a/x /b/x /c/x")).unwrap();
        request.has_cuts = false;
        let targets: Vec<Target> = ["/a/n", "/b/n", "/c/n"].map(|path| path.parse().unwrap()).to_vec();
        let plan = plan(&request, PreparedFolder { targets, ..folder(Bytes(4096)) }).unwrap();
        let of = |id: &str| plan.cells.iter().find(|cell| cell.id.0 == id).unwrap();
        let three = of("t3/64/4/mixed");
        assert_eq!((three.workload.clients, three.more_targets.len()), (3, 2));
        assert_eq!((three.stop.bytes_max, three.workload.edges.stone_wall), (Some(Bytes(3 * 65_536)), true));
        assert_eq!(three.workload.op_mix.len(), 2);
        let one = of("t1/64/4/write");
        assert_eq!(
            (one.more_targets.len(), one.workload.own_process, one.workload.edges.stone_wall),
            (0, true, false)
        );
        assert_eq!(plan.load.touches.iter().filter(|place| place.ends_with("/n")).count(), 2);
        // Two writes and half of a mixed test, of 1, 2 and 3 processes.
        assert_eq!(plan.load.write_bytes_max, Some(Bytes((1 + 2 + 3) * 65_536 * 5 / 2)));
    }

    #[test]
    fn a_record_says_what_was_asked_for() {
        for line in ["-a -g 128 -R -+n -O -e", "-l 1 -u 3 -F /a/x /b/x /c/x -w", "-U /mnt -p -S 2m -V 1"] {
            let mut options = Request::from_words(&words(line)).unwrap();
            (options.has_cuts, options.direct_alignment) = (false, Some(Err("none".to_owned())));
            let plan = plan(&options, folder(Bytes(4096))).unwrap();
            assert_eq!(request_of(plan.suite.as_ref().unwrap()), Some(options), "{line}");
        }
    }

    #[test]
    fn cuts_of_a_check_stand_before_the_tests_where_they_are_asked_for() {
        let request = Request::from_words(&words("")).unwrap();
        let plan = plan(&request, folder(Bytes(4096))).unwrap();
        let first = plan.cells.iter().position(|cell| cell.cut == Cut::Path).unwrap();
        assert!(first > 0 && plan.cells[first..].len() == 13);
        assert!(plan.budget_ns.as_secs_f64() > 13.0 * 86_400.0);
    }
}
