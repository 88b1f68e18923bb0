//! Mean and spread of samples.
//!
//! It deliberately contains no higher moments and no weights.

/// Count, mean and squared deviations of a sample, from which its spread follows.
///
/// # Source
/// Welford, Technometrics 4 (1962): mean and the sum of squared deviations are updated value by value, all counted
/// from the first value, which does not cancel when the mean is large against the spread. Checked against `numpy.mean` and `numpy.var(ddof=1)`
/// (`moments.json`, with one series around 1e9).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moments {
    count: usize,
    origin: f64,
    mean_above_origin: f64,
    squared_deviations: f64,
}

impl Moments {
    /// The moments of `values`.
    ///
    /// # Shape
    /// Any order. `None` for no values and for a value that is not finite.
    ///
    /// # Cost
    /// One pass, O(n).
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<Self> {
        if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let mut moments = Self::default();
        for &value in values {
            moments.push(value);
        }
        Some(moments)
    }

    /// Takes one more value into account; the caller has checked that it is finite.
    pub(crate) fn push(&mut self, value: f64) {
        if self.count == 0 {
            self.origin = value;
        }
        self.count += 1;
        let above_origin = value - self.origin;
        let deviation_before = above_origin - self.mean_above_origin;
        self.mean_above_origin += deviation_before / self.count as f64;
        self.squared_deviations += deviation_before * (above_origin - self.mean_above_origin);
    }

    /// How many values were given.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The arithmetic mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.origin + self.mean_above_origin
    }

    /// The sum over all values of (x - mean)², zero or more.
    #[must_use]
    pub fn squared_deviations(&self) -> f64 {
        self.squared_deviations
    }

    /// The unbiased variance, sum of (x - mean)² over n - 1; `None` for a single value, 0 when all are equal.
    #[must_use]
    pub fn sample_variance(&self) -> Option<f64> {
        (self.count >= 2).then(|| self.squared_deviations / (self.count - 1) as f64)
    }

    /// The square root of [`Moments::sample_variance`].
    #[must_use]
    pub fn standard_deviation(&self) -> Option<f64> {
        self.sample_variance().map(f64::sqrt)
    }

    /// Standard deviation over the size of the mean; `None` for one value or a mean of zero.
    #[must_use]
    pub fn coefficient_of_variation(&self) -> Option<f64> {
        let ratio = self.standard_deviation()? / self.mean().abs();
        ratio.is_finite().then_some(ratio)
    }
}

/// The arithmetic mean, or `None` as [`Moments::from_values`].
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    Moments::from_values(values).map(|moments| moments.mean())
}

/// The unbiased variance, or `None` for fewer than two values or a value that is not finite.
#[must_use]
pub fn sample_variance(values: &[f64]) -> Option<f64> {
    Moments::from_values(values)?.sample_variance()
}

/// Standard deviation over the size of the mean, or `None` as [`Moments::coefficient_of_variation`].
#[must_use]
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    Moments::from_values(values)?.coefficient_of_variation()
}

#[cfg(test)]
mod tests {
    use super::{coefficient_of_variation, mean, sample_variance};

    #[test]
    fn no_values_have_no_moments() {
        assert_eq!(mean(&[]), None);
        assert_eq!(sample_variance(&[]), None);
    }

    #[test]
    fn one_value_has_a_mean_but_no_spread() {
        assert_eq!(mean(&[3.5]), Some(3.5));
        assert_eq!(sample_variance(&[3.5]), None);
        assert_eq!(coefficient_of_variation(&[3.5]), None);
    }

    #[test]
    fn equal_values_have_exactly_no_variance() {
        assert_eq!(sample_variance(&[0.1; 1000]), Some(0.0));
        assert_eq!(coefficient_of_variation(&[0.1; 1000]), Some(0.0));
    }

    #[test]
    fn coefficient_of_variation_of_a_zero_mean_is_none() {
        assert_eq!(coefficient_of_variation(&[-1.0, 1.0]), None);
        assert_eq!(coefficient_of_variation(&[0.0, 0.0]), None);
    }

    #[test]
    fn a_value_that_is_not_finite_gives_none() {
        assert_eq!(mean(&[1.0, f64::NAN]), None);
        assert_eq!(mean(&[1.0, f64::NEG_INFINITY]), None);
    }
}
