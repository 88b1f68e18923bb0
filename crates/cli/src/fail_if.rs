//! `--fail-if`: conditions that end a command with exit code 1, checked before any load.

use crate::exit::CommandFailure;
use narrows_analysis::fail_if_problems;
use narrows_model::Plan;

/// Adds the conditions `texts` to `plan`.
///
/// # Errors
/// All that is wrong with them at once, each with what is allowed.
pub(crate) fn set(plan: &mut Plan, texts: &[String]) -> Result<(), CommandFailure> {
    let problems = fail_if_problems(texts, plan);
    if problems.is_empty() {
        plan.fail_if = texts.to_vec();
        return Ok(());
    }
    Err(CommandFailure::bad_input(format!(
        "these conditions of --fail-if cannot be compared:\n  {}",
        problems.join("\n  ")
    )))
}
