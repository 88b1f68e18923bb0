//! From a request and the plan of a check of the same folder to the plan of the suite: the check's cuts, then the phases.

use super::request::{Edition, Request};
use super::{BonniePhase, NameOrder, PHASES, PhaseAction};
use crate::folder::PreparedFolder;
use crate::suite::Suite;
use crate::suite_load::{SuiteLoad, TestPhase, behind_cuts, object_engine, suite_cell};
use narrows_model::workload::{
    Access, NameForm, ObjectSet, ObjectSync, Order, Prefill, PsyncCalls, PsyncOptions, StdioCalls,
    StdioOptions, SyncPolicy,
};
use narrows_model::{Bytes, Cell, EngineId, Op, Plan, Stop, Target, Workload};
use narrows_study::Problem;

/// The plan of `request` in `folder`; the seed of its check is that of names and sizes too.
///
/// # Shape
/// The check's cuts, then each run's phases in their order, those that are left out excepted.
///
/// # Errors
/// All that is wrong with the request.
pub(super) fn plan(request: &Request, folder: PreparedFolder) -> Result<Plan, Vec<Problem>> {
    let problems = request.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    let (target, seed) = (&folder.target(), folder.check.seed);
    let asked = PHASES.iter().filter(|phase| is_selected(request, phase));
    let of_run = |run: u32| {
        asked
            .clone()
            .map(move |phase| cell(request, run, phase, workload(request, phase, seed, target), target))
    };
    let cells: Vec<Cell> = (1..=request.runs).flat_map(of_run).collect();
    let own = SuiteLoad {
        file_bytes_max: request.all_bytes(),
        write_bytes_max: Bytes(cells.iter().fold(0, |sum: u64, cell| sum.saturating_add(written(cell)))),
        touches: Vec::new(),
        source: request.source(),
        cells,
    };
    Ok(behind_cuts(folder.check, own))
}

/// Whether a phase is run.
fn is_selected(request: &Request, phase: &BonniePhase) -> bool {
    match phase.action {
        PhaseAction::Characters(_) => request.char_bytes().0 > 0,
        PhaseAction::Files(..) => request.files.thousands > 0,
        _ => request.file_bytes().0 > 0,
    }
}

/// Bytes that a phase writes, of many files as expected.
fn written(cell: &Cell) -> u64 {
    let load = &cell.workload;
    let visited = cell.stop.ops_max.unwrap_or(0).saturating_mul(load.block_bytes.0);
    match (load.objects, load.op) {
        (Some(objects), Op::Put) => objects.expected_bytes().0.saturating_mul(u64::from(load.clients)),
        (None, Op::Write) => visited,
        (None, Op::Read) => load.write_back_every.map_or(0, |every| visited / u64::from(every.max(1))),
        _ => 0,
    }
}

/// The load of one phase.
fn workload(request: &Request, phase: &BonniePhase, seed: u64, target: &Target) -> Workload {
    let load = match phase.action {
        PhaseAction::Characters(op) => characters(request, op),
        PhaseAction::Blocks(op) => Workload { op, ..blocks(request) },
        PhaseAction::Rewrite => blocks(request),
        PhaseAction::Seeks => {
            Workload { order: Order::RandomWithReplacement, workers: request.seekers(), ..blocks(request) }
        }
        PhaseAction::Files(op, order) => {
            Workload { engine: Some(object_engine(target)), ..many_files(request, op, order, seed) }
        }
    };
    let write_back_every = phase.action.write_back_every();
    let writes = load.op == Op::Write || write_back_every.is_some();
    let sync = match (writes, request.syncs_each) {
        (false, _) => load.sync,
        (true, true) => SyncPolicy::Every(1),
        // Both versions end such a phase with a sync, inside its time.
        (true, false) => SyncPolicy::AtEnd,
    };
    Workload {
        write_back_every,
        sync,
        clients: request.processes,
        // As the original, a process with as many threads as load.
        own_process: true,
        prefill: Prefill::Nothing,
        ..load
    }
}

fn blocks(request: &Request) -> Workload {
    Workload {
        engine: Some(EngineId::Psync),
        block_bytes: request.chunk,
        file_bytes: request.file_bytes(),
        access: if request.direct { Access::Direct } else { Access::Buffered },
        // As the original: seeking, as back to what is rewritten, is a call of its own.
        psync: PsyncOptions { calls: PsyncCalls::AtPosition, ..PsyncOptions::default() },
        ..Workload::default()
    }
}

/// Characters: a call of the C library for each in the older version, a system call in the newer.
fn characters(request: &Request, op: Op) -> Workload {
    let load = Workload { op, file_bytes: request.char_bytes(), access: Access::Buffered, ..blocks(request) };
    match request.edition {
        Edition::V1_03 => Workload {
            engine: Some(EngineId::Stdio),
            stdio: StdioOptions { calls: StdioCalls::Character, ..StdioOptions::default() },
            ..load
        },
        Edition::V2_00 => Workload { block_bytes: Bytes(1), ..load },
    }
}

