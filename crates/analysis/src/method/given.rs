//! A rate against the ceilings that a file gives: data sheets, links, and what was measured of a segment alone.
//!
//! Near one the segment is full; far below it is cleared; above it the bytes did not pass the segment, and the cache
//! before it served them. Where the rate is only known to be between two bounds, the lower one convicts and the upper
//! one clears.

use super::cache;
use super::scope::{CLIENT_LINK, SERVER_LINK};
use crate::case::table::{self, Bracket, ObservationTable};
use crate::text;
use crate::thresholds::{FREE_RATIO, FULL_RATIO, INFERRED_CONFIDENCE, RAISED_RATIO};
use crate::verdict::{Basis, SegmentVerdict, Stance, Tier};
use narrows_model::counters::Role;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::{Capacity, Ceiling, CeilingBasis, ObservedOp, Quality, Scope};
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// Rates against the ceilings of the segments that `is_meant` selects, where they can have passed these.
pub(crate) fn reached(
    table: &ObservationTable<'_>,
    is_meant: impl Fn(Segment) -> bool,
) -> Vec<SegmentVerdict> {
    // What is neither full nor free is for rules that know more of the case (`below_ceiling`).
    let is_decided = |verdict: &SegmentVerdict| verdict.stance != Stance::Open && !is_impossible(verdict);
    let possible = all(table).into_iter().filter(is_decided);
    possible.filter(|verdict| is_meant(verdict.segment)).collect()
}

/// Rates that no byte at that speed can have passed the segment of a ceiling with, blamed on the cache before it.
pub(crate) fn impossible(table: &ObservationTable<'_>) -> Vec<SegmentVerdict> {
    all(table).into_iter().filter(is_impossible).collect()
}

/// Whether a verdict blames the cache before a segment.
fn is_impossible(verdict: &SegmentVerdict) -> bool {
    matches!(verdict.segment, Segment::ClientCache | Segment::ServerCache) && verdict.basis == Basis::State
}

fn all(table: &ObservationTable<'_>) -> Vec<SegmentVerdict> {
    let resources = table.all.ceilings.iter().filter(|ceiling| ceiling.segment != Segment::Generator);
    let verdicts = resources.flat_map(|ceiling| {
        let ones = table.observations().iter().filter(move |one| applies(ceiling, one));
        ones.filter_map(move |one| evaluate(table, ceiling, one))
    });
    verdicts.collect()
}

/// Whether a ceiling speaks of an observation: of its operation, not of operations on names, and not of a network that was
/// not crossed.
fn applies(ceiling: &Ceiling, one: &Observation) -> bool {
    if ceiling.segment.is_within(Segment::Network) && table::is_local(one) {
        return false;
    }
    let of_op = ceiling.op.is_none_or(|op| op == one.op || one.op == ObservedOp::Mixed);
    of_op && one.op != ObservedOp::Metadata
}

fn evaluate(table: &ObservationTable<'_>, ceiling: &Ceiling, one: &Observation) -> Option<SegmentVerdict> {
    if let Some(verdict) = above_own_link(ceiling, one) {
        return Some(verdict);
    }
    if table.modes(one).is_some() {
        return None; // A sum of what a cache and the path behind it served says nothing of either.
    }
    let count = ObservationTable::count_of(ceiling, one);
    let (rate, most, shown): (Bracket, f64, fn(f64) -> String) = match ceiling.capacity {
        Capacity::BytesPerS(most) => (table::bytes_per_s(one)?, most.0 * count, shown_as(ceiling.segment)),
        Capacity::OpsPerS(most) => {
            let ops = table::ops_per_s(one)?;
            (Bracket { low: ops, high: ops }, most.0 * count, text::op_rate)
        }
        Capacity::LatencyS(_) => return None,
    };
    let rate = past_cache(ceiling, one, rate);
    let load = Bracket { low: ratio(rate.low, most)?, high: ratio(rate.high, most)? };
    let against = CeilingComparison { ceiling, one, load, rate, most, shown };
    if load.low > RAISED_RATIO + table::doubt_ratio(one) {
        return Some(above(table, &against));
    }
    within(&against)
}

struct CeilingComparison<'a> {
    ceiling: &'a Ceiling,
    one: &'a Observation,
    load: Bracket,
    rate: Bracket,
    most: f64,
    shown: fn(f64) -> String,
}

