//! `cargo xtask gen-docs`: the pages of `docs/reference` from the registries, written or compared.
//!
//! The pages are made by the example `reference` of the crate `narrows`, which may see the registries; this crate
//! depends on no other. The schemas beside them have an example of their own in `narrows-record`.

use std::path::Path;

use anyhow::{Context, bail};

use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, output};

const WRITE: &[&str] = &["run", "--quiet", "--locked", "--package", "narrows", "--example", "reference"];
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
    let outcome = generate(&Workspace::load()?.root, mode)?;
    if outcome == TaskOutcome::Healthy {
        output::line(match mode {
            DocsMode::Write => "gen-docs: docs/reference is written",
            DocsMode::Compare => "gen-docs: docs/reference is that of the registries",
        });
    }
    Ok(outcome)
}

/// As [`run`], without a word when all is well.
///
/// # Errors
/// As [`run`].
pub(crate) fn generate(root: &Path, mode: DocsMode) -> anyhow::Result<TaskOutcome> {
    let status = cargo(root, &arguments(mode)).status().context("could not start cargo run")?;
    outcome(status.code())
}

fn arguments(mode: DocsMode) -> Vec<&'static str> {
    let check: &[&str] = match mode {
        DocsMode::Write => &[],
        DocsMode::Compare => &["--", "--check"],
    };
    WRITE.iter().chain(check).copied().collect()
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
        assert!(arguments(DocsMode::Compare).ends_with(&["--", "--check"]));
        assert!(!arguments(DocsMode::Write).contains(&"--check"));
    }

    #[test]
    fn pages_that_differ_are_problems_and_a_generator_that_fails_is_an_error() {
        assert_eq!(outcome(Some(0)).unwrap(), TaskOutcome::Healthy);
        assert_eq!(outcome(Some(1)).unwrap(), TaskOutcome::ProblemsFound);
        assert!(outcome(Some(101)).is_err() && outcome(None).is_err());
    }
}
