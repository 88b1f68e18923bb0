//! `cargo xtask lab compare`: equal runs of three kinds of path compared with each other, and a true difference of 5 %, with
//! the release build. Needs root, as the lab does.

use super::PartsRequest;
use super::diagnose::build_release;
use crate::perf::target_folder;
use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, output};
use anyhow::Context;

/// Runs the parts of the campaign that `request` names, or all: `memory`, `disk`, `link` (equal runs), `faster` (a link of 105
/// against 100 Mbit/s), `same` (two runs of 30 s); its number is that of the runs of each path.
///
/// # Errors
/// A build that fails, or cargo that cannot be started.
pub(super) fn run(request: &PartsRequest<'_>) -> anyhow::Result<TaskOutcome> {
    let workspace = Workspace::load()?;
    build_release(&workspace)?;
    let test =
        ["test", "--locked", "-p", "narrows-lab", "--features", "comparisons", "--test", "comparisons"];
    let status = cargo(&workspace.root, &test)
        .args(["--", "--nocapture", "--test-threads=1"])
        .env("NARROWS_BIN", target_folder(&workspace).join("release/narrows"))
        .env("NARROWS_COMPARE_PATHS", request.parts.join(";"))
        .env("NARROWS_COMPARE_RUNS", request.count.map(|count| count.to_string()).unwrap_or_default())
        .status()
        .context("could not start cargo test")?;
    if status.success() {
        return Ok(TaskOutcome::Healthy);
    }
    output::complaint("lab compare: beyond its limits, see above");
    Ok(TaskOutcome::ProblemsFound)
}
