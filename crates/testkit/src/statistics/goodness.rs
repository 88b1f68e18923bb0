//! Whether values follow a law that was declared beforehand: distances between distributions, and spread of counts.
//!
//! It deliberately estimates no parameter of the law: with one taken from the same values these tests accept too much.

use narrows_stats::chi_square;
use narrows_stats::error::{StatsError, require_finite};
use narrows_stats::moments::Moments;

/// Terms of Kolmogorov's series; at a distance of 0.2 the first term left out is below 1e-34.
const SERIES_TERMS: i32 = 100;

/// The outcome of a test: how far the values are from the law, and how often values of the law itself are that far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoodnessOfFit {
    /// The distance; its meaning is that of the test.
    pub statistic: f64,
    /// The probability that values of the law are at least as far from it, 0 to 1.
    pub p_value: f64,
    /// How many values were tested.
    pub value_count: usize,
}

impl GoodnessOfFit {
    /// Whether the law is refused at this level of significance, 0.01 for one false alarm in a hundred.
    #[must_use]
    pub fn is_refused(&self, significance: f64) -> bool {
        self.p_value < significance
    }
}

/// The Kolmogorov-Smirnov test of independent values against a continuous law.
///
/// # Shape
/// At least five finite values in any order; `distribution` gives the probability of a value at or below its argument,
/// see [`exponential`] and [`uniform`]. Ties count as they are: many of them (a clock of coarse resolution) raise the
/// statistic, because a continuous law has none. The statistic is sup |`F_n` - F|, from 1/(2n) to 1.
///
/// # Errors
/// [`StatsError::TooFew`] below five values, [`StatsError::NotFinite`] for NaN or infinity,
/// [`StatsError::Degenerate`] where `distribution` gives anything but a probability.
///
/// # Cost
/// Sorts a copy: O(n log n).
///
/// # Source
/// Kolmogorov 1933. The p-value is Kolmogorov's limiting law at the statistic corrected for n as in Vrbik (2018):
/// sqrt(n) D + 1/(6 sqrt(n)) + (sqrt(n) D - 1)/(4n); it differs from the exact one of `scipy.stats.kstest` by less than
/// 0.0075 for five values, 0.001 for 20, 0.0003 for 50 and 1e-4 for 200 (`goodness.json`). Rate of false alarms in
/// `tests/it/coverage.rs`.
pub fn kolmogorov_smirnov(
    values: &[f64],
    distribution: impl Fn(f64) -> f64,
) -> Result<GoodnessOfFit, StatsError> {
    require_finite(values.iter().copied(), 5)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let mut statistic: f64 = 0.0;
    for (index, &value) in sorted.iter().enumerate() {
        let expected = distribution(value);
        if !(0.0..=1.0).contains(&expected) {
            return Err(StatsError::Degenerate { reason: "the law gives something else than a probability" });
        }
        let index = index as f64;
        statistic = statistic.max((index + 1.0) / n - expected).max(expected - index / n);
    }
    let root = n.sqrt();
    let scaled = root * statistic;
    let corrected = scaled + 1.0 / (6.0 * root) + (scaled - 1.0) / (4.0 * n);
    Ok(GoodnessOfFit { statistic, p_value: kolmogorov_upper_tail(corrected), value_count: values.len() })
}

/// The probability of an exponential variable at or below `value`, of this mean (the reciprocal of its rate).
pub fn exponential(mean: f64) -> impl Fn(f64) -> f64 {
    move |value: f64| if value <= 0.0 { 0.0 } else { -(-value / mean).exp_m1() }
}

/// The probability of a uniform variable between `low` and `high` at or below `value`.
pub fn uniform(low: f64, high: f64) -> impl Fn(f64) -> f64 {
    move |value: f64| ((value - low) / (high - low)).clamp(0.0, 1.0)
}

