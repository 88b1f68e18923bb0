//! A rate against what a segment is declared or was measured to carry.

use super::super::table::{self, Bracket, Table};
use super::{ObservationRule, offered_load};
use crate::rules::{Basis, Stance, Tier, Verdict};
use crate::text;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::{Capacity, Ceiling, CeilingBasis, ObservedOp, Quality, Scope};
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// From this share of a ceiling a segment counts as full, as in the rules of summaries.
const FULL_RATIO: f64 = 0.9;
/// Above a ceiling by this the bytes did not pass the segment, or the ceiling was no ceiling.
const ABOVE_RATIO: f64 = 1.03;
/// A measured ceiling is a lower bound: what passes it is probably, and only probably, a cache.
const MEASURED_CONFIDENCE: f64 = 0.7;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "ceiling-reached",
    slug: "ceiling",
    segment: Segment::Unknown,
    title: "a rate against what a segment carries",
    definition: "The rate of all clients against count x value of a [[ceiling]]. Near it, the segment is full; far below, \
                 it is cleared; above it, see the rules on caches. Where the rate is only known to lie between two \
                 bounds, the lower one convicts and the upper one clears.",
    formula: "full: rate >= 0.9 x count x value; cleared: rate < 0.9 x",
    source: "Asymptotic bounds, Denning and Buzen, ACM Computing Surveys 10 (1978); byte triangulation",
    example: "47 clients write between 4.65 and 8.42 MiB/s over a wire of 12.5 MB/s: the wire is cleared",
    how_to_measure: "write what the segment carries as a [[ceiling]]",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    all(table).into_iter().filter(|verdict| verdict.tier != Tier::Voids).collect()
}

/// Rates that no byte at that speed can have passed the segment of a ceiling with, blamed on the cache before it.
pub(super) fn impossible(table: &Table<'_>) -> Vec<Verdict> {
    all(table).into_iter().filter(|verdict| verdict.tier == Tier::Voids).collect()
}

fn all(table: &Table<'_>) -> Vec<Verdict> {
    let resources = table.all.ceilings.iter().filter(|ceiling| ceiling.segment != Segment::Generator);
    let judged = resources.flat_map(|ceiling| {
        let ones = table.observations().iter().filter(move |one| applies(ceiling, one));
        ones.filter_map(move |one| judge(table, ceiling, one))
    });
    judged.collect()
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

fn judge(table: &Table<'_>, ceiling: &Ceiling, one: &Observation) -> Option<Verdict> {
    if let Some(verdict) = above_own_link(ceiling, one) {
        return Some(verdict);
    }
    if table.modes(one).is_some() {
        return None; // A sum of what a cache and the path behind it served says nothing of either.
    }
    let count = Table::count_of(ceiling, one);
    let (rate, most, told): (Bracket, f64, fn(f64) -> String) = match ceiling.capacity {
        Capacity::BytesPerS(most) => (table::bytes_per_s(one)?, most.0 * count, told_as(ceiling.segment)),
        Capacity::OpsPerS(most) => {
            let ops = table::ops_per_s(one)?;
            (Bracket { low: ops, high: ops }, most.0 * count, text::op_rate)
        }
        Capacity::LatencyS(_) => return None,
    };
    let rate = past_cache(ceiling, one, rate);
    let load = Bracket { low: ratio(rate.low, most)?, high: ratio(rate.high, most)? };
    let against = Against { ceiling, one, load, rate, most, told };
    if load.low > ABOVE_RATIO + table::doubt_ratio(one) {
        return Some(above(table, &against));
    }
    within(&against)
}

struct Against<'a> {
    ceiling: &'a Ceiling,
    one: &'a Observation,
    load: Bracket,
    rate: Bracket,
    most: f64,
    told: fn(f64) -> String,
}

