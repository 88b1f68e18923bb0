//! `cargo xtask lab predict`: rates that `narrows predict` computes for more clients, beside what is measured then, with the
//! release build. Needs root, for the lab.

use super::diagnose::build_release;
use crate::perf::target_folder;
use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, output};
use anyhow::Context;

/// Measures the paths whose limit has one of these words, or all, and prints predicted and measured rates.
///
/// # Errors
/// A build that fails, or cargo that cannot be started.
pub(super) fn run(paths: &[&str]) -> anyhow::Result<TaskOutcome> {
    let workspace = Workspace::load()?;
    build_release(&workspace)?;
    let test = ["test", "--locked", "-p", "narrows-lab", "--features", "predictions", "--test", "predict"];
    let status = cargo(&workspace.root, &test)
        .args(["--", "--nocapture", "--test-threads=1"])
        .env("NARROWS_BIN", target_folder(&workspace).join("release/narrows"))
        .env("NARROWS_PREDICT_PATHS", paths.join(";"))
        .status()
        .context("could not start cargo test")?;
    if status.success() {
        return Ok(TaskOutcome::Healthy);
    }
    output::complaint("lab predict: below its limits, see above");
    Ok(TaskOutcome::ProblemsFound)
}