impl CeilingComparison<'_> {
    fn text(&self) -> String {
        let shown = self.shown;
        let rate = if self.rate.is_open() {
            format!("between {} and {}", shown(self.rate.low), shown(self.rate.high))
        } else {
            shown(self.rate.high)
        };
        let share = if self.rate.is_open() {
            format!("{} to {}", text::percent(self.load.low), text::percent(self.load.high))
        } else {
            text::percent(self.load.high)
        };
        format!(
            "{}: {rate}, {share} of the {} capacity of {}{}{}",
            self.one.id,
            shown(self.most),
            self.ceiling.segment,
            self.remark(),
            self.payload()
        )
    }

    /// What a rate is of the payload that a line has room for, where it is not above the line.
    fn payload(&self) -> String {
        let of_payload = self.load.high / payload_ratio(self.ceiling);
        let is_line = payload_ratio(self.ceiling) < 1.0 && self.load.high <= 1.0 && !self.rate.is_open();
        if is_line {
            let share = text::percent(of_payload.min(1.0));
            format!(", {share} of the payload that frames of 1500 bytes leave")
        } else {
            String::new()
        }
    }

    fn remark(&self) -> String {
        let basis = if self.ceiling.basis == CeilingBasis::Declared { "declared" } else { "measured" };
        match &self.ceiling.note {
            Some(note) => format!(" ({basis}: {note})"),
            None => format!(" ({basis})"),
        }
    }
}

/// What of a rate reached a device behind a cache.
fn past_cache(ceiling: &Ceiling, one: &Observation, rate: Bracket) -> Bracket {
    let of_device = ceiling.segment.is_within(Segment::Device);
    let missed = one.hit_ratio.filter(|_| of_device).map_or(1.0, |hit| (1.0 - hit).max(0.0));
    Bracket { low: rate.low * missed, high: rate.high * missed }
}

/// Payload of TCP over the bits of an Ethernet line: 1448 of 1538 bytes a frame.
///
/// # Source
/// IEEE 802.3 (preamble, header, checksum and gap: 38 bytes beside 1500), RFC 9293 and RFC 7323 (headers of 52).
pub const PAYLOAD_RATIO: f64 = 1448.0 / 1538.0;

/// The share of a ceiling that is left for the application's bytes: a declared network is the rate of its line.
fn payload_ratio(ceiling: &Ceiling) -> f64 {
    let is_line = ceiling.segment == Segment::NetworkBandwidth && ceiling.basis == CeilingBasis::Declared;
    if is_line { PAYLOAD_RATIO } else { 1.0 }
}

fn within(against: &CeilingComparison<'_>) -> Option<SegmentVerdict> {
    let CeilingComparison { ceiling, one, load, .. } = against;
    let payload = payload_ratio(ceiling);
    let doubt = table::doubt_ratio(one);
    // The frames of a line are an allowance already: 86 % of its payload is no full line, however the rate was rounded.
    let allowance = if payload < 1.0 { 0.0 } else { doubt };
    let full = load.low >= (FULL_RATIO - allowance) * payload && one.quality != Quality::UpperBound;
    let free = load.high < (FREE_RATIO - doubt) * payload && one.quality != Quality::LowerBound;
    let below = load.high < (FULL_RATIO - doubt) * payload && one.quality != Quality::LowerBound;
    let stance = match (full, free) {
        (true, _) => Stance::Limits,
        (false, true) => Stance::Clears,
        (false, false) if below => Stance::Open,
        (false, false) => return None,
    };
    let load_ratio = (load.low / payload).min(1.0);
    let verdict = SegmentVerdict::new(ceiling.segment, &one.id, stance, Basis::Utilisation, load_ratio);
    Some(SegmentVerdict { scope: scope(ceiling), ..verdict }.with_evidence(
        against.text(),
        "rate and ceiling",
        "",
    ))
}

/// Bytes faster than the segment sustains did not pass it.
fn above(table: &ObservationTable<'_>, against: &CeilingComparison<'_>) -> SegmentVerdict {
    let CeilingComparison { ceiling, one, .. } = against;
    let served = served_by(table, ceiling.segment, one);
    let certain = ceiling.basis == CeilingBasis::Declared && one.quality != Quality::UpperBound;
    let confidence = if certain { 1.0 } else { INFERRED_CONFIDENCE };
    let text = format!("{}: more than it can transfer", against.text());
    let verdict = SegmentVerdict::new(served, &one.id, Stance::Limits, Basis::State, 1.0)
        .with_confidence_max(confidence);
    let tier = cache::tier(served);
    SegmentVerdict { severity: Severity::Warning, ..verdict }.with_tier(tier).with_evidence(
        text,
        "rate and ceiling",
        "",
    )
}

/// The cache before a segment.
fn served_by(table: &ObservationTable<'_>, segment: Segment, one: &Observation) -> Segment {
    let behind_server = segment.is_within(Segment::Device) && table.is_remote(one);
    if segment.is_within(Segment::Server) || behind_server {
        Segment::ServerCache
    } else {
        Segment::ClientCache
    }
}

