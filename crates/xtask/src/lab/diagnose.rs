//! `cargo xtask lab diagnose`: the injection matrix of the lab, with the release build. Needs root, as the lab does.

use crate::perf::target_folder;
use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, output};
use anyhow::{Context, bail};

/// Builds narrows and runs the cases of the matrix whose fault contains one of `faults`, or all without any; the matrix prints
/// what each case came to.
///
/// # Errors
/// A build that fails, or cargo that cannot be started.
pub(super) fn run(faults: &[&str]) -> anyhow::Result<TaskOutcome> {
    let workspace = Workspace::load()?;
    let build = ["build", "--release", "--locked", "--quiet"];
    if !cargo(&workspace.root, &build).status().context("could not start cargo build")?.success() {
        bail!("cargo {} failed", build.join(" "));
    }
    let words = ["test", "--locked", "-p", "narrows-lab", "--features", "matrix", "--test", "matrix"];
    let status = cargo(&workspace.root, &words)
        .args(["--", "--nocapture", "--test-threads=1"])
        .env("NARROWS_BIN", target_folder(&workspace).join("release/narrows"))
        .env("NARROWS_MATRIX_CASES", faults.join(";"))
        .status()
        .context("could not start cargo test")?;
    if status.success() {
        return Ok(TaskOutcome::Healthy);
    }
    output::complaint("lab diagnose: the matrix is below its limits, see above");
    Ok(TaskOutcome::ProblemsFound)
}
