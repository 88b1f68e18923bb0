//! The law of a curve, as summaries store it.

use super::Curve;
use crate::summary::summary_interval;
use narrows_model::summary::{Interval, ScalingLawSummary};
use narrows_stats::resample::BootstrapPlan;
use narrows_stats::scaling::{LawFit, ScalingLaw, ScalingParameters, choose_law, law_draws};
use std::collections::BTreeMap;

/// Draws of the rates for the intervals of a law's parameters.
const RESAMPLES: usize = 1_000;

/// What the points say of the laws.
#[derive(Debug, Default)]
pub(super) struct CurveLaws {
    pub(super) best: Option<ScalingParameters>,
    pub(super) parameter_intervals: BTreeMap<String, Interval>,
    pub(super) peak_interval: Option<Interval>,
    pub(super) highest_interval: Option<Interval>,
    pub(super) laws: Vec<ScalingLawSummary>,
}

/// The laws of `curve`; without a best one where it has fewer than five points.
pub(super) fn laws(curve: &Curve<'_>, seed: u64) -> CurveLaws {
    let points = curve.law_points();
    let Ok(choice) = choose_law(&points, &ScalingLaw::ALL) else { return CurveLaws::default() };
    let mut found = CurveLaws {
        best: choice.best.map(|fit| fit.parameters),
        laws: choice.fits.iter().map(law_summary).collect(),
        ..CurveLaws::default()
    };
    let plan = BootstrapPlan { resample_count: RESAMPLES, ..BootstrapPlan::with_seed(seed) };
    let Some(draws) = choice.best.and_then(|best| law_draws(&points, &best, plan).ok()) else { return found };
    for (name, _) in found.best.iter().flat_map(ScalingParameters::named) {
        let interval = draws.parameter_interval(name).map(summary_interval);
        found.parameter_intervals.extend(interval.map(|interval| (name.to_owned(), interval)));
    }
    found.peak_interval = draws.interval(ScalingParameters::peak_clients).map(summary_interval);
    found.highest_interval = draws.interval(ScalingParameters::highest_rate).map(summary_interval);
    found
}

fn law_summary(fit: &LawFit) -> ScalingLawSummary {
    ScalingLawSummary {
        model: fit.parameters.law().name().to_owned(),
        parameters: named(&fit.parameters),
        deviation_ratio: fit.deviation_ratio(),
        aicc: fit.aicc,
    }
}

/// The parameters by their names.
pub(super) fn named(law: &ScalingParameters) -> BTreeMap<String, f64> {
    law.named().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
