//! Bytes that passed a cache, compared with those that arrived at it.

use super::EvidenceSource;
use crate::case::table::ObservationTable;
use crate::facts::flags;
use crate::text;
use crate::thresholds::{DOMINANT_RATIO, FULL_RATIO, INFERRED_CONFIDENCE};
use crate::verdict::{Basis, SegmentVerdict, Stance, Tier};
use narrows_model::diagnosis::Severity;
use narrows_model::observation::ObservedOp;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Bytes, Observation, Segment};
use std::collections::BTreeSet;

/// Bytes counted above and below a cache in the same time.
#[derive(Debug, Clone)]
pub(crate) struct CacheBytes<'s> {
    /// Those that came to it.
    pub above: Bytes,
    /// The same in words, with whose they are.
    pub said: String,
    /// Those that passed the cache.
    pub below: Bytes,
    /// Where they were counted.
    pub place: &'s str,
}

/// Precedence where a cache served: at the client nothing of the path was loaded; at the server network and server
/// were, and may be full.
pub(crate) fn tier(cache: Segment) -> Tier {
    if cache == Segment::ServerCache { Tier::Served } else { Tier::Voids }
}

/// Evaluates a cache by the bytes that passed it.
pub(crate) fn served(
    cache: Segment,
    id: &str,
    counted: &CacheBytes<'_>,
    shown: EvidenceSource<'_>,
) -> Option<SegmentVerdict> {
    let carried = ratio(counted.below.as_f64(), counted.above.as_f64())?;
    let cached = carried < DOMINANT_RATIO;
    let stance = if cached { Stance::Limits } else { Stance::Clears };
    let text = format!(
        "{id}: {}, {} of it {} ({})",
        counted.said,
        text::amount(counted.below),
        counted.place,
        text::percent(carried),
    );
    let verdict = SegmentVerdict::new(cache, id, stance, Basis::State, (1.0 - carried).clamp(0.0, 1.0));
    let severity = if cached { Severity::Warning } else { Severity::Info };
    let verdict = SegmentVerdict { severity, ..verdict }.with_tier(tier(cache));
    Some(verdict.with_evidence(text, shown.counter, shown.command))
}

/// Where bytes of an observation are counted below a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountingPoint {
    /// On the wire.
    Wire,
    /// At the device.
    Device,
}

/// Bytes of an observation that came to `cache` against those below it.
pub(crate) fn of_observation(one: &Observation, cache: Segment, at: CountingPoint) -> Option<SegmentVerdict> {
    let (below, place) = match at {
        CountingPoint::Wire => (one.bytes.wire?, "were on the wire"),
        CountingPoint::Device => (one.bytes.device?, "were at the device"),
    };
    let above = one.bytes.wire.filter(|_| cache == Segment::ServerCache).or(one.bytes.application)?;
    let counted = CacheBytes { above, said: format!("{} came", text::amount(above)), below, place };
    served(cache, &one.id, &counted, EvidenceSource { counter: "bytes at several places", command: "" })
}

/// The names of observations of writes.
pub(crate) fn writes<'a>(table: &ObservationTable<'a>) -> BTreeSet<&'a str> {
    let writes = table.observations().iter().filter(|one| one.op == ObservedOp::Write);
    writes.map(|one| one.id.as_str()).collect()
}

/// Whether the wire's bytes of a cell are those of the machines' interfaces.
pub(crate) fn by_interfaces(cell: &CellSummary) -> bool {
    flags::has(cell, flags::WIRE_BY_INTERFACES)
}

/// The counters by which the bytes of a cell are compared.
pub(crate) fn counter(cell: &CellSummary) -> &'static str {
    if by_interfaces(cell) {
        "bytes at application, interfaces (/proc/net/dev) and device"
    } else {
        "bytes at application, wire and device"
    }
}

/// What the application of a cell moved, in words.
pub(crate) fn application(cell: &CellSummary) -> String {
    let verb = if cell.op.moves_towards_device() { "wrote" } else { "read" };
    format!("the application {verb} {}", text::amount(cell.bytes.application))
}

/// What a hit ratio says of `cache`; `None` below nine tenths, where the rate is not the cache's.
pub(crate) fn of_hits(one: &Observation, cache: Segment) -> Option<SegmentVerdict> {
    let hits = one.hit_ratio.filter(|hits| *hits >= FULL_RATIO)?;
    let text = format!("{}: a cache served {} of the requests", one.id, text::percent(hits));
    let verdict = SegmentVerdict::new(cache, &one.id, Stance::Limits, Basis::State, hits.min(1.0));
    let verdict =
        SegmentVerdict { severity: Severity::Warning, ..verdict }.with_confidence_max(INFERRED_CONFIDENCE);
    Some(verdict.with_tier(tier(cache)).with_evidence(text, "hit ratio", ""))
}
