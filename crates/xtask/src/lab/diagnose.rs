//! `cargo xtask lab diagnose`: the injection matrix of the lab, with the release build, and its simulated twin. The lab needs
//! root.

use crate::perf::target_folder;
use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, output};
use anyhow::{Context, bail};

/// The test of the simulated machines.
const SIMULATED_MATRIX: &str = "verdicts_on_simulated_machines_with_a_known_fault";

/// Builds narrows and runs the cases of the matrix whose fault contains one of `faults`, or all without any and then the
/// simulated machines too; each prints what its cases came to.
///
/// # Errors
/// A build that fails, or cargo that cannot be started.
pub(super) fn run(faults: &[&str]) -> anyhow::Result<TaskOutcome> {
    let workspace = Workspace::load()?;
    build_release(&workspace)?;
    let words = ["test", "--locked", "-p", "narrows-lab", "--features", "matrix", "--test", "matrix"];
    let status = cargo(&workspace.root, &words)
        .args(["--", "--nocapture", "--test-threads=1"])
        .env("NARROWS_BIN", target_folder(&workspace).join("release/narrows"))
        .env("NARROWS_MATRIX_CASES", faults.join(";"))
        .status()
        .context("could not start cargo test")?;
    let simulated = !faults.is_empty() || simulate(&workspace)?;
    if status.success() && simulated {
        return Ok(TaskOutcome::Healthy);
    }
    output::complaint("lab diagnose: the matrix is below its limits, see above");
    Ok(TaskOutcome::ProblemsFound)
}

/// Measures 400 simulated machines with one known fault each, from a seed that no run had before; whether their verdicts are
/// good enough.
fn simulate(workspace: &Workspace) -> anyhow::Result<bool> {
    let since_epoch = narrows_sys::clock::wall_time().duration_since(std::time::UNIX_EPOCH);
    let seed = since_epoch.context("the clock is before 1970")?.as_secs();
    let words = ["test", "--release", "--locked", "-p", "narrows-analysis", "--lib", SIMULATED_MATRIX];
    let status = cargo(&workspace.root, &words)
        .args(["--", "--ignored", "--nocapture"])
        .env("NARROWS_MATRIX_SEED", seed.to_string())
        .status()
        .context("could not start cargo test")?;
    Ok(status.success())
}

/// Builds the program that campaigns are run with.
///
/// # Errors
/// A build that fails, or cargo that cannot be started.
pub(super) fn build_release(workspace: &Workspace) -> anyhow::Result<()> {
    let build = ["build", "--release", "--locked", "--quiet"];
    if !cargo(&workspace.root, &build).status().context("could not start cargo build")?.success() {
        bail!("cargo {} failed", build.join(" "));
    }
    Ok(())
}
