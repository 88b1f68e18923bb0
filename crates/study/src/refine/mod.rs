//! What is worth measuring around suspects: more clients, one more connection, one more depth, at their own cells.

use crate::check::{PATH_CELLS_MAX, estimate};
use crate::neighbours::candidates;
use narrows_model::plan::SkippedCell;
use narrows_model::{Cell, CellId, Cut, EngineId, Nanos, Plan, Segment, Target};

/// A segment that seems to limit one cell of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuspectedCell {
    /// The segment.
    pub segment: Segment,
    /// The cell of the path at which it seems to limit.
    pub cell: CellId,
}

/// Cells to add to a plan, as an event reports them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlannedCells {
    /// New cells, in the order in which they run.
    pub cells: Vec<Cell>,
    /// New skips.
    pub skipped: Vec<SkippedCell>,
}

/// The cells that show more about `suspects`, as far as `remaining` time lets them.
///
/// There are four around a suspect's cell: twice the depth, one more connection, two and four clients. First comes for
/// each suspect, in their order, the one by which its segment is separated from its neighbours (a connection by one more of
/// it, concurrency and a device by depth, all else by clients), then the others of the first suspect. The test files of all clients
/// together are no larger than the plan stated.
///
/// # Shape
/// Ids are new to the plan, and each is there once. A suspect whose cell is no cell of the path in the plan, or was
/// itself added, adds nothing. Cells past the time or past the most points of a path are skips with their reason.
#[must_use]
pub fn refine(plan: &Plan, suspects: &[SuspectedCell], remaining: Nanos) -> PlannedCells {
    let mut planned = PlannedCells::default();
    let mut left = remaining;
    let path_count = plan.cells.iter().filter(|cell| cell.cut == Cut::Path).count();
    // A plan with more points than this was asked for the full map.
    let room = if path_count > PATH_CELLS_MAX { usize::MAX } else { PATH_CELLS_MAX - path_count };
    for cell in wanted(plan, suspects) {
        if is_known(plan, &planned, &cell.id) {
            continue;
        }
        let estimate = estimate(&cell);
        if let Some(reason) = refusal(&cell, planned.cells.len() < room, estimate <= left) {
            planned.skipped.push(SkippedCell { cell: cell.id, reason });
        } else {
            left = left.saturating_sub(estimate);
            planned.cells.push(cell);
        }
    }
    planned
}

/// The cells in the order of their worth; one may be there twice.
fn wanted(plan: &Plan, suspects: &[SuspectedCell]) -> Vec<Cell> {
    let around = |suspect: &SuspectedCell| {
        // What is added is not refined in turn: more and more would be in flight than the plan stated.
        let is_meant = |cell: &&Cell| cell.cut == Cut::Path && !cell.refines && cell.id == suspect.cell;
        let found = plan.cells.iter().find(is_meant)?;
        Some(ordered(found, suspect.segment))
    };
    let all: Vec<[Cell; 4]> = suspects.iter().filter_map(around).collect();
    let most_telling = all.iter().map(|[first, ..]| first);
    let others = all.first().into_iter().flat_map(|[_, others @ ..]| others);
    most_telling.chain(others).cloned().collect()
}

fn is_known(plan: &Plan, planned: &PlannedCells, id: &CellId) -> bool {
    let cells = plan.cells.iter().chain(&planned.cells).map(|cell| &cell.id);
    let skipped = plan.skipped.iter().chain(&planned.skipped).map(|skip| &skip.cell);
    cells.chain(skipped).any(|known| known == id)
}

fn refusal(cell: &Cell, has_room: bool, has_time: bool) -> Option<String> {
    let workload = &cell.workload;
    let in_flight = u64::from(workload.workers) * u64::from(workload.queue_depth);
    let is_on_unit = matches!(cell.target, Target::Scheme { engine: EngineId::Iscsi, .. } | Target::Block(_));
    let is_spoken =
        matches!(&cell.target, Target::Scheme { engine, .. } if engine.declaration().probe.is_some());
    if is_spoken && cell.read_only {
        Some(
            "what the path has read may be in the server's memory, and is no longer as it was found"
                .to_owned(),
        )
    } else if is_on_unit && workload.clients > 1 && !cell.read_only {
        Some("what was claimed of the disk is for one client".to_owned())
    } else if workload.file_bytes.0 < workload.block_bytes.0.saturating_mul(in_flight) {
        Some(format!("the test file is too small for {} clients of {in_flight} requests", workload.clients))
    } else if !has_room {
        Some(format!("check measures at most {PATH_CELLS_MAX} points of the path"))
    } else if !has_time {
        Some("beyond the budget; raise --seconds to refine further".to_owned())
    } else {
        None
    }
}

/// The candidates, those first that separate the segment from its neighbours.
fn ordered(cell: &Cell, segment: Segment) -> [Cell; 4] {
    let [depth, connection, two, four] = candidates(cell);
    match segment {
        Segment::ClientConnection | Segment::Network | Segment::NetworkBandwidth | Segment::NetworkLoss => {
            [connection, two, depth, four]
        }
        // More at once shows whether too little was asked for, and whether a ceiling binds.
        Segment::WorkloadConcurrency
        | Segment::Unknown
        | Segment::NetworkLatency
        | Segment::DeviceLatency
        | Segment::DeviceIops => [depth, connection, two, four],
        Segment::Device | Segment::DeviceBandwidth | Segment::ServerProtocol => {
            [depth, two, four, connection]
        }
        _ => [two, four, depth, connection],
    }
}

#[cfg(test)]
mod tests;
