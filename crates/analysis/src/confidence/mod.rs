//! How sure a verdict is: the probability that the named segment is right.
//!
//! A logistic law on what the verdict rests on, held below caps for what no number of repetitions can show. The
//! coefficients and what they rest on are in the module `coefficients`.

mod coefficients;
mod features;

pub(crate) use features::Features;

use crate::view::View;

/// Nobody has yet changed the segment and seen the rate move.
const NO_INTERVENTION: f64 = 0.9;
/// The segments do not add up to the path, or there is nothing to add up.
const UNEXPLAINED: f64 = 0.6;
/// Client and server share a machine.
const SHARED_MACHINE: f64 = 0.6;
/// A residual above this is unexplained.
const RESIDUAL_MAX: f64 = 0.25;

/// The confidence in a verdict with these features.
pub(crate) fn confidence(view: &View<'_>, features: &Features) -> f64 {
    logistic(features).min(cap(view, features))
}

/// The logistic law without caps.
pub(crate) fn logistic(features: &Features) -> f64 {
    let score: f64 = features
        .values()
        .iter()
        .zip(coefficients::WEIGHTS)
        .map(|(value, weight)| value * weight)
        .fold(coefficients::INTERCEPT, |sum, part| sum + part);
    1.0 / (1.0 + (-score).exp())
}

fn cap(view: &View<'_>, features: &Features) -> f64 {
    let unexplained = features.residual_ratio.is_none_or(|residual| residual.abs() > RESIDUAL_MAX);
    [
        (true, NO_INTERVENTION),
        (unexplained && !features.conclusive, UNEXPLAINED),
        (view.sharing.one_machine, SHARED_MACHINE),
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
