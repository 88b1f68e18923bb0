//! `cargo xtask gen-docs`: the pages of `docs/reference` from the registries, written or compared.
//!
//! The pages are made by the example `reference` of the crate `narrows`, which may see the registries; this crate
//! depends on no other. The schemas beside them have an example of their own in `narrows-record`.

use std::process::Command;

use anyhow::{Context, bail};

use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, output};

/// Built for the whole workspace, as the tests are: with other packages selected, the features of shared crates differ, and
/// the whole program would be built once more.
const BUILD: &[&str] = &["build", "--quiet", "--locked", "--workspace", "--example", "reference"];
/// Exit code of the example when a page differs.
const DIFFERS: i32 = 1;

/// What to do with the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocsMode {
    Write,
    Compare,
}

/// Writes the pages, or says which of them differ from the registries.
///
/// # Errors
/// A generator that could not be built or started.
pub(crate) fn run(mode: DocsMode) -> anyhow::Result<TaskOutcome> {
    let outcome = generate(&Workspace::load()?, mode, &[])?;
    if outcome == TaskOutcome::Healthy {
        output::line(match mode {
            DocsMode::Write => "gen-docs: docs/reference is written",
            DocsMode::Compare => "gen-docs: docs/reference is that of the registries",
        });
    }
    Ok(outcome)
}

/// As [`run`], without a word when all is well; `features` are options of cargo, those of the builds that come after it.
///
/// # Errors
/// As [`run`].
pub(crate) fn generate(
    workspace: &Workspace,
    mode: DocsMode,
    features: &[&str],
) -> anyhow::Result<TaskOutcome> {
    let built = cargo(&workspace.root, &[BUILD, features].concat()).status();
    let built = built.context("could not start cargo build")?;
    if !built.success() {
        bail!("the generator of docs/reference was not built; the messages above say why");
    }
    let program = workspace.metadata.target_directory.join("debug/examples/reference");
    let mut command = Command::new(&program);
    command.args(arguments(mode)).current_dir(&workspace.root);
    let status = command.status().with_context(|| format!("could not start {program}"))?;
    outcome(status.code())
}

fn arguments(mode: DocsMode) -> &'static [&'static str] {
    match mode {
        DocsMode::Write => &[],
        DocsMode::Compare => &["--check"],
    }
}

fn outcome(code: Option<i32>) -> anyhow::Result<TaskOutcome> {
    match code {
        Some(0) => Ok(TaskOutcome::Healthy),
        Some(DIFFERS) => Ok(TaskOutcome::ProblemsFound),
        Some(other) => {
            bail!("the generator of docs/reference ended with exit code {other}; its message is above")
        }
        None => bail!("the generator of docs/reference was ended by a signal"),
    }
}

#[cfg(test)]
mod tests {
    use super::{DocsMode, arguments, outcome};
    use crate::TaskOutcome;

    #[test]
    fn only_a_comparison_asks_for_one() {
        assert_eq!(arguments(DocsMode::Compare), ["--check"]);
        assert!(arguments(DocsMode::Write).is_empty());
    }

    #[test]
    fn pages_that_differ_are_problems_and_a_generator_that_fails_is_an_error() {
        assert_eq!(outcome(Some(0)).unwrap(), TaskOutcome::Healthy);
        assert_eq!(outcome(Some(1)).unwrap(), TaskOutcome::ProblemsFound);
        assert!(outcome(Some(101)).is_err() && outcome(None).is_err());
    }
}
