//! The latency-bandwidth law of one segment, fitted to the time of requests of several sizes.
//!
//! It deliberately composes no segments and finds no breaks in the law.

use crate::chi_square;
use crate::error::StatsError;
use crate::interval::{ConfidenceInterval, EstimateSpread, IntervalMethod, Level, around};
use crate::normal;
use crate::regression::{DataPoint, FittedLine, fit_line_with_weights};

/// No point is trusted more than to this share of its time: intervals know nothing of what is the same in all samples.
const ERROR_MIN_RATIO: f64 = 0.01;
/// Below this probability the points deviate more from the law than their own errors explain.
pub const LACK_OF_FIT_LIMIT: f64 = 0.05;

/// How long one request of a given size took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// The size of the request.
    pub block_bytes: f64,
    /// How long it took, above 0.
    pub elapsed_s: f64,
    /// Standard error of the time over the time; `None` where it is not known.
    pub relative_error: Option<f64>,
}

/// The law T(b) = a + b / B of one segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hockney {
    /// a, the time of a request of no bytes. Noise can make it negative when the sizes are all large.
    pub latency_s: f64,
    /// Interval of [`Hockney::latency_s`]; `None` for two transfers.
    pub latency_s_interval: Option<ConfidenceInterval>,
    /// B, the rate that ever larger requests approach.
    pub rate_bytes_per_s: f64,
    /// Interval of [`Hockney::rate_bytes_per_s`]; `None` for two transfers, and when the data allow any rate however
    /// large because latency hides it.
    pub rate_bytes_per_s_interval: Option<ConfidenceInterval>,
    /// Interval of [`Hockney::n_half_bytes`]; `None` where that is or the rate has no interval.
    pub n_half_bytes_interval: Option<ConfidenceInterval>,
    /// Share of the weighted variance of the time that the law explains; `None` when the times do not vary.
    pub r_squared: Option<f64>,
    /// Largest deviation of a measured time from the law, over the law's time.
    pub deviation_ratio_max: f64,
    /// The probability that points of the law deviate as much as these; below [`LACK_OF_FIT_LIMIT`] the law does not
    /// apply over these sizes. `None` for two transfers, and where an error is not known.
    pub lack_of_fit_p_value: Option<f64>,
}

impl Hockney {
    /// The time the law gives to a request of `block_bytes`.
    #[must_use]
    pub fn elapsed_s(&self, block_bytes: f64) -> f64 {
        self.latency_s + block_bytes / self.rate_bytes_per_s
    }

    /// `n_half` = a · B, the request size that reaches half of B; `None` when the fitted latency is negative.
    #[must_use]
    pub fn n_half_bytes(&self) -> Option<f64> {
        (self.latency_s >= 0.0).then_some(self.latency_s * self.rate_bytes_per_s)
    }
}

/// The latency-bandwidth law that fits the transfers with the least relative error.
///
/// # Shape
/// At least two transfers of two different sizes, in any order; repetitions of a size are welcome. Two transfers
/// give the law through them without intervals. Errors count only where all transfers have one, and as 1 % where they are
/// smaller.
///
/// # Errors
/// [`StatsError::TooFew`] and [`StatsError::NotFinite`] as for a line, [`StatsError::OutOfRange`] for a size below 0, a
/// time that is not above 0 or an error below 0, [`StatsError::Degenerate`] when all sizes are equal or the time does not
/// grow with the size, which leaves the rate undetermined.
///
/// # Source
/// Hockney and Jesshope, Parallel Computers 2 (1988): `r_inf` = B, `n_1/2` = a · B. Weighted least squares with weights
/// 1/(e T)², e the relative error, the same for all where it is not known: the noise of a measured time is about
/// proportional to it, and without weights only the largest blocks decide and the latency is lost. Assumes independent
/// errors. Known errors: the sum of weighted squared residuals is chi-square with n - 2 degrees of freedom, which tests
/// the law; where the law fits the intervals are normal with these errors, where it does not, or errors are not known,
/// they are Student's with n - 2 degrees of freedom on the residuals. The interval of B is the reciprocal of the one of
/// the slope s; that of a/s is the delta method's: var = (var a + n² var s - 2 n cov(a, s)) / s². Checked against
/// `numpy.polyfit` with the same weights (`hockney.json`), coverage in `tests/it/coverage.rs`.
pub fn fit_hockney(transfers: &[Transfer], level: Level) -> Result<Hockney, StatsError> {
    let points: Vec<DataPoint> = transfers
        .iter()
        .map(|transfer| DataPoint { x: transfer.block_bytes, y: transfer.elapsed_s })
        .collect();
    let refused = |transfer: &Transfer| {
        let error = transfer.relative_error.unwrap_or(0.0);
        transfer.block_bytes < 0.0 || transfer.elapsed_s <= 0.0 || !(error >= 0.0 && error.is_finite())
    };
    if let Some(value_index) = transfers.iter().position(refused) {
        let requirement = "a size or an error must not be below 0 and a time must be above 0";
        return Err(StatsError::OutOfRange { value_index, requirement });
    }
    let errors: Option<Vec<f64>> =
        transfers.iter().map(|transfer| Some(transfer.relative_error?.max(ERROR_MIN_RATIO))).collect();
    let known = errors.is_some();
    let errors = errors.unwrap_or_else(|| vec![1.0; transfers.len()]);
    let weights: Vec<f64> = transfers
        .iter()
        .zip(&errors)
        .map(|(transfer, error)| (error * transfer.elapsed_s).powi(-2))
        .collect();
    let line = fit_line_with_weights(&points, &weights)?;
    if line.slope <= 0.0 {
        return Err(StatsError::Degenerate { reason: "the time does not grow with the block size" });
    }
    Ok(law_from_line(&line, &points, Scatter::from_residuals(&line, known), level))
}

