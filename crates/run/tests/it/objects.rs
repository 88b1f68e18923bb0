//! Cells of whole objects, as suites have them: what one makes the next finds, and what is impossible is reported.

use crate::support::{self, plan};
use narrows_model::workload::{
    FolderTree, NameForm, ObjectCalls, ObjectKind, ObjectSet, ObjectSync, Order, Prefill, Spread,
    Transactions,
};
use narrows_model::{Bytes, Cell, CellId, EngineId, Event, Nanos, Op, Stop, TrialOutput, Workload};
use narrows_run::{CellSite, StopFlag, clean_up, execute};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn site() -> CellSite {
    support::site(&StopFlag::default())
}

fn set() -> ObjectSet {
    ObjectSet { count: 200, min_bytes: Bytes(1), max_bytes: Bytes(3000), seed: 42, ..ObjectSet::default() }
}

/// A cell of `op` on the objects of `set` in `target`, which must be there for all but a put.
fn cell(target: &str, op: Op, set: ObjectSet) -> Cell {
    let workload = Workload {
        engine: (!target.starts_with("null")).then_some(EngineId::Objects),
        op,
        block_bytes: Bytes(512),
        file_bytes: set.expected_bytes(),
        objects: Some(set),
        prefill: Prefill::Nothing,
        ..Workload::default()
    };
    let stop =
        Stop { warm_up_ns: Nanos(0), measure_ns: Nanos::from_millis(60_000), bytes_max: None, ops_max: None };
    support::cell(CellId(format!("{op}")), target, workload, stop)
}

/// Files below `folder`, by their paths, with their lengths.
fn files(folder: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.to_str().unwrap().to_owned(), entry.metadata().unwrap().len());
        }
    }
    found
}

/// What came of running `cells`: trials, failures, and the files that are there after each prefix of the cells.
fn run(cells: Vec<Cell>) -> (Vec<TrialOutput>, Vec<String>) {
    let (outcome, _) = run_and_keep(cells, &mut site());
    outcome
}

fn run_and_keep(cells: Vec<Cell>, site: &mut CellSite) -> ((Vec<TrialOutput>, Vec<String>), Vec<Event>) {
    let mut events: Vec<Event> = Vec::new();
    let output = execute(&plan(cells), Nanos(0), site, None, &mut events).unwrap();
    let trials = events.iter().filter_map(|event| match event {
        Event::TrialFinished(trial) => Some(trial.as_ref().clone()),
        _ => None,
    });
    let failed = output.failed.iter().map(|failed| failed.reason.clone()).collect();
    ((trials.collect(), failed), events)
}

fn text(folder: &tempfile::TempDir) -> &str {
    folder.path().to_str().unwrap()
}