impl Against<'_> {
    fn text(&self) -> String {
        let told = self.told;
        let rate = if self.rate.is_open() {
            format!("between {} and {}", told(self.rate.low), told(self.rate.high))
        } else {
            told(self.rate.high)
        };
        let share = if self.rate.is_open() {
            format!("{} to {}", text::percent(self.load.low), text::percent(self.load.high))
        } else {
            text::percent(self.load.high)
        };
        format!(
            "{}: {rate}, {share} of the {} that {} carries{}",
            self.one.id,
            told(self.most),
            self.ceiling.segment,
            self.remark()
        )
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

fn within(against: &Against<'_>) -> Option<Verdict> {
    let Against { ceiling, one, load, .. } = against;
    let full = load.low >= FULL_RATIO - table::doubt_ratio(one) && one.quality != Quality::UpperBound;
    let free = load.high < FULL_RATIO - table::doubt_ratio(one) && one.quality != Quality::LowerBound;
    if !full && (!free || offered_load::is_held(one)) {
        return None;
    }
    let stance = if full { Stance::Limits } else { Stance::Clears };
    let verdict = Verdict::on(ceiling.segment, &one.id, stance, Basis::Utilisation, load.low.min(1.0));
    Some(Verdict { scope: scope(ceiling), ..verdict }.because(against.text(), "rate and ceiling", ""))
}

/// Bytes faster than the segment carries did not pass it.
fn above(table: &Table<'_>, against: &Against<'_>) -> Verdict {
    let Against { ceiling, one, .. } = against;
    let served = served_by(table, ceiling.segment, one);
    let certain = ceiling.basis == CeilingBasis::Declared && one.quality != Quality::UpperBound;
    let confidence = if certain { 1.0 } else { MEASURED_CONFIDENCE };
    let text = format!("{}: more than can have passed it", against.text());
    let verdict = Verdict::on(served, &one.id, Stance::Limits, Basis::State, 1.0).at_most(confidence);
    Verdict { severity: Severity::Warning, ..verdict }.in_tier(Tier::Voids).because(
        text,
        "rate and ceiling",
        "",
    )
}

/// The cache before a segment.
fn served_by(table: &Table<'_>, segment: Segment, one: &Observation) -> Segment {
    let behind_server = segment.is_within(Segment::Device) && table.is_remote(one);
    if segment.is_within(Segment::Server) || behind_server {
        Segment::ServerCache
    } else {
        Segment::ClientCache
    }
}

/// Clients that read faster than the link that each of them has.
fn above_own_link(ceiling: &Ceiling, one: &Observation) -> Option<Verdict> {
    let network = ceiling.segment == Segment::NetworkBandwidth;
    let Capacity::BytesPerS(most) = ceiling.capacity else { return None };
    let of_each = matches!(ceiling.scope, Scope::Client | Scope::Shared);
    let rates = &one.per_client_bytes_per_s;
    if !network || !of_each || rates.len() < 2 {
        return None;
    }
    let link =
        if ceiling.scope == Scope::Client { most.0 } else { most.0 * ceiling.count.unwrap_or(1) as f64 };
    let above = rates.iter().filter(|rate| **rate > link * ABOVE_RATIO).count();
    (above > 0).then(|| {
        let text = format!(
            "{}: {above} of {} clients moved more than the {} of one link, the fastest {}",
            one.id,
            rates.len(),
            text::network_rate(link),
            text::network_rate(table::extreme(rates, f64::max).unwrap_or(0.0))
        );
        let certain = ceiling.basis == CeilingBasis::Declared;
        let verdict = Verdict::on(Segment::ClientCache, &one.id, Stance::Limits, Basis::State, 1.0)
            .at_most(if certain { 1.0 } else { MEASURED_CONFIDENCE });
        Verdict { severity: Severity::Warning, ..verdict }.in_tier(Tier::Voids).because(
            text,
            "rates of clients and ceiling",
            "",
        )
    })
}

/// How a rate of a segment is told: networks in bits, storage in bytes.
fn told_as(segment: Segment) -> fn(f64) -> String {
    if segment.is_within(Segment::Network) { text::network_rate } else { text::storage_rate }
}

/// Which link, node or share a ceiling is that of.
fn scope(ceiling: &Ceiling) -> Option<&'static str> {
    let is_network = ceiling.segment.is_within(Segment::Network);
    match ceiling.scope {
        Scope::Client if is_network => Some("client-link"),
        Scope::Server if is_network => Some("server-link"),
        Scope::Shared if ceiling.count.is_some_and(|count| count > 1) || is_network => Some("shared"),
        Scope::Node => Some("node"),
        _ => None,
    }
}