/// How far the points scatter: what their weighted variance is taken to be, and how well that is known.
#[derive(Debug, Clone, Copy)]
struct Scatter {
    variance: f64,
    /// `None` where the variance is known.
    degrees_of_freedom: Option<f64>,
    lack_of_fit_p_value: Option<f64>,
}

impl Scatter {
    /// `None` for two points, which do not scatter.
    fn from_residuals(line: &FittedLine, errors_known: bool) -> Option<Self> {
        let degrees_of_freedom = line.point_count.checked_sub(2).filter(|&degrees| degrees > 0)? as f64;
        let residual = line.precision.residual;
        let by_residuals = Self {
            variance: residual / degrees_of_freedom,
            degrees_of_freedom: Some(degrees_of_freedom),
            lack_of_fit_p_value: None,
        };
        if !errors_known {
            return Some(by_residuals);
        }
        let p_value = chi_square::upper_tail(residual, degrees_of_freedom).ok()?;
        let lack_of_fit_p_value = Some(p_value);
        Some(if p_value < LACK_OF_FIT_LIMIT {
            Self { lack_of_fit_p_value, ..by_residuals }
        } else {
            Self { variance: 1.0, degrees_of_freedom: None, lack_of_fit_p_value }
        })
    }

    fn interval(&self, estimate: f64, unit_variance: f64, level: Level) -> Option<ConfidenceInterval> {
        let standard_error = (self.variance * unit_variance.max(0.0)).sqrt();
        let Some(degrees_of_freedom) = self.degrees_of_freedom else {
            let half_width = -normal::quantile(level.upper_tail()).ok()? * standard_error;
            let (low, high) = (estimate - half_width, estimate + half_width);
            return Some(ConfidenceInterval { low, high, level, method: IntervalMethod::LeastSquares });
        };
        let spread = EstimateSpread { standard_error, degrees_of_freedom };
        around(estimate, spread, level, IntervalMethod::LeastSquares).ok()
    }
}

fn law_from_line(line: &FittedLine, points: &[DataPoint], scatter: Option<Scatter>, level: Level) -> Hockney {
    let interval =
        |estimate: f64, unit_variance: f64| scatter.and_then(|s| s.interval(estimate, unit_variance, level));
    let precision = line.precision;
    let rate_bytes_per_s_interval = interval(line.slope, precision.slope).and_then(reciprocal);
    let n_half = line.intercept / line.slope;
    let n_half_variance = (precision.intercept + n_half * n_half * precision.slope
        - 2.0 * n_half * precision.covariance)
        / (line.slope * line.slope);
    let n_half_bytes_interval = interval(n_half, n_half_variance)
        .filter(|_| line.intercept >= 0.0 && rate_bytes_per_s_interval.is_some())
        .map(|found| ConfidenceInterval { low: found.low.max(0.0), method: IntervalMethod::Delta, ..found });
    let deviation = |point: &DataPoint| ((point.y - line.at(point.x)) / line.at(point.x)).abs();
    Hockney {
        latency_s: line.intercept,
        latency_s_interval: interval(line.intercept, precision.intercept),
        rate_bytes_per_s: 1.0 / line.slope,
        rate_bytes_per_s_interval,
        n_half_bytes_interval,
        r_squared: line.r_squared,
        deviation_ratio_max: points.iter().map(deviation).fold(0.0, f64::max),
        lack_of_fit_p_value: scatter.and_then(|scatter| scatter.lack_of_fit_p_value),
    }
}

