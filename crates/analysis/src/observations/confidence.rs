//! How sure a verdict on observations is.
//!
//! No simulated machines were fitted here, as for summaries: what remains is how far the first stands from the next, held
//! below the caps of DESIGN and below what a rule says that its evidence leaves open.

use crate::diagnose::Judged;

/// Nobody has changed the segment on purpose and seen the rate move as predicted (DESIGN, "Confidence").
const NO_INTERVENTION: f64 = 0.9;
/// The share of the cap that remains where another segment is as full.
const TIED_RATIO: f64 = 0.75;
/// From this distance in load the next segment is no rival.
const APART: f64 = 0.2;
/// The share of the cap where no other segment is known at all.
const ALONE_RATIO: f64 = 0.9;

/// The confidence in `first`, beside which `runner_up` comes next.
pub(crate) fn sure(first: &Judged, runner_up: Option<&Judged>) -> f64 {
    let cap = first.verdict.confidence_max.min(NO_INTERVENTION);
    let share = runner_up.map_or(ALONE_RATIO, |other| {
        let gap = first.verdict.load_ratio.min(1.0) - other.verdict.load_ratio.min(1.0);
        TIED_RATIO + (1.0 - TIED_RATIO) * (gap / APART).clamp(0.0, 1.0)
    });
    // A cap below the usual one is a verdict of its own on how sure it can be.
    if first.verdict.confidence_max < NO_INTERVENTION { cap } else { cap * share }
}
