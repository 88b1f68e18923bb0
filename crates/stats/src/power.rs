//! How large a difference between two groups of runs can be found, and how many runs a difference needs.
//!
//! It deliberately measures no variation: the standard deviation of a run is an argument.

use crate::error::StatsError;
use crate::student_t;

/// Probability with which a difference is found that is planned for.
pub const POWER: f64 = 0.8;
/// Two-sided level of the test.
pub const ALPHA: f64 = 0.05;
/// From so many runs a side on, their own spread is the measure of the variation.
pub const SPREAD_RUNS_MIN: u32 = 3;
/// Most runs a side that are looked for.
pub const RUNS_MAX: u32 = 10_000;

/// The variation from run to run as it was measured beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunDeviation {
    /// Standard deviation of one run.
    pub standard_deviation: f64,
    /// Degrees of freedom of it: runs - 1.
    pub degrees_of_freedom: f64,
}

/// The smallest difference of two means of `runs` runs each that a t test finds with probability [`POWER`] at level
/// [`ALPHA`].
///
/// # Units
/// Those of the standard deviation.
///
/// # Errors
/// [`StatsError::BadArgument`] for no runs, a deviation that is negative or not finite, or no degrees of freedom.
///
/// # Source
/// (t(v, 0.975) + t(v, 0.8)) s sqrt(2 / n), the usual approximation of the noncentral t distribution; v = 2 (n - 1)
/// from three runs on, and the measured deviation's with 2 (n - 1) more for one or two. Against the
/// noncentral t distribution integrated by `tests/known_answers/power.py`: within 0.5 % from n = 5 on, 1.2 % low at n = 3.
pub fn smallest_difference(spread: RunDeviation, runs: u32) -> Result<f64, StatsError> {
    let RunDeviation { standard_deviation, degrees_of_freedom } = spread;
    if runs == 0 || !(standard_deviation >= 0.0 && standard_deviation.is_finite()) {
        return Err(StatsError::BadArgument { requirement: "a run and a deviation that is not negative" });
    }
    let own = 2.0 * (f64::from(runs) - 1.0);
    let degrees = if runs >= SPREAD_RUNS_MIN { own } else { degrees_of_freedom + own };
    let factor = -student_t::quantile(ALPHA / 2.0, degrees)? + student_t::quantile(POWER, degrees)?;
    Ok(factor * standard_deviation * (2.0 / f64::from(runs)).sqrt())
}

/// The fewest runs a side with which a difference of `difference` is found as in [`smallest_difference`]; `None` beyond
/// [`RUNS_MAX`].
///
/// # Errors
/// Those of [`smallest_difference`], and a difference that is not above 0.
///
/// # Cost
/// About thirty evaluations: the bound doubles, then is halved.
///
/// # Source
/// As [`smallest_difference`]; for a difference of one deviation `tests/known_answers/power.py` gives n = 16.71, here 17.
pub fn runs_needed(spread: RunDeviation, difference: f64) -> Result<Option<u32>, StatsError> {
    if difference.is_nan() || difference <= 0.0 {
        return Err(StatsError::BadArgument { requirement: "a difference above 0" });
    }
    let finds = |runs: u32| smallest_difference(spread, runs).map(|smallest| smallest <= difference);
    let (mut too_few, mut enough) = (0, 1);
    while !finds(enough)? {
        if enough >= RUNS_MAX {
            return Ok(None);
        }
        (too_few, enough) = (enough, (enough * 2).min(RUNS_MAX));
    }
    while enough - too_few > 1 {
        let middle = enough.midpoint(too_few);
        if finds(middle)? { enough = middle } else { too_few = middle }
    }
    Ok(Some(enough))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(standard_deviation: f64) -> RunDeviation {
        RunDeviation { standard_deviation, degrees_of_freedom: 4.0 }
    }

    /// `smallest_difference(N)` of `tests/known_answers/power.py`, which integrates the noncentral t distribution.
    #[test]
    fn differences_are_those_of_the_noncentral_t() {
        for (runs, delta, off_ratio) in
            [(5, 2.024_441, 0.005), (10, 1.324_947, 0.002), (17, 0.991_006, 0.002)]
        {
            let found = smallest_difference(spread(1.0), runs).unwrap();
            assert!((found / delta - 1.0).abs() < off_ratio, "{runs}: {found}");
        }
    }

    /// `runs_needed(D)` of `tests/known_answers/power.py`: 16.71476 for 1, 63.76576 for 0.5.
    #[test]
    fn runs_are_those_of_the_noncentral_t() {
        assert_eq!(runs_needed(spread(1.0), 1.0).unwrap(), Some(17));
        assert_eq!(runs_needed(spread(1.0), 0.5).unwrap(), Some(64));
        assert_eq!(runs_needed(spread(0.0), 0.5).unwrap(), Some(1));
        assert_eq!(runs_needed(spread(1.0), 0.001).unwrap(), None);
    }

    #[test]
    fn one_pair_has_the_degrees_of_freedom_of_what_was_measured_before() {
        // (t(0.975, 4) + t(0.8, 4)) sqrt(2) = (2.776445 + 0.940965) 1.414214, `quantile` of `power.py`.
        let found = smallest_difference(spread(0.01), 1).unwrap();
        assert!((found - 0.052_572).abs() < 1e-5, "{found}");
    }

    #[test]
    fn arguments_without_a_meaning_are_refused() {
        assert!(smallest_difference(spread(1.0), 0).is_err());
        assert!(smallest_difference(spread(-1.0), 5).is_err());
        assert!(runs_needed(spread(1.0), 0.0).is_err());
    }
}
