//! `--fail-if`: conditions that end a command with exit code 1, checked before any load.

use crate::exit::CommandFailure;
use narrows_analysis::fail_if_problems;
use narrows_model::Plan;

/// A budget, in seconds, that leaves nothing out: a day.
pub(crate) const AMPLE_SECONDS: f64 = 86_400.0;

/// Adds the conditions `texts` to `plan`. A load that `plan` leaves out for want of time may be meant too, which is not measured
/// then: `ample` makes the plan that has time for all.
///
/// # Errors
/// All that is wrong with them at once, each with what is allowed.
pub(crate) fn set(
    plan: &mut Plan,
    texts: &[String],
    ample: impl FnOnce() -> Result<Plan, CommandFailure>,
) -> Result<(), CommandFailure> {
    let mut problems = fail_if_problems(texts, plan);
    if !problems.is_empty()
        && !plan.skipped.is_empty()
        && let Ok(ample) = ample()
    {
        problems = fail_if_problems(texts, &ample);
    }
    if problems.is_empty() {
        plan.fail_if = texts.to_vec();
        return Ok(());
    }
    Err(CommandFailure::bad_input(format!(
        "these conditions of --fail-if cannot be compared:\n  {}",
        problems.join("\n  ")
    )))
}
