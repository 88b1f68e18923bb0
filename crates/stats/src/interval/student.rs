//! Student's t interval of a mean.
//!
//! It deliberately does not test whether the values are independent: see [`crate::autocorrelation`].

use super::{ConfidenceInterval, IntervalMethod, Level};
use crate::error::{StatsError, require_finite};
use crate::moments::Moments;
use crate::student_t;

/// The interval of the mean of independent values, such as one figure for each of n runs.
///
/// # Shape
/// At least two finite values in any order. Equal values give an interval of no width: they show no spread, which
/// is not proof that there is none.
///
/// # Errors
/// [`StatsError::TooFew`] below two values, [`StatsError::NotFinite`] for NaN or infinity.
///
/// # Source
/// mean ± t(n-1, 1-a/2) · s / sqrt(n) (Student 1908). Assumes independent values from one distribution, normal or
/// with n large enough for the mean to be. Checked against `scipy.stats.t.interval` (`intervals.json`), coverage
/// in `tests/it/coverage.rs`.
pub fn student_interval(values: &[f64], level: Level) -> Result<ConfidenceInterval, StatsError> {
    require_finite(values.iter().copied(), 2)?;
    let moments = values.iter().fold(Moments::default(), |mut moments, &value| {
        moments.push(value);
        moments
    });
    let n = moments.count() as f64;
    let standard_error = (moments.squared_deviations() / (n - 1.0) / n).sqrt();
    let spread = EstimateSpread { standard_error, degrees_of_freedom: n - 1.0 };
    around(moments.mean(), spread, level, IntervalMethod::StudentT)
}

/// The uncertainty of an estimate whose error follows Student's law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EstimateSpread {
    pub(crate) standard_error: f64,
    pub(crate) degrees_of_freedom: f64,
}

/// estimate ± t · standard error.
pub(crate) fn around(
    estimate: f64,
    spread: EstimateSpread,
    level: Level,
    method: IntervalMethod,
) -> Result<ConfidenceInterval, StatsError> {
    // The lower quantile is taken because the tail itself is exact; 1 minus it is not.
    let factor = -student_t::quantile(level.upper_tail(), spread.degrees_of_freedom)?;
    let half_width = factor * spread.standard_error;
    Ok(ConfidenceInterval { low: estimate - half_width, high: estimate + half_width, level, method })
}