/// P(K > x) of Kolmogorov's limiting law.
///
/// # Source
/// 2 sum (-1)^(k-1) exp(-2 k² x²), and below 1 its theta-transformed twin, which converges there.
fn kolmogorov_upper_tail(x: f64) -> f64 {
    if x <= 0.04 {
        return 1.0; // The lower tail is below 1e-300.
    }
    if x < 1.0 {
        let pi = std::f64::consts::PI;
        let exponent = -pi * pi / (8.0 * x * x);
        let term = |k: i32| (exponent * f64::from((2 * k - 1) * (2 * k - 1))).exp();
        let sum: f64 = (1..=SERIES_TERMS).map(term).sum();
        return (1.0 - (2.0 * pi).sqrt() / x * sum).clamp(0.0, 1.0);
    }
    let term = |k: i32| {
        let size = (-2.0 * f64::from(k) * f64::from(k) * x * x).exp();
        if k % 2 == 1 { size } else { -size }
    };
    (2.0 * (1..=SERIES_TERMS).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// The test of counts in equal windows against Poisson's law by their index of dispersion, in both directions.
///
/// # Shape
/// One count for each window, at least two, 0 or more; order does not matter. The statistic is variance / mean: about 1
/// for Poisson arrivals, 0 for evenly spaced ones, above 1 for bursts.
///
/// # Errors
/// [`StatsError::TooFew`] below two windows, [`StatsError::NotFinite`] for NaN or infinity,
/// [`StatsError::OutOfRange`] for a count below 0, [`StatsError::Degenerate`] when all windows are empty.
///
/// # Source
/// Fisher's index of dispersion (Cox and Lewis, The Statistical Analysis of Series of Events, 1966): (n - 1) variance /
/// mean is chi-square with n - 1 degrees of freedom for independent Poisson counts with a mean of 5 or more; below, the
/// p-value is rough. The p-value is two-sided, twice the smaller tail. Checked against `scipy.stats.chi2`
/// (`goodness.json`), rate of false alarms in `tests/it/coverage.rs`.
pub fn dispersion(counts: &[f64]) -> Result<GoodnessOfFit, StatsError> {
    require_finite(counts.iter().copied(), 2)?;
    if let Some(value_index) = counts.iter().position(|&count| count < 0.0) {
        return Err(StatsError::OutOfRange { value_index, requirement: "a count must not be below 0" });
    }
    let empty = StatsError::Degenerate { reason: "all windows are empty" };
    let moments = Moments::from_values(counts).filter(|moments| moments.mean() > 0.0).ok_or(empty)?;
    let degrees_of_freedom = (counts.len() - 1) as f64;
    let scaled = moments.squared_deviations() / moments.mean();
    let above = chi_square::upper_tail(scaled, degrees_of_freedom)?;
    Ok(GoodnessOfFit {
        statistic: scaled / degrees_of_freedom,
        p_value: (2.0 * above.min(1.0 - above)).min(1.0),
        value_count: counts.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::{dispersion, exponential, kolmogorov_smirnov, kolmogorov_upper_tail, uniform};
    use narrows_stats::StatsError;

    #[test]
    fn evenly_spaced_values_are_as_uniform_as_can_be() {
        let values: Vec<f64> = (0..50).map(|i| (f64::from(i) + 0.5) / 50.0).collect();
        let found = kolmogorov_smirnov(&values, uniform(0.0, 1.0)).unwrap();
        assert!((found.statistic - 0.01).abs() < 1e-12 && found.p_value > 0.999_999);
    }

    #[test]
    fn equal_values_are_refused() {
        let found = kolmogorov_smirnov(&[1.0; 200], exponential(1.0)).unwrap();
        assert!(found.is_refused(1e-9) && found.statistic > 0.6, "{found:?}");
    }

    #[test]
    fn the_two_series_of_kolmogorov_meet() {
        let (below, above) = (kolmogorov_upper_tail(1.0 - 1e-12), kolmogorov_upper_tail(1.0));
        assert!((below - above).abs() < 1e-11, "{below} {above}");
        assert!(
            (kolmogorov_upper_tail(0.0) - 1.0).abs() < f64::EPSILON && kolmogorov_upper_tail(9.0) < 1e-60
        );
    }

    #[test]
    fn equal_counts_are_too_even_for_poisson_and_bursts_too_uneven() {
        let even = dispersion(&[20.0; 100]).unwrap();
        assert!(even.statistic.abs() < 1e-12 && even.is_refused(1e-6));
        let bursts: Vec<f64> = (0..100).map(|i| if i % 10 == 0 { 200.0 } else { 0.0 }).collect();
        let bursts = dispersion(&bursts).unwrap();
        assert!(bursts.statistic > 100.0 && bursts.is_refused(1e-6));
    }

    #[test]
    fn input_that_cannot_be_tested_is_named() {
        let few = kolmogorov_smirnov(&[1.0; 4], uniform(0.0, 1.0));
        assert_eq!(few, Err(StatsError::TooFew { needed_count: 5, given_count: 4 }));
        let no_law = kolmogorov_smirnov(&[1.0; 5], |_| f64::NAN);
        assert!(matches!(no_law, Err(StatsError::Degenerate { .. })));
        assert!(matches!(dispersion(&[0.0, 0.0]), Err(StatsError::Degenerate { .. })));
        assert!(matches!(dispersion(&[1.0, -1.0]), Err(StatsError::OutOfRange { value_index: 1, .. })));
        assert!(matches!(dispersion(&[1.0]), Err(StatsError::TooFew { .. })));
    }
}
