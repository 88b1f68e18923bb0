//! How sure a verdict is: the probability that the named segment is right.
//!
//! Where a run measured the segments apart, it is a logistic law of what the verdict rests on, limited by caps for what
//! no number of repetitions can show; its coefficients and their basis are in the module `coefficients`. For
//! observations, for which no machines were fitted, it is the distance of the first from the next, in the module
//! `distance`.

mod coefficients;
mod distance;
mod features;

pub(crate) use features::Features;

use crate::case::Cases;
use crate::thresholds::{
    BARELY_CONFIDENCE, BRIEF_S, ELIMINATED_CONFIDENCE, HARDLY_EXPLAINED_RATIO, INFERRED_CONFIDENCE,
    NO_INTERVENTION_CONFIDENCE, UNEXPLAINED_RATIO,
};
use crate::verdict::SegmentVerdict;
use crate::view::SummaryView;
use narrows_model::change::Confirmation;

/// The confidence in `first`, beside which `runner_up` comes next; never above what its rule says that its evidence leaves
/// open.
pub(crate) fn confidence(
    cases: &Cases<'_>,
    first: &SegmentVerdict,
    runner_up: Option<&SegmentVerdict>,
) -> f64 {
    let Some(view) = cases.view() else { return distance::confidence(first, runner_up) };
    let brief_max = if is_brief(view, first) { ELIMINATED_CONFIDENCE } else { 1.0 };
    fitted(view, &Features::new(first, runner_up, view)).min(first.confidence_max).min(brief_max)
}

/// Whether the load was measured for so short a time that one wait for a CPU decides its figures.
fn is_brief(view: &SummaryView<'_>, verdict: &SegmentVerdict) -> bool {
    let cell = view.summary.cells.iter().find(|cell| cell.id == verdict.cell);
    cell.is_some_and(|cell| cell.elapsed_s.last_done < BRIEF_S)
}

/// The confidence once the segment was changed: a prediction that came true halves the doubt, whatever no repetition of
/// the same measurements could show, and one that failed halves the confidence.
pub(crate) fn changed(confidence: f64, outcome: Confirmation) -> f64 {
    match outcome {
        Confirmation::Confirmed => 1.0 - (1.0 - confidence) / 2.0,
        Confirmation::Refuted => confidence / 2.0,
        Confirmation::Undecided => confidence,
    }
}

/// The fitted law below its caps.
pub(crate) fn fitted(view: &SummaryView<'_>, features: &Features) -> f64 {
    logistic(features).min(cap(view, features))
}

/// The logistic law without caps.
pub(crate) fn logistic(features: &Features) -> f64 {
    logistic_of_values(&features.values())
}

fn logistic_of_values(values: &[f64; 4]) -> f64 {
    let score = values
        .iter()
        .zip(coefficients::WEIGHTS)
        .map(|(value, weight)| value * weight)
        .fold(coefficients::INTERCEPT, |sum, part| sum + part);
    1.0 / (1.0 + (-score).exp())
}

/// What limits the law: chosen, and checked against verdicts on machines with a known fault (`docs/concepts/accuracy.md`).
fn cap(view: &SummaryView<'_>, features: &Features) -> f64 {
    let beyond = |most: f64| features.residual_ratio.is_some_and(|residual| residual.abs() > most);
    let is_unpredicted = features.residual_ratio.is_none();
    [
        (true, NO_INTERVENTION_CONFIDENCE),
        (beyond(UNEXPLAINED_RATIO) && !features.conclusive, ELIMINATED_CONFIDENCE),
        (beyond(HARDLY_EXPLAINED_RATIO) && !features.conclusive, BARELY_CONFIDENCE),
        (is_unpredicted && !features.conclusive, INFERRED_CONFIDENCE),
        (is_unpredicted && !features.conclusive && !view.has_cut(), ELIMINATED_CONFIDENCE),
        (view.sharing.one_station() || view.proxy_is_in_station(), ELIMINATED_CONFIDENCE),
        (view.sharing.one_machine, BARELY_CONFIDENCE),
    ]
    .into_iter()
    .filter(|(applies, _)| *applies)
    .map(|(_, cap)| cap)
    .fold(1.0, f64::min)
}

#[cfg(test)]
mod fit;
#[cfg(test)]
mod tests;