/// Whether some ceiling shows that a segment has room under `one`.
pub(super) fn has_room(table: &Table<'_>, segment: Segment, one: &Observation) -> bool {
    let of_segment = |ceiling: &&Ceiling| ceiling.segment.is_within(segment);
    let mut judged = table
        .all
        .ceilings
        .iter()
        .filter(of_segment)
        .filter(|ceiling| applies(ceiling, one))
        .filter_map(|ceiling| judge(table, ceiling, one))
        .peekable();
    judged.peek().is_some() && judged.all(|verdict| verdict.stance == Stance::Clears)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{cleared, first, read, scope_of, slugs};
    use super::*;

    fn wire(rest: &str) -> narrows_model::Observations {
        read(&format!(
            "[[ceiling]]\nsegment = \"network.bandwidth\"\nbytes_per_s = 12.5e6\nbasis = \"declared\"\n[[observation]]\nid = \"a\"\nop = \"read\"\n{rest}"
        ))
    }

    #[test]
    fn a_full_wire_limits_and_says_that_it_is_shared() {
        let all = wire("bytes_per_s = 11.9e6\n");
        assert_eq!((first(&all), scope_of(&all).as_deref()), (Segment::NetworkBandwidth, Some("shared")));
    }

    #[test]
    fn a_wire_with_room_is_cleared() {
        assert!(cleared(&wire("bytes_per_s = 4.9e6\n"), Segment::NetworkBandwidth));
    }

    #[test]
    fn a_lower_bound_clears_nothing() {
        assert!(!cleared(
            &wire("bytes_per_s = 4.9e6\nquality = \"lower-bound\"\n"),
            Segment::NetworkBandwidth
        ));
    }

    #[test]
    fn reads_above_the_wire_are_the_caches() {
        let all = wire("bytes_per_s = 455e6\n");
        assert_eq!(first(&all), Segment::ClientCache);
        assert!(slugs(&all).contains(&"cache_served".to_owned()));
    }

    #[test]
    fn a_count_that_is_written_holds_whatever_the_number_of_clients() {
        let of = |count: &str, rate: &str| {
            read(&format!(
                "[[ceiling]]\nsegment = \"network.bandwidth\"\nbytes_per_s = 12.5e6\nscope = \"client\"\n{count}\n\
                 [[observation]]\nid = \"a\"\nop = \"read\"\nclients = 47\nconnections = 2\nbytes_per_s = {rate}\n"
            ))
        };
        assert_eq!(first(&of("count = 4", "49.5e6")), Segment::NetworkBandwidth);
        assert_eq!(first(&of("count = 1", "12.4e6")), Segment::NetworkBandwidth);
        assert!(cleared(&of("", "49.5e6"), Segment::NetworkBandwidth), "a link each");
        assert_eq!(first(&of("", "580e6")), Segment::NetworkBandwidth);
        let mut all = of("count = 4", "49.5e6");
        all.ceilings[0].scope = Scope::Connection;
        assert_eq!(first(&all), Segment::NetworkBandwidth);
    }

    #[test]
    fn a_load_that_crossed_no_network_says_nothing_of_it_and_is_served_on_its_own_machine() {
        let of = |path: &str| {
            read(&format!(
                "[[ceiling]]\nsegment = \"network.bandwidth\"\nbytes_per_s = 12.5e6\n[[ceiling]]\nsegment = \"device.bandwidth\"\nbytes_per_s = 1e6\n\
                 [[observation]]\nid = \"a\"\nop = \"read\"\nbytes_per_s = 2e6\nfactor = {{ path = \"{path}\" }}\n"
            ))
        };
        assert!(
            cleared(&of("nfs"), Segment::NetworkBandwidth)
                && !cleared(&of("local"), Segment::NetworkBandwidth)
        );
        assert_eq!([first(&of("nfs")), first(&of("local"))], [Segment::ServerCache, Segment::ClientCache]);
    }

    #[test]
    fn a_server_that_the_file_tells_of_is_remote() {
        let of = |scope: &str, memory: &str| {
            read(&format!(
                "[[ceiling]]\nsegment = \"device.bandwidth\"\nbytes_per_s = 5e6\nscope = \"{scope}\"\n\
                 [[observation]]\nid = \"w\"\nop = \"write\"\nclients = 1\nbytes_per_s = 9e6\n{memory}\n"
            ))
        };
        assert_eq!(first(&of("server", "")), Segment::ServerCache);
        assert_eq!(first(&of("device", "memory_bytes = { server = 268435456 }")), Segment::ServerCache);
        assert_eq!(first(&of("device", "memory_bytes = { client = 268435456 }")), Segment::ClientCache);
    }

    #[test]
    fn ceilings_of_a_scope_count_as_often_as_there_are_of_it() {
        let disks = "[[ceiling]]\nsegment = \"device.bandwidth\"\nbytes_per_s = 50e6\nscope = \"device\"\ncount = 12\n";
        let of = |rate: &str| {
            read(&format!(
                "{disks}[[observation]]\nid = \"a\"\nop = \"read\"\nclients = 4\nbytes_per_s = {rate}\n"
            ))
        };
        assert!(cleared(&of("340e6"), Segment::DeviceBandwidth));
        assert_eq!(first(&of("590e6")), Segment::DeviceBandwidth);
        let above = crate::diagnose_observations(&of("1200e6"));
        assert_eq!(above.limiting[0].segment, Segment::ServerCache);
        assert!(above.limiting[0].confidence <= 0.7, "a measured ceiling is a lower bound");
    }
}
