//! The planner of `check`: points of the path in the order of their value, each after the cuts it is compared with.

mod budget;
mod cuts;
mod extent;
mod grid;
mod load;
mod route;
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
/// cells and skips together. What does not fit the budget is dropped from the end, whole points at a time, and listed.
///
/// # Errors
/// Everything that is wrong with the request, at once: values out of range, a target that cannot be checked, no room
/// for a test file, a budget below the first point.
pub fn plan_check(request: &CheckRequest) -> Result<Plan, Vec<Problem>> {
    let route = validate::validate(request)?;
    let mut skipped = Vec::new();
    let points = points(request, &route, &mut skipped);
    let budget = Budget::new(request);
    let fitted = budget.fit(points, &mut skipped).map_err(|problem| vec![problem])?;
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
    })
}

/// The points that can be measured, with their cells; what cannot is added to `skipped`.
fn points(request: &CheckRequest, route: &CheckRoute, skipped: &mut Vec<SkippedCell>) -> Vec<PointCells> {
    let all = grid::points(request);
    let extent = extent::TestFileExtent::new(request, &all);
    let cutter =
        PointPlanner { request, route, file_bytes: extent.file_bytes, corners: grid::corners(request) };
    let mut kept = Vec::new();
    for point in all {
        let cells = cutter.point(point);
        match refusal(request, route, &extent, point, kept.len()) {
            None => kept.push(cells),
            Some(reason) => skipped.push(SkippedCell { cell: cells.path.id, reason }),
        }
    }
    kept
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