/// Clients that read faster than the link that each of them has.
fn above_own_link(ceiling: &Ceiling, one: &Observation) -> Option<SegmentVerdict> {
    let network = ceiling.segment == Segment::NetworkBandwidth;
    let Capacity::BytesPerS(most) = ceiling.capacity else { return None };
    let of_each = matches!(ceiling.scope, Scope::Client | Scope::Shared);
    let rates = &one.per_client_bytes_per_s;
    if !network || !of_each || rates.len() < 2 {
        return None;
    }
    let link =
        if ceiling.scope == Scope::Client { most.0 } else { most.0 * ceiling.count.unwrap_or(1) as f64 };
    let above = rates.iter().filter(|rate| **rate > link * RAISED_RATIO).count();
    (above > 0).then(|| {
        let text = format!(
            "{}: {above} of {} clients moved more than the {} of one link, the fastest {}",
            one.id,
            rates.len(),
            text::network_rate(link),
            text::network_rate(table::extreme(rates, f64::max).unwrap_or(0.0))
        );
        let certain = ceiling.basis == CeilingBasis::Declared;
        let verdict = SegmentVerdict::new(Segment::ClientCache, &one.id, Stance::Limits, Basis::State, 1.0)
            .with_confidence_max(if certain { 1.0 } else { INFERRED_CONFIDENCE });
        SegmentVerdict { severity: Severity::Warning, ..verdict }.with_tier(Tier::Voids).with_evidence(
            text,
            "rates of clients and ceiling",
            "",
        )
    })
}

/// How a rate of a segment is printed: networks in bits, storage in bytes.
fn shown_as(segment: Segment) -> fn(f64) -> String {
    if segment.is_within(Segment::Network) { text::network_rate } else { text::storage_rate }
}

/// Which link, node or share a ceiling is that of.
fn scope(ceiling: &Ceiling) -> Option<&'static str> {
    let is_network = ceiling.segment.is_within(Segment::Network);
    match ceiling.scope {
        Scope::Client if is_network => Some(CLIENT_LINK),
        Scope::Server if is_network => Some(SERVER_LINK),
        Scope::Shared if ceiling.count.is_some_and(|count| count > 1) || is_network => Some("shared"),
        Scope::Node => Some("node"),
        _ => None,
    }
}

/// Whether figures of `one` show that a segment, or a part of it, was mostly idle: its busy time, its CPU, its ceilings.
pub(crate) fn is_idle(table: &ObservationTable<'_>, segment: Segment, one: &Observation) -> bool {
    let busy = |(part, busy): (&Segment, &f64)| part.is_within(segment) && *busy < FREE_RATIO;
    let role = match segment {
        Segment::ClientCpu => Some(Role::Client),
        Segment::ProxyCpu => Some(Role::Proxy),
        Segment::ServerCpu => Some(Role::Server),
        _ => None,
    };
    let cpu = role.and_then(|role| table::cpu(one, role));
    has_room(table, segment, one)
        || one.busy_ratio.iter().any(busy)
        || cpu.is_some_and(|cpu| cpu.ratio < FREE_RATIO)
}

/// More stages than these that may be full are no answer.
const STAGES_MAX: usize = 3;

/// The stages that what is raised along a curve shares: those behind the clients where there are more and more of them, and
/// the client's own too where one client asks for more at once.
pub(crate) fn shared_stages(table: &ObservationTable<'_>, more_clients: bool) -> Vec<Segment> {
    let remote = more_clients || table.has_network();
    let stages = [
        (Segment::Client, !more_clients),
        (Segment::Server, remote),
        (Segment::Device, true),
        (Segment::Network, table.has_network()),
        (Segment::Proxy, table.has_proxy()),
    ];
    stages.into_iter().filter(|(_, is_shared)| *is_shared).map(|(stage, _)| stage).collect()
}

/// Those of `stages` that nothing shows to have room under `one`; none where too many are left to name any.
pub(crate) fn possibly_full(
    table: &ObservationTable<'_>,
    stages: &[Segment],
    one: &Observation,
) -> Vec<Segment> {
    let may_be_full =
        |stage: &&Segment| !is_idle(table, **stage, one) && below_ceiling(table, **stage, one).is_empty();
    let left: Vec<Segment> = stages.iter().filter(may_be_full).copied().collect();
    if left.len() > STAGES_MAX { Vec::new() } else { left }
}

/// Whether some ceiling shows that a segment has room under `one`.
fn has_room(table: &ObservationTable<'_>, segment: Segment, one: &Observation) -> bool {
    let found = of_segment(table, segment, one);
    !found.is_empty() && found.iter().all(|verdict| verdict.stance == Stance::Clears)
}

/// What the ceilings of a segment say that is neither full nor free under `one`; empty where one of them is full.
///
/// Where a load was raised and the rate did not follow, some shared stage is full, and one below its ceiling is not it.
pub(crate) fn below_ceiling(
    table: &ObservationTable<'_>,
    segment: Segment,
    one: &Observation,
) -> Vec<SegmentVerdict> {
    let found = of_segment(table, segment, one);
    let is_below = found.iter().all(|verdict| matches!(verdict.stance, Stance::Clears | Stance::Open));
    found.into_iter().filter(|verdict| is_below && verdict.stance == Stance::Open).collect()
}

fn of_segment(table: &ObservationTable<'_>, segment: Segment, one: &Observation) -> Vec<SegmentVerdict> {
    let own = table.all.ceilings.iter().filter(|ceiling| ceiling.segment.is_within(segment));
    own.filter(|ceiling| applies(ceiling, one)).filter_map(|ceiling| evaluate(table, ceiling, one)).collect()
}