#[test]
fn what_is_made_is_there_is_read_and_is_deleted_in_every_order_by_all_workers() {
    for (order, workers) in
        [(Order::Sequential, 1), (Order::Random, 3), (Order::Sequential, 3), (Order::Listing, 1)]
    {
        let folder = tempfile::tempdir().unwrap();
        let set = ObjectSet { folders: 3, names: NameForm::LettersNumber, ..set() };
        let of = |op: Op, order: Order| {
            let mut cell = cell(text(&folder), op, set);
            (cell.workload.order, cell.workload.workers) = (order, workers);
            cell
        };
        let mut site = site();
        let ((trials, failed), _) = run_and_keep(vec![of(Op::Put, Order::Sequential)], &mut site);
        let made = files(folder.path());
        assert_eq!((made.len(), failed), (200, Vec::new()));
        let bytes = Bytes(made.values().sum());
        assert_eq!((trials[0].op_count, trials[0].bytes, trials[0].complete), (200, bytes, true));
        let read_order = if order == Order::Listing { Order::Random } else { order };
        let cells = vec![of(Op::Stat, order), of(Op::Get, read_order), of(Op::Delete, order)];
        let ((trials, failed), _) = run_and_keep(cells, &mut site);
        assert_eq!(failed, Vec::<String>::new(), "{order}");
        let reported: Vec<_> =
            trials.iter().map(|trial| (trial.op_count, trial.bytes, trial.errors.len())).collect();
        assert_eq!(reported, [(200, Bytes(0), 0), (200, bytes, 0), (200, Bytes(0), 0)], "{order}");
        assert_eq!(files(folder.path()), BTreeMap::new());
        assert_eq!(clean_up(&mut site), Vec::<String>::new());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// Folders that are empty, below `folder`, by their names.
fn empty_folders(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        assert!(entry.file_type().unwrap().is_dir(), "{entry:?}");
        let inner = empty_folders(&entry.path());
        let name = entry.file_name().into_string().unwrap();
        let is_empty = fs::read_dir(entry.path()).unwrap().next().is_none();
        all.extend(if is_empty { vec![name] } else { inner });
    }
    all.sort();
    all
}

#[test]
fn folders_are_made_looked_at_and_deleted_as_files_are_and_made_untimed_where_none_are() {
    for shared_folder in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let set = ObjectSet {
            count: 30,
            kind: ObjectKind::Folder,
            names: NameForm::Mdtest,
            shared_folder,
            ..ObjectSet::default()
        };
        let of = |op| cell(text(&folder), op, set);
        let mut site = site();
        let ((trials, failed), _) = run_and_keep(vec![of(Op::Put), of(Op::Stat)], &mut site);
        let made = empty_folders(folder.path());
        assert_eq!((made.len(), made[0].as_str(), failed.len()), (30, "dir.mdtest.0.0", 0), "{failed:?}");
        let set_folder = if shared_folder { "objects-0" } else { "objects-0-0" };
        assert_eq!(fs::read_dir(folder.path().join(set_folder)).unwrap().count(), 30);
        let ((more, failed), _) = run_and_keep(vec![of(Op::Delete), of(Op::Stat)], &mut site);
        assert!(failed.len() == 1 && failed[0].contains("all are deleted"), "{failed:?}");
        let counts: Vec<_> =
            trials.iter().chain(&more).map(|trial| (trial.op_count, trial.errors.len())).collect();
        assert_eq!(counts, [(30, 0); 3]);
        let mut untimed = of(Op::Delete);
        untimed.workload.prefill = Prefill::Whole;
        let ((trials, failed), _) = run_and_keep(vec![untimed], &mut site);
        assert_eq!((trials[0].op_count, failed), (30, Vec::new()));
        assert_eq!(clean_up(&mut site), Vec::<String>::new());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// A tree of 1 + 2 + 4 folders, and a set of three objects in each of them.
fn tree_and_items(leaves_only: bool) -> (ObjectSet, ObjectSet) {
    let tree = FolderTree { depth: 2, branch: 2, each_client: false, leaves_only };
    let items = ObjectSet {
        count: 3 * tree.used_count(),
        names: NameForm::Mdtest,
        shared_folder: true,
        tree: Some(tree),
        ..ObjectSet::default()
    };
    (ObjectSet::tree_folders(tree), items)
}

/// Folders below `folder`.
fn folder_count(folder: &Path) -> usize {
    let inner = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    inner.map(|path| 1 + folder_count(&path)).sum()
}

#[test]
fn a_tree_is_made_filled_emptied_and_removed_by_loads_that_find_what_those_before_have_left() {
    for leaves_only in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (tree, items) = tree_and_items(leaves_only);
        let folders = ObjectSet { kind: ObjectKind::Folder, ..items };
        let of = |op, set| cell(text(&folder), op, set);
        let mut site = site();
        let count = items.count;
        let ((made, failed), _) = run_and_keep(
            vec![of(Op::Put, tree), of(Op::Put, folders), of(Op::Delete, folders), of(Op::Put, items)],
            &mut site,
        );
        let counts: Vec<_> = made.iter().map(|trial| (trial.op_count, trial.errors.len())).collect();
        assert_eq!((counts, failed), (vec![(7, 0), (count, 0), (count, 0), (count, 0)], Vec::new()));
        let found = files(folder.path());
        assert_eq!((found.len() as u64, folder_count(folder.path())), (count, 1 + 7));
        let last = "mdtest_tree.0/mdtest_tree.2/mdtest_tree.6/file.mdtest.0.20";
        assert!(found.last_key_value().unwrap().0.ends_with(last), "{found:?}");
        // The same again: what is there is not in its way.
        let cells = vec![
            of(Op::Put, tree),
            of(Op::Put, items),
            of(Op::Stat, items),
            of(Op::Delete, items),
            of(Op::Delete, tree),
        ];
        let ((again, failed), _) = run_and_keep(cells, &mut site);
        let counts: Vec<_> = again.iter().map(|trial| (trial.op_count, trial.errors.len())).collect();
        assert_eq!((counts, failed), (vec![(7, 0), (count, 0), (count, 0), (count, 0), (7, 0)], Vec::new()));
        assert_eq!(
            (files(folder.path()).len(), folder_count(folder.path())),
            (0, 1),
            "the folder of the set"
        );
        assert_eq!(clean_up(&mut site), Vec::<String>::new());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn what_is_in_a_tree_is_made_untimed_with_the_tree_where_no_load_has_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let (tree, items) = tree_and_items(false);
    let untimed = |op, set| {
        let mut cell = cell(text(&folder), op, set);
        cell.workload.prefill = Prefill::Whole;
        cell
    };
    let mut site = site();
    for _ in 0..2 {
        let ((trials, failed), _) = run_and_keep(vec![untimed(Op::Stat, items)], &mut site);
        assert_eq!((trials[0].op_count, trials[0].errors.len(), failed), (21, 0, Vec::new()));
        assert_eq!((files(folder.path()).len(), folder_count(folder.path())), (21, 1 + 7));
        let cells = vec![untimed(Op::Delete, items), untimed(Op::Delete, tree)];
        let ((trials, failed), _) = run_and_keep(cells, &mut site);
        let counts: Vec<_> = trials.iter().map(|trial| (trial.op_count, trial.errors.len())).collect();
        assert_eq!((counts, failed), (vec![(21, 0), (7, 0)], Vec::new()));
        assert_eq!(folder_count(folder.path()), 1);
    }
    assert_eq!(clean_up(&mut site), Vec::<String>::new());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn renamed_objects_have_their_own_names_again_for_whatever_comes_after_also_where_a_load_ends_in_between() {
    for (workers, most) in [(1, None), (3, None), (1, Some(7))] {
        let folder = tempfile::tempdir().unwrap();
        let of = |op: Op| {
            let mut cell = cell(text(&folder), op, ObjectSet { folders: 2, ..set() });
            cell.workload.workers = workers;
            cell.stop.ops_max = if op == Op::Rename { most } else { None };
            cell
        };
        let mut site = site();
        let ((made, failed), _) = run_and_keep(vec![of(Op::Put)], &mut site);
        let before = files(folder.path());
        let all = 200;
        assert_eq!(failed, Vec::<String>::new());
        assert_eq!((made[0].op_count, before.len() as u64), (all, all));
        let ((trials, failed), _) = run_and_keep(vec![of(Op::Rename)], &mut site);
        assert!(failed.is_empty() && trials[0].errors.is_empty(), "{failed:?} {:?}", trials[0].errors);
        assert_eq!(trials[0].op_count, most.unwrap_or(2 * all), "to another name and back");
        assert_eq!(files(folder.path()), before);
        let ((more, failed), _) = run_and_keep(vec![of(Op::Stat), of(Op::Delete)], &mut site);
        let counts: Vec<_> = more.iter().map(|trial| (trial.op_count, trial.errors.len())).collect();
        assert_eq!((counts, failed), (vec![(all, 0); 2], Vec::new()));
        assert_eq!(clean_up(&mut site), Vec::<String>::new());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_get_of_a_part_reads_that_part_of_each_object() {
    let folder = tempfile::tempdir().unwrap();
    let part = |bytes: u64| {
        let set = ObjectSet { get_bytes: Some(Bytes(bytes)), ..set() };
        cell(text(&folder), Op::Get, set)
    };
    let (trials, failed) = run(vec![cell(text(&folder), Op::Put, set()), part(0), part(1), part(1 << 20)]);
    assert_eq!(failed, Vec::<String>::new());
    let read: Vec<_> = trials.iter().map(|trial| (trial.op_count, trial.bytes)).collect();
    assert_eq!(read, [(200, trials[0].bytes), (200, Bytes(0)), (200, Bytes(200)), (200, trials[0].bytes)]);
}

#[test]
fn transactions_leave_what_they_made_and_did_not_delete_and_a_delete_finds_just_that() {
    for (calls, workers) in [(ObjectCalls::System, 1), (ObjectCalls::Streams, 1), (ObjectCalls::Streams, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let transactions = Transactions { count: 3000, read_bias: Some(5), create_bias: Some(5) };
        let usual = ObjectSet { calls, folders: 4, spread: Spread::Scattered, ..set() };
        let of = |op: Op, transactions: Option<Transactions>| {
            let mut cell = cell(text(&folder), op, ObjectSet { transactions, ..usual });
            cell.workload.workers = workers;
            cell
        };
        let mut site = site();
        let cells = vec![of(Op::Put, None), of(Op::Get, Some(transactions))];
        let ((trials, failed), _) = run_and_keep(cells, &mut site);
        assert_eq!((failed, trials[1].errors.len()), (Vec::new(), 0));
        let kind = |op: Op| trials[1].by_kind.iter().find(|kind| kind.op == op).unwrap();
        assert_eq!(trials[1].by_kind.iter().map(|kind| kind.op_count).sum::<u64>(), trials[1].op_count);
        assert!(kind(Op::Get).bytes.0 > 0 && kind(Op::Delete).bytes.0 == 0);
        let left = files(folder.path());
        assert_eq!(left.len() as u64, 200 + kind(Op::Put).op_count - kind(Op::Delete).op_count);
        let ((trials, failed), _) = run_and_keep(vec![of(Op::Get, None), of(Op::Delete, None)], &mut site);
        assert_eq!(failed, Vec::<String>::new());
        assert_eq!(trials[0].bytes, Bytes(left.values().sum()), "appends are known to those who read");
        assert_eq!((trials[1].op_count, trials[1].errors.len()), (left.len() as u64, 0));
        assert_eq!(files(folder.path()), BTreeMap::new());
    }
}

#[test]
fn deleting_what_transactions_have_left_none_of_deletes_none() {
    let folder = tempfile::tempdir().unwrap();
    let deletes = Transactions { count: 1000, read_bias: None, create_bias: Some(0) };
    let of = |op: Op, transactions| cell(text(&folder), op, ObjectSet { transactions, ..set() });
    let cells = vec![of(Op::Put, None), of(Op::Get, Some(deletes)), of(Op::Delete, None), of(Op::Stat, None)];
    let (trials, failed) = run(cells);
    assert_eq!(trials.iter().map(|trial| trial.op_count).collect::<Vec<_>>(), [200, 200, 0]);
    assert!(trials.iter().all(|trial| trial.errors.is_empty()));
    // What reads finds none, and says so.
    assert!(failed.len() == 1 && failed[0].contains("all are deleted"), "{failed:?}");
}

#[test]
fn every_trial_of_a_put_begins_empty_and_other_sets_stay() {
    let folder = tempfile::tempdir().unwrap();
    let other = ObjectSet { names: NameForm::NumberLetters, count: 50, ..set() };
    let mut again = cell(text(&folder), Op::Put, set());
    again.trials = 3;
    let mut site = site();
    let ((trials, failed), _) = run_and_keep(vec![cell(text(&folder), Op::Put, other), again], &mut site);
    assert_eq!(failed, Vec::<String>::new());
    assert_eq!(trials.iter().map(|trial| trial.op_count).collect::<Vec<_>>(), [50, 200, 200, 200]);
    assert_eq!(files(folder.path()).len(), 250);
}

#[test]
fn objects_that_are_missing_are_made_untimed_or_the_cell_says_what_to_run_first() {
    let folder = tempfile::tempdir().unwrap();
    let (trials, failed) = run(vec![cell(text(&folder), Op::Stat, set())]);
    assert!(
        trials.is_empty() && failed[0].contains("first run the load that creates them (put)"),
        "{failed:?}"
    );
    for prefill in [Prefill::Timed, Prefill::Whole] {
        let mut cell = cell(text(&folder), Op::Delete, set());
        (cell.workload.prefill, cell.trials) = (prefill, 2);
        let (trials, failed) = run(vec![cell]);
        assert_eq!(failed, Vec::<String>::new());
        assert_eq!(trials.iter().map(|trial| trial.op_count).collect::<Vec<_>>(), [200, 200]);
    }
}

#[test]
fn after_a_failure_it_is_not_known_what_is_there_and_only_a_put_continues() {
    let folder = tempfile::tempdir().unwrap();
    let mut site = site();
    let of = |op| cell(text(&folder), op, set());
    run_and_keep(vec![of(Op::Put)], &mut site);
    let lost = files(folder.path()).into_keys().next().unwrap();
    fs::remove_file(lost).unwrap();
    let ((trials, failed), _) =
        run_and_keep(vec![of(Op::Get), of(Op::Stat), of(Op::Put), of(Op::Stat)], &mut site);
    let errors: Vec<_> = trials
        .iter()
        .map(|trial| trial.errors.iter().map(|error| (error.errno.as_str(), error.count)).collect::<Vec<_>>())
        .collect();
    assert_eq!(errors, [vec![("ENOENT", 1)], vec![], vec![]]);
    assert_eq!(trials[0].op_count, 199);
    assert!(failed.len() == 1 && failed[0].contains("operations of get failed"), "{failed:?}");
}

#[test]
fn null_completes_operations_on_objects_so_that_the_generator_can_be_measured() {
    let transactions = Transactions { count: 100, read_bias: Some(5), create_bias: Some(5) };
    let with = ObjectSet { transactions: Some(transactions), ..set() };
    let cells =
        vec![cell("null:", Op::Put, set()), cell("null:", Op::Stat, set()), cell("null:", Op::Get, with)];
    let (trials, failed) = run(cells);
    assert_eq!(failed, Vec::<String>::new());
    assert_eq!((trials[0].op_count, trials[1].op_count), (200, 200));
    assert!(trials[2].op_count > 150 && trials.iter().all(|trial| trial.errors.is_empty()));
}

#[test]
fn synced_objects_and_stats_that_read_move_the_same_objects() {
    let folder = tempfile::tempdir().unwrap();
    let synced =
        ObjectSet { count: 20, folders: 2, sync: ObjectSync::DataAndFolder, stat_reads: true, ..set() };
    let mut listed = cell(text(&folder), Op::Stat, synced);
    listed.workload.order = Order::Listing;
    let (trials, failed) = run(vec![
        cell(text(&folder), Op::Put, synced),
        cell(text(&folder), Op::Stat, synced),
        listed,
        cell(text(&folder), Op::Delete, synced),
    ]);
    assert_eq!(failed, Vec::<String>::new());
    let bytes = trials[0].bytes;
    assert_eq!(trials.iter().map(|trial| trial.bytes).collect::<Vec<_>>(), [bytes, bytes, bytes, Bytes(0)]);
}

#[test]
fn what_cannot_be_loaded_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let with = |change: &dyn Fn(&mut Cell)| {
        let mut cell = cell(text(&folder), Op::Put, set());
        change(&mut cell);
        cell
    };
    let cases: [(Cell, &str); 15] = [
        (with(&|cell| cell.workload.objects = None), "put in the order sequential needs whole objects"),
        (with(&|cell| cell.workload.op = Op::Read), "an operation on whole objects"),
        (with(&|cell| cell.workload.queue_depth = 2), "a depth of 1"),
        (with(&|cell| cell.workload.order = Order::Backward), "the order sequential or random"),
        (with(&|cell| cell.workload.order = Order::Listing), "the order sequential or random"),
        (with(&|cell| cell.workload.max_ops_per_s = Some(5.0)), "requests without a rate limit"),
        (with(&|cell| cell.workload.verify = true), "no verification"),
        (with(&|cell| cell.stop.warm_up_ns = Nanos(1)), "no warm-up"),
        (with(&|cell| cell.workload.block_bytes = Bytes(0)), "blocks of one size"),
        (with(&|cell| cell.workload.workers = 201), "at least one object for each worker"),
        (with(&|cell| cell.workload.engine = Some(EngineId::Psync)), "the engine psync cannot put"),
        (with(&|cell| cell.workload.engine = None), "the engine psync cannot put"),
        (with(&|cell| cell.workload.objects = Some(ObjectSet { count: 0, ..set() })), "0 objects"),
        (
            with(&|cell| {
                cell.workload.engine = Some(EngineId::Psync);
                let shared = ObjectSet { shared_folder: true, names: NameForm::Mdtest, ..set() };
                cell.workload.objects = Some(shared);
            }),
            "the engine psync has no folders as objects, no folder for all clients",
        ),
        (
            with(&|cell| {
                let transactions = Transactions { count: 1, read_bias: None, create_bias: None };
                cell.workload.objects = Some(ObjectSet { transactions: Some(transactions), ..set() });
            }),
            "without either half",
        ),
    ];
    for (cell, words) in cases {
        let (trials, failed) = run(vec![cell]);
        assert!(trials.is_empty(), "{words}");
        assert!(failed.len() == 1 && failed[0].contains(words), "{words}: {failed:?}");
    }
}
