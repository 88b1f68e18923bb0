//! Whether the last rounds of a run are steady, by the rule of the SNIA performance test specification.
//!
//! It deliberately runs no rounds and does no preconditioning, and it is a heuristic: combine it with an interval.

use crate::error::{StatsError, require_finite};
use crate::moments::Moments;
use crate::regression::{DataPoint, fit_line};

/// How many rounds the specification's window has.
pub const WINDOW_ROUNDS: usize = 5;
/// The largest range of the window over its mean that counts as steady, condition (a).
pub const RANGE_LIMIT_RATIO: f64 = 0.20;
/// The largest excursion of the fitted line over the mean that counts as steady, condition (b).
pub const DRIFT_LIMIT_RATIO: f64 = 0.10;

/// How far the rounds of a window spread and drift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowSteadiness {
    /// (largest - smallest) / mean, condition (a).
    pub range_ratio: f64,
    /// Rise or fall of the least-squares line over the window, over the mean, condition (b); zero or more.
    pub drift_ratio: f64,
}

impl WindowSteadiness {
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

    /// Whether both conditions are met.
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
pub fn assess_window(rounds: &[f64]) -> Result<WindowSteadiness, StatsError> {
    require_finite(rounds.iter().copied(), 2)?;
    let mean = Moments::from_values(rounds).map_or(0.0, |moments| moments.mean());
    if mean <= 0.0 {
        return Err(StatsError::Degenerate { reason: "the mean of the rounds is not above 0" });
    }
    let largest = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let points: Vec<DataPoint> =
        rounds.iter().enumerate().map(|(round_index, &y)| DataPoint { x: round_index as f64, y }).collect();
    let rise = fit_line(&points)?.slope * (rounds.len() - 1) as f64;
    Ok(WindowSteadiness { range_ratio: (largest - smallest) / mean, drift_ratio: rise.abs() / mean })
}

#[cfg(test)]
mod tests {
    use super::assess_window;
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
    fn windows_without_a_positive_mean_have_no_ratio() {
        assert!(matches!(assess_window(&[0.0; 5]), Err(StatsError::Degenerate { .. })));
        assert_eq!(assess_window(&[1.0]), Err(StatsError::TooFew { needed_count: 2, given_count: 1 }));
        assert_eq!(assess_window(&[1.0, f64::NAN]), Err(StatsError::NotFinite { value_index: 1 }));
    }
}
