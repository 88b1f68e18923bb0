//! Quantiles of samples by linear interpolation between order statistics.
//!
//! It deliberately does not read histograms, and gives no interval: see [`crate::interval`].

use crate::error::same;
use crate::index::floor_index;

/// The `probability` quantile of unordered values; 0 gives the smallest, 1 the largest.
///
/// # Shape
/// Any order. `None` for no values, for a NaN or infinite value, and for a probability outside [0, 1]. One value
/// is every quantile of itself; ties are values like any other.
///
/// # Cost
/// Sorts a copy: O(n log n). Use [`quantile_of_sorted`] for several quantiles of the same values.
///
/// # Source
/// Type 7 of Hyndman and Fan, The American Statistician 50 (1996), the default of R and `NumPy`: with
/// h = (n-1)p, x(floor h) + (h - floor h)(x(floor h + 1) - x(floor h)), order statistics counted from 0. Assumes
/// nothing of the distribution; biased towards the middle for extreme p and few values. Checked against
/// `numpy.quantile` (`quantiles.json`).
#[must_use]
pub fn quantile(values: &[f64], probability: f64) -> Option<f64> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile_of_sorted(&sorted, probability)
}

/// The `probability` quantile of values that are already in ascending order.
///
/// # Shape
/// Ascending and finite; this is not checked, and an unordered slice gives a number without meaning. `None` for no
/// values and for a probability outside [0, 1].
///
/// # Cost
/// O(1).
///
/// # Source
/// As [`quantile`].
#[must_use]
pub fn quantile_of_sorted(sorted: &[f64], probability: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&probability) {
        return None;
    }
    let last_index = sorted.len().checked_sub(1)?;
    let position = last_index as f64 * probability;
    let below_index = floor_index(position, last_index);
    let below = *sorted.get(below_index)?;
    let above = sorted.get(below_index + 1).copied().unwrap_or(below);
    if same(below, above) {
        return Some(below);
    }
    let fraction = position - below_index as f64;
    Some((below + (above - below) * fraction).min(above))
}

/// The middle value, or the mean of the two middle values.
///
/// # Shape
/// As [`quantile`].
///
/// # Source
/// [`quantile`] at 0.5, which is the usual median.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::{median, quantile, quantile_of_sorted};

    #[test]
    fn quantile_of_no_values_is_none() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile_of_sorted(&[], 0.0), None);
    }

    #[test]
    fn quantile_of_one_sample_is_that_sample() {
        for probability in [0.0, 0.3, 1.0] {
            assert_eq!(quantile(&[7.25], probability), Some(7.25));
        }
    }

    #[test]
    fn quantile_of_equal_values_is_that_value() {
        assert_eq!(quantile(&[0.1; 9], 0.37), Some(0.1));
    }

    #[test]
    fn median_of_an_even_count_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn values_that_are_not_finite_and_bad_probabilities_give_none() {
        assert_eq!(quantile(&[1.0, f64::NAN], 0.5), None);
        assert_eq!(quantile(&[1.0, f64::INFINITY], 0.0), None);
        assert_eq!(quantile(&[1.0], 1.01), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
    }
}
