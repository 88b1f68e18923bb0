//! A few more cells at the suspects, once the plan's own have named them.

use narrows_model::{CellId, Nanos, Plan, Summary};
use narrows_study::{PlannedCells, SuspectedCell};

/// The cells that distinguish the suspects of `summary` from their neighbours, within `remaining`.
pub(super) fn refine_plan(plan: &Plan, summary: &Summary, remaining: Nanos) -> PlannedCells {
    let suspects: Vec<SuspectedCell> = narrows_analysis::refinement(summary)
        .into_iter()
        .map(|suspect| SuspectedCell { segment: suspect.segment, cell: CellId(suspect.cell) })
        .collect();
    let mut planned = narrows_study::refine(plan, &suspects, remaining);
    planned.cells.retain(crate::ranks::suffice_for);
    planned
}
