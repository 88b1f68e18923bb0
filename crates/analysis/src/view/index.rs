//! Cuts by their settings, so that a look-up costs the same in a run of ten cells and of ten thousand.

use super::CutCeiling;
use crate::facts::network::{sustained_bytes_per_s, transferred_bytes_per_s as rate};
use crate::facts::{CellSettings, MixKey, is_in_memory};
use narrows_model::summary::CellSummary;
use narrows_model::workload::Order;
use narrows_model::{Bytes, Cut};
use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

/// Cuts by settings, and the best of each cut by block.
#[derive(Debug, Default)]
pub(super) struct CutIndex<'a> {
    same: HashMap<(Cut, CellSettings), &'a CellSummary>,
    same_order: HashMap<(Cut, CellSettings, Discriminant<Order>), &'a CellSummary>,
    best: HashMap<(Bytes, KindOfCut), &'a CellSummary>,
    best_in_order: HashMap<(Bytes, KindOfCut, Discriminant<Order>), &'a CellSummary>,
    best_of_all: HashMap<KindOfCut, &'a CellSummary>,
}

/// Cells of a cut that differ in block size, depth and clients alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct KindOfCut {
    cut: Cut,
    reads: bool,
    member_count: usize,
    mix: MixKey,
}

impl KindOfCut {
    /// That of `cut` with which a cell of these settings compares.
    fn new(cut: Cut, settings: CellSettings) -> Self {
        let CellSettings { reads, member_count, mix, .. } = settings.at(cut);
        Self { cut, reads, member_count, mix }
    }
}

impl<'a> CutIndex<'a> {
    /// The index of `cells`; of equal settings the first counts.
    pub(super) fn new(cells: &'a [CellSummary]) -> Self {
        let mut index = Self::default();
        for cell in cells.iter().filter(|cell| cell.cut != Cut::Path && rate(cell) > 0.0) {
            let place = CellSettings::from_cell(cell);
            let order = discriminant(&cell.requested.order);
            index.same_order.entry((cell.cut, place, order)).or_insert(cell);
            index.same.entry((cell.cut, place)).or_insert(cell);
            let kind = KindOfCut::new(cell.cut, place);
            let bests = [
                index.best.entry((cell.block_bytes, kind)).or_insert(cell),
                index.best_in_order.entry((cell.block_bytes, kind, order)).or_insert(cell),
                index.best_of_all.entry(kind).or_insert(cell),
            ];
            for best in bests {
                if rate(cell) > rate(best) {
                    *best = cell;
                }
            }
        }
        index
    }

    /// The rate of `cut` for `cell`: at the same settings, else the best at this direction and block; both in the same order
    /// where that was measured. The generator and a copy in memory do not care for the direction.
    pub(super) fn ceiling(&self, cut: Cut, cell: &CellSummary) -> Option<CutCeiling<'a>> {
        let directed = !is_in_memory(cut);
        let place = CellSettings::from_cell(cell).at(cut);
        let places = [Some(place), Some(place.other_direction()).filter(|_| !directed)];
        let order = discriminant(&cell.requested.order);
        let at_place = |place: CellSettings| {
            self.same_order.get(&(cut, place, order)).or_else(|| self.same.get(&(cut, place)))
        };
        if let Some(found) = places.into_iter().flatten().find_map(at_place) {
            return Some(ceiling_of(found, cell, true));
        }
        let kinds = places.into_iter().flatten().map(|place| KindOfCut::new(cut, place));
        let best = |kind: KindOfCut| {
            let in_order = self.best_in_order.get(&(cell.block_bytes, kind, order));
            in_order.or_else(|| self.best.get(&(cell.block_bytes, kind)))
        };
        let found = kinds.into_iter().find_map(best)?;
        Some(ceiling_of(found, cell, false))
    }

    /// The best of `cut` in the direction of `cell`, whatever the block.
    pub(super) fn best_of(&self, cut: Cut, cell: &CellSummary) -> Option<CutCeiling<'a>> {
        let found = self.best_of_all.get(&KindOfCut::new(cut, CellSettings::from_cell(cell))).copied()?;
        Some(ceiling_of(found, cell, false))
    }
}

/// The ceiling that `cut` is for `cell`.
fn ceiling_of<'a>(cut: &'a CellSummary, cell: &CellSummary, same_settings: bool) -> CutCeiling<'a> {
    CutCeiling { cell: cut, bytes_per_s: sustained_bytes_per_s(cut, cell), same_settings, raised: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::workload::OpShare;
    use narrows_model::{BytesPerSec, Op};

    /// A cell of the path, and one of the device with the same load.
    fn path_and_device() -> (CellSummary, CellSummary) {
        let summary = builtin("local-ssd");
        let path = summary.cells.iter().find(|cell| cell.cut == Cut::Path && cell.queue_depth > 1).unwrap();
        (path.clone(), CellSummary { cut: Cut::LocalDevice, ..path.clone() })
    }

    fn at_rate(bytes_per_s: f64, cell: &CellSummary) -> CellSummary {
        CellSummary { rate_bytes_per_s: Some(BytesPerSec(bytes_per_s)), ..cell.clone() }
    }

    #[test]
    fn a_mix_is_compared_with_the_device_under_the_same_mix_alone() {
        let (mut path, device) = path_and_device();
        let mix = |read: f64| {
            [(Op::Read, read), (Op::Write, 1.0)].map(|(op, weight)| OpShare { op, weight }).to_vec()
        };
        let (mut seven, mut even) = (at_rate(7.0, &device), at_rate(5.0, &device));
        seven.requested.op_mix = mix(7.0);
        even.requested.op_mix = mix(1.0);
        let cells = [at_rate(9.0, &device), seven, even];
        path.requested.op_mix = mix(1.0);
        let found = CutIndex::new(&cells).ceiling(Cut::LocalDevice, &path).unwrap();
        assert!((found.bytes_per_s - 5.0).abs() < 1e-9 && found.same_settings);
        path.requested.op_mix = mix(2.0);
        assert!(CutIndex::new(&cells).ceiling(Cut::LocalDevice, &path).is_none());
    }

    #[test]
    fn the_cut_in_the_order_of_the_path_comes_first() {
        let (mut path, device) = path_and_device();
        let (mut forward, mut random) = (at_rate(9.0, &device), at_rate(2.0, &device));
        forward.requested.order = Order::Sequential;
        random.requested.order = Order::Random;
        let cells = [forward, random];
        path.requested.order = Order::Random;
        let found = CutIndex::new(&cells).ceiling(Cut::LocalDevice, &path).unwrap();
        assert!((found.bytes_per_s - 2.0).abs() < 1e-9);
        path.requested.order = Order::Backward;
        assert!(CutIndex::new(&cells).ceiling(Cut::LocalDevice, &path).unwrap().same_settings);
    }
}
