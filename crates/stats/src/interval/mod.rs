//! Confidence intervals: the type, and one file for each way to make one.
//!
//! It deliberately makes no decision from an interval: whether it is narrow enough is the caller's question.

mod batch;
mod block;
mod bootstrap;
mod log_ratio;
mod ratio;
mod sections;
mod student;

pub use crate::level::Level;
pub use batch::{BatchMeans, batch_means, uncorrelated_batch_means};
pub use block::{block_bootstrap, optimal_block_len};
pub use bootstrap::bootstrap_interval;
pub use log_ratio::{Estimate, LogRatio, VarianceComponent};
pub use ratio::{RatioTerm, ratio_interval};
pub use sections::sectioned;
pub use student::student_interval;
pub(crate) use student::{EstimateSpread, around};

/// How an interval was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IntervalMethod {
    /// Student's t on independent values.
    StudentT,
    /// Student's t on the means of consecutive batches of one series.
    BatchMeans,
    /// Percentiles of a statistic over resamples.
    PercentileBootstrap,
    /// Distances of the mean over resamples made of blocks of one series.
    BlockBootstrap,
    /// Percentiles over values drawn from the law that was measured.
    ParametricBootstrap,
    /// The spread of a function of fitted coefficients, to first order.
    Delta,
    /// Student's t on the coefficient of a least-squares line.
    LeastSquares,
    /// Student's t on the logarithm of a ratio, with the degrees of freedom of Welch.
    WelchLogRatio,
}

impl IntervalMethod {
    /// The name used in records and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::StudentT => "student_t",
            Self::BatchMeans => "batch_means",
            Self::PercentileBootstrap => "percentile_bootstrap",
            Self::BlockBootstrap => "block_bootstrap",
            Self::ParametricBootstrap => "parametric_bootstrap",
            Self::Delta => "delta",
            Self::LeastSquares => "least_squares",
            Self::WelchLogRatio => "welch_log_ratio",
        }
    }
}

/// A confidence interval: its ends, its level, and how it was made.
///
/// # Units
/// Those of the values it was made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end, never below `low`.
    pub high: f64,
    /// The level that was asked for.
    pub level: Level,
    /// How the interval was made.
    pub method: IntervalMethod,
}

impl ConfidenceInterval {
    /// Whether `value` is inside, ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Half of the distance between the ends.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Half-width over the size of the middle; `None` when the middle is zero.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let ratio = self.half_width() / f64::midpoint(self.low, self.high).abs();
        ratio.is_finite().then_some(ratio)
    }
}

#[cfg(test)]
mod tests;
