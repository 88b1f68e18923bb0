//! What fits the time: the path at the first loads, then whole points from the front; the rest is listed.

use super::cuts::PointCells;
use crate::problem::Problem;
use crate::request::CheckRequest;
use narrows_model::plan::SkippedCell;
use narrows_model::{Cell, CellId, Nanos};
use std::collections::BTreeSet;

/// Kept for preparation and refinement: one part in so many of the budget ...
const RESERVE_SHARE: u64 = 10;
/// ... and at most this much.
const RESERVE_NS_MAX: u64 = 8_000_000_000;

/// Time that a cell takes without preparation.
pub(crate) fn estimate(cell: &Cell) -> Nanos {
    cell.estimated_ns()
}

/// The part of a budget that is for cells.
pub(crate) fn for_cells(whole: Nanos) -> Nanos {
    whole.saturating_sub(Nanos((whole.0 / RESERVE_SHARE).min(RESERVE_NS_MAX)))
}

/// Time for cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    whole: Nanos,
    for_cells: Nanos,
}

impl Budget {
    pub(super) fn new(request: &CheckRequest) -> Self {
        let whole = Nanos::from_secs_f64(request.budget_s);
        Self { whole, for_cells: for_cells(whole) }
    }

    /// Whether all cells of these points fit.
    pub(super) fn holds(self, points: &[PointCells]) -> bool {
        total(points) <= self.for_cells
    }

    /// The cells that fit; the others are added to `skipped`. The path is kept at the `first_count` points from the front,
    /// with as many of their cuts as fit beside it. `needed` is the time of everything, unshortened.
    ///
    /// # Errors
    /// When the path's own cells of the first points do not fit.
    pub(super) fn fit(
        self,
        points: Vec<PointCells>,
        first_count: usize,
        needed: Nanos,
        skipped: &mut Vec<SkippedCell>,
    ) -> Result<Vec<Cell>, Problem> {
        let reason = SkippedCell::past_budget(self.whole.as_secs_f64(), seconds_for(needed));
        let paths = points.iter().take(first_count).map(|point| estimate(&point.path));
        let mut kept_free = paths.fold(Nanos(0), Nanos::saturating_add);
        if kept_free > self.for_cells || points.is_empty() {
            return Err(self.too_short(kept_free));
        }
        let mut cells: Vec<Cell> = Vec::new();
        let mut known = BTreeSet::new();
        let mut spent = Nanos(0);
        let mut is_full = false;
        for (index, point) in points.into_iter().enumerate() {
            let is_first = index < first_count;
            if is_first {
                kept_free = kept_free.saturating_sub(estimate(&point.path));
            }
            let new = unknown(&point, &known);
            is_full |= spent.saturating_add(cost(&new)).saturating_add(kept_free) > self.for_cells;
            known.extend(new.iter().map(|cell| cell.id.clone()));
            let impossible = point.skipped.into_iter().filter(|skip| known.insert(skip.cell.clone()));
            skipped.extend(impossible);
            let (fitting, dropped): (Vec<Cell>, Vec<Cell>) =
                new.into_iter().partition(|cell| !is_full || (is_first && cell.id == point.path.id));
            spent = spent.saturating_add(cost(&fitting));
            cells.extend(fitting);
            skipped.extend(
                dropped.into_iter().map(|cell| SkippedCell { cell: cell.id, reason: reason.clone() }),
            );
        }
        Ok(cells)
    }

    fn too_short(self, first: Nanos) -> Problem {
        Problem::new(
            "--seconds",
            format!(
                "{} s, and the path at the first loads takes {:.2} s without its cuts",
                self.whole.as_secs_f64(),
                first.as_secs_f64()
            ),
            format!("{} s or more with these cells", seconds_for(first)),
            "raise --seconds, or lower --cell-seconds or --trials",
        )
    }
}

/// Cells of a point that no earlier point has.
fn unknown(point: &PointCells, known: &BTreeSet<CellId>) -> Vec<Cell> {
    let cells = point.cuts.iter().chain([&point.path]).chain(&point.after);
    cells.filter(|cell| !known.contains(&cell.id)).cloned().collect()
}

fn cost(cells: &[Cell]) -> Nanos {
    cells.iter().fold(Nanos(0), |sum, cell| sum.saturating_add(estimate(cell)))
}

/// Time of all points together, each cell once.
pub(super) fn total(points: &[PointCells]) -> Nanos {
    let mut known = BTreeSet::new();
    let mut sum = Nanos(0);
    for point in points {
        let new = unknown(point, &known);
        sum = sum.saturating_add(cost(&new));
        known.extend(new.into_iter().map(|cell| cell.id));
    }
    sum
}

/// The whole seconds of a budget whose part for cells is `needed` or more.
pub(crate) fn seconds_for(needed: Nanos) -> u64 {
    const SECOND: u64 = narrows_model::units::NANOS_PER_SEC;
    let by_share = needed.0.saturating_mul(RESERVE_SHARE).div_ceil(RESERVE_SHARE - 1);
    let by_most = needed.0.saturating_add(RESERVE_NS_MAX);
    by_share.min(by_most).div_ceil(SECOND)
}
