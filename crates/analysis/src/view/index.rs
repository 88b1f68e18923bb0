//! Cuts by their settings, so that a look-up costs the same in a run of ten cells and of ten thousand.

use super::{Ceiling, Place, reads};
use narrows_model::summary::CellSummary;
use narrows_model::{Bytes, Cut};
use std::collections::HashMap;

/// Cuts by settings, and the best of each cut by block.
#[derive(Debug, Default)]
pub(super) struct Index<'a> {
    same: HashMap<(Cut, Place), &'a CellSummary>,
    best: HashMap<(Cut, Bytes, bool), &'a CellSummary>,
    best_of_all: HashMap<(Cut, bool), f64>,
}

impl<'a> Index<'a> {
    /// The index of `cells`; of equal settings the first counts.
    pub(super) fn of(cells: &'a [CellSummary]) -> Self {
        let mut index = Self::default();
        for cell in cells.iter().filter(|cell| cell.cut != Cut::Path && rate(cell) > 0.0) {
            let place = Place::of(cell);
            index.same.entry((cell.cut, place)).or_insert(cell);
            let best = index.best.entry((cell.cut, cell.block_bytes, place.reads)).or_insert(cell);
            if rate(cell) > rate(best) {
                *best = cell;
            }
            let most = index.best_of_all.entry((cell.cut, place.reads)).or_insert(0.0);
            *most = most.max(rate(cell));
        }
        index
    }

    /// The rate of `cut` for `cell`: at the same settings, else the best at this direction and block. The generator
    /// and a copy in memory do not care for the direction.
    pub(super) fn ceiling(&self, cut: Cut, cell: &CellSummary) -> Option<Ceiling<'a>> {
        let place = Place::of(cell);
        let directed = !matches!(cut, Cut::Generator | Cut::MemoryCopy);
        let turned = place.turned();
        let places = [Some(place), Some(turned).filter(|_| !directed)];
        if let Some(found) = places.into_iter().flatten().find_map(|place| self.same.get(&(cut, place))) {
            return Some(Ceiling {
                cell: found,
                bytes_per_s: rate(found),
                same_settings: true,
                raised: false,
            });
        }
        let directions = [Some(place.reads), Some(!place.reads).filter(|_| !directed)];
        let mut best = directions.into_iter().flatten();
        let found = best.find_map(|reads| self.best.get(&(cut, cell.block_bytes, reads)))?;
        Some(Ceiling { cell: found, bytes_per_s: rate(found), same_settings: false, raised: false })
    }

    /// The best rate of `cut` in the direction of `cell`, whatever the block.
    pub(super) fn best_of(&self, cut: Cut, cell: &CellSummary) -> Option<f64> {
        self.best_of_all.get(&(cut, reads(cell.op))).copied()
    }
}

fn rate(cell: &CellSummary) -> f64 {
    cell.rate_bytes_per_s.unwrap_or_default().0
}
