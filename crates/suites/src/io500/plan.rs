//! From a request and the plan of a check of the same folder to the plan of the suite: the check's cuts, then the phases.

use super::request::Request;
use super::{FILE_HARD, Io500Phase, MdtestSet, PHASES, PhaseLoad, TRANSFER_HARD};
use crate::folder::PreparedFolder;
use crate::mdtest::{self, MdtestPhase, phase_workload};
use crate::suite::Suite;
use crate::suite_load::{SuiteLoad, TestPhase, behind_cuts, suite_cell};
use narrows_model::workload::{ClientFiles, Edges, ObjectKind, ObjectSet, Order, Prefill, SyncPolicy};
use narrows_model::{Bytes, Cell, EngineId, Op, Plan, Stop, Target, Workload};
use narrows_study::Problem;

/// The plan of `request` in `folder`.
///
/// # Shape
/// The check's cuts, then the phases in the order of IO500, each of all ranks; find is two loads, one of each set of files.
///
/// # Errors
/// All that is wrong with the request.
pub(super) fn plan(request: &Request, folder: PreparedFolder) -> Result<Plan, Vec<Problem>> {
    let problems = request.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    let target = &folder.target();
    let own = SuiteLoad {
        cells: PHASES.iter().flat_map(|phase| cells(request, phase, target)).collect(),
        file_bytes_max: request.file_bytes(),
        write_bytes_max: request.file_bytes(),
        touches: Vec::new(),
        source: request.source(),
    };
    Ok(behind_cuts(folder.check, own))
}

/// The cells of a phase, one for each of its loads.
fn cells(request: &Request, phase: &Io500Phase, target: &Target) -> Vec<Cell> {
    let named = phase.loads().into_iter().zip(workloads(request, phase));
    let cell = |((test, name), workload): ((&'static str, &'static str), Workload)| {
        let of = TestPhase { test, phase: name };
        let cell = suite_cell(format!("{test}/{name}"), &of, target, workload);
        let ops = request.ops(phase).saturating_mul(u64::from(request.ranks()));
        // Loads of whole files end when each was visited.
        let ops_max = phase.is_of_bytes().then_some(ops);
        Cell { stop: Stop { ops_max, ..cell.stop }, ..cell }
    };
    named.map(cell).collect()
}

fn workloads(request: &Request, phase: &Io500Phase) -> Vec<Workload> {
    match phase.load {
        PhaseLoad::IorEasy(op) => {
            let load = transfers(request, op);
            let (block_bytes, file_bytes) = (request.transfer_easy, request.bytes_easy);
            vec![Workload { block_bytes, file_bytes, ..load }]
        }
        PhaseLoad::IorHard(op) => {
            let load = transfers(request, op);
            let client_files = ClientFiles { interleaved: true, ..load.client_files };
            let (block_bytes, file_bytes) = (TRANSFER_HARD, request.bytes_hard());
            vec![Workload { block_bytes, file_bytes, client_files, ..load }]
        }
        PhaseLoad::Mdtest(set, phase) => {
            vec![phase_workload(&mdtest_request(request, set, phase), ObjectKind::File, phase)]
        }
        PhaseLoad::Find => MdtestSet::ALL.map(|set| find(request, set)).to_vec(),
    }
}

/// What ior-easy and ior-hard have in common: transfers one after the other, durable and closed at the end of the time.
fn transfers(request: &Request, op: Op) -> Workload {
    let is_read = op == Op::Read;
    let shift = if is_read { request.shift() % request.ranks().max(1) } else { 0 };
    Workload {
        engine: Some(EngineId::Psync),
        op,
        order: Order::Sequential,
        sync: if is_read { SyncPolicy::None } else { SyncPolicy::AtEnd },
        clients: request.ranks(),
        // As the original, a process of one thread for each rank.
        own_process: true,
        edges: Edges { times_close: true, ..Edges::default() },
        client_files: ClientFiles { shift, ..ClientFiles::default() },
        prefill: Prefill::Nothing,
        ..Workload::default()
    }
}

/// What mdtest is asked for in a phase of one set of files.
fn mdtest_request(request: &Request, set: MdtestSet, phase: MdtestPhase) -> mdtest::Request {
    let bytes = if set == MdtestSet::Hard { FILE_HARD } else { Bytes(0) };
    mdtest::Request {
        items: request.items,
        tree: None,
        kinds: vec![ObjectKind::File],
        // All: what one phase needs an earlier one has created.
        phases: MdtestPhase::ALL.to_vec(),
        unique_folders: set == MdtestSet::Easy,
        write_bytes: bytes,
        read_bytes: bytes,
        syncs_each: false,
        syncs_phase: phase == MdtestPhase::Create,
        random: false,
        stride: request.shift(),
        host_ranks: None,
        iterations: 1,
        ranks: request.ranks,
        rank_statistics: false,
        all_ranks: false,
        has_cuts: request.has_cuts,
        memory: request.memory,
        free: request.free,
    }
}

