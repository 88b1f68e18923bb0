//! `cargo xtask check`: format, lints and tidy beside each other, then the reference, then documentation, up to the first
//! of the three parts in which something fails.
//!
//! It changes no file and runs no test.

use std::path::Path;
use std::process::Child;

use anyhow::Context;

use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, gen_docs, output, tidy};

/// Options of cargo that add what needs the MPI library of this machine.
const WITH_MPI: &[&str] = &["--features", "narrows-mpi/libmpi"];

/// One cargo command of the check.
struct CheckStep {
    name: &'static str,
    arguments: &'static [&'static str],
    /// What follows `--`, for the compiler.
    lints: &'static [&'static str],
    /// Whether it compiles, so that what needs MPI can be added.
    compiles: bool,
    environment: &'static [(&'static str, &'static str)],
    hint: &'static str,
}

const FORMAT: CheckStep = CheckStep {
    name: "fmt",
    arguments: &["fmt", "--all", "--check"],
    lints: &[],
    compiles: false,
    environment: &[],
    hint: "run `cargo fmt --all`",
};

const LINTS: CheckStep = CheckStep {
    name: "clippy",
    arguments: &["clippy", "--workspace", "--all-targets", "--locked", "--quiet"],
    lints: &["--", "-D", "warnings"],
    compiles: true,
    environment: &[],
    hint: "each message above names its file, its line and mostly its remedy",
};

const DOCUMENTATION: CheckStep = CheckStep {
    name: "doc",
    // Features that tests alone have are not switched on by this command.
    arguments: &[
        "doc",
        "--workspace",
        "--no-deps",
        "--locked",
        "--quiet",
        "--features=narrows-record/schemas",
    ],
    lints: &[],
    compiles: true,
    environment: &[("RUSTDOCFLAGS", "-D warnings")],
    hint: "mostly a link in a doc comment that names nothing",
};

/// What the check compiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckScope {
    /// What can be built everywhere.
    Everywhere,
    /// That, and what needs the MPI library of this machine.
    WithMpi,
}

/// Whether the workspace passes every step; what fails is printed.
///
/// # Errors
/// A step that could not be started.
pub(crate) fn run(scope: CheckScope) -> anyhow::Result<TaskOutcome> {
    let workspace = Workspace::load()?;
    // Beside each other: none needs what another makes, and once built each uses one processor.
    let format = start(&FORMAT, scope, &workspace.root)?;
    let lints = start(&LINTS, scope, &workspace.root)?;
    let tidied = tidy::report(&workspace);
    // Each is waited for, and reports what it found, before an error of another ends the check.
    let (is_formatted, is_linted) = (has_passed(&FORMAT, format), has_passed(&LINTS, lints));
    let is_tidy = tidied? == TaskOutcome::Healthy;
    if !is_tidy {
        output::complaint("check: tidy failed");
    }
    if !(is_formatted? && is_linted? && is_tidy) {
        return Ok(TaskOutcome::ProblemsFound);
    }
    let generated = gen_docs::generate(&workspace, gen_docs::DocsMode::Compare, features(scope))?;
    if generated != TaskOutcome::Healthy {
        output::complaint("check: gen-docs failed; run `cargo xtask gen-docs`");
        return Ok(TaskOutcome::ProblemsFound);
    }
    if !passes(&DOCUMENTATION, scope, &workspace.root)? {
        return Ok(TaskOutcome::ProblemsFound);
    }
    output::line("check: fmt, clippy, tidy, gen-docs and doc pass");
    Ok(TaskOutcome::Healthy)
}

/// Options of cargo for what compiles. Each step has the same: with others, most dependencies would be built once more.
fn features(scope: CheckScope) -> &'static [&'static str] {
    match scope {
        CheckScope::Everywhere => &[],
        CheckScope::WithMpi => WITH_MPI,
    }
}

fn passes(step: &CheckStep, scope: CheckScope, root: &Path) -> anyhow::Result<bool> {
    has_passed(step, start(step, scope, root)?)
}

fn start(step: &CheckStep, scope: CheckScope, root: &Path) -> anyhow::Result<Child> {
    let more = if step.compiles { features(scope) } else { &[] };
    cargo(root, &[step.arguments, more, step.lints].concat())
        .envs(step.environment.iter().copied())
        .spawn()
        .with_context(|| format!("could not start cargo {}", step.name))
}

/// Whether the command of a step, which was started, has passed; waits for its end.
fn has_passed(step: &CheckStep, mut started: Child) -> anyhow::Result<bool> {
    let status = started.wait().with_context(|| format!("could not wait for cargo {}", step.name))?;
    if !status.success() {
        output::complaint(&format!("check: {} failed ({status}); {}", step.name, step.hint));
    }
    Ok(status.success())
}
