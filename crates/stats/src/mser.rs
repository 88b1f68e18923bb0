//! How much of the start of a series is warm-up, by MSER-5.
//!
//! It deliberately does not extend the run when it was too short: it only says so.

use crate::error::{StatsError, require_finite};
use crate::moments::{Moments, mean};

/// How many consecutive values make one batch of MSER-5.
pub const BATCH_LEN: usize = 5;

/// Fewest batches for a verdict. Independent noise puts the cut at the middle in one series of 9 with 10 batches, one of
/// 38 with 20 and one of 170 with 40 (autoregressive noise with a correlation of 0.8: 1 of 6, 22, 100), in 1000 series each.
pub const BATCHES_MIN: usize = 20;

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
    /// The best cut is at the middle, the last place considered: the run must be longer.
    RunTooShort,
    /// Too few batches to decide: with fewer than [`BATCHES_MIN`], noise alone often makes the cut at the middle the
    /// best.
    TooFewBatches,
}

impl WarmUp {
    /// The values after the warm-up, or all of them where the cut cannot be trusted; `series` must be the one that was
    /// cut, a shorter one gives what is left of it.
    #[must_use]
    pub fn settled<'a, T>(&self, series: &'a [T]) -> &'a [T] {
        match self.verdict {
            WarmUpVerdict::Settled => series.get(self.dropped_count..).unwrap_or(&[]),
            WarmUpVerdict::RunTooShort | WarmUpVerdict::TooFewBatches => series,
        }
    }
}

/// The end of the warm-up of a series in the order of measurement.
///
/// # Shape
/// At least five finite values; a verdict takes a hundred ([`BATCHES_MIN`] batches). Of equally good cuts the earliest is
/// taken, so that a constant series of two batches or more loses nothing.
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
    let verdict = if batch_count < BATCHES_MIN {
        WarmUpVerdict::TooFewBatches
    } else if best_cut == last_cut {
        WarmUpVerdict::RunTooShort
    } else {
        WarmUpVerdict::Settled
    };
    Ok(WarmUp { dropped_count: best_cut * BATCH_LEN, batch_count, verdict })
}

#[cfg(test)]
mod tests {
    use super::{BATCHES_MIN, WarmUpVerdict, mser5};
    use crate::error::StatsError;
    use crate::resample::Resampler;

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
    fn a_few_batches_do_not_suffice_and_nothing_is_cut() {
        assert_eq!(mser5(&[1.0; 7]).unwrap().verdict, WarmUpVerdict::TooFewBatches);
        let series: Vec<f64> = (0..99).map(|i| if i < 10 { 0.0 } else { 1.0 }).collect();
        let warm_up = mser5(&series).unwrap();
        assert_eq!((warm_up.dropped_count, warm_up.verdict), (10, WarmUpVerdict::TooFewBatches));
        assert_eq!(warm_up.settled(&series).len(), 99);
    }

    #[test]
    fn noise_alone_is_too_short_at_most_as_often_as_stated() {
        let mut resampler = Resampler::new(9);
        let mut short = 0;
        for _ in 0..500 {
            let series: Vec<f64> = (0..5 * BATCHES_MIN).map(|_| resampler.normal()).collect();
            short += u32::from(mser5(&series).unwrap().verdict == WarmUpVerdict::RunTooShort);
        }
        assert!(short <= 500 / 38 * 2, "{short} of 500");
    }

    #[test]
    fn fewer_than_five_values_are_too_few() {
        assert_eq!(mser5(&[1.0; 4]), Err(StatsError::TooFew { needed_count: 5, given_count: 4 }));
        assert_eq!(mser5(&[]), Err(StatsError::TooFew { needed_count: 5, given_count: 0 }));
    }
}
