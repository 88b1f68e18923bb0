//! What the stages that all clients share sustain: the cuts of the path, each by more and more clients.

use super::Curve;
use crate::facts::reads;
use crate::summary::laws::{in_flight, saturation, standard_error};
use crate::thresholds::ONE_OF_RATIO;
use narrows_model::summary::{CellSummary, SaturationState};
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment, Summary};

/// The cuts that measure what all clients share, with the segment of each.
const SHARED_CUTS: [(Cut, Segment); 4] = [
    (Cut::NetworkStream, Segment::NetworkBandwidth),
    (Cut::ServerMemory, Segment::ServerProtocol),
    (Cut::ServerStorage, Segment::DeviceBandwidth),
    (Cut::LocalDevice, Segment::DeviceBandwidth),
];

/// What a stage sustains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StageCeiling {
    /// The segment.
    pub(crate) segment: Segment,
    /// The cut that measured it.
    pub(crate) cut: Cut,
    /// The highest rate, in the unit of the curve.
    pub(crate) rate: f64,
    /// Its standard error over it.
    pub(crate) relative_error: f64,
    /// Whether it binds: more clients of the cut add nothing, so that the rate is the stage's and not its clients'.
    pub(crate) binds: bool,
}

/// The ceiling of every stage that was measured by itself with the load of `curve`.
///
/// The cut of the server's memory passes the network too: where that sustains no more, it is the network's ceiling.
pub(crate) fn stage_ceilings(summary: &Summary, curve: &Curve<'_>) -> Vec<StageCeiling> {
    let ceiling = |(cut, segment): &(Cut, Segment)| stage_ceiling(summary, curve, *cut, *segment);
    let mut all: Vec<StageCeiling> = SHARED_CUTS.iter().filter_map(ceiling).collect();
    let network = all.iter().find(|one| one.cut == Cut::NetworkStream && one.binds).map(|one| one.rate);
    let is_networks = |one: &StageCeiling| {
        let share = network.and_then(|most| ratio(one.rate, most));
        one.cut == Cut::ServerMemory && share.is_some_and(|share| share >= 1.0 - ONE_OF_RATIO)
    };
    all.retain(|one| !is_networks(one));
    all
}

fn stage_ceiling(summary: &Summary, curve: &Curve<'_>, cut: Cut, segment: Segment) -> Option<StageCeiling> {
    let path = curve.first();
    let mut cells: Vec<&CellSummary> = summary
        .cells
        .iter()
        .filter(|known| known.cut == cut && known.block_bytes == path.block_bytes)
        .filter(|known| reads(known.op) == reads(path.op) && curve.rate(known) > 0.0)
        .collect();
    // At the server the workers of all clients are those of one.
    cells.sort_by_key(|cell| cell.in_flight.configured);
    cells.dedup_by_key(|cell| cell.in_flight.configured);
    let best = cells.iter().max_by(|a, b| curve.rate(a).total_cmp(&curve.rate(b)))?;
    let grows = saturation(&cells, in_flight, summary.seed);
    Some(StageCeiling {
        segment,
        cut,
        rate: curve.rate(best),
        relative_error: standard_error(best),
        binds: grows.is_some_and(|found| found.state == SaturationState::Reached),
    })
}
