//! From a request and the plan of a check of the same folder to the plan of the suite: the check's cuts, then the phases.

use super::request::{MdtestPhase, Request};
use super::{MdtestTest, iteration_name};
use crate::folder::PreparedFolder;
use crate::suite::Suite;
use crate::suite_load::{SuiteLoad, TestPhase, behind_cuts, suite_cell};
use narrows_model::workload::{
    FolderTree, NameForm, ObjectKind, ObjectSet, ObjectSync, Order, Prefill, SyncPolicy,
};
use narrows_model::{Bytes, Cell, EngineId, Op, Plan, Target, Workload};
use narrows_study::Problem;

/// Bytes of a block where files have none: nothing moves one.
const UNUSED_BLOCK: Bytes = Bytes(4096);

/// The plan of `request` in `folder`.
///
/// # Shape
/// The check's cuts, then for each iteration the phases of folders and those of files, each of all ranks.
///
/// # Errors
/// All that is wrong with the request.
pub(super) fn plan(request: &Request, folder: PreparedFolder) -> Result<Plan, Vec<Problem>> {
    let problems = request.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    let target = &folder.target();
    let of_iteration =
        |iteration: u32| request.tests().map(move |test| cell(request, iteration, test, target));
    let cells: Vec<Cell> = (1..=request.iterations).flat_map(of_iteration).collect();
    let own = SuiteLoad {
        cells,
        file_bytes_max: request.file_bytes(),
        write_bytes_max: Bytes(request.file_bytes().0.saturating_mul(u64::from(request.makings()))),
        touches: Vec::new(),
        source: request.source(),
    };
    Ok(behind_cuts(folder.check, own))
}

impl MdtestPhase {
    fn op(self) -> Op {
        match self {
            Self::Create => Op::Put,
            Self::Stat => Op::Stat,
            Self::Read => Op::Get,
            Self::Remove => Op::Delete,
        }
    }
}

fn cell(request: &Request, iteration: u32, test: &MdtestTest, target: &Target) -> Cell {
    let name = iteration_name(iteration);
    let of = TestPhase { test: &name, phase: test.name };
    let load = request
        .tree
        .filter(|_| test.is_of_tree)
        .map_or_else(|| workload(request, test.kind, test.phase), |tree| tree_workload(request, test, &tree));
    suite_cell(format!("{name}/{}", test.name), &of, target, load)
}

/// The load of making or removing the folders of a tree, which is not synced.
fn tree_workload(request: &Request, test: &MdtestTest, tree: &FolderTree) -> Workload {
    Workload {
        sync: SyncPolicy::None,
        clients: request.ranks_in(test),
        objects: Some(ObjectSet::tree_folders(*tree)),
        ..workload(request, test.kind, test.phase)
    }
}

/// The load of a phase of items of one kind.
pub(crate) fn workload(request: &Request, kind: ObjectKind, phase: MdtestPhase) -> Workload {
    let set = objects(request, kind, phase);
    let is_shuffled = request.random && matches!(phase, MdtestPhase::Stat | MdtestPhase::Read);
    Workload {
        engine: Some(EngineId::Objects),
        op: phase.op(),
        order: if is_shuffled { Order::Random } else { Order::Sequential },
        sync: if request.syncs_phase { SyncPolicy::AtEnd } else { SyncPolicy::None },
        block_bytes: if set.max_bytes.0 == 0 { UNUSED_BLOCK } else { set.max_bytes },
        file_bytes: set.expected_bytes().max(Bytes(1)),
        clients: request.ranks(),
        // As the original, a process of one thread for each rank.
        own_process: true,
        prefill: if request.creates() { Prefill::Nothing } else { Prefill::Whole },
        objects: Some(set),
        ..Workload::default()
    }
}

