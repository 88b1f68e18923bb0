//! The interval of the mean of one correlated series, by resampling blocks of it.
//!
//! It deliberately removes no warm-up (see [`crate::mser`]), and serves the mean alone.

use super::{ConfidenceInterval, IntervalMethod, Level};
use crate::error::{StatsError, require_finite};
use crate::index::floor_index;
use crate::moments::Moments;
use crate::normal;
use crate::quantile::quantile_of_sorted;
use crate::resample::{BootstrapPlan, Resampler};
use crate::student_t;

/// Fewest values from which the length of blocks can be chosen.
const VALUES_MIN: usize = 10;

/// The length of blocks that makes the circular block bootstrap of the mean most exact.
///
/// # Shape
/// At least ten finite values in the order of measurement; 1 for a series that does not vary or whose
/// neighbours are not correlated, at most min(3 sqrt(n), n / 3).
///
/// # Errors
/// [`StatsError::TooFew`], [`StatsError::NotFinite`].
///
/// # Cost
/// O(n) for each lag looked at, some ten as a rule, at most sqrt(n) + 5.
///
/// # Source
/// Politis and White, Econometric Reviews 23 (2004), as corrected by Patton, Politis and White, same journal 28 (2009):
/// b = (2 G² / D)^(1/3) n^(1/3), D = 4/3 g(0)², G = sum of lambda(k/M) |k| R(k), g(0) = sum of lambda(k/M) R(k), lambda the
/// flat-top window, M twice the last lag whose correlation matters. Checked against the Python package `arch`
/// (`block_bootstrap.json`).
pub fn optimal_block_len(series: &[f64]) -> Result<f64, StatsError> {
    require_finite(series.iter().copied(), VALUES_MIN)?;
    let n = series.len() as f64;
    let Some(centred) = centred(series) else { return Ok(1.0) };
    let longest = (3.0 * n.sqrt()).min(n / 3.0).ceil();
    let run = floor_index(n.log10().sqrt().max(5.0).ceil(), series.len()).max(5);
    let lags_max = (floor_index(n.sqrt().ceil(), series.len()) + run).min(series.len() - 2);
    let covariances: Vec<f64> = (0..=lags_max).map(|lag| autocovariance(&centred, lag)).collect();
    let reach = (2 * last_lag_that_matters(&covariances, series.len(), run)).min(lags_max);
    let (mut spread, mut slope) = (covariances[0], 0.0);
    for (lag, covariance) in covariances.iter().enumerate().take(reach + 1).skip(1) {
        let weighted = 2.0 * flat_top(lag as f64 / reach as f64) * covariance;
        spread += weighted;
        slope += lag as f64 * weighted;
    }
    let denominator = 4.0 / 3.0 * spread * spread;
    let length = (2.0 * slope * slope / denominator * n).cbrt();
    Ok(if length.is_finite() { length.clamp(1.0, longest.max(1.0)) } else { 1.0 })
}

/// The series less its mean; `None` where nothing is left.
fn centred(series: &[f64]) -> Option<Vec<f64>> {
    let moments = Moments::from_values(series)?;
    (moments.squared_deviations() > 0.0).then(|| series.iter().map(|value| value - moments.mean()).collect())
}

fn autocovariance(centred: &[f64], lag: usize) -> f64 {
    let pairs = centred.iter().zip(centred.get(lag..).unwrap_or(&[]));
    pairs.map(|(a, b)| a * b).sum::<f64>() / centred.len() as f64
}

/// The lag after which `run` lags in a row do not matter; else the last one that does; else the last one looked at.
fn last_lag_that_matters(covariances: &[f64], count: usize, run: usize) -> usize {
    let n = count as f64;
    let bound = 2.0 * (n.log10() / n).sqrt() * covariances[0];
    let matters: Vec<bool> = covariances[1..].iter().map(|covariance| covariance.abs() > bound).collect();
    let quiet = matters.windows(run).position(|window| window.iter().all(|matters| !matters));
    let last = || matters.iter().rposition(|&matters| matters).map_or(0, |index| index + 1);
    quiet.unwrap_or_else(last).max(1)
}

/// 1 up to one half, then falling to 0 at 1.
fn flat_top(x: f64) -> f64 {
    if x <= 0.5 { 1.0 } else { (2.0 * (1.0 - x)).max(0.0) }
}

