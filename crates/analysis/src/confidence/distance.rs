//! How sure a verdict on observations is, by its distance to the next candidate.
//!
//! No simulated machines were fitted here, as for summaries: what remains is the distance of the first from the next,
//! limited by the caps of the methodology (section 11) and by what a rule says that its evidence leaves open.

use crate::thresholds::NO_INTERVENTION_CONFIDENCE;
use crate::verdict::SegmentVerdict;

/// The share of the cap that remains where another segment is as full.
const TIED_RATIO: f64 = 0.75;
/// From this distance in load the next segment is no rival.
const APART: f64 = 0.2;
/// The share of the cap where no other segment is known at all.
const ALONE_RATIO: f64 = 0.9;

/// The confidence in `first`, beside which `runner_up` comes next.
pub(super) fn confidence(first: &SegmentVerdict, runner_up: Option<&SegmentVerdict>) -> f64 {
    let cap = first.confidence_max.min(NO_INTERVENTION_CONFIDENCE);
    let share = runner_up.map_or(ALONE_RATIO, |other| {
        let gap = first.load_ratio.min(1.0) - other.load_ratio.min(1.0);
        TIED_RATIO + (1.0 - TIED_RATIO) * (gap / APART).clamp(0.0, 1.0)
    });
    // A cap below the usual one is a verdict of its own on how sure it can be.
    if first.confidence_max < NO_INTERVENTION_CONFIDENCE { cap } else { cap * share }
}
