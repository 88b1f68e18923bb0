//! Cuts by their settings, so that a look-up costs the same in a run of ten cells and of ten thousand.

use super::CutCeiling;
use crate::facts::network::transferred_bytes_per_s as rate;
use crate::facts::{CellSettings, is_in_memory, reads};
use narrows_model::summary::CellSummary;
use narrows_model::{Bytes, Cut};
use std::collections::HashMap;

/// Cuts by settings, and the best of each cut by block.
#[derive(Debug, Default)]
pub(super) struct CutIndex<'a> {
    same: HashMap<(Cut, CellSettings), &'a CellSummary>,
    /// By cut, block, direction, and members of the target.
    best: HashMap<(Cut, Bytes, bool, usize), &'a CellSummary>,
    best_of_all: HashMap<(Cut, bool, usize), &'a CellSummary>,
}

impl<'a> CutIndex<'a> {
    /// The index of `cells`; of equal settings the first counts.
    pub(super) fn new(cells: &'a [CellSummary]) -> Self {
        let mut index = Self::default();
        for cell in cells.iter().filter(|cell| cell.cut != Cut::Path && rate(cell) > 0.0) {
            let place = CellSettings::from_cell(cell);
            index.same.entry((cell.cut, place)).or_insert(cell);
            let of_kind = (cell.cut, cell.block_bytes, place.reads, place.member_count);
            let best = index.best.entry(of_kind).or_insert(cell);
            if rate(cell) > rate(best) {
                *best = cell;
            }
            let most = index.best_of_all.entry((cell.cut, place.reads, place.member_count)).or_insert(cell);
            if rate(cell) > rate(most) {
                *most = cell;
            }
        }
        index
    }

    /// The rate of `cut` for `cell`: at the same settings, else the best at this direction and block. The generator
    /// and a copy in memory do not care for the direction.
    pub(super) fn ceiling(&self, cut: Cut, cell: &CellSummary) -> Option<CutCeiling<'a>> {
        let directed = !is_in_memory(cut);
        let place =
            if directed { CellSettings::from_cell(cell) } else { CellSettings::from_cell(cell).in_memory() };
        let turned = place.other_direction();
        let places = [Some(place), Some(turned).filter(|_| !directed)];
        if let Some(found) = places.into_iter().flatten().find_map(|place| self.same.get(&(cut, place))) {
            return Some(CutCeiling {
                cell: found,
                bytes_per_s: rate(found),
                same_settings: true,
                raised: false,
            });
        }
        let directions = [Some(place.reads), Some(!place.reads).filter(|_| !directed)];
        let mut best = directions.into_iter().flatten();
        let found =
            best.find_map(|reads| self.best.get(&(cut, cell.block_bytes, reads, place.member_count)))?;
        Some(CutCeiling { cell: found, bytes_per_s: rate(found), same_settings: false, raised: false })
    }

    /// The best of `cut` in the direction of `cell`, whatever the block.
    pub(super) fn best_of(&self, cut: Cut, cell: &CellSummary) -> Option<CutCeiling<'a>> {
        let members = if is_in_memory(cut) { 0 } else { CellSettings::from_cell(cell).member_count };
        let found = self.best_of_all.get(&(cut, reads(cell.op), members)).copied()?;
        Some(CutCeiling { cell: found, bytes_per_s: rate(found), same_settings: false, raised: false })
    }
}
