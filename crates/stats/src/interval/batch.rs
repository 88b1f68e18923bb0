//! The interval of the mean of one correlated series, by batch means.
//!
//! It deliberately removes no warm-up (see [`crate::mser`]) and does not choose the number of batches.

use super::{Interval, IntervalMethod, Level, Spread, around};
use crate::autocorrelation::lag1_autocorrelation;
use crate::error::{StatsError, require_finite};
use crate::moments::{Moments, mean};

/// The mean of a series with its interval, and what tells whether the batches were long enough.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchMeans {
    /// The mean of the values used.
    pub mean: f64,
    /// The interval of the mean.
    pub interval: Interval,
    /// How many batches were made.
    pub batch_count: usize,
    /// How many consecutive values a batch holds.
    pub batch_len: usize,
    /// How many values at the start were left out to make the batches equally long.
    pub dropped_count: usize,
    /// Correlation of one batch mean with the next; `None` when the batch means do not vary.
    ///
    /// Uncorrelated batches give about -1/k ± 2/sqrt(k) for k batches; a value clearly above says that the interval
    /// is too narrow and the batches must be longer.
    pub batch_lag1: Option<f64>,
}

/// The mean of a series whose neighbours may be correlated, with its interval.
///
/// # Shape
/// In the order of measurement; at least two batches of one value. When the length is not a multiple of
/// `batch_count` the first values are left out, being the most likely to belong to a warm-up. A constant series
/// gives an interval of no width and no lag-1 correlation.
///
/// # Errors
/// [`StatsError::BadArgument`] for fewer than two batches, [`StatsError::TooFew`] for fewer values than batches,
/// [`StatsError::NotFinite`] for NaN or infinity.
///
/// # Source
/// Student's t on the k batch means; 10 to 30 batches lose little (Schmeiser, Operations Research 30, 1982). Assumes
/// a stationary series and batches long against the range of its correlation. Checked against `NumPy` and SciPy
/// (`intervals.json`), coverage in `tests/coverage.rs`.
pub fn batch_means(series: &[f64], batch_count: usize, level: Level) -> Result<BatchMeans, StatsError> {
    if batch_count < 2 {
        return Err(StatsError::BadArgument { requirement: "at least two batches are needed" });
    }
    require_finite(series.iter().copied(), batch_count)?;
    let batch_len = series.len() / batch_count;
    let dropped_count = series.len() - batch_len * batch_count;
    let means: Vec<f64> = series[dropped_count..].chunks_exact(batch_len).filter_map(mean).collect();
    let too_few = StatsError::TooFew { needed_count: batch_count, given_count: means.len() };
    let moments = Moments::of(&means).ok_or(too_few)?;
    let variance = moments.sample_variance().ok_or(too_few)?;
    let k = moments.count() as f64;
    let spread = Spread { standard_error: (variance / k).sqrt(), degrees_of_freedom: k - 1.0 };
    Ok(BatchMeans {
        mean: moments.mean(),
        interval: around(moments.mean(), spread, level, IntervalMethod::BatchMeans)?,
        batch_count,
        batch_len,
        dropped_count,
        batch_lag1: lag1_autocorrelation(&means),
    })
}
