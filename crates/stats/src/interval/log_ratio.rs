//! The ratio of two independent estimates: its interval, and how sure it is that it is beyond a margin.
//!
//! Worked in logarithms, so that B over A is exactly the inverse of A over B. It deliberately decides nothing.

use super::{ConfidenceInterval, EstimateSpread, IntervalMethod, Level, around};
use crate::error::StatsError;
use crate::student_t;

/// A figure above 0 with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Its standard error over the figure; 0 for one that did not vary.
    pub relative_error: f64,
    /// Degrees of freedom of that error.
    pub degrees_of_freedom: f64,
}

impl Estimate {
    /// The same figure with a relative error of at least `least_ratio`: what a grain of counting or of clocks adds.
    #[must_use]
    pub fn at_least(self, least_ratio: f64) -> Self {
        Self { relative_error: self.relative_error.max(least_ratio), ..self }
    }

    fn checked(self) -> Result<Self, StatsError> {
        let whole = [self.value, self.relative_error].iter().all(|number| number.is_finite());
        let usable = self.value > 0.0 && self.relative_error >= 0.0 && self.degrees_of_freedom > 0.0;
        if whole && usable {
            Ok(self)
        } else {
            Err(StatsError::BadArgument {
                requirement: "an estimate must be above 0, its error and degrees of freedom not negative",
            })
        }
    }
}

/// A part of a variance that both estimates have in common, such as the variation from run to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VarianceComponent {
    /// What it adds to the variance of the logarithm of the ratio.
    pub variance: f64,
    /// Degrees of freedom with which it is known.
    pub degrees_of_freedom: f64,
}

/// The ratio of two estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogRatio {
    logarithm: f64,
    spread: EstimateSpread,
}

impl LogRatio {
    /// `over` divided by `under`.
    ///
    /// # Errors
    /// [`StatsError::BadArgument`] unless both are finite and above 0, with errors that are not negative.
    ///
    /// # Source
    /// By the delta method the standard error of ln x is that of x over x, and those of two independent figures add as
    /// squares; degrees of freedom of Welch (Biometrika 34, 1947) and Satterthwaite. On the logarithms of two samples this is
    /// Welch's t test, checked against `scipy.stats.ttest_ind(equal_var=False)` (`log_ratio.json`). Assumes that the two
    /// are independent and their errors small against them: at a relative error of 0.3 the logarithm bends it by 5 %.
    pub fn new(over: Estimate, under: Estimate) -> Result<Self, StatsError> {
        let (over, under) = (over.checked()?, under.checked()?);
        let parts = [over, under].map(|one| one.relative_error.powi(2));
        let variance = parts[0] + parts[1];
        let fewest = over.degrees_of_freedom.min(under.degrees_of_freedom);
        let of_squares =
            parts[0] * parts[0] / over.degrees_of_freedom + parts[1] * parts[1] / under.degrees_of_freedom;
        let degrees = variance * variance / of_squares;
        Ok(Self {
            logarithm: over.value.ln() - under.value.ln(),
            spread: EstimateSpread {
                standard_error: variance.sqrt(),
                // Without any error nothing weighs them.
                degrees_of_freedom: if degrees.is_finite() && degrees > 0.0 { degrees } else { fewest },
            },
        })
    }

    /// The same ratio with a further part of its variance.
    ///
    /// # Errors
    /// [`StatsError::BadArgument`] for a variance that is negative or not finite, or degrees of freedom not above 0.
    ///
    /// # Source
    /// Variances of independent parts add; degrees of freedom of Satterthwaite (Biometrics Bulletin 2, 1946),
    /// (V1 + V2)² / (V1²/v1 + V2²/v2). A part of no variance changes nothing.
    pub fn plus(self, part: VarianceComponent) -> Result<Self, StatsError> {
        let usable = part.variance.is_finite() && part.variance >= 0.0 && part.degrees_of_freedom > 0.0;
        if !usable {
            return Err(StatsError::BadArgument {
                requirement: "a variance must not be negative, its degrees of freedom above 0",
            });
        }
        let known = self.spread.standard_error.powi(2);
        let variance = known + part.variance;
        let of_squares =
            known * known / self.spread.degrees_of_freedom + part.variance.powi(2) / part.degrees_of_freedom;
        let degrees = variance * variance / of_squares;
        let degrees_of_freedom =
            if degrees.is_finite() && degrees > 0.0 { degrees } else { self.spread.degrees_of_freedom };
        let spread = EstimateSpread { standard_error: variance.sqrt(), degrees_of_freedom };
        Ok(Self { spread, ..self })
    }

