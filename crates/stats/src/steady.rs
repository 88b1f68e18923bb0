//! Whether the last rounds of a run are steady, by the rule of the SNIA performance test specification.
//!
//! It deliberately runs no rounds and does no preconditioning, and it is a heuristic: combine it with an interval.

use crate::error::{StatsError, require_finite};
use crate::moments::Moments;
use crate::regression::{Point, fit_line};

/// How many rounds the specification's window holds.
pub const WINDOW_ROUNDS: usize = 5;
/// After how many rounds the specification gives up.
pub const ROUND_LIMIT: usize = 25;
/// The largest range of the window over its mean that counts as steady, condition (a).
pub const RANGE_LIMIT_RATIO: f64 = 0.20;
/// The largest excursion of the fitted line over the mean that counts as steady, condition (b).
pub const DRIFT_LIMIT_RATIO: f64 = 0.10;

/// How far the rounds of a window spread and drift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// (largest - smallest) / mean, condition (a).
    pub range_ratio: f64,
    /// Rise or fall of the least-squares line over the window, over the mean, condition (b); zero or more.
    pub drift_ratio: f64,
}

impl Steadiness {
    /// Whether the spread satisfies condition (a).
    #[must_use]
    pub fn range_holds(&self) -> bool {
        self.range_ratio <= RANGE_LIMIT_RATIO
    }

    /// Whether the drift satisfies condition (b).
    #[must_use]
    pub fn drift_holds(&self) -> bool {
        self.drift_ratio <= DRIFT_LIMIT_RATIO
    }

    /// Whether both conditions hold.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.range_holds() && self.drift_holds()
    }
}

/// How steady the rounds of one window are.
///
/// # Shape
/// One value for each round in the order of measurement, at least two, usually [`WINDOW_ROUNDS`]; equal values have neither
/// range nor drift.
///
/// # Errors
/// [`StatsError::TooFew`] below two rounds, [`StatsError::NotFinite`] for NaN or infinity,
/// [`StatsError::Degenerate`] when the mean is not above 0.
///
/// # Source
/// SNIA SSS-PTS 2.0.2, definition 2.1.24: (a) max(y) - min(y) <= 0.20 · mean(y), and (b) |slope| · (n - 1) <=
/// 0.10 · mean(y). Assumes evenly spaced rounds. Checked against `NumPy` (`steady.json`).
pub fn assess_window(rounds: &[f64]) -> Result<Steadiness, StatsError> {
    require_finite(rounds.iter().copied(), 2)?;
    let mean = Moments::of(rounds).map_or(0.0, |moments| moments.mean());
    if mean <= 0.0 {
        return Err(StatsError::Degenerate { reason: "the mean of the rounds is not above 0" });
    }
    let largest = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let points: Vec<Point> =
        rounds.iter().enumerate().map(|(round_index, &y)| Point { x: round_index as f64, y }).collect();
    let rise = fit_line(&points)?.slope * (rounds.len() - 1) as f64;
    Ok(Steadiness { range_ratio: (largest - smallest) / mean, drift_ratio: rise.abs() / mean })
}

/// After how many rounds the last [`WINDOW_ROUNDS`] were first steady, within [`ROUND_LIMIT`] rounds.
///
/// # Shape
/// One value for each round from the first on. `Ok(None)` when no window is steady, also for fewer than five rounds. Windows
/// whose mean is not above 0 are not steady.
///
/// # Errors
/// [`StatsError::NotFinite`] for NaN or infinity in any round.
///
/// # Source
/// As [`assess_window`]; the specification looks at the window after every round.
pub fn rounds_until_steady(rounds: &[f64]) -> Result<Option<usize>, StatsError> {
    require_finite(rounds.iter().copied(), 0)?;
    let considered = &rounds[..rounds.len().min(ROUND_LIMIT)];
    let steady_index = considered
        .windows(WINDOW_ROUNDS)
        .position(|window| assess_window(window).is_ok_and(|steadiness| steadiness.is_steady()));
    Ok(steady_index.map(|window_index| window_index + WINDOW_ROUNDS))
}

#[cfg(test)]
mod tests {
    use super::{assess_window, rounds_until_steady};
    use crate::error::StatsError;

    #[test]
    fn equal_rounds_are_steady() {
        let steadiness = assess_window(&[100.0; 5]).unwrap();
        assert_eq!((steadiness.range_ratio, steadiness.drift_ratio), (0.0, 0.0));
        assert!(steadiness.is_steady());
    }

    #[test]
    fn a_wide_but_level_window_fails_the_range_alone() {
        let steadiness = assess_window(&[100.0, 115.0, 90.0, 115.0, 100.0]).unwrap();
        assert!(!steadiness.range_holds() && steadiness.drift_holds() && !steadiness.is_steady());
    }

    #[test]
    fn a_narrow_but_sloping_window_fails_the_drift_alone() {
        let steadiness = assess_window(&[94.0, 97.0, 100.0, 103.0, 106.0]).unwrap();
        assert!(steadiness.range_holds() && !steadiness.drift_holds() && !steadiness.is_steady());
    }

    #[test]
    fn the_first_steady_window_ends_the_rounds() {
        let rounds = [10.0, 50.0, 80.0, 100.0, 100.0, 101.0, 99.0, 100.0, 100.0];
        assert_eq!(rounds_until_steady(&rounds), Ok(Some(8)));
        assert_eq!(rounds_until_steady(&rounds[..4]), Ok(None));
    }

    #[test]
    fn steadiness_after_the_last_allowed_round_does_not_count() {
        let mut rounds: Vec<f64> = (0..23).map(|i| if i % 2 == 0 { 1.0 } else { 2.0 }).collect();
        rounds.extend([5.0; 10]);
        assert_eq!(rounds_until_steady(&rounds), Ok(None));
    }

    #[test]
    fn windows_without_a_positive_mean_have_no_ratio() {
        assert!(matches!(assess_window(&[0.0; 5]), Err(StatsError::Degenerate { .. })));
        assert_eq!(assess_window(&[1.0]), Err(StatsError::TooFew { needed_count: 2, given_count: 1 }));
        assert_eq!(rounds_until_steady(&[1.0, f64::NAN]), Err(StatsError::NotFinite { value_index: 1 }));
    }
}
