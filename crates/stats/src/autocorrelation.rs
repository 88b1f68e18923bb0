//! How much one value of a series says of the next, and how many independent values the series is worth.
//!
//! It deliberately stops at lag 1.

use crate::moments::Moments;

/// The correlation of a series with itself one step later, between -1 and 1.
///
/// # Shape
/// In the order of measurement. `None` for fewer than two values, for a value that is not finite, and for a series
/// that does not vary. Two values always give -1/2.
///
/// # Source
/// r1 = sum (`x_i` - m)(x_{i+1} - m) / sum (`x_i` - m)², m the mean of the whole series (Box and Jenkins). Biased by
/// about -1/n on independent values. Checked against `NumPy` (`autocorrelation.json`).
#[must_use]
pub fn lag1_autocorrelation(series: &[f64]) -> Option<f64> {
    let moments = Moments::of(series)?;
    if series.len() < 2 || moments.squared_deviations() <= 0.0 {
        return None;
    }
    let mean = moments.mean();
    let products: f64 = series.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    Some(products / moments.squared_deviations())
}

/// How many independent values would give a mean as certain as this series does.
///
/// # Shape
/// As [`lag1_autocorrelation`], and `None` where that is. Held between 1 and n: a series that swings from side to
/// side is not credited with more values than it has.
///
/// # Source
/// `n_eff` = n (1 - r1) / (1 + r1), exact in the limit for a first-order autoregressive series; other kinds of
/// correlation, such as slow drift, make it too large. Checked against `NumPy` (`autocorrelation.json`).
#[must_use]
pub fn effective_count(series: &[f64]) -> Option<f64> {
    let r1 = lag1_autocorrelation(series)?;
    let n = series.len() as f64;
    Some((n * (1.0 - r1) / (1.0 + r1)).clamp(1.0, n))
}

#[cfg(test)]
mod tests {
    use super::{effective_count, lag1_autocorrelation};

    #[test]
    fn a_series_that_does_not_vary_has_no_correlation() {
        assert_eq!(lag1_autocorrelation(&[0.3; 20]), None);
        assert_eq!(effective_count(&[0.3; 20]), None);
    }

    #[test]
    fn short_series_have_none_or_minus_one_half() {
        assert_eq!(lag1_autocorrelation(&[]), None);
        assert_eq!(lag1_autocorrelation(&[1.0]), None);
        assert_eq!(lag1_autocorrelation(&[1.0, 3.0]), Some(-0.5));
    }

    #[test]
    fn an_alternating_series_counts_no_more_than_its_length() {
        let series: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!(lag1_autocorrelation(&series).unwrap() < -0.9);
        assert_eq!(effective_count(&series), Some(40.0));
    }

    #[test]
    fn a_ramp_is_worth_few_independent_values() {
        let series: Vec<f64> = (0..100).map(f64::from).collect();
        let count = effective_count(&series).unwrap();
        assert!((1.0..5.0).contains(&count), "{count}");
    }
}
