//! What a confidence is computed from.

use crate::method::group_limit;
use crate::verdict::{Basis, SegmentVerdict, Tier};
use crate::view::SummaryView;

/// A residual no larger than this enters the law; above, the cap decides.
const RESIDUAL_ENTERING_MAX: f64 = 1.0;
/// Error of a load of which no repetition is known.
const UNKNOWN_ERROR_RATIO: f64 = 0.10;

/// What a confidence is computed from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Features {
    /// Probability that the first stays first when the measurements are repeated.
    pub first_rank_share: f64,
    /// Distance of its load to the runner-up's.
    pub margin: f64,
    /// Share of the path's segments that were measured.
    pub coverage: f64,
    /// The unexplained part of the path; `None` where nothing could be composed.
    pub residual_ratio: Option<f64>,
    /// Whether the verdict rests on a byte counter, on what was asked for or on a limit that is set, which no composition could
    /// contradict.
    pub conclusive: bool,
}

impl Features {
    /// The features of a verdict against its runner-up.
    pub(crate) fn new(
        first: &SegmentVerdict,
        runner_up: Option<&SegmentVerdict>,
        view: &SummaryView<'_>,
    ) -> Self {
        let residual = view.summary.prediction.cells.iter().find(|cell| cell.cell == first.cell);
        let load = |verdict: &SegmentVerdict| verdict.load_ratio.clamp(0.0, 1.0);
        let margin = load(first) - runner_up.map_or(0.0, load);
        Self {
            first_rank_share: runner_up.map_or(1.0, |other| first_rank_share(first, other)),
            margin,
            coverage: coverage(view),
            residual_ratio: residual.map(|found| found.residual_ratio),
            conclusive: (first.basis == Basis::State && first.tier == Tier::Voids)
                || first.tier == Tier::Offered
                || group_limit::is_certain(first),
        }
    }

    /// The values in the order of the weights.
    pub(crate) fn values(&self) -> [f64; 4] {
        let residual = self.residual_ratio.map_or(RESIDUAL_ENTERING_MAX, f64::abs).min(RESIDUAL_ENTERING_MAX);
        [self.first_rank_share, self.margin, self.coverage, residual]
    }
}

/// P(first > other) when both loads vary normally with their errors: what a bootstrap of normal means tends to, so
/// that a summary, which keeps intervals but no series, gives the same verdict as the record.
fn first_rank_share(first: &SegmentVerdict, other: &SegmentVerdict) -> f64 {
    let error = |verdict: &SegmentVerdict| {
        verdict.load_error_ratio.unwrap_or(UNKNOWN_ERROR_RATIO) * verdict.load_ratio.max(0.0)
    };
    let spread = error(first).hypot(error(other));
    let distance = first.load_ratio - other.load_ratio;
    if spread <= f64::EPSILON {
        return if distance > 0.0 { 1.0 } else { 0.5 };
    }
    normal_share(distance / spread)
}

/// The standard normal distribution function, to 1e-3.
///
/// # Source
/// Logistic approximation of Bowling et al., JIEM 2 (2009): 1 / (1 + exp(-0.07056 z^3 - 1.5976 z)), error < 1.4e-4.
fn normal_share(z: f64) -> f64 {
    1.0 / (1.0 + (-(0.070_56 * z.powi(3) + 1.5976 * z)).exp())
}

/// Share of the path's segments that were measured.
fn coverage(view: &SummaryView<'_>) -> f64 {
    let segments = &view.summary.segments;
    let measured = segments.iter().filter(|segment| segment.measured).count();
    narrows_model::units::ratio(measured as f64, segments.len() as f64).unwrap_or(0.0)
}
