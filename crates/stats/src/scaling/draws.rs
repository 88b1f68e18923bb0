//! How sure a law is: its parameters over rates drawn around it.

use super::fit::{LawFit, choose_law, fit_law};
use super::law::{ScalingLaw, ScalingParameters};
use super::{ScalingPoint, sorted};
use crate::error::StatsError;
use crate::interval::{ConfidenceInterval, IntervalMethod, Level};
use crate::quantile::quantile_of_sorted;
use crate::resample::{BootstrapPlan, Resampler};

/// Laws fitted to rates that were drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct LawDraws {
    draws: Vec<ScalingParameters>,
    level: Level,
}

impl LawDraws {
    /// The laws, one a draw that could be fitted.
    #[must_use]
    pub fn laws(&self) -> &[ScalingParameters] {
        &self.draws
    }

    /// The interval of `figure` over the draws that have it; `None` where fewer than half have.
    #[must_use]
    pub fn interval(&self, figure: impl Fn(&ScalingParameters) -> Option<f64>) -> Option<ConfidenceInterval> {
        let mut values: Vec<f64> =
            self.draws.iter().filter_map(figure).filter(|value| value.is_finite()).collect();
        if values.len() * 2 < self.draws.len() {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        let tail = self.level.upper_tail();
        let low = quantile_of_sorted(&values, tail)?;
        let high = quantile_of_sorted(&values, 1.0 - tail)?;
        Some(ConfidenceInterval { low, high, level: self.level, method: IntervalMethod::ParametricBootstrap })
    }

    /// The interval of the parameter of this name.
    #[must_use]
    pub fn parameter_interval(&self, name: &str) -> Option<ConfidenceInterval> {
        self.interval(|law| law.named().into_iter().find(|(known, _)| *known == name).map(|(_, value)| value))
    }
}

/// The law of `fit` over rates drawn around it.
///
/// # Errors
/// As [`fit_law`]; [`StatsError::TooFew`] without a point more than parameters, which leaves the scatter unknown,
/// [`StatsError::BadArgument`] for too few resamples.
///
/// # Cost
/// One fit a resample.
///
/// # Source
/// A parametric bootstrap (Efron and Tibshirani 1993, chapter 6) of logarithms. The scatter of a point is that of the
/// residuals with n - p degrees of freedom, or the point's own error where that is larger; that the former is an
/// estimate is in the draws: each divides by the root of a chi-square over its degrees of freedom, as Student's t does.
pub fn law_draws(points: &[ScalingPoint], fit: &LawFit, plan: BootstrapPlan) -> Result<LawDraws, StatsError> {
    let law = fit.parameters.law();
    drawn(points, fit, plan, |drawn| fit_law(drawn, law).ok().map(|fit| fit.parameters))
}

/// The law that each draw supports, among `laws`: what is not known of the law itself is in these draws too.
///
/// # Errors
/// As [`law_draws`].
pub fn selected_draws(
    points: &[ScalingPoint],
    fit: &LawFit,
    laws: &[ScalingLaw],
    plan: BootstrapPlan,
) -> Result<LawDraws, StatsError> {
    drawn(points, fit, plan, |drawn| choose_law(drawn, laws).ok()?.best.map(|fit| fit.parameters))
}

fn drawn(
    points: &[ScalingPoint],
    fit: &LawFit,
    plan: BootstrapPlan,
    fitted: impl Fn(&[ScalingPoint]) -> Option<ScalingParameters>,
) -> Result<LawDraws, StatsError> {
    let plan = plan.checked()?;
    let points = sorted(points, fit.parameters.law().parameter_count() + 1)?;
    let degrees = fit.degrees_of_freedom().unwrap_or(0.0);
    let deviation = fit.deviation_ratio().ok_or(StatsError::TooFew {
        needed_count: fit.parameters.law().parameter_count() + 1,
        given_count: points.len(),
    })?;
    let mut resampler = Resampler::new(plan.seed);
    let mut draws = Vec::new();
    for _ in 0..plan.resample_count {
        let scatter = deviation * scale(&mut resampler, degrees);
        let around: Vec<ScalingPoint> = points
            .iter()
            .map(|point| {
                let error = scatter.max(point.relative_error.unwrap_or(0.0));
                let rate = fit.parameters.rate(point.clients) * (error * resampler.normal()).exp();
                ScalingPoint { rate, ..*point }
            })
            .collect();
        draws.extend(fitted(&around));
    }
    Ok(LawDraws { draws, level: plan.level })
}

/// The root of degrees over a chi-square of so many degrees: what makes a normal number Student's.
fn scale(resampler: &mut Resampler, degrees: f64) -> f64 {
    let mut squares = 0.0;
    let mut counted = 0.0;
    while counted < degrees {
        squares += resampler.normal().powi(2);
        counted += 1.0;
    }
    // A residual of nothing would make one draw of anything.
    (degrees / squares.max(1e-3 * degrees)).sqrt()
}
