//! Whether a load can be of objects that are folders, of one folder for all clients, in a tree of folders, or of what other
//! clients have made.
//!
//! Not here: what every load of whole objects needs.

use narrows_model::workload::{NameForm, ObjectKind, ObjectSet, Order};
use narrows_model::{Cell, Op, Workload};

/// Why objects that are folders, in a folder of several clients, or of other clients, cannot be loaded so.
pub(crate) fn problem(cell: &Cell, set: &ObjectSet) -> Option<String> {
    let Workload { op, order, workers, .. } = cell.workload;
    let visits = set.transactions.is_none() && matches!(op, Op::Get | Op::Stat | Op::Delete);
    let is_of_tree = set.names == NameForm::MdtestTree;
    let rules = [
        (
            set.kind == ObjectKind::File || matches!(op, Op::Put | Op::Stat | Op::Delete | Op::Rename),
            "put, stat, rename or delete where the objects are folders",
        ),
        (
            !set.shared_folder || order != Order::Listing || op == Op::Stat,
            "a stat, or the order sequential or random, where clients share a folder, which lists the objects of all",
        ),
        (
            set.stride == 0 || visits,
            "get, stat or delete where clients visit what others have made (a stride)",
        ),
        (
            set.stride == 0 || cell.more_targets.is_empty(),
            "one target where clients visit what others have made (a stride)",
        ),
        (
            set.tree.is_none() || (order != Order::Listing && op != Op::Rename),
            "put, get, append, stat or delete, not in the order of a listing, where objects are in a tree of folders",
        ),
        (
            // Each folder is made before those in it, and deleted after them.
            !is_of_tree || (matches!(op, Op::Put | Op::Delete) && order == Order::Sequential && workers <= 1),
            "a put or a delete in the order of the numbers by one worker, where the objects are the folders of a tree",
        ),
        (
            !set.stat_finds || (op == Op::Stat && order == Order::Listing && !set.stat_reads),
            "a stat in the order listing that reads nothing, where it is to find names",
        ),
    ];
    let broken = rules.iter().find(|(holds, _)| !holds);
    broken.map(|(_, words)| format!("a load of whole objects needs {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::workload::FolderTree;
    use narrows_model::{Cut, Nanos, Stop, Target};

    #[test]
    fn objects_that_are_folders_or_of_other_clients_are_used_only_as_they_can_be() {
        let cell = |op: Op, set: ObjectSet, change: &dyn Fn(&mut Cell)| {
            let workload = Workload { op, objects: Some(set), clients: 4, ..Workload::default() };
            let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(1), bytes_max: None, ops_max: None };
            let mut cell = Cell::new(Cut::Path, "/a".parse::<Target>().unwrap(), workload, stop);
            change(&mut cell);
            problem(&cell, &set)
        };
        let none: &dyn Fn(&mut Cell) = &|_| ();
        let folders = ObjectSet { kind: ObjectKind::Folder, ..ObjectSet::default() };
        for op in [Op::Put, Op::Stat, Op::Rename, Op::Delete] {
            assert_eq!(cell(op, folders, none), None, "{op}");
        }
        let shared = ObjectSet { shared_folder: true, names: NameForm::Mdtest, stride: 1, ..folders };
        assert_eq!(cell(Op::Stat, shared, none), None);
        let listed: &dyn Fn(&mut Cell) = &|cell| cell.workload.order = Order::Listing;
        assert_eq!(cell(Op::Stat, ObjectSet { stat_finds: true, ..shared }, listed), None);
        let several: &dyn Fn(&mut Cell) = &|cell| cell.more_targets = vec!["/b".parse().unwrap()];
        let strided = ObjectSet { stride: 1, ..ObjectSet::default() };
        let tree = FolderTree { depth: 1, branch: 2, each_client: false, leaves_only: false };
        let in_tree = ObjectSet { tree: Some(tree), count: 3, stride: 0, ..shared };
        let workers: &dyn Fn(&mut Cell) = &|cell| cell.workload.workers = 2;
        for op in [Op::Put, Op::Delete] {
            assert_eq!(
                (cell(op, in_tree, none), cell(op, ObjectSet::tree_folders(tree), none)),
                (None, None),
                "{op}"
            );
        }
        let cases = [
            (cell(Op::Get, folders, none), "put, stat, rename or delete where the objects are folders"),
            (cell(Op::Append, folders, none), "put, stat, rename or delete where the objects are folders"),
            (cell(Op::Delete, ObjectSet { stride: 0, ..shared }, listed), "which lists the objects of all"),
            (cell(Op::Stat, ObjectSet { stat_finds: true, ..shared }, none), "to find names"),
            (cell(Op::Stat, in_tree, listed), "in a tree of folders"),
            (cell(Op::Rename, in_tree, none), "in a tree of folders"),
            (cell(Op::Stat, ObjectSet::tree_folders(tree), none), "the folders of a tree"),
            (cell(Op::Put, ObjectSet::tree_folders(tree), workers), "the folders of a tree"),
            (cell(Op::Put, strided, none), "get, stat or delete where clients visit"),
            (cell(Op::Stat, strided, several), "one target where clients visit"),
        ];
        for (problem, words) in cases {
            let problem = problem.unwrap_or_default();
            assert!(problem.contains(words), "{words}: {problem}");
        }
    }
}