/// The items of a phase, and how it uses them.
fn objects(request: &Request, kind: ObjectKind, phase: MdtestPhase) -> ObjectSet {
    let bytes = if kind == ObjectKind::File { request.write_bytes } else { Bytes(0) };
    let writes = phase == MdtestPhase::Create && bytes.0 > 0;
    let reads = (phase == MdtestPhase::Read).then_some(request.read_bytes);
    ObjectSet {
        count: request.items,
        kind,
        // Trees of single ranks are beside each other in one folder.
        shared_folder: !request.unique_folders || request.tree.is_some(),
        tree: request.tree,
        stride: request.shift().saturating_mul(phase.shift_count()) % request.ranks().max(1),
        min_bytes: bytes,
        max_bytes: bytes,
        names: NameForm::Mdtest,
        read_block_bytes: reads.map(|bytes| bytes.max(Bytes(1))),
        get_bytes: reads,
        sync: if writes && request.syncs_each { ObjectSync::Data } else { ObjectSync::None },
        ..ObjectSet::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::TESTS;
    use super::super::testing::{planned, request};
    use super::*;
    use crate::suite::request_of;
    use narrows_model::{Cut, Nanos};

    fn phases_of(plan: &Plan) -> Vec<&Cell> {
        plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect()
    }

    fn sets_of(plan: &Plan) -> Vec<ObjectSet> {
        phases_of(plan).iter().map(|cell| cell.workload.objects.unwrap()).collect()
    }

    #[test]
    fn every_iteration_has_the_phases_of_folders_and_of_files_in_their_order() {
        let plan = planned(&Request { iterations: 2, ..request() });
        let names: Vec<&str> = phases_of(&plan).iter().map(|cell| cell.id.0.as_str()).collect();
        let expected: Vec<String> = ["iteration1", "iteration2"]
            .iter()
            .flat_map(|iteration| {
                let items = TESTS.iter().filter(|test| !test.is_of_tree);
                items.map(move |test| format!("{iteration}/{}", test.name))
            })
            .collect();
        assert_eq!(names, expected);
        let ops: Vec<Op> = phases_of(&plan)[..7].iter().map(|cell| cell.workload.op).collect();
        let (put, stat, get, delete) = (Op::Put, Op::Stat, Op::Get, Op::Delete);
        assert_eq!(ops, [put, stat, delete, put, stat, get, delete]);
        assert!(phases_of(&plan).iter().all(|cell| {
            let load = &cell.workload;
            cell.ends_by_count() && load.own_process && load.clients == 2 && load.order == Order::Sequential
        }));
    }

    #[test]
    fn phases_work_on_two_sets_of_items_all_of_them_possible() {
        let plan = planned(&request());
        let sets = sets_of(&plan);
        assert!(sets[..3].iter().all(|set| set.identity() == sets[0].identity()));
        assert!(sets[3..].iter().all(|set| set.identity() == sets[3].identity()));
        assert_eq!((sets[0].kind, sets[0].max_bytes), (ObjectKind::Folder, Bytes(0)));
        assert_eq!((sets[3].kind, sets[3].min_bytes), (ObjectKind::File, Bytes(3901)));
        for set in &sets {
            assert!(set.problem().is_none() && set.shared_folder && set.names == NameForm::Mdtest, "{set:?}");
        }
        let own = planned(&Request { unique_folders: true, ..request() });
        assert!(sets_of(&own).iter().all(|set| !set.shared_folder && set.count == 100));
    }

    #[test]
    fn files_are_written_and_read_by_one_call_each_and_only_creation_is_synced() {
        let plan = planned(&Request { syncs_each: true, ..request() });
        let (cells, sets) = (phases_of(&plan), sets_of(&plan));
        assert_eq!(cells[3].workload.block_bytes, Bytes(3901));
        assert_eq!((sets[5].read_block_bytes, sets[5].get_bytes), (Some(Bytes(1000)), Some(Bytes(1000))));
        assert!(sets.iter().enumerate().all(|(index, set)| (index == 5) == set.get_bytes.is_some()));
        let synced: Vec<bool> = sets.iter().map(|set| set.sync == ObjectSync::Data).collect();
        assert_eq!(synced, [false, false, false, true, false, false, false]);
        assert!(cells.iter().all(|cell| cell.workload.sync == SyncPolicy::None));
        let empty = Request { write_bytes: Bytes(0), read_bytes: Bytes(0), syncs_phase: true, ..request() };
        let plan = planned(&empty);
        assert_eq!(sets_of(&plan)[5].get_bytes, Some(Bytes(0)));
        assert!(phases_of(&plan).iter().all(|cell| cell.workload.sync == SyncPolicy::AtEnd));
    }

    #[test]
    fn a_stride_shifts_each_phase_once_more_and_a_random_order_is_of_stat_and_read() {
        let plan = planned(&Request { stride: 1, ranks: Some(4), random: true, ..request() });
        let strides: Vec<u32> = sets_of(&plan).iter().map(|set| set.stride).collect();
        assert_eq!(strides, [0, 1, 3, 0, 1, 2, 3]);
        let random: Vec<bool> =
            phases_of(&plan).iter().map(|cell| cell.workload.order == Order::Random).collect();
        assert_eq!(random, [false, true, false, false, true, true, false]);
        let hosts = planned(&Request { stride: 1, host_ranks: Some(2), ranks: Some(8), ..request() });
        let strides: Vec<u32> = sets_of(&hosts).iter().map(|set| set.stride).collect();
        assert_eq!(strides, [0, 2, 6, 0, 2, 4, 6]);
        let round = planned(&Request { stride: 1, ..request() });
        assert_eq!(sets_of(&round)[3..].iter().map(|set| set.stride).collect::<Vec<_>>(), [0, 1, 0, 1]);
    }

    #[test]
    fn a_tree_is_made_before_the_items_and_removed_after_them_by_one_rank_or_each_its_own() {
        let tree = FolderTree { depth: 2, branch: 3, each_client: false, leaves_only: true };
        for (unique_folders, makers) in [(false, 1), (true, 2)] {
            let tree = FolderTree { each_client: unique_folders, ..tree };
            let asked =
                Request { items: 90, tree: Some(tree), unique_folders, syncs_phase: true, ..request() };
            let plan = planned(&asked);
            let cells = phases_of(&plan);
            let names: Vec<&str> = cells.iter().filter_map(|cell| cell.id.0.split('/').nth(1)).collect();
            assert_eq!(names, TESTS.map(|test| test.name));
            let sets = sets_of(&plan);
            for at in [0, 8] {
                let load = &cells[at].workload;
                assert_eq!(
                    (load.clients, load.sync, load.order),
                    (makers, SyncPolicy::None, Order::Sequential)
                );
                assert_eq!((sets[at], load.own_process), (ObjectSet::tree_folders(tree), true));
            }
            assert_eq!((cells[0].workload.op, cells[8].workload.op), (Op::Put, Op::Delete));
            for set in &sets[1..8] {
                assert_eq!(
                    (set.tree, set.count, set.shared_folder, set.problem()),
                    (Some(tree), 90, true, None)
                );
            }
        }
    }

    #[test]
    fn items_that_no_phase_creates_are_made_untimed() {
        let made = planned(&request());
        assert!(phases_of(&made).iter().all(|cell| cell.workload.prefill == Prefill::Nothing));
        let looked_up = planned(&Request { phases: vec![MdtestPhase::Stat], has_cuts: false, ..request() });
        let phases: Vec<&str> = phases_of(&looked_up).iter().map(|cell| cell.id.0.as_str()).collect();
        assert_eq!(phases, ["iteration1/dir_stat", "iteration1/file_stat"]);
        assert!(phases_of(&looked_up).iter().all(|cell| cell.workload.prefill == Prefill::Whole));
    }

    #[test]
    fn the_load_is_stated() {
        let bare = planned(&Request { has_cuts: false, iterations: 3, ..request() });
        let files = 2 * 100 * 3901;
        assert_eq!(
            (bare.load.file_bytes_max, bare.load.write_bytes_max),
            (Bytes(files), Some(Bytes(3 * files)))
        );
        assert_eq!((bare.load.planned_ns, bare.load.in_flight_max), (Nanos(0), 2));
        let kept = Request { has_cuts: false, phases: vec![MdtestPhase::Stat], iterations: 3, ..request() };
        assert_eq!(planned(&kept).load.write_bytes_max, Some(Bytes(files)), "made once");
        assert!(planned(&request()).cells.iter().any(|cell| cell.cut != Cut::Path));
    }

    #[test]
    fn a_record_says_what_was_asked_for() {
        let asked = Request { memory: Some(Bytes(7)), random: true, ..request() };
        assert_eq!(request_of(planned(&asked).suite.as_ref().unwrap()), Some(asked));
    }
}
