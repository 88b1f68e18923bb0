//! The planner of `check`: points of the path in the order of their value, each after the cuts it is compared with.

mod budget;
mod cuts;
mod extent;
mod grid;
mod load;
mod protocol;
mod route;
mod uploads;
mod validate;

pub(crate) use budget::{estimate, for_cells, seconds_for};
pub(crate) use load::{makes_files, written};
pub(crate) use route::segments_to;

use crate::problem::Problem;
use crate::request::CheckRequest;
use budget::Budget;
use cuts::{PointCells, PointPlanner};
use grid::GridPoint;
use narrows_model::plan::{PLAN_SCHEMA, SkippedCell};
use narrows_model::{Nanos, Plan};
use route::CheckRoute;

/// Most points of the path without `deep`, refinement included.
pub(crate) const PATH_CELLS_MAX: usize = 24;
/// Time between samples: fifteen in a usual cell, which is enough for a batch-mean interval.
pub(crate) const INTERVAL_NS: Nanos = Nanos(100_000_000);

/// The plan of a check.
///
/// # Shape
/// Cells in the order in which they run: for each point (operation, block size, depth) of the path, the most telling
/// first, the cuts that it is compared with and were not planned before, then the path itself. Ids are unique among
/// cells and skips together. The first loads (bulk, one at a time, random) are always planned: where they do not fit
/// with their cuts, all cells are measured for less time, and where that is not enough, their last cuts are dropped.
/// What does not fit the budget beside them is dropped from the end, whole points at a time, and listed.
///
/// # Errors
/// Everything that is wrong with the request, at once: values out of range, a target that cannot be checked, no room
/// for a test file, a budget below the path's own cells of the first loads.
pub fn plan_check(request: &CheckRequest) -> Result<Plan, Vec<Problem>> {
    let request = &*extent::within_room(request, &grid::points(request));
    let route = validate::validate(request)?;
    let budget = Budget::new(request);
    let whole = points(request, &route);
    let needed = budget::total(&whole.points);
    let PlannedPoints { points, first_count, mut skipped } = shortened(request, &route, budget, whole);
    let fitted = budget.fit(points, first_count, needed, &mut skipped).map_err(|problem| vec![problem])?;
    let file_bytes = fitted.iter().map(|cell| cell.workload.file_bytes).max().unwrap_or_default();
    Ok(Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: request.seed,
        target: request.target.clone(),
        topology: route.topology(),
        segments: route.segments(request),
        load: load::statement(request, &route, &fitted, file_bytes),
        cells: fitted,
        skipped,
        budget_ns: Nanos::from_secs_f64(request.budget_s),
        interval_ns: INTERVAL_NS,
        study: None,
        relay: None,
        suite: None,
        fail_if: Vec::new(),
    })
}

/// Shortest measuring time to which cells are cut so that the first loads fit: below half a second a rate is flagged as
/// too short (docs/concepts/methodology.md).
const SHORTEST_CELL_S: f64 = 0.5;
/// From one length of cells to the next shorter one that is tried: no more than a tenth of the time is left unused.
const SHORTER_RATIO: f64 = 0.9;

/// The points that can be measured.
#[derive(Debug)]
struct PlannedPoints {
    /// With their cells, the most telling first.
    points: Vec<PointCells>,
    /// How many of them, from the front, are of the first loads.
    first_count: usize,
    /// Points that cannot be measured.
    skipped: Vec<SkippedCell>,
}

/// `whole`, or the same with cells of one shorter length, the longest at which the first loads fit with their cuts.
///
/// Bounded: from the longest cell allowed to the shortest there are fewer than a hundred lengths.
fn shortened(
    request: &CheckRequest,
    route: &CheckRoute,
    budget: Budget,
    whole: PlannedPoints,
) -> PlannedPoints {
    let mut cell_seconds = request.cell_seconds;
    let mut planned = whole;
    while !budget.holds(planned.points.get(..planned.first_count).unwrap_or_default())
        && cell_seconds > SHORTEST_CELL_S
    {
        cell_seconds = (cell_seconds * SHORTER_RATIO).max(SHORTEST_CELL_S);
        let shorter = points(&CheckRequest { cell_seconds, ..request.clone() }, route);
        // Under a cap on the rate, shorter cells have no room for some loads: these would be absent.
        if shorter.first_count < planned.first_count {
            break;
        }
        planned = shorter;
    }
    planned
}

/// The points that can be measured, with their cells, and those that cannot.
fn points(request: &CheckRequest, route: &CheckRoute) -> PlannedPoints {
    let all = grid::points(request);
    let extent = extent::TestFileExtent::new(request, &all);
    let cutter =
        PointPlanner { request, route, file_bytes: extent.file_bytes, corners: grid::corners(request) };
    let first = grid::first_loads(request);
    let mut planned = PlannedPoints { points: Vec::new(), first_count: 0, skipped: Vec::new() };
    for point in all {
        let cells = cutter.point(point);
        match refusal(request, route, &extent, point, planned.points.len()) {
            None => {
                planned.first_count += usize::from(first.contains(&Some((point.block, point.depth))));
                planned.points.push(cells);
            }
            Some(reason) => planned.skipped.push(SkippedCell { cell: cells.path.id, reason }),
        }
    }
    planned
}

/// Why a point is left out; `None` when it is measured.
fn refusal(
    request: &CheckRequest,
    route: &CheckRoute,
    extent: &extent::TestFileExtent,
    point: GridPoint,
    kept_count: usize,
) -> Option<String> {
    extent
        .refusal(point)
        .or_else(|| route.refusal(request, point))
        .or_else(|| grid::rate_refusal(request, point))
        .or_else(|| {
            (!request.deep && kept_count >= PATH_CELLS_MAX).then(|| {
                format!(
                    "check measures at most {PATH_CELLS_MAX} points of the path; --deep measures the full map"
                )
            })
        })
}

#[cfg(test)]
mod tests;
