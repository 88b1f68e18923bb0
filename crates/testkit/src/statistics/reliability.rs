//! How well stated probabilities agree with what happened.
//!
//! It deliberately changes no probability: fitting them is the work of [`super::logistic`].

use std::num::NonZeroUsize;

use narrows_stats::StatsError;

/// A stated probability, and whether the event then happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// The stated probability, 0 to 1.
    pub probability: f64,
    /// Whether the event happened.
    pub outcome: bool,
}

/// The forecasts whose probabilities fall between two limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReliabilityBin {
    /// The lower limit, included.
    pub low: f64,
    /// The upper limit, excluded except in the last bin.
    pub high: f64,
    /// How many forecasts fall here.
    pub count: usize,
    /// Their mean probability; `None` for an empty bin.
    pub mean_predicted: Option<f64>,
    /// The share of them whose event happened; `None` for an empty bin.
    pub observed_share: Option<f64>,
}

/// The mean squared distance of forecasts from outcomes: 0 is perfect, 0.25 is what a constant 1/2 gets.
///
/// # Shape
/// Any order; probabilities between 0 and 1.
///
/// # Errors
/// [`StatsError::TooFew`] for no forecasts, [`StatsError::OutOfRange`] for a probability outside [0, 1] or NaN.
///
/// # Source
/// Brier, Monthly Weather Review 78 (1950), in the usual form for one event: mean of (p - o)², o being 0 or 1.
/// Checked against `NumPy` (`reliability.json`).
pub fn brier_score(forecasts: &[Forecast]) -> Result<f64, StatsError> {
    check(forecasts)?;
    let squares = forecasts.iter().map(|forecast| {
        let observed = if forecast.outcome { 1.0 } else { 0.0 };
        (forecast.probability - observed).powi(2)
    });
    Ok(squares.sum::<f64>() / forecasts.len() as f64)
}

/// The forecasts sorted into bins of equal width, with what was predicted and what happened in each.
///
/// # Shape
/// As [`brier_score`]; `bin_count` bins from 0 to 1 in ascending order, empty ones included. A probability on a
/// limit belongs to the bin above it, 1 to the last.
///
/// # Errors
/// As [`brier_score`].
///
/// # Source
/// `DeGroot` and Fienberg, The Statistician 32 (1983). Checked against `NumPy` (`reliability.json`).
pub fn reliability_table(
    forecasts: &[Forecast],
    bin_count: NonZeroUsize,
) -> Result<Vec<ReliabilityBin>, StatsError> {
    check(forecasts)?;
    let last_index = bin_count.get() - 1;
    let limit = |index: usize| index as f64 / bin_count.get() as f64;
    let mut counts = vec![(0_usize, 0_usize, 0.0); bin_count.get()];
    for forecast in forecasts {
        let bin = &mut counts[bin_of(forecast.probability, last_index, limit)];
        bin.0 += 1;
        bin.1 += usize::from(forecast.outcome);
        bin.2 += forecast.probability;
    }
    let to_bin = |(index, (count, happened_count, sum)): (usize, (usize, usize, f64))| ReliabilityBin {
        low: limit(index),
        high: limit(index + 1),
        count,
        mean_predicted: (count > 0).then(|| sum / count as f64),
        observed_share: (count > 0).then(|| happened_count as f64 / count as f64),
    };
    Ok(counts.into_iter().enumerate().map(to_bin).collect())
}

/// The bin of a probability: the last that begins at or below it.
fn bin_of(probability: f64, last_index: usize, limit: impl Fn(usize) -> f64) -> usize {
    (0..=last_index).rev().find(|index| probability >= limit(*index)).unwrap_or(0)
}

fn check(forecasts: &[Forecast]) -> Result<(), StatsError> {
    if forecasts.is_empty() {
        return Err(StatsError::TooFew { needed_count: 1, given_count: 0 });
    }
    match forecasts.iter().position(|forecast| !(0.0..=1.0).contains(&forecast.probability)) {
        None => Ok(()),
        Some(value_index) => {
            Err(StatsError::OutOfRange { value_index, requirement: "a probability must lie between 0 and 1" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Forecast, brier_score, reliability_table};
    use narrows_stats::StatsError;

    fn forecasts(pairs: &[(f64, bool)]) -> Vec<Forecast> {
        pairs.iter().map(|&(probability, outcome)| Forecast { probability, outcome }).collect()
    }

    #[test]
    fn perfect_and_opposite_forecasts_score_zero_and_one() {
        assert_eq!(brier_score(&forecasts(&[(1.0, true), (0.0, false)])), Ok(0.0));
        assert_eq!(brier_score(&forecasts(&[(0.0, true), (1.0, false)])), Ok(1.0));
    }

    #[test]
    fn probabilities_on_a_limit_belong_to_the_bin_above() {
        for bin_count in 1..=50_usize {
            for index in 0..=bin_count {
                let probability = index as f64 / bin_count as f64;
                let table =
                    reliability_table(&forecasts(&[(probability, true)]), bin_count.try_into().unwrap())
                        .unwrap();
                assert_eq!(table[index.min(bin_count - 1)].count, 1, "{index} of {bin_count}");
            }
        }
    }

    #[test]
    fn empty_bins_are_kept_without_shares() {
        let table = reliability_table(&forecasts(&[(0.9, true)]), 2.try_into().unwrap()).unwrap();
        assert_eq!((table[0].count, table[0].mean_predicted, table[0].observed_share), (0, None, None));
        assert_eq!((table[1].count, table[1].observed_share), (1, Some(1.0)));
    }

    #[test]
    fn no_forecasts_and_impossible_probabilities_are_refused() {
        assert_eq!(brier_score(&[]), Err(StatsError::TooFew { needed_count: 1, given_count: 0 }));
        for probability in [-0.1, 1.1, f64::NAN] {
            let outcome = brier_score(&forecasts(&[(0.5, true), (probability, true)]));
            assert!(matches!(outcome, Err(StatsError::OutOfRange { value_index: 1, .. })));
        }
    }
}
