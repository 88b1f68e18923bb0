//! Straight lines by least squares, weighted or not.
//!
//! It deliberately fits one predictor only and rejects no outliers.

use crate::error::{StatsError, require_finite};
use crate::interval::{ConfidenceInterval, EstimateSpread, IntervalMethod, Level, around};

/// One observation: `y` measured at `x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DataPoint {
    /// Where it was measured, taken as exact.
    pub x: f64,
    /// What was measured.
    pub y: f64,
}

/// A fitted line y = intercept + slope · x, with what is known of its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedLine {
    /// The value at x = 0.
    pub intercept: f64,
    /// The change of y for each unit of x.
    pub slope: f64,
    /// Standard error of the intercept; `None` for two points, which leave no residual.
    pub intercept_standard_error: Option<f64>,
    /// Standard error of the slope; `None` for two points.
    pub slope_standard_error: Option<f64>,
    /// Share of the variance of y that the line explains, 0 to 1; `None` when y does not vary.
    pub r_squared: Option<f64>,
    /// How many points were fitted.
    pub point_count: usize,
    /// What the standard errors are made of.
    pub(crate) precision: Precision,
}

/// Variances of the coefficients and their covariance for residuals of weighted variance 1, and the weighted sum of
/// squared residuals that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Precision {
    pub(crate) intercept: f64,
    pub(crate) slope: f64,
    pub(crate) covariance: f64,
    pub(crate) residual: f64,
}

impl FittedLine {
    /// The value of the line at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// The interval of the intercept; `None` for two points.
    #[must_use]
    pub fn intercept_interval(&self, level: Level) -> Option<ConfidenceInterval> {
        self.coefficient_interval(self.intercept, self.intercept_standard_error?, level)
    }

    /// The interval of the slope; `None` for two points.
    #[must_use]
    pub fn slope_interval(&self, level: Level) -> Option<ConfidenceInterval> {
        self.coefficient_interval(self.slope, self.slope_standard_error?, level)
    }

    /// The interval of one more observation at `x` whose error has the weight `weight`; `None` for two points, and for a
    /// weight that is not finite and above 0.
    ///
    /// # Source
    /// s² (1/w + variance of the line at x), with n - 2 degrees of freedom (Draper and Smith, Applied Regression
    /// Analysis). Checked against the covariance of `numpy.polyfit` and `scipy.stats.t` (`prediction.json`).
    #[must_use]
    pub fn prediction_interval(&self, x: f64, weight: f64, level: Level) -> Option<ConfidenceInterval> {
        let degrees_of_freedom = self.point_count.checked_sub(2).filter(|count| *count > 0)? as f64;
        let Precision { intercept, slope, covariance, residual } = self.precision;
        let of_line = intercept + 2.0 * x * covariance + x * x * slope;
        let own = Some(1.0 / weight).filter(|own| *own > 0.0 && own.is_finite())?;
        let standard_error = (residual / degrees_of_freedom * (own + of_line.max(0.0))).sqrt();
        let spread = EstimateSpread { standard_error, degrees_of_freedom };
        around(self.at(x), spread, level, IntervalMethod::LeastSquares).ok()
    }

    fn coefficient_interval(
        &self,
        estimate: f64,
        standard_error: f64,
        level: Level,
    ) -> Option<ConfidenceInterval> {
        let degrees_of_freedom = self.point_count.checked_sub(2)? as f64;
        let spread = EstimateSpread { standard_error, degrees_of_freedom };
        around(estimate, spread, level, IntervalMethod::LeastSquares).ok()
    }
}

/// The line with the least sum of squared residuals.
///
/// # Shape
/// At least two points with two different x, in any order; ties in x are repetitions. Two points give the line
/// through them without standard errors; equal y give slope 0 and no R².
///
/// # Errors
/// [`StatsError::TooFew`] below two points, [`StatsError::NotFinite`] for NaN or infinity (the index is that of the
/// point), [`StatsError::Degenerate`] when all x are equal.
///
/// # Source
/// slope = Sxy / Sxx, intercept = mean(y) - slope · mean(x); se(slope)² = s² / Sxx, se(intercept)² =
/// s² (1/n + mean(x)² / Sxx), s² = SSE / (n - 2) (Draper and Smith, Applied Regression Analysis). Assumes errors in y
/// that are independent and of equal variance. Checked against `scipy.stats.linregress` (`regression.json`).
pub fn fit_line(points: &[DataPoint]) -> Result<FittedLine, StatsError> {
    fit_weighted_line(points, |_| 1.0)
}

/// The line with the least weighted sum of squared residuals.
///
/// # Shape
/// As [`fit_line`]; `weight_of` gives each point a weight above 0, in proportion to 1 / variance of its error. Only
/// ratios of weights matter.
///
/// # Errors
/// As [`fit_line`], and [`StatsError::OutOfRange`] for a weight that is not finite and above 0.
///
/// # Source
/// As [`fit_line`] with weighted sums, s² = sum w r² / (n - 2). Checked against
/// `numpy.polyfit(w=sqrt(weight), cov=True)` (`regression.json`).
pub fn fit_weighted_line(
    points: &[DataPoint],
    weight_of: impl Fn(&DataPoint) -> f64,
) -> Result<FittedLine, StatsError> {
    let weights: Vec<f64> = points.iter().map(weight_of).collect();
    fit_line_with_weights(points, &weights)
}

