//! How much one value of a series says of the next.
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
    let moments = Moments::from_values(series)?;
    if series.len() < 2 || moments.squared_deviations() <= 0.0 {
        return None;
    }
    let mean = moments.mean();
    let products: f64 = series.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    Some(products / moments.squared_deviations())
}

#[cfg(test)]
mod tests {
    use super::lag1_autocorrelation;

    #[test]
    fn a_series_that_does_not_vary_has_no_correlation() {
        assert_eq!(lag1_autocorrelation(&[0.3; 20]), None);
    }

    #[test]
    fn short_series_have_none_or_minus_one_half() {
        assert_eq!(lag1_autocorrelation(&[]), None);
        assert_eq!(lag1_autocorrelation(&[1.0]), None);
        assert_eq!(lag1_autocorrelation(&[1.0, 3.0]), Some(-0.5));
    }

    #[test]
    fn an_alternating_series_is_correlated_against_itself() {
        let series: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!(lag1_autocorrelation(&series).unwrap() < -0.9);
    }
}
