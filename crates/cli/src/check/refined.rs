//! A few more cells at the suspect, once the plan's own have named one.

use narrows_model::{Cell, Cut, Nanos, Plan, Summary};
use narrows_study::{PlannedCells, Suspect};

/// The cells that tell the suspect of `summary` from its neighbours, within `remaining`.
pub(super) fn refined(plan: &Plan, summary: &Summary, remaining: Nanos) -> PlannedCells {
    let Some(suspect) = narrows_analysis::refinement(summary) else { return PlannedCells::default() };
    let at_suspect = |cell: &&Cell| {
        let load = &cell.workload;
        let is_path = cell.cut == Cut::Path && load.op == suspect.op;
        is_path && load.block_bytes == suspect.block_bytes && load.queue_depth == suspect.queue_depth
    };
    let found = plan.cells.iter().filter(at_suspect).max_by_key(|cell| cell.workload.in_flight_configured());
    let Some(cell) = found else { return PlannedCells::default() };
    let suspect = Suspect { segment: suspect.segment, cell: cell.id.clone() };
    narrows_study::refine(plan, &[suspect], remaining)
}