/// The line of [`fit_line`], with standard errors for errors of unequal variance.
///
/// The coefficients are those of plain least squares, as published fits are; only what is known of their uncertainty
/// differs. Where errors grow with y, plain standard errors take those of the small y to be as large as those of the
/// large, and the slope's 95 % interval covers 69 % (relative errors of 10 %, x over two decades).
///
/// # Shape
/// As [`fit_weighted_line`]; two points give no standard errors.
///
/// # Errors
/// As [`fit_weighted_line`].
///
/// # Source
/// The slope is the sum of c y with c = (x - mean(x)) / Sxx, so its variance is s² times the sum of c² / weight; the
/// intercept likewise with 1/n - c mean(x). s² = sum of w r² / (n - 2) of the line of least weighted squares (Draper and
/// Smith, Applied Regression Analysis, generalised least squares). Checked against matrices of `NumPy` and
/// `scipy.stats.t` (`unequal_errors.json`).
pub fn fit_line_of_unequal_errors(
    points: &[DataPoint],
    weight_of: impl Fn(&DataPoint) -> f64,
) -> Result<FittedLine, StatsError> {
    let plain = fit_line(points)?;
    let residual = fit_weighted_line(points, &weight_of)?.precision.residual;
    let sums = RegressionSums::new(points, &vec![1.0; points.len()]);
    let mean_x = sums.origin.x + sums.mean_x;
    let mut precision = Precision { intercept: 0.0, slope: 0.0, covariance: 0.0, residual };
    for point in points {
        let of_slope = sums.deviations(point).0 / sums.sxx;
        let of_intercept = 1.0 / sums.weight - of_slope * mean_x;
        let variance = 1.0 / weight_of(point);
        precision.slope += of_slope * of_slope * variance;
        precision.intercept += of_intercept * of_intercept * variance;
        precision.covariance += of_slope * of_intercept * variance;
    }
    let variance = (points.len() > 2).then(|| residual / (points.len() - 2) as f64);
    Ok(FittedLine {
        intercept_standard_error: variance.map(|variance| (variance * precision.intercept).sqrt()),
        slope_standard_error: variance.map(|variance| (variance * precision.slope).sqrt()),
        precision,
        ..plain
    })
}

/// The line with the least weighted sum of squared residuals, each point with the weight of its index.
pub(crate) fn fit_line_with_weights(points: &[DataPoint], weights: &[f64]) -> Result<FittedLine, StatsError> {
    require_finite(points.iter().map(|point| if point.x.is_finite() { point.y } else { point.x }), 2)?;
    if let Some(value_index) = weights.iter().position(|&weight| !(weight > 0.0 && weight.is_finite())) {
        return Err(StatsError::OutOfRange { value_index, requirement: "a weight must be above 0" });
    }
    let sums = RegressionSums::new(points, weights);
    if sums.sxx <= 0.0 {
        return Err(StatsError::Degenerate { reason: "all x are equal" });
    }
    let slope = sums.sxy / sums.sxx;
    let mean_x = sums.origin.x + sums.mean_x;
    let intercept = sums.origin.y + sums.mean_y - slope * mean_x;
    let residual = sums.residual(points, weights, slope);
    let variance = (points.len() > 2).then(|| residual / (points.len() - 2) as f64);
    let precision = Precision {
        intercept: 1.0 / sums.weight + mean_x * mean_x / sums.sxx,
        slope: 1.0 / sums.sxx,
        covariance: -mean_x / sums.sxx,
        residual,
    };
    Ok(FittedLine {
        intercept,
        slope,
        intercept_standard_error: variance.map(|variance| (variance * precision.intercept).sqrt()),
        slope_standard_error: variance.map(|variance| (variance * precision.slope).sqrt()),
        r_squared: (sums.syy > 0.0).then(|| (1.0 - residual / sums.syy).clamp(0.0, 1.0)),
        point_count: points.len(),
        precision,
    })
}

/// Weighted means counted from `origin`, and sums of products of deviations from them.
struct RegressionSums {
    origin: DataPoint,
    weight: f64,
    mean_x: f64,
    mean_y: f64,
    sxx: f64,
    sxy: f64,
    syy: f64,
}