fn many_files(request: &Request, op: Op, order: NameOrder, seed: u64) -> Workload {
    let files = request.files;
    let objects = ObjectSet {
        count: files.count(),
        min_bytes: files.min,
        max_bytes: files.max,
        // One is the folder that contains all of it.
        folders: narrows_model::units::saturate_u32(if files.folders > 1 { files.folders } else { 0 }),
        names: match order {
            NameOrder::Sequential => NameForm::NumberLetters,
            NameOrder::Random => NameForm::LettersNumber,
        },
        seed,
        sync: if request.syncs_each { ObjectSync::DataAndFolder } else { ObjectSync::None },
        stat_reads: files.max.0 > 0,
        ..ObjectSet::default()
    };
    let order = match (op, order) {
        (Op::Put, _) => Order::Sequential,
        (_, NameOrder::Sequential) => Order::Listing,
        (_, NameOrder::Random) => Order::Random,
    };
    // bonnie++ ends the creation and the deletion of files with a sync, inside their time: here of their file system.
    let sync = if op == Op::Stat { SyncPolicy::None } else { SyncPolicy::AtEnd };
    Workload {
        op,
        order,
        sync,
        block_bytes: files.chunk,
        file_bytes: objects.expected_bytes().max(Bytes(1)),
        objects: Some(objects),
        ..Workload::default()
    }
}

/// Requests that end a phase of all processes, those that write back not counted; `None` where each file is visited once.
fn ops_max(request: &Request, phase: &BonniePhase, load: &Workload) -> Option<u64> {
    let of_one = match phase.action {
        PhaseAction::Files(..) => return None,
        PhaseAction::Seeks => request.seeks,
        _ => load.file_bytes.0 / load.block_bytes.0.max(1),
    };
    Some(of_one.saturating_mul(u64::from(request.processes)))
}