/// The interval of the mean of a series whose neighbours may be correlated, over resamples made of blocks of it.
///
/// # Shape
/// At least ten finite values in the order of measurement. A constant series gives an interval of no width.
///
/// # Errors
/// [`StatsError::TooFew`], [`StatsError::NotFinite`], and [`StatsError::BadArgument`] for too few resamples.
///
/// # Cost
/// `resample_count` means of n values.
///
/// # Source
/// The circular block bootstrap of Politis and Romano (1992): blocks start anywhere and go on at the start of the series;
/// their length is that of [`optimal_block_len`], rounded up. The interval is mean ± the quantile of the resampled
/// means' distances from it. That is widened twice, because few blocks show too little: by sqrt(n / (n - b)) for the
/// variation that blocks of length b lose to the mean, and by Student's quantile of n/b - 1 degrees of freedom over the
/// normal one. Assumes a stationary series that is long against its correlation; coverage, below the level for short
/// series, in `tests/it/coverage.rs`.
pub fn block_bootstrap(series: &[f64], plan: BootstrapPlan) -> Result<ConfidenceInterval, StatsError> {
    let plan = plan.checked()?;
    let n = series.len();
    let block_len = floor_index(optimal_block_len(series)?.ceil(), n).max(1);
    let undefined = StatsError::Degenerate { reason: "the series has no mean" };
    let mean = Moments::from_values(series).ok_or(undefined)?.mean();
    let sums = circular_sums(series, block_len, mean);
    let rest = n % block_len;
    let rests = circular_sums(series, rest, mean);
    let mut resampler = Resampler::new(plan.seed);
    let mut distances = Vec::with_capacity(plan.resample_count);
    for _ in 0..plan.resample_count {
        let mut sum = 0.0;
        for _ in 0..n / block_len {
            sum += resampler.index_below(n).and_then(|start| sums.get(start)).ok_or(undefined)?;
        }
        if rest > 0 {
            sum += resampler.index_below(n).and_then(|start| rests.get(start)).ok_or(undefined)?;
        }
        distances.push(sum.abs() / n as f64);
    }
    distances.sort_unstable_by(f64::total_cmp);
    let half_width = quantile_of_sorted(&distances, plan.level.ratio()).ok_or(undefined)?
        * widening(n as f64, block_len as f64, plan.level)?;
    Ok(ConfidenceInterval {
        low: mean - half_width,
        high: mean + half_width,
        level: plan.level,
        method: IntervalMethod::BlockBootstrap,
    })
}

/// What blocks of this length cannot show of the mean's spread.
fn widening(n: f64, block_len: f64, level: Level) -> Result<f64, StatsError> {
    let few = student_t::quantile(level.upper_tail(), (n / block_len - 1.0).max(1.0))?;
    let many = normal::quantile(level.upper_tail())?;
    Ok((n / (n - block_len).max(1.0)).sqrt() * few / many)
}

/// For every start, the sum of the deviations from `mean` of as many values as a block has, continued at the start.
fn circular_sums(series: &[f64], block_len: usize, mean: f64) -> Vec<f64> {
    let block = |start: usize| series.iter().cycle().skip(start).take(block_len);
    (0..series.len()).map(|start| block(start).map(|value| value - mean).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::{block_bootstrap, optimal_block_len};
    use crate::error::StatsError;
    use crate::resample::BootstrapPlan;

    #[test]
    fn a_constant_series_has_an_interval_of_no_width() {
        let interval = block_bootstrap(&[0.25; 40], BootstrapPlan::with_seed(1)).unwrap();
        assert_eq!((interval.low, interval.high), (0.25, 0.25));
        assert_eq!(optimal_block_len(&[0.25; 40]), Ok(1.0));
    }

    #[test]
    fn blocks_of_a_slow_series_are_long_and_never_the_whole() {
        let series: Vec<f64> = (0..200).map(|i| (f64::from(i) / 25.0).sin()).collect();
        let length = optimal_block_len(&series).unwrap();
        assert!((15.0..=67.0).contains(&length), "{length}");
    }

    #[test]
    fn input_that_cannot_be_resampled_is_named() {
        assert!(matches!(optimal_block_len(&[1.0; 9]), Err(StatsError::TooFew { .. })));
        assert!(matches!(
            block_bootstrap(&[f64::INFINITY; 20], BootstrapPlan::with_seed(1)),
            Err(StatsError::NotFinite { value_index: 0 })
        ));
    }
}
