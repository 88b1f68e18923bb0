//! The latency-bandwidth law of one segment, fitted to the time of requests of several sizes.
//!
//! It deliberately composes no segments and finds no breaks in the law.

use crate::error::StatsError;
use crate::interval::{Interval, Level};
use crate::regression::{Point, fit_weighted_line};

/// How long one request of a given size took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// The size of the request.
    pub block_bytes: f64,
    /// How long it took, above 0.
    pub elapsed_s: f64,
}

/// The law T(b) = a + b / B of one segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hockney {
    /// a, the time of a request of no bytes. Noise can make it negative when the sizes are all large.
    pub latency_s: f64,
    /// Interval of [`Hockney::latency_s`]; `None` for two transfers.
    pub latency_s_interval: Option<Interval>,
    /// B, the rate that ever larger requests approach.
    pub rate_bytes_per_s: f64,
    /// Interval of [`Hockney::rate_bytes_per_s`]; `None` for two transfers, and when the data allow any rate however
    /// large because latency hides it.
    pub rate_bytes_per_s_interval: Option<Interval>,
    /// Share of the weighted variance of the time that the law explains; `None` when the times do not vary.
    pub r_squared: Option<f64>,
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
/// give the law through them without intervals.
///
/// # Errors
/// [`StatsError::TooFew`] and [`StatsError::NotFinite`] as for a line, [`StatsError::OutOfRange`] for a size below 0
/// or a time that is not above 0, [`StatsError::Degenerate`] when all sizes are equal or the time does not grow with
/// the size, which leaves the rate undetermined.
///
/// # Source
/// Hockney and Jesshope, Parallel Computers 2 (1988): `r_inf` = B, `n_1/2` = a · B. Weighted least squares with weights
/// 1/T², because the noise of a measured time is about proportional to it; without weights the largest blocks alone
/// decide and the latency is lost. Assumes independent relative errors of one size. Intervals are Student's with
/// n - 2 degrees of freedom; that of B is the reciprocal of the one of the slope. Checked against `numpy.polyfit` with
/// the same weights (`hockney.json`).
pub fn fit_hockney(transfers: &[Transfer], level: Level) -> Result<Hockney, StatsError> {
    let points: Vec<Point> =
        transfers.iter().map(|transfer| Point { x: transfer.block_bytes, y: transfer.elapsed_s }).collect();
    if let Some(value_index) = points.iter().position(|point| point.x < 0.0 || point.y <= 0.0) {
        let requirement = "a size must not be below 0 and a time must be above 0";
        return Err(StatsError::OutOfRange { value_index, requirement });
    }
    let line = fit_weighted_line(&points, |point| 1.0 / (point.y * point.y))?;
    if line.slope <= 0.0 {
        return Err(StatsError::Degenerate { reason: "the time does not grow with the block size" });
    }
    let slope_interval = line.slope_interval(level);
    Ok(Hockney {
        latency_s: line.intercept,
        latency_s_interval: line.intercept_interval(level),
        rate_bytes_per_s: 1.0 / line.slope,
        rate_bytes_per_s_interval: slope_interval.and_then(reciprocal),
        r_squared: line.r_squared,
    })
}

/// The interval of 1/v from that of v; `None` when it is unbounded.
fn reciprocal(interval: Interval) -> Option<Interval> {
    (interval.low > 0.0).then(|| Interval { low: 1.0 / interval.high, high: 1.0 / interval.low, ..interval })
}

#[cfg(test)]
mod tests {
    use super::{Transfer, fit_hockney};
    use crate::error::StatsError;
    use crate::interval::Level;

    fn transfers(pairs: &[(f64, f64)]) -> Vec<Transfer> {
        pairs.iter().map(|&(block_bytes, elapsed_s)| Transfer { block_bytes, elapsed_s }).collect()
    }

    #[test]
    fn an_exact_law_is_recovered() {
        let exact: Vec<Transfer> = [512.0, 4096.0, 65536.0, 1_048_576.0]
            .map(|block_bytes| Transfer { block_bytes, elapsed_s: 2e-4 + block_bytes / 1e8 })
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
