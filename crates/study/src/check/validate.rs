//! Whether a request can be planned: everything that is wrong with it, at once.

use super::route::CheckRoute;
use super::{extent, grid};
use crate::problem::Problem;
use crate::request::CheckRequest;
use narrows_model::{Bytes, Op, Target};

/// Below a sector no device works; above this one request takes a slow disk a second.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 512..=64 << 20;
/// A synchronous engine needs a thread for each request in flight.
const DEPTHS: std::ops::RangeInclusive<u32> = 1..=256;
const TRIALS: std::ops::RangeInclusive<u32> = 1..=100;
const CELL_SECONDS: std::ops::RangeInclusive<f64> = 0.1..=3600.0;
const BUDGET_SECONDS: std::ops::RangeInclusive<f64> = 1.0..=604_800.0;

/// The route of a request with which nothing is wrong.
///
/// # Errors
/// Everything that is wrong with it.
pub(super) fn validate(request: &CheckRequest) -> Result<CheckRoute, Vec<Problem>> {
    let mut problems = Vec::new();
    let route = CheckRoute::new(request).map_err(|problem| problems.push(problem)).ok();
    numbers(request, &mut problems);
    lists(request, &mut problems);
    file(request, &mut problems);
    match route {
        Some(route) if problems.is_empty() => {
            room(request, &route).map(|()| route).map_err(|problem| vec![problem])
        }
        _ => Err(problems),
    }
}

fn numbers(request: &CheckRequest, problems: &mut Vec<Problem>) {
    let mut seconds = |key, found: f64, allowed: std::ops::RangeInclusive<f64>, hint: &str| {
        if !allowed.contains(&found) {
            let range = format!("{} to {} seconds", allowed.start(), allowed.end());
            problems.push(Problem::new(key, found.to_string(), range, hint));
        }
    };
    seconds("--seconds", request.budget_s, BUDGET_SECONDS, "60 is usual for --seconds");
    seconds("--cell-seconds", request.cell_seconds, CELL_SECONDS, "1.5 is usual for --cell-seconds");
    if !TRIALS.contains(&request.trials) {
        let found = request.trials.to_string();
        problems.push(Problem::new("--trials", found, "1 to 100", "3 give an interval for --trials"));
    }
    if request.max_bytes_per_s == Some(0) {
        problems.push(Problem::new("--max-rate", "0", "1 or more", "omit --max-rate for no cap"));
    }
}

fn lists(request: &CheckRequest, problems: &mut Vec<Problem>) {
    empty(request.blocks.as_deref(), "blocks", problems);
    for block in request.blocks.iter().flatten().filter(|block| !BLOCK_BYTES.contains(&block.0)) {
        problems.push(Problem::new(
            "blocks",
            block.to_string(),
            "512B to 64MiB",
            "4KiB, 64KiB and 1MiB are usual",
        ));
    }
    empty(request.depths.as_deref(), "depths", problems);
    for depth in request.depths.iter().flatten().filter(|depth| !DEPTHS.contains(depth)) {
        problems.push(Problem::new("depths", depth.to_string(), "1 to 256", "1 and 16 are usual"));
    }
    empty(request.ops.as_deref(), "ops", problems);
    for op in request.ops.iter().flatten().filter(|op| !matches!(op, Op::Read | Op::Write)) {
        problems.push(Problem::new("ops", op.name(), "read and write", "use a study for the others"));
    }
}

fn empty<T>(list: Option<&[T]>, key: &'static str, problems: &mut Vec<Problem>) {
    if list.is_some_and(<[T]>::is_empty) {
        problems.push(Problem::new(key, "an empty list", "one value or more", "omit it for the defaults"));
    }
}

/// What is read must exist or be made.
fn file(request: &CheckRequest, problems: &mut Vec<Problem>) {
    let asks_to_write = request.ops.as_ref().is_some_and(|ops| ops.contains(&Op::Write));
    if request.existing_file.is_some() && asks_to_write {
        problems.push(Problem::new(
            "ops",
            format!("write to {}, which exists", request.target),
            "reading it: narrows never changes files that it did not create",
            "name its folder: narrows creates a test file there",
        ));
    }
    if request.existing_file.is_some()
        && !matches!(request.target, Target::File { .. } | Target::Block(_) | Target::Scheme { .. })
    {
        problems.push(Problem::new(
            "existing_file",
            format!("a file's length with {}", request.target),
            "a length where the target is a file",
            "omit it: an endpoint creates its own files",
        ));
    }
    let writable = request.engines.path.as_ref().is_none_or(|path| path.ops.contains(&Op::Write));
    // A bucket takes whole objects, and an engine with a protocol of its own makes what it reads.
    let makes_own =
        matches!(&request.target, Target::Scheme { engine, .. } if engine.declaration().probe.is_some());
    if request.existing_file.is_none() && !writable && !makes_own {
        problems.push(Problem::new(
            "target",
            format!("{}, which cannot be written", request.target),
            "a folder in which a test file can be created, or a file that exists",
            "name a file of a few hundred MiB in it: it is only read",
        ));
    }
}

/// A point at least must have room for its file and be within what the engine does.
fn room(request: &CheckRequest, route: &CheckRoute) -> Result<(), Problem> {
    let points = grid::points(request);
    let extent = extent::TestFileExtent::new(request, &points);
    let mut reasons = points.iter().map(|point| super::refusal(request, route, &extent, *point, 0));
    if reasons.any(|reason| reason.is_none()) {
        return Ok(());
    }
    let smallest = points.iter().map(|point| extent::need(*point)).min().unwrap_or_default();
    let reason = points.last().and_then(|point| super::refusal(request, route, &extent, *point, 0));
    Err(Problem::new(
        "target",
        format!("no point that can be measured: the last one {}", reason.unwrap_or_default()),
        format!("a file of {} or more, and loads that the engine supports", Bytes(smallest)),
        "free some space, ask for smaller blocks or depths, or name another target",
    ))
}
