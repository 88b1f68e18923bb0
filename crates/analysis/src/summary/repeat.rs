//! Whether the repetitions of a cell reached their goal: evaluated again from the trials, as the run did.

use super::rates::trial_rates;
use crate::collect::{CellData, TrialTotals};
use narrows_model::Repeat;
use narrows_model::summary::RepeatOutcome;
use narrows_stats::interval::{Level, student_interval};
use narrows_stats::steady::{WindowSteadiness, assess_window};

/// Rates of the whole trials, in their order.
pub(super) fn whole_rates(data: &CellData) -> Vec<f64> {
    data.trials.values().filter_map(TrialTotals::whole_rate).collect()
}

/// What the repetitions reached.
pub(super) fn outcome(data: &CellData) -> RepeatOutcome {
    let rates = whole_rates(data);
    let rule = data.cell.repeat;
    let level = match rule {
        Repeat::UntilInterval { level, .. } => Level::new(level).unwrap_or(Level::P95),
        Repeat::Fixed | Repeat::UntilSteady { .. } => Level::P95,
    };
    let half_width_ratio =
        student_interval(&rates, level).ok().and_then(|interval| interval.relative_half_width());
    let reached = match rule {
        Repeat::Fixed => None,
        Repeat::UntilInterval { half_width_ratio: wanted, trials_min, .. } => {
            let enough = rates.len() as u64 >= u64::from(trials_min);
            Some(enough && half_width_ratio.is_some_and(|found| found <= wanted))
        }
        Repeat::UntilSteady { window_trials } => {
            Some(last_rounds(&rates, window_trials).is_some_and(|found| found.is_steady()))
        }
    };
    RepeatOutcome {
        rule,
        trial_count: (rates.len() + data.before.values().filter_map(TrialTotals::whole_rate).count()) as u64,
        trials_max: u64::from(data.cell.trials),
        half_width_ratio,
        trials_before: data.before.values().filter_map(trial_rates).collect(),
        reached,
    }
}

/// How steady the last `window_trials` trials are; `None` where there are fewer.
pub(super) fn last_rounds(rates: &[f64], window_trials: u32) -> Option<WindowSteadiness> {
    let window = usize::try_from(window_trials).ok()?;
    let start = rates.len().checked_sub(window)?;
    assess_window(rates.get(start..)?).ok()
}
