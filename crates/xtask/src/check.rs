//! `cargo xtask check`: format, lints, tidy, the reference and documentation, in this order, up to the first that fails.
//!
//! It changes no file and runs no test.

use std::path::Path;

use anyhow::Context;

use crate::workspace::{Workspace, cargo};
use crate::{Outcome, gen_docs, output, tidy};

/// One cargo command of the check.
struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    hint: &'static str,
}

const FORMAT: Step = Step {
    name: "fmt",
    arguments: &["fmt", "--all", "--check"],
    environment: &[],
    hint: "run `cargo fmt --all`",
};

const LINTS: Step = Step {
    name: "clippy",
    arguments: &["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"],
    environment: &[],
    hint: "each message above names its file, its line and mostly its remedy",
};

const DOCUMENTATION: Step = Step {
    name: "doc",
    arguments: &["doc", "--workspace", "--no-deps", "--locked", "--quiet"],
    environment: &[("RUSTDOCFLAGS", "-D warnings")],
    hint: "mostly a link in a doc comment that names nothing",
};

/// Whether the workspace passes every step; what fails is printed.
///
/// # Errors
/// A step that could not be started.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    let workspace = Workspace::load()?;
    for step in [&FORMAT, &LINTS] {
        if !passes(step, &workspace.root)? {
            return Ok(Outcome::ProblemsFound);
        }
    }
    if tidy::report(&workspace)? != Outcome::Healthy {
        output::complaint("check: tidy failed");
        return Ok(Outcome::ProblemsFound);
    }
    if gen_docs::generate(&workspace.root, gen_docs::Mode::Compare)? != Outcome::Healthy {
        output::complaint("check: gen-docs failed; run `cargo xtask gen-docs`");
        return Ok(Outcome::ProblemsFound);
    }
    if !passes(&DOCUMENTATION, &workspace.root)? {
        return Ok(Outcome::ProblemsFound);
    }
    output::line("check: fmt, clippy, tidy, gen-docs and doc pass");
    Ok(Outcome::Healthy)
}

fn passes(step: &Step, root: &Path) -> anyhow::Result<bool> {
    let status = cargo(root, step.arguments)
        .envs(step.environment.iter().copied())
        .status()
        .with_context(|| format!("could not start cargo {}", step.name))?;
    if !status.success() {
        output::complaint(&format!("check: {} failed ({status}); {}", step.name, step.hint));
    }
    Ok(status.success())
}
