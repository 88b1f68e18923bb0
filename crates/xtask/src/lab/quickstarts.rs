//! `cargo xtask lab quickstarts`: what the first check of a local folder names, on the file systems that people have, with the
//! release build. Needs root, which mounts them.

use super::PartsRequest;
use super::diagnose::build_release;
use crate::perf::target_folder;
use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, output};
use anyhow::Context;

/// Checks a folder of each file system that `request` names, or of all, so many times (10), and prints what was named.
///
/// # Errors
/// A build that fails, or cargo that cannot be started.
pub(super) fn run(request: &PartsRequest<'_>) -> anyhow::Result<TaskOutcome> {
    let workspace = Workspace::load()?;
    build_release(&workspace)?;
    let test =
        ["test", "--locked", "-p", "narrows-lab", "--features", "quickstarts", "--test", "quickstarts"];
    let tries = request.count.map(|count| count.to_string()).unwrap_or_default();
    let status = cargo(&workspace.root, &test)
        .args(["--", "--nocapture", "--test-threads=1"])
        .env("NARROWS_BIN", target_folder(&workspace).join("release/narrows"))
        .env("NARROWS_QUICKSTART_FOLDERS", request.parts.join(";"))
        .env("NARROWS_QUICKSTART_TRIES", tries)
        .status()
        .context("could not start cargo test")?;
    if status.success() {
        return Ok(TaskOutcome::Healthy);
    }
    output::complaint("lab quickstarts: below its limit, see above");
    Ok(TaskOutcome::ProblemsFound)
}
