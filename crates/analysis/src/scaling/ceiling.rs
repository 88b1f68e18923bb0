//! What the stages that all clients share sustain: the cuts of the path, each by more and more clients.

use super::{BYTES_UNIT, Curve};
use crate::facts::network::direction_share;
use crate::facts::{has_mix_of, is_at, is_stream, reads};
use crate::summary::laws::{in_flight, saturation, standard_error};
use crate::thresholds::ONE_OF_RATIO;
use narrows_model::summary::{CellSummary, SaturationState};
use narrows_model::units::ratio;
use narrows_model::{Bytes, Cut, Segment, Summary, Target};

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
    let count = path.target.members().len();
    // A cut of one member alone is not that of the stripe.
    let is_whole = |cell: &CellSummary| count < 2 || cell.target.members().len() == count;
    let load = CutLoad { cut, segment, block_bytes: path.block_bytes };
    load.ceiling(summary, curve, is_whole).or_else(|| all_members(summary, curve, cut))
}

/// The ceiling of the members of a stripe together, from each of them alone: each transfers as much as the slowest.
fn all_members(summary: &Summary, curve: &Curve<'_>, cut: Cut) -> Option<StageCeiling> {
    let members = member_ceilings(summary, curve, cut)?;
    let slowest = members.iter().min_by(|a, b| a.rate.total_cmp(&b.rate))?;
    let binds = members.iter().all(|member| member.binds);
    Some(StageCeiling { rate: slowest.rate * members.len() as f64, binds, ..*slowest })
}

/// What the device of each member of the stripe that `curve` is of sustains alone, with its part of the load; `None` where
/// it is of no stripe, or a member was not measured.
pub(crate) fn member_ceilings(summary: &Summary, curve: &Curve<'_>, cut: Cut) -> Option<Vec<StageCeiling>> {
    let Target::Stripe(stripe) = &curve.first().target else { return None };
    if !matches!(cut, Cut::ServerStorage | Cut::LocalDevice) || curve.unit != BYTES_UNIT {
        return None;
    }
    let block_bytes = stripe.member_share(curve.first().block_bytes);
    let load = CutLoad { cut, segment: Segment::DeviceBandwidth, block_bytes };
    let alone = |member: &Target| load.ceiling(summary, curve, |cell| is_at(&cell.target, member));
    stripe.members().iter().map(alone).collect()
}

/// A cut with the blocks that its cells have.
#[derive(Debug, Clone, Copy)]
struct CutLoad {
    cut: Cut,
    segment: Segment,
    block_bytes: Bytes,
}

impl CutLoad {
    /// The ceiling by those of its cells that `is_wanted`.
    fn ceiling(
        self,
        summary: &Summary,
        curve: &Curve<'_>,
        is_wanted: impl Fn(&CellSummary) -> bool,
    ) -> Option<StageCeiling> {
        let mut cells: Vec<&CellSummary> = summary
            .cells
            .iter()
            .filter(|known| known.cut == self.cut && known.block_bytes == self.block_bytes)
            .filter(|known| reads(known.op) == reads(curve.first().op) && curve.rate(known) > 0.0)
            .filter(|known| has_mix_of(known, curve.first()) && is_wanted(known))
            .collect();
        // At the server the workers of all clients are those of one.
        cells.sort_by_key(|cell| cell.in_flight.configured);
        cells.dedup_by_key(|cell| cell.in_flight.configured);
        let best = cells.iter().max_by(|a, b| curve.rate(a).total_cmp(&curve.rate(b)))?;
        let one_way = if is_stream(self.cut) && curve.unit == BYTES_UNIT {
            direction_share(curve.first())
        } else {
            1.0
        };
        let grows = saturation(&cells, in_flight, summary.seed);
        Some(StageCeiling {
            segment: self.segment,
            cut: self.cut,
            // Of a mix a stream shows one direction alone.
            rate: curve.rate(best) / one_way,
            relative_error: standard_error(best),
            binds: grows.is_some_and(|found| found.state == SaturationState::Reached),
        })
    }
}
