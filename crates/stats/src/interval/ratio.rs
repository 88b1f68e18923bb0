//! The interval of a ratio of two sums, such as all bytes over all time.
//!
//! It deliberately is not that of the mean of the single ratios, which weighs every one alike.

use super::{ConfidenceInterval, EstimateSpread, IntervalMethod, Level, around};
use crate::error::{StatsError, require_finite};
use crate::moments::mean;

/// A part of both sums: what one of n independent runs adds to each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioTerm {
    /// What it adds to the upper sum.
    pub over: f64,
    /// What it adds to the lower sum.
    pub under: f64,
}

/// The interval of the sum of `over` divided by the sum of `under`.
///
/// # Shape
/// At least two shares, finite, each `under` above 0. Shares in one proportion give an interval of no width.
///
/// # Errors
/// [`StatsError::TooFew`] below two shares, [`StatsError::NotFinite`] for NaN or infinity (the index is that of the
/// share), [`StatsError::OutOfRange`] for an `under` that is not above 0.
///
/// # Source
/// The ratio estimator (Cochran, Sampling Techniques, chapter 6): R = sum(y) / sum(x), and by the delta method
/// se(R)² = sum((y - R x)²) / (n (n - 1)) / mean(x)²; t with n - 1 degrees of freedom. Assumes independent shares; biased
/// by the order of 1/n. Checked against the gradient and the covariance matrix of `NumPy` and `scipy.stats.t`
/// (`ratio.json`), coverage in `tests/it/coverage.rs`.
pub fn ratio_interval(shares: &[RatioTerm], level: Level) -> Result<ConfidenceInterval, StatsError> {
    let values = shares.iter().map(|share| if share.over.is_finite() { share.under } else { share.over });
    require_finite(values, 2)?;
    if let Some(value_index) = shares.iter().position(|share| share.under <= 0.0) {
        let requirement = "the divisor of a ratio must be above 0";
        return Err(StatsError::OutOfRange { value_index, requirement });
    }
    let n = shares.len() as f64;
    let under: Vec<f64> = shares.iter().map(|share| share.under).collect();
    let over: Vec<f64> = shares.iter().map(|share| share.over).collect();
    let none = StatsError::TooFew { needed_count: 2, given_count: 0 };
    let (mean_under, mean_over) = (mean(&under).ok_or(none)?, mean(&over).ok_or(none)?);
    let ratio = mean_over / mean_under;
    let squares: f64 = shares.iter().map(|share| (share.over - ratio * share.under).powi(2)).sum();
    let standard_error = (squares / (n * (n - 1.0))).sqrt() / mean_under;
    let spread = EstimateSpread { standard_error, degrees_of_freedom: n - 1.0 };
    around(ratio, spread, level, IntervalMethod::Delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(pairs: &[(f64, f64)]) -> Vec<RatioTerm> {
        pairs.iter().map(|&(over, under)| RatioTerm { over, under }).collect()
    }

    #[test]
    fn shares_in_one_proportion_leave_no_width() {
        let found = ratio_interval(&shares(&[(2.0, 1.0), (4.0, 2.0), (10.0, 5.0)]), Level::P95).unwrap();
        assert_eq!((found.low, found.high, found.method), (2.0, 2.0, IntervalMethod::Delta));
    }

    #[test]
    fn the_slow_run_weighs_by_its_time() {
        // 48 MiB in 1 s and in 3 s: 24 MiB/s, where the mean of the rates is 32.
        let found = ratio_interval(&shares(&[(48.0, 1.0), (48.0, 3.0)]), Level::P95).unwrap();
        assert!((f64::midpoint(found.low, found.high) - 24.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn what_cannot_be_divided_is_named() {
        let one = ratio_interval(&shares(&[(1.0, 1.0)]), Level::P95);
        assert_eq!(one, Err(StatsError::TooFew { needed_count: 2, given_count: 1 }));
        let zero = ratio_interval(&shares(&[(1.0, 1.0), (1.0, 0.0)]), Level::P95);
        assert!(matches!(zero, Err(StatsError::OutOfRange { value_index: 1, .. })));
        let nan = ratio_interval(&shares(&[(f64::NAN, 1.0), (1.0, 1.0)]), Level::P95);
        assert_eq!(nan, Err(StatsError::NotFinite { value_index: 0 }));
    }
}
