//! How often to repeat: how narrow the interval of the mean is, and how many runs make it narrow enough.
//!
//! It deliberately runs nothing; the steady rule over rounds is [`crate::steady`]'s.

use crate::error::{StatsError, require_finite};
use crate::interval::{Level, student_interval};
use crate::moments::Moments;
use crate::student_t;

/// Most runs worth planning: beyond, the environment has to be found out, not averaged.
const RUNS_LIMIT: usize = 100_000;

/// Half of the width of the t-interval of the mean over that mean.
///
/// # Shape
/// One figure for each independent run, at least two.
///
/// # Errors
/// As [`student_interval`], and [`StatsError::Degenerate`] for a mean of zero.
///
/// # Source
/// t(n-1, 1-a/2) · s / (sqrt(n) · |mean|). Checked against `SciPy` (`repetition.json`).
pub fn relative_half_width(runs: &[f64], level: Level) -> Result<f64, StatsError> {
    let interval = student_interval(runs, level)?;
    interval.relative_half_width().ok_or(StatsError::Degenerate { reason: "the mean is zero" })
}

/// How many runs in all make the relative half-width at most `target_ratio`, judged by the spread so far: never fewer
/// than were made.
///
/// # Shape
/// As [`relative_half_width`]; a spread from few runs is itself uncertain, so ask again after every run.
///
/// # Errors
/// As [`relative_half_width`]; [`StatsError::BadArgument`] for a target that is not above 0;
/// [`StatsError::NoConvergence`] where 100 000 runs would not do.
///
/// # Source
/// The smallest n with t(n-1, 1-a/2) · s / (sqrt(n) · |mean|) <= target (Jain, The Art of Computer Systems Performance
/// Analysis, 1991, chapter 13), with the quantile of that n. Checked against `SciPy` (`repetition.json`).
pub fn runs_needed(runs: &[f64], target_ratio: f64, level: Level) -> Result<usize, StatsError> {
    if !(target_ratio > 0.0 && target_ratio.is_finite()) {
        return Err(StatsError::BadArgument { requirement: "the target must be above 0" });
    }
    require_finite(runs.iter().copied(), 2)?;
    let zero = StatsError::Degenerate { reason: "the mean is zero" };
    let spread = Moments::of(runs).and_then(|moments| moments.coefficient_of_variation()).ok_or(zero)?;
    let narrow = |count: usize| -> Result<bool, StatsError> {
        let factor = -student_t::quantile(level.upper_tail(), (count - 1) as f64)?;
        Ok(factor * spread / (count as f64).sqrt() <= target_ratio)
    };
    if !narrow(RUNS_LIMIT)? {
        return Err(StatsError::NoConvergence { iteration_count: RUNS_LIMIT });
    }
    let (mut low, mut high) = (runs.len(), RUNS_LIMIT.max(runs.len()));
    while low < high {
        let middle = low + (high - low) / 2;
        if narrow(middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::{relative_half_width, runs_needed};
    use crate::error::StatsError;
    use crate::interval::Level;

    #[test]
    fn equal_runs_need_no_more() {
        assert_eq!(relative_half_width(&[7.0; 3], Level::P95), Ok(0.0));
        assert_eq!(runs_needed(&[7.0; 3], 0.01, Level::P95), Ok(3));
    }

    #[test]
    fn a_target_out_of_reach_is_said() {
        let outcome = runs_needed(&[1.0, 100.0], 1e-6, Level::P99);
        assert!(matches!(outcome, Err(StatsError::NoConvergence { .. })));
    }

    #[test]
    fn input_without_a_ratio_is_named() {
        assert!(matches!(relative_half_width(&[1.0], Level::P95), Err(StatsError::TooFew { .. })));
        assert!(matches!(relative_half_width(&[0.0, 0.0], Level::P95), Err(StatsError::Degenerate { .. })));
        assert!(matches!(runs_needed(&[0.0, 0.0], 0.1, Level::P95), Err(StatsError::Degenerate { .. })));
        assert!(matches!(runs_needed(&[1.0, 2.0], 0.0, Level::P95), Err(StatsError::BadArgument { .. })));
    }
}