fn cell(request: &Request, run: u32, phase: &BonniePhase, workload: Workload, target: &Target) -> Cell {
    let ops_max = ops_max(request, phase, &workload);
    let test = format!("run{run}");
    let of = TestPhase { test: &test, phase: phase.name };
    let cell = suite_cell(format!("{test}/{}", phase.name), &of, target, workload);
    Cell { stop: Stop { ops_max, ..cell.stop }, ..cell }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{planned, request};
    use super::*;
    use crate::suite::request_of;
    use narrows_model::Cut;

    fn phases_of(plan: &Plan) -> Vec<&Cell> {
        plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect()
    }

    fn names_of(asked: &Request) -> Vec<String> {
        phases_of(&planned(asked)).iter().map(|cell| cell.id.0.clone()).collect()
    }

    #[test]
    fn every_run_has_the_phases_in_their_order() {
        let names = names_of(&Request { runs: 2, ..request() });
        let expected: Vec<String> = ["run1", "run2"]
            .iter()
            .flat_map(|run| PHASES.map(|phase| format!("{run}/{}", phase.name)))
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn phases_that_are_not_asked_for_are_left_out() {
        let none = Request { char_mib: None, ..request() };
        assert_eq!(names_of(&none)[..3], ["run1/put_block", "run1/rewrite", "run1/get_block"]);
        let mut asked = request();
        asked.files.thousands = 0;
        assert_eq!(names_of(&asked).len(), 6);
        assert_eq!(names_of(&Request { file_mib: Some(0), ..request() })[0], "run1/seq_create");
    }

    #[test]
    fn data_are_written_and_synced_in_the_phase_rewritten_one_by_one_and_sought_at_random() {
        let plan = planned(&Request { processes: 2, ..request() });
        let cells = phases_of(&plan);
        let [putc, put, rewrite, getc, get, seeks] = [0, 1, 2, 3, 4, 5].map(|index| cells[index]);
        let (at_end, none) = (SyncPolicy::AtEnd, SyncPolicy::None);
        assert_eq!(
            cells[..6].iter().map(|cell| cell.workload.sync).collect::<Vec<_>>(),
            [at_end, at_end, at_end, none, none, at_end]
        );
        assert_eq!((putc.workload.op, getc.workload.op), (Op::Write, Op::Read));
        assert_eq!(putc.stop.ops_max, Some(2 * (20 << 20)));
        assert_eq!((put.stop.ops_max, put.workload.write_back_every), (Some(2 * 65_536), None));
        assert_eq!((rewrite.workload.op, rewrite.workload.write_back_every), (Op::Read, Some(1)));
        assert!(cells[..6].iter().all(|cell| cell.workload.psync.calls == PsyncCalls::AtPosition));
        assert_eq!(get.workload.order, Order::Sequential);
        assert_eq!((seeks.workload.workers, seeks.stop.ops_max), (5, Some(2 * 8192)));
        assert_eq!(seeks.workload.write_back_every, Some(10));
        assert!(cells.iter().all(|cell| cell.workload.clients == 2 && cell.workload.own_process));
        let alone = planned(&request());
        assert!(phases_of(&alone).iter().all(|cell| cell.workload.clients == 1 && cell.workload.own_process));
    }

    #[test]
    fn characters_are_calls_of_the_c_library_in_the_older_edition_and_system_calls_in_the_newer() {
        let engines = |edition| {
            let plan = planned(&Request { edition, ..request() });
            [0, 3].map(|index| {
                let load = phases_of(&plan)[index].workload.clone();
                (load.engine.unwrap(), load.stdio.calls, load.block_bytes, load.file_bytes)
            })
        };
        let whole = Bytes(512 << 20);
        assert_eq!(
            engines(Edition::V1_03),
            [(EngineId::Stdio, StdioCalls::Character, Bytes(8192), whole); 2]
        );
        let part = Bytes(20 << 20);
        assert_eq!(engines(Edition::V2_00), [(EngineId::Psync, StdioCalls::Block, Bytes(1), part); 2]);
    }

    #[test]
    fn every_write_is_synced_and_blocks_go_past_the_page_cache_where_that_is_asked() {
        let plan = planned(&Request { syncs_each: true, direct: true, ..request() });
        let cells = phases_of(&plan);
        let access: Vec<Access> = cells[..6].iter().map(|cell| cell.workload.access).collect();
        let (direct, buffered) = (Access::Direct, Access::Buffered);
        assert_eq!(access, [buffered, direct, direct, buffered, direct, direct]);
        assert_eq!(cells[1].workload.sync, SyncPolicy::Every(1));
        assert_eq!(cells[6].workload.objects.unwrap().sync, ObjectSync::DataAndFolder);
    }

    #[test]
    fn many_files_are_two_sets_of_names_each_made_seen_and_deleted() {
        let mut asked = request();
        (asked.files.max, asked.files.folders) = (Bytes(100), 3);
        let plan = planned(&asked);
        let cells = &phases_of(&plan)[6..];
        let loads: Vec<_> = cells.iter().map(|cell| (cell.workload.op, cell.workload.order)).collect();
        let (made, listed, random) = (Order::Sequential, Order::Listing, Order::Random);
        assert_eq!(loads[..3], [(Op::Put, made), (Op::Stat, listed), (Op::Delete, listed)]);
        assert_eq!(loads[3..], [(Op::Put, made), (Op::Stat, random), (Op::Delete, random)]);
        let syncs: Vec<_> = cells[..3].iter().map(|cell| cell.workload.sync).collect();
        assert_eq!(syncs, [SyncPolicy::AtEnd, SyncPolicy::None, SyncPolicy::AtEnd]);
        let sets: Vec<ObjectSet> =
            cells.iter().map(|cell| cell.workload.objects.unwrap().identity()).collect();
        assert!(sets[..3].iter().all(|set| *set == sets[0]) && sets[3..].iter().all(|set| *set == sets[3]));
        assert_ne!(sets[0], sets[3]);
        assert_eq!((sets[0].count, sets[0].folders), (16 * 1024, 3));
        assert!(cells.iter().all(|cell| cell.workload.objects.unwrap().stat_reads));
        let empty = planned(&request());
        assert!(phases_of(&empty)[6..].iter().all(|cell| !cell.workload.objects.unwrap().stat_reads));
    }

    #[test]
    fn many_files_on_a_server_are_those_of_its_engine() {
        let asked = Request { file_mib: Some(0), has_cuts: false, ..request() };
        let targets = vec!["nfs://fs/export/own".parse().unwrap()];
        let folder = PreparedFolder { targets, ..crate::testing::folder(Bytes(8192)) };
        let plan = super::plan(&asked, folder).unwrap();
        let engines: Vec<_> = plan.cells.iter().map(|cell| cell.workload.engine).collect();
        assert_eq!(engines, [Some(EngineId::Nfs); 6]);
    }

    #[test]
    fn one_directory_is_the_folder_itself() {
        let mut asked = request();
        asked.files.folders = 1;
        let plan = planned(&asked);
        assert!(phases_of(&plan)[6..].iter().all(|cell| cell.workload.objects.unwrap().folders == 0));
    }

    #[test]
    fn the_load_is_stated() {
        let mut asked = Request { has_cuts: false, char_mib: None, ..request() };
        asked.files.max = Bytes(1000);
        let plan = planned(&asked);
        // Written, rewritten, every tenth of 8192 seeks, and two sets of files of 500 bytes in the mean.
        let file: u64 = 512 << 20;
        let expected = 2 * file + 8192 * 8192 / 10 + 2 * 16 * 1024 * 500;
        assert_eq!(plan.load.write_bytes_max, Some(Bytes(expected)));
        assert_eq!((plan.load.file_bytes_max, plan.load.in_flight_max), (Bytes(file), 5));
        assert!(planned(&request()).cells.iter().any(|cell| cell.cut != Cut::Path));
    }

    #[test]
    fn a_record_says_what_was_asked_for() {
        let asked = Request { csv_alone: true, direct: true, ..request() };
        let read: Option<Request> = request_of(planned(&asked).suite.as_ref().unwrap());
        assert_eq!(read, Some(asked.clone()));
        assert_eq!((asked.printed_size().as_str(), asked.printed_chunk().as_str()), ("512M", ""));
        let large = Request { file_mib: Some(10 << 10), chunk: Bytes(64 << 10), ..asked };
        assert_eq!((large.printed_size().as_str(), large.printed_chunk().as_str()), ("10G", "64k"));
    }
}