/// Lists the files of a set and looks at those that the rule names.
fn find(request: &Request, set: MdtestSet) -> Workload {
    let stat = MdtestPhase::Stat;
    let load = phase_workload(&mdtest_request(request, set, stat), ObjectKind::File, stat);
    let objects = load.objects.map(|objects| ObjectSet { stat_finds: true, ..objects });
    Workload { order: Order::Listing, objects, ..load }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{planned, request};
    use super::*;
    use crate::suite::request_of;
    use narrows_model::{Cut, Nanos};

    fn phases_of(plan: &Plan) -> Vec<&Cell> {
        plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect()
    }

    fn cell<'p>(plan: &'p Plan, id: &str) -> &'p Cell {
        plan.cells.iter().find(|cell| cell.id.0 == id).unwrap()
    }

    #[test]
    fn the_phases_have_the_order_of_io500() {
        let plan = planned(&request());
        let ids: Vec<&str> = phases_of(&plan).iter().map(|cell| cell.id.0.as_str()).collect();
        assert_eq!(
            ids,
            [
                "ior-easy/write",
                "mdtest-easy/write",
                "ior-hard/write",
                "mdtest-hard/write",
                "find/mdtest-easy",
                "find/mdtest-hard",
                "ior-easy/read",
                "mdtest-easy/stat",
                "ior-hard/read",
                "mdtest-hard/stat",
                "mdtest-easy/delete",
                "mdtest-hard/read",
                "mdtest-hard/delete",
            ]
        );
        let is_plain = |cell: &&Cell| {
            let load = &cell.workload;
            cell.ends_by_count() && load.own_process && load.clients == 2 && load.prefill == Prefill::Nothing
        };
        assert!(phases_of(&plan).iter().all(is_plain));
    }

    #[test]
    fn ior_easy_is_a_file_of_each_rank_and_ior_hard_one_of_all_that_is_read_by_others() {
        let plan = planned(&Request { ranks: Some(4), ..request() });
        let easy = cell(&plan, "ior-easy/write");
        assert_eq!((easy.workload.block_bytes, easy.workload.file_bytes), (Bytes(64 << 10), Bytes(1 << 20)));
        assert_eq!((easy.stop.ops_max, easy.workload.shares_file()), (Some(4 * 16), false));
        let hard = cell(&plan, "ior-hard/write");
        assert_eq!((hard.workload.block_bytes, hard.workload.file_bytes), (Bytes(47_008), Bytes(470_080)));
        assert_eq!((hard.stop.ops_max, hard.workload.shares_file()), (Some(4 * 10), true));
        for (id, shift) in
            [("ior-easy/write", 0), ("ior-easy/read", 1), ("ior-hard/write", 0), ("ior-hard/read", 1)]
        {
            let load = &cell(&plan, id).workload;
            assert_eq!((load.client_files.shift, load.edges.times_close), (shift, true), "{id}");
            assert_eq!(load.sync == SyncPolicy::AtEnd, id.ends_with("write"), "{id}");
            assert_eq!(load.client_files.problem(load), None, "{id}");
        }
    }

    #[test]
    fn mdtest_has_empty_files_of_each_rank_and_small_ones_in_one_folder_shifted_as_mdtest_does() {
        let plan = planned(&Request { ranks: Some(4), ..request() });
        let set = |id: &str| cell(&plan, id).workload.objects.unwrap();
        for (id, bytes, shared, stride) in [
            ("mdtest-easy/write", 0, false, 0),
            ("mdtest-easy/stat", 0, false, 1),
            ("mdtest-easy/delete", 0, false, 3),
            ("mdtest-hard/write", 3901, true, 0),
            ("mdtest-hard/stat", 3901, true, 1),
            ("mdtest-hard/read", 3901, true, 2),
            ("mdtest-hard/delete", 3901, true, 3),
        ] {
            let set = set(id);
            assert_eq!(
                (set.max_bytes, set.shared_folder, set.stride, set.count),
                (Bytes(bytes), shared, stride, 100),
                "{id}"
            );
            let syncs = cell(&plan, id).workload.sync == SyncPolicy::AtEnd;
            assert_eq!(syncs, id.ends_with("write"), "{id}");
        }
        assert_eq!(set("mdtest-hard/read").get_bytes, Some(Bytes(3901)));
        for id in ["find/mdtest-easy", "find/mdtest-hard"] {
            let load = &cell(&plan, id).workload;
            assert_eq!((load.op, load.order), (Op::Stat, Order::Listing), "{id}");
            let stat = set(&format!("{}/stat", id.trim_start_matches("find/")));
            assert_eq!((set(id).stat_finds, set(id).identity()), (true, stat.identity()), "{id}");
            assert_eq!(set(id).problem(), None);
        }
    }

    #[test]
    fn one_rank_is_not_shifted() {
        let plan = planned(&Request { ranks: Some(1), ..request() });
        for cell in phases_of(&plan) {
            let stride = cell.workload.objects.map_or(cell.workload.client_files.shift, |set| set.stride);
            assert_eq!(stride, 0, "{}", cell.id);
        }
    }

    #[test]
    fn the_load_is_stated() {
        let bare = planned(&Request { has_cuts: false, ..request() });
        let files = request().file_bytes();
        assert_eq!((bare.load.file_bytes_max, bare.load.write_bytes_max), (files, Some(files)));
        assert_eq!((bare.load.planned_ns, bare.load.in_flight_max), (Nanos(0), 2));
        assert!(planned(&request()).cells.iter().any(|cell| cell.cut != Cut::Path));
    }

    #[test]
    fn a_record_says_what_was_asked_for() {
        let asked = Request { memory: Some(Bytes(7)), typed_shift: Some(1), ..request() };
        assert_eq!(request_of(planned(&asked).suite.as_ref().unwrap()), Some(asked));
    }
}
