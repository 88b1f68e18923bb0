//! How much of the start of a series is warm-up, by MSER-5.
//!
//! It deliberately does not extend the run when it was too short: it only says so.

use crate::error::{StatsError, require_finite};
use crate::moments::{Moments, mean};

/// How many consecutive values make one batch of MSER-5.
pub const BATCH_LEN: usize = 5;

/// Where the warm-up of a series ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// How many values at the start belong to the warm-up, a multiple of [`BATCH_LEN`].
    pub dropped_count: usize,
    /// How many whole batches the series has; up to four values at its end are in none.
    pub batch_count: usize,
    /// Whether the cut can be trusted.
    pub verdict: WarmUpVerdict,
}

/// Whether a warm-up cut can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUpVerdict {
    /// The series settles within its first half.
    Settled,
    /// The best cut lies at the middle, the last place looked at: the run must be longer.
    RunTooShort,
}

impl WarmUp {
    /// The values after the warm-up; `series` must be the one that was cut, a shorter one gives what is left of it.
    #[must_use]
    pub fn settled<'a>(&self, series: &'a [f64]) -> &'a [f64] {
        series.get(self.dropped_count..).unwrap_or(&[])
    }
}

/// The end of the warm-up of a series in the order of measurement.
///
/// # Shape
/// At least five finite values; a useful verdict takes 50 or more. Of equally good cuts the earliest is taken, so
/// that a constant series of two batches or more loses nothing. A single batch is always too short.
///
/// # Errors
/// [`StatsError::TooFew`] below five values, [`StatsError::NotFinite`] for NaN or infinity.
///
/// # Cost
/// One pass from the end, O(n), and a buffer of n/5 values.
///
/// # Source
/// White, Simulation 69 (1997); Spratt (1998); Hoad, Robinson and Davies, J. Oper. Res. Soc. 61 (2010). Over the
/// batch means Z of five consecutive values, d* minimises sum over j > d of (`Z_j` - mean)² / (k - d)² for
/// 0 <= d <= k/2. Assumes that the series ends in its steady state. Checked against `NumPy` (`mser.json`).
pub fn mser5(series: &[f64]) -> Result<WarmUp, StatsError> {
    require_finite(series.iter().copied(), BATCH_LEN)?;
    let batches: Vec<f64> = series.chunks_exact(BATCH_LEN).filter_map(mean).collect();
    let batch_count = batches.len();
    let last_cut = batch_count / 2;
    let mut tail = Moments::default();
    let mut best_cut = last_cut;
    let mut best_score = f64::INFINITY;
    for (cut, &batch) in batches.iter().enumerate().rev() {
        tail.push(batch);
        let kept = tail.count() as f64;
        let score = tail.squared_deviations() / (kept * kept);
        if cut <= last_cut && score <= best_score {
            best_score = score;
            best_cut = cut;
        }
    }
    let verdict = if best_cut == last_cut { WarmUpVerdict::RunTooShort } else { WarmUpVerdict::Settled };
    Ok(WarmUp { dropped_count: best_cut * BATCH_LEN, batch_count, verdict })
}

#[cfg(test)]
mod tests {
    use super::{WarmUpVerdict, mser5};
    use crate::error::StatsError;

    #[test]
    fn a_constant_series_loses_nothing() {
        let warm_up = mser5(&[0.1; 100]).unwrap();
        assert_eq!((warm_up.dropped_count, warm_up.verdict), (0, WarmUpVerdict::Settled));
    }

    #[test]
    fn a_slow_start_is_cut_where_it_ends() {
        let series: Vec<f64> =
            (0..200).map(|i| if i < 30 { 10.0 } else { 100.0 + f64::from(i % 3) }).collect();
        let warm_up = mser5(&series).unwrap();
        assert_eq!((warm_up.dropped_count, warm_up.verdict), (30, WarmUpVerdict::Settled));
        assert_eq!(warm_up.settled(&series).len(), 170);
    }

    #[test]
    fn a_series_that_never_settles_is_too_short() {
        let series: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(mser5(&series).unwrap().verdict, WarmUpVerdict::RunTooShort);
    }

    #[test]
    fn a_single_batch_is_too_short() {
        assert_eq!(mser5(&[1.0; 7]).unwrap().verdict, WarmUpVerdict::RunTooShort);
    }

    #[test]
    fn fewer_than_five_values_are_too_few() {
        assert_eq!(mser5(&[1.0; 4]), Err(StatsError::TooFew { needed_count: 5, given_count: 4 }));
        assert_eq!(mser5(&[]), Err(StatsError::TooFew { needed_count: 5, given_count: 0 }));
    }
}