/// The interval of 1/v from that of v; `None` when it is unbounded.
fn reciprocal(interval: ConfidenceInterval) -> Option<ConfidenceInterval> {
    (interval.low > 0.0).then(|| ConfidenceInterval {
        low: 1.0 / interval.high,
        high: 1.0 / interval.low,
        ..interval
    })
}

#[cfg(test)]
mod tests {
    use super::{Hockney, Transfer, fit_hockney};
    use crate::error::StatsError;
    use crate::interval::Level;

    fn transfers(pairs: &[(f64, f64)]) -> Vec<Transfer> {
        let transfer = |&(block_bytes, elapsed_s): &(f64, f64)| Transfer {
            block_bytes,
            elapsed_s,
            relative_error: None,
        };
        pairs.iter().map(transfer).collect()
    }

    #[test]
    fn an_exact_law_is_recovered() {
        let exact: Vec<Transfer> = [512.0, 4096.0, 65536.0, 1_048_576.0]
            .map(|block_bytes| Transfer {
                block_bytes,
                elapsed_s: 2e-4 + block_bytes / 1e8,
                relative_error: None,
            })
            .to_vec();
        let law = fit_hockney(&exact, Level::P95).unwrap();
        assert!((law.latency_s / 2e-4 - 1.0).abs() < 1e-9);
        assert!((law.rate_bytes_per_s / 1e8 - 1.0).abs() < 1e-9);
        let n_half = law.n_half_bytes().unwrap();
        assert!((n_half / 2e4 - 1.0).abs() < 1e-9);
        assert!((n_half / law.elapsed_s(n_half) / 5e7 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn two_transfers_have_a_law_but_no_intervals() {
        let law = fit_hockney(&transfers(&[(0.0, 1.0), (100.0, 2.0)]), Level::P95).unwrap();
        assert!((law.latency_s - 1.0).abs() < 1e-12 && (law.rate_bytes_per_s - 100.0).abs() < 1e-9);
        assert_eq!((law.latency_s_interval, law.rate_bytes_per_s_interval), (None, None));
        assert_eq!((law.n_half_bytes_interval, law.lack_of_fit_p_value), (None, None));
    }

    #[test]
    fn points_that_bend_are_reported_by_their_errors_and_widen_the_intervals() {
        let with_errors = |pairs: &[(f64, f64)]| {
            let mut known = transfers(pairs);
            for transfer in &mut known {
                transfer.relative_error = Some(0.01);
            }
            fit_hockney(&known, Level::P95).unwrap()
        };
        let straight = with_errors(&[(1e3, 1.01e-4), (1e5, 2.01e-4), (1e6, 1.09e-3), (1e7, 1.02e-2)]);
        assert!(straight.lack_of_fit_p_value.unwrap() > 0.05, "{straight:?}");
        let bent = with_errors(&[(1e3, 1e-4), (1e5, 3e-4), (1e6, 1.1e-3), (1e7, 1.01e-2)]);
        assert!(bent.lack_of_fit_p_value.unwrap() < 1e-6 && bent.deviation_ratio_max > 0.1, "{bent:?}");
        let width = |law: &Hockney| law.latency_s_interval.unwrap().half_width();
        assert!(width(&bent) > 10.0 * width(&straight));
    }

    #[test]
    fn a_rate_hidden_by_latency_has_no_interval() {
        let noisy = transfers(&[(1.0, 1.00), (2.0, 1.10), (3.0, 0.95), (4.0, 1.06)]);
        let law = fit_hockney(&noisy, Level::P95).unwrap();
        assert!(law.rate_bytes_per_s_interval.is_none() && law.latency_s_interval.is_some());
    }

    #[test]
    fn a_negative_latency_has_no_half_rate_size() {
        let law = fit_hockney(&transfers(&[(100.0, 1.0), (200.0, 3.0)]), Level::P95).unwrap();
        assert!(law.latency_s < 0.0);
        assert_eq!(law.n_half_bytes(), None);
    }

    #[test]
    fn times_that_do_not_grow_or_are_not_positive_are_refused() {
        let level = transfers(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]);
        assert!(matches!(fit_hockney(&level, Level::P95), Err(StatsError::Degenerate { .. })));
        let stopped = transfers(&[(1.0, 2.0), (2.0, 0.0)]);
        assert!(matches!(
            fit_hockney(&stopped, Level::P95),
            Err(StatsError::OutOfRange { value_index: 1, .. })
        ));
        assert!(matches!(fit_hockney(&[], Level::P95), Err(StatsError::TooFew { .. })));
    }
}
