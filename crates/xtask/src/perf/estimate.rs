//! What repeated values come to: the median, with an interval that assumes no distribution.

use narrows_stats::quantile::median;

/// The least confidence that an interval is shown for.
const LEVEL_MIN: f64 = 0.9;

/// A median and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MedianEstimate {
    pub(crate) median: f64,
    /// `None` below five values, which no interval of 90 % fits.
    pub(crate) interval: Option<MedianInterval>,
}

/// An interval for the median of the distribution behind the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MedianInterval {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The exact probability that it contains the median, 0 to 1.
    pub(crate) level: f64,
}

impl MedianEstimate {
    /// The estimate of `values`; `None` for none of them, and where one is not finite.
    ///
    /// # Source
    /// The interval between two order statistics, David and Nagaraja, Order Statistics (2003), section 7.1: of n
    /// independent values the i-th smallest and the i-th largest enclose the median with probability
    /// 1 - 2 P(B < i), B binomial of n and 1/2. Of all i the largest whose level is at least 90 % is taken.
    pub(crate) fn from_values(values: &[f64]) -> Option<Self> {
        let median = median(values)?;
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self { median, interval: enclosing(&sorted) })
    }
}

fn enclosing(sorted: &[f64]) -> Option<MedianInterval> {
    let mut found = None;
    let (mut below, mut term) = (0.0, 0.5_f64.powf(sorted.len() as f64));
    for (rank, (low, high)) in sorted.iter().zip(sorted.iter().rev()).take(sorted.len() / 2).enumerate() {
        below += term;
        let level = 1.0 - 2.0 * below;
        if level < LEVEL_MIN {
            break;
        }
        found = Some(MedianInterval { low: *low, high: *high, level });
        term *= (sorted.len() - rank) as f64 / (rank + 1) as f64;
    }
    found
}

/// The ratio of two contenders, round by round.
///
/// # Shape
/// As many as the shorter has rounds. A round whose divisor is zero gives infinity, of which no estimate is made.
pub(crate) fn ratios(over: &[f64], under: &[f64]) -> Vec<f64> {
    over.iter().zip(under).map(|(over, under)| over / under).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_values_are_around_their_median_with_15_chances_of_16() {
        let estimate =
            MedianEstimate::from_values(&[3.0, 1.0, 5.0, 2.0, 4.0]).expect("finite values have a median");
        let interval = Some(MedianInterval { low: 1.0, high: 5.0, level: 0.9375 });
        assert_eq!(estimate, MedianEstimate { median: 3.0, interval });
    }

    #[test]
    fn of_eight_values_the_outermost_are_left_out() {
        let values: Vec<f64> = (1..=8).map(f64::from).collect();
        let interval = MedianEstimate::from_values(&values).and_then(|estimate| estimate.interval);
        // 1 - 2 (1 + 8) / 256
        assert_eq!(interval, Some(MedianInterval { low: 2.0, high: 7.0, level: 0.929_687_5 }));
    }

    #[test]
    fn of_twenty_values_the_sixth_is_the_last_that_may_be_the_end() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        let interval = MedianEstimate::from_values(&values)
            .and_then(|estimate| estimate.interval)
            .expect("20 are enough");
        assert_eq!((interval.low, interval.high), (6.0, 15.0));
        // SciPy: 1 - 2 * binom.cdf(5, 20, 0.5)
        assert!((interval.level - 0.958_610_534_667_968_8).abs() < 1e-12, "{}", interval.level);
    }

    #[test]
    fn four_values_have_a_median_and_no_interval() {
        let estimate =
            MedianEstimate::from_values(&[1.0, 2.0, 3.0, 4.0]).expect("finite values have a median");
        assert_eq!(estimate, MedianEstimate { median: 2.5, interval: None });
    }

    #[test]
    fn nothing_and_what_is_no_number_have_no_estimate() {
        assert_eq!(MedianEstimate::from_values(&[]), None);
        assert_eq!(MedianEstimate::from_values(&ratios(&[1.0], &[0.0])), None);
    }

    #[test]
    fn ratios_are_those_of_the_same_round() {
        assert_eq!(ratios(&[2.0, 9.0], &[1.0, 3.0]), [2.0, 3.0]);
    }
}
