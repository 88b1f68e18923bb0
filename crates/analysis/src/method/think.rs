//! Users who think between an answer and their next request.

use crate::thresholds::DOMINANT_RATIO;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// Share of a closed loop's cycle that its users think; `None` where they do not.
pub(crate) fn share(cell: &CellSummary) -> Option<f64> {
    let think_s = Some(cell.requested.think_ns.as_secs_f64()).filter(|think| *think > 0.0)?;
    let cycle_s = ratio(cell.in_flight.configured as f64, cell.ops_per_s?.0)?;
    ratio(think_s, cycle_s).filter(|share| *share < 1.0)
}

/// Whether thinking is most of a cycle, so that how many requests are in flight is the users' doing.
pub(crate) fn dominates(cell: &CellSummary) -> bool {
    share(cell).is_some_and(|share| share >= DOMINANT_RATIO)
}
