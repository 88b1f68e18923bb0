//! The interval of the mean of one correlated series, by batch means.
//!
//! It deliberately removes no warm-up (see [`crate::mser`]).

use super::{ConfidenceInterval, EstimateSpread, IntervalMethod, Level, around};
use crate::autocorrelation::lag1_autocorrelation;
use crate::error::{StatsError, require_finite};
use crate::moments::{Moments, mean};

/// The mean of a series with its interval, and what shows whether the batches were long enough.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchMeans {
    /// The mean of the values used.
    pub mean: f64,
    /// The interval of the mean.
    pub interval: ConfidenceInterval,
    /// How many batches were made.
    pub batch_count: usize,
    /// How many consecutive values a batch contains.
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
/// (`intervals.json`), coverage in `tests/it/coverage.rs`.
pub fn batch_means(series: &[f64], batch_count: usize, level: Level) -> Result<BatchMeans, StatsError> {
    if batch_count < 2 {
        return Err(StatsError::BadArgument { requirement: "at least two batches are needed" });
    }
    require_finite(series.iter().copied(), batch_count)?;
    let batch_len = series.len() / batch_count;
    let dropped_count = series.len() - batch_len * batch_count;
    let means: Vec<f64> = series[dropped_count..].chunks_exact(batch_len).filter_map(mean).collect();
    let too_few = StatsError::TooFew { needed_count: batch_count, given_count: means.len() };
    let moments = Moments::from_values(&means).ok_or(too_few)?;
    let variance = moments.sample_variance().ok_or(too_few)?;
    let k = moments.count() as f64;
    let spread = EstimateSpread { standard_error: (variance / k).sqrt(), degrees_of_freedom: k - 1.0 };
    Ok(BatchMeans {
        mean: moments.mean(),
        interval: around(moments.mean(), spread, level, IntervalMethod::BatchMeans)?,
        batch_count,
        batch_len,
        dropped_count,
        batch_lag1: lag1_autocorrelation(&means),
    })
}

/// The numbers of batches that are tried, the most first: ten to thirty lose little (Schmeiser 1982), and below ten the
/// correlation of the batches cannot be assessed.
const BATCH_COUNTS: [usize; 5] = [30, 25, 20, 15, 10];
/// Standard errors above its expectation up to which the batches' lag-1 correlation counts as small: one, because a
/// correlation that is missed narrows the interval, while one that is seen wrongly only costs batches.
const LAG1_LIMIT: f64 = 1.0;

/// The mean of a series with its interval, in the most batches, ten to thirty, whose means are not correlated; `None`
/// where the means of ten batches still are, which the series is too short for.
///
/// # Shape
/// As [`batch_means`]; at least two values a batch, so twenty in all.
///
/// # Errors
/// [`StatsError::TooFew`] below twenty values, [`StatsError::NotFinite`] for NaN or infinity.
///
/// # Source
/// As [`batch_means`]; batches are lengthened until their lag-1 correlation r1 satisfies r1 + 1/k <= 1/sqrt(k) (Law and
/// Carson, Operations Research 27, 1979, in the spirit of: -1/k is what independent means give, 1/sqrt(k) its standard
/// error). Coverage on independent and on autoregressive series in `tests/it/coverage.rs`.
pub fn uncorrelated_batch_means(series: &[f64], level: Level) -> Result<Option<BatchMeans>, StatsError> {
    let fewest = BATCH_COUNTS[BATCH_COUNTS.len() - 1];
    require_finite(series.iter().copied(), 2 * fewest)?;
    for batch_count in BATCH_COUNTS.into_iter().filter(|count| 2 * count <= series.len()) {
        let found = batch_means(series, batch_count, level)?;
        let k = batch_count as f64;
        if found.batch_lag1.is_none_or(|lag1| lag1 + 1.0 / k <= LAG1_LIMIT / k.sqrt()) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