    /// Variance of the logarithm of the ratio.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.spread.standard_error.powi(2)
    }

    /// The ratio.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.logarithm.exp()
    }

    /// The interval of the ratio; of no width where neither estimate varied.
    ///
    /// # Errors
    /// Those of [`student_t::quantile`], which a ratio that was made does not meet.
    pub fn interval(&self, level: Level) -> Result<ConfidenceInterval, StatsError> {
        let of_logarithm = around(self.logarithm, self.spread, level, IntervalMethod::WelchLogRatio)?;
        Ok(ConfidenceInterval { low: of_logarithm.low.exp(), high: of_logarithm.high.exp(), ..of_logarithm })
    }

    /// The probability of a ratio as far beyond the margin as this one or further, where the true one is on the
    /// margin's edge: below `1 - level` exactly where the interval of that level is wholly beyond the margin, on one
    /// side.
    ///
    /// # Shape
    /// `margin_ratio` is 0.03 for a margin from 1/1.03 to 1.03; from 0 to 1, 1 for a ratio within the margin.
    ///
    /// # Errors
    /// [`StatsError::BadArgument`] for a margin below 0 or not finite.
    ///
    /// # Source
    /// min(1, 2 P(T > (|ln ratio| - ln(1 + margin)) / se)): the two-sided t test of the nearer edge.
    pub fn p_beyond(&self, margin_ratio: f64) -> Result<f64, StatsError> {
        if !(margin_ratio >= 0.0 && margin_ratio.is_finite()) {
            return Err(StatsError::BadArgument { requirement: "a margin must be 0 or more" });
        }
        let beyond = self.logarithm.abs() - margin_ratio.ln_1p();
        if beyond <= 0.0 {
            return Ok(1.0);
        }
        if self.spread.standard_error <= 0.0 {
            return Ok(0.0);
        }
        let statistic = beyond / self.spread.standard_error;
        Ok((2.0 * student_t::upper_tail(statistic, self.spread.degrees_of_freedom)?).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, relative_error: f64) -> Estimate {
        Estimate { value, relative_error, degrees_of_freedom: 9.0 }
    }

    #[test]
    fn figures_that_did_not_vary_have_a_ratio_of_no_width() {
        let found = LogRatio::new(estimate(3.0, 0.0), estimate(2.0, 0.0)).unwrap();
        let interval = found.interval(Level::P95).unwrap();
        assert!((found.ratio() - 1.5).abs() < 1e-12 && interval.half_width() < 1e-12);
        assert_eq!((found.p_beyond(0.03), found.p_beyond(0.6)), (Ok(0.0), Ok(1.0)));
    }

    #[test]
    fn an_error_of_one_side_alone_keeps_that_sides_degrees_of_freedom() {
        let found = LogRatio::new(estimate(1.0, 0.1), estimate(1.0, 0.0)).unwrap();
        assert!((found.spread.degrees_of_freedom - 9.0).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_logarithm_is_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(LogRatio::new(estimate(bad, 0.1), estimate(1.0, 0.1)).is_err(), "{bad}");
            assert!(LogRatio::new(estimate(1.0, 0.1), estimate(bad, 0.1)).is_err(), "{bad}");
        }
        assert!(LogRatio::new(estimate(1.0, -0.1), estimate(1.0, 0.1)).is_err());
        let found = LogRatio::new(estimate(1.0, 0.1), estimate(1.0, 0.1)).unwrap();
        assert!(found.p_beyond(-0.1).is_err() && found.p_beyond(f64::NAN).is_err());
    }

    #[test]
    fn an_error_is_raised_to_its_floor_and_never_lowered() {
        assert!((estimate(1.0, 0.1).at_least(0.2).relative_error - 0.2).abs() < 1e-12);
        assert!((estimate(1.0, 0.1).at_least(0.01).relative_error - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_further_part_adds_its_variance_and_weighs_the_degrees_of_freedom() {
        let found = LogRatio::new(estimate(1.0, 0.0), estimate(1.0, 0.0)).unwrap();
        let part = VarianceComponent { variance: 0.0004, degrees_of_freedom: 4.0 };
        let alone = found.plus(part).unwrap();
        assert!((alone.spread.degrees_of_freedom - 4.0).abs() < 1e-9);
        // 2 % with t(0.975, 4) = 2.776445, `quantile` of `tests/known_answers/power.py`.
        let interval = alone.interval(Level::P95).unwrap();
        assert!((interval.high.ln() - 0.055_528_9).abs() < 1e-6, "{interval:?}");
        let both = alone.plus(part).unwrap();
        assert!((both.variance() - 0.0008).abs() < 1e-12);
        assert!((both.spread.degrees_of_freedom - 8.0).abs() < 1e-9);
        let none = VarianceComponent { variance: 0.0, degrees_of_freedom: 1.0 };
        assert_eq!(alone.plus(none).unwrap(), alone);
        for bad in [-1.0, f64::NAN] {
            assert!(found.plus(VarianceComponent { variance: bad, degrees_of_freedom: 4.0 }).is_err());
        }
    }
}