impl RegressionSums {
    /// Updated point by point from the first, as in [`crate::moments`]: equal values leave exactly no deviation.
    fn new(points: &[DataPoint], weights: &[f64]) -> Self {
        let origin = points.first().copied().unwrap_or(DataPoint { x: 0.0, y: 0.0 });
        let mut sums = Self { origin, weight: 0.0, mean_x: 0.0, mean_y: 0.0, sxx: 0.0, sxy: 0.0, syy: 0.0 };
        for (point, weight) in points.iter().zip(weights) {
            sums.weight += weight;
            let (dx_before, dy_before) = sums.deviations(point);
            sums.mean_x += dx_before * weight / sums.weight;
            sums.mean_y += dy_before * weight / sums.weight;
            let (dx, dy) = sums.deviations(point);
            sums.sxx += weight * dx_before * dx;
            sums.sxy += weight * dx_before * dy;
            sums.syy += weight * dy_before * dy;
        }
        sums
    }

    /// How far a point is from the means, in x and in y.
    fn deviations(&self, point: &DataPoint) -> (f64, f64) {
        (point.x - self.origin.x - self.mean_x, point.y - self.origin.y - self.mean_y)
    }

    /// Weighted sum of squared residuals of the line through the means with this slope.
    fn residual(&self, points: &[DataPoint], weights: &[f64], slope: f64) -> f64 {
        let square = |(point, weight): (&DataPoint, &f64)| {
            let (dx, dy) = self.deviations(point);
            weight * (dy - slope * dx).powi(2)
        };
        points.iter().zip(weights).map(square).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{DataPoint, fit_line, fit_line_of_unequal_errors, fit_weighted_line};
    use crate::error::StatsError;
    use crate::interval::Level;

    fn points(pairs: &[(f64, f64)]) -> Vec<DataPoint> {
        pairs.iter().map(|&(x, y)| DataPoint { x, y }).collect()
    }

    #[test]
    fn two_points_give_the_line_through_them_and_no_errors() {
        let line = fit_line(&points(&[(1.0, 5.0), (3.0, 9.0)])).unwrap();
        assert_eq!((line.intercept, line.slope), (3.0, 2.0));
        assert_eq!((line.slope_standard_error, line.slope_interval(Level::P95)), (None, None));
        assert_eq!(line.prediction_interval(2.0, 1.0, Level::P95), None);
    }

    #[test]
    fn one_more_observation_is_promised_within_the_error_of_the_others_and_its_own() {
        let line = fit_line(&points(&[(1.0, 5.0), (2.0, 7.5), (3.0, 9.0), (4.0, 11.0)])).unwrap();
        let width =
            |x: f64, weight: f64| line.prediction_interval(x, weight, Level::P95).unwrap().half_width();
        assert!(width(10.0, 1.0) > width(2.5, 1.0) && width(2.5, 0.1) > width(2.5, 1.0));
        assert_eq!(line.prediction_interval(2.5, 0.0, Level::P95), None);
        let exact = fit_line(&points(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)])).unwrap();
        assert!(exact.prediction_interval(4.0, 1.0, Level::P95).unwrap().contains(4.0));
    }

    #[test]
    fn equal_weights_give_the_plain_line_and_its_errors() {
        let points = points(&[(1.0, 5.0), (2.0, 7.5), (3.0, 9.0), (4.0, 11.0)]);
        let (plain, other) =
            (fit_line(&points).unwrap(), fit_line_of_unequal_errors(&points, |_| 7.0).unwrap());
        assert_eq!((plain.slope, plain.intercept), (other.slope, other.intercept));
        let errors = |line: &super::FittedLine| {
            (line.slope_standard_error.unwrap(), line.intercept_standard_error.unwrap())
        };
        let ((slope, intercept), (other_slope, other_intercept)) = (errors(&plain), errors(&other));
        assert!((slope - other_slope).abs() < 1e-12 && (intercept - other_intercept).abs() < 1e-12);
        assert_eq!(fit_line_of_unequal_errors(&points[..2], |_| 1.0).unwrap().slope_standard_error, None);
        assert!(fit_line_of_unequal_errors(&points, |_| 0.0).is_err());
    }

    #[test]
    fn equal_y_give_a_level_line_without_r_squared() {
        let line = fit_line(&points(&[(1.0, 0.1), (2.0, 0.1), (4.0, 0.1)])).unwrap();
        assert_eq!((line.slope, line.r_squared, line.slope_standard_error), (0.0, None, Some(0.0)));
    }

    #[test]
    fn equal_x_do_not_determine_a_line() {
        let outcome = fit_line(&points(&[(0.1, 1.0), (0.1, 2.0), (0.1, 3.0)]));
        assert!(matches!(outcome, Err(StatsError::Degenerate { .. })));
    }

    #[test]
    fn input_that_cannot_be_fitted_is_named() {
        assert_eq!(fit_line(&[]), Err(StatsError::TooFew { needed_count: 2, given_count: 0 }));
        let outcome = fit_line(&points(&[(1.0, 1.0), (f64::NAN, 1.0)]));
        assert_eq!(outcome, Err(StatsError::NotFinite { value_index: 1 }));
        let outcome = fit_weighted_line(&points(&[(1.0, 1.0), (2.0, 1.0)]), |point| 2.0 - point.x);
        assert!(matches!(outcome, Err(StatsError::OutOfRange { value_index: 1, .. })));
    }
}
