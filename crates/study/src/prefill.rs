//! What a plan's cells have written before they visit it: files and objects, once each, anew where one must be larger or
//! a trial verifies its data.
//!
//! It follows what `run` does, cell by cell. Not here: how long it really takes, which is the path's.

use narrows_model::plan::PREFILL_NS_MAX;
use narrows_model::workload::Prefill;
use narrows_model::{Bytes, Cell, Nanos, Op, Site};
use std::collections::BTreeMap;

/// What is written before cells visit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prefilled {
    /// Bytes, on a path that takes them in time.
    pub bytes: Bytes,
    /// Objects that are written; one that is written again counts again.
    object_count: u64,
}

/// Whether a cell's own load, or an earlier one, writes what it visits.
fn leaves_it(cell: &Cell) -> bool {
    let makes = cell.workload.op == Op::Put && cell.workload.transactions().is_none();
    makes || matches!(cell.workload.prefill, Prefill::Nothing | Prefill::Kept)
}

impl Prefilled {
    /// What `cells` have written, in their order.
    #[must_use]
    pub fn from_cells(cells: &[Cell]) -> Self {
        let mut made: BTreeMap<(Site, String, u32), Bytes> = BTreeMap::new();
        let mut all = Self::default();
        let is_filled = |cell: &&Cell| !cell.read_only && !leaves_it(cell);
        for cell in cells.iter().filter(is_filled) {
            let file_bytes = cell.workload.file_bytes;
            let trials = u64::from(cell.repeat.trials_min(cell.trials).max(1));
            for client in 0..cell.workload.clients.max(1) {
                let target = cell.client_target(client);
                if !target.stores_objects() {
                    continue;
                }
                let known = made.entry((cell.site, target.to_string(), client)).or_default();
                let missing = u64::from(*known < file_bytes);
                let times = if cell.workload.verify { trials } else { missing };
                *known = (*known).max(file_bytes);
                all.bytes = all.bytes.saturating_add(Bytes(file_bytes.0.saturating_mul(times)));
                all.object_count = all.object_count.saturating_add(times);
            }
        }
        all
    }

    /// The longest that it takes where each load's least is written in time.
    #[must_use]
    pub fn ns_max(self) -> Nanos {
        Nanos(PREFILL_NS_MAX.0.saturating_mul(self.object_count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::{CellId, Cut, Stop, Target, Workload};

    const MIB: u64 = 1 << 20;

    fn cell(target: &str, mib: u64, change: impl Fn(&mut Cell)) -> Cell {
        let workload = Workload { file_bytes: Bytes(mib * MIB), ..Workload::default() };
        let mut cell = Cell {
            id: CellId("cell".to_owned()),
            ..Cell::new(
                Cut::Path,
                target.parse::<Target>().unwrap(),
                workload,
                Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(1), bytes_max: None, ops_max: None },
            )
        };
        change(&mut cell);
        cell
    }

    /// Mebibytes and objects of these cells.
    fn prefilled(cells: &[Cell]) -> (u64, u64) {
        let all = Prefilled::from_cells(cells);
        (all.bytes.0 / MIB, all.object_count)
    }

    #[test]
    fn a_file_is_written_once_for_all_cells_that_it_is_large_enough_for() {
        let same = |mib| cell("/a", mib, |_| ());
        assert_eq!(prefilled(&[same(64), same(64), same(16)]), (64, 1));
        assert_eq!(prefilled(&[same(16), same(64), same(64)]), (80, 2));
        assert_eq!(prefilled(&[same(16), cell("/b", 16, |_| ())]), (32, 2));
        let at_server = cell("/a", 16, |cell| cell.site = Site::Server);
        assert_eq!(prefilled(&[same(16), at_server]), (32, 2));
    }

    #[test]
    fn every_client_has_a_file_and_every_verified_trial_a_new_one() {
        let clients = |cell: &mut Cell| cell.workload.clients = 4;
        assert_eq!(prefilled(&[cell("/a", 8, |_| ()), cell("/a", 8, clients)]), (32, 4));
        let two_targets = |cell: &mut Cell| {
            cell.more_targets = vec!["/b".parse().unwrap()];
            cell.workload.clients = 4;
        };
        assert_eq!(prefilled(&[cell("/a", 8, two_targets)]), (32, 4));
        let verified = |cell: &mut Cell| (cell.workload.verify, cell.trials) = (true, 3);
        assert_eq!(prefilled(&[cell("/a", 8, verified)]), (24, 3));
    }

    #[test]
    fn what_contains_no_objects_or_existed_before_is_not_written() {
        let existed = |cell: &mut Cell| cell.read_only = true;
        let cells = [
            cell("null:", 8, |_| ()),
            cell("sim:local-ssd", 8, |_| ()),
            cell("tcp://h:1/sink", 8, |_| ()),
            cell("/a", 8, existed),
        ];
        assert_eq!(prefilled(&cells), (0, 0));
        assert_eq!(prefilled(&[cell("tcp://h:1/memory", 8, |_| ())]), (8, 1));
    }

    #[test]
    fn its_time_is_bounded_by_object() {
        let clients = |cell: &mut Cell| cell.workload.clients = 4;
        assert_eq!(Prefilled::from_cells(&[cell("/a", 8, clients)]).ns_max(), Nanos(10_000_000_000));
        assert_eq!(Prefilled::from_cells(&[]).ns_max(), Nanos(0));
    }
}
