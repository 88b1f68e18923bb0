//! A cache served the load: the storage behind it was not measured.

use super::super::table::Table;
use super::{ObservationRule, ceiling_reached};
use crate::rules::{Basis, Stance, Tier, Verdict};
use crate::text;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::ObservedOp;
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};
use std::collections::BTreeSet;

/// Less than this of the application's bytes went on: the rest was served, as in the rules of summaries.
const CARRIED_RATIO: f64 = 0.5;
/// A hit ratio from which the rate is the cache's.
const HIT_RATIO: f64 = 0.9;

const FORMULA: &str = "bytes below the cache < 0.5 x bytes of the application, or rate > 1.03 x count x ceiling of a \
                       segment behind it, or hit ratio >= 0.9";
const SOURCE: &str =
    "Byte triangulation; Traeger et al., ACM Transactions on Storage 4 (2008), on cached benchmarks";
const HOW_TO: &str = "count the bytes at the application, on the wire and at the device over the same time (bytes = { .. }), \
                      and write the link's speed as a declared [[ceiling]]";

/// The rule on the client's cache.
pub(super) static CLIENT: ObservationRule = ObservationRule {
    code: "client-cache-served",
    slug: "cache_served",
    segment: Segment::ClientCache,
    title: "served by the client's cache",
    definition: "More bytes came than the wire (on a local path the device) carried or can have carried: they were served \
                 by the client's memory, and the storage behind it was not measured. Above a declared ceiling that is \
                 certain; above a measured one it is probable, since a measured ceiling is a lower bound.",
    formula: FORMULA,
    source: SOURCE,
    example: "reads of 444 MB/s over a wire of 12.5 MB/s",
    how_to_measure: HOW_TO,
    run: of_client,
};

/// The rule on the server's cache.
pub(super) static SERVER: ObservationRule = ObservationRule {
    code: "server-cache-served",
    slug: "cache_served",
    segment: Segment::ServerCache,
    title: "served by the server's cache",
    definition: "More bytes came over the network than the devices carried or were measured to carry: they were served by \
                 the server's memory, and the devices behind it were not measured.",
    formula: FORMULA,
    source: SOURCE,
    example: "reads of 1.2 GB/s from twelve disks that gave 0.77 GB/s in a test of their own",
    how_to_measure: HOW_TO,
    run: of_server,
};

fn of_client(table: &Table<'_>) -> Vec<Verdict> {
    let above =
        ceiling_reached::impossible(table).into_iter().filter(|found| found.segment == Segment::ClientCache);
    above
        .chain(table.observations().iter().filter_map(|one| counted(table, one, Segment::ClientCache)))
        .collect()
}

fn of_server(table: &Table<'_>) -> Vec<Verdict> {
    let writes = writes(table);
    let is_write = |verdict: &Verdict| writes.contains(verdict.cell.as_str());
    // Writes above the device are acknowledged early, which has a rule of its own.
    let above =
        ceiling_reached::impossible(table).into_iter().filter(|found| found.segment == Segment::ServerCache);
    let above = above.filter(|found| !is_write(found));
    above
        .chain(table.observations().iter().filter_map(|one| counted(table, one, Segment::ServerCache)))
        .collect()
}

/// The names of observations of writes.
pub(super) fn writes<'a>(table: &Table<'a>) -> BTreeSet<&'a str> {
    let writes = table.observations().iter().filter(|one| one.op == ObservedOp::Write);
    writes.map(|one| one.id.as_str()).collect()
}

/// Bytes counted above and below a cache, or its hits; of writes only what never was on the wire, since those that never were
/// at the device are acknowledged early, which has a rule of its own.
fn counted(table: &Table<'_>, one: &Observation, cache: Segment) -> Option<Verdict> {
    let network = table.is_remote(one);
    let place = match cache {
        Segment::ClientCache if network => Some(Place::Wire),
        Segment::ServerCache if !network => None,
        _ => Some(Place::Device).filter(|_| one.op != ObservedOp::Write),
    };
    let of_bytes = place.and_then(|place| of_bytes(one, cache, place));
    of_bytes.or_else(|| of_hits(one, cache, network))
}

/// Where bytes are counted below a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Wire,
    Device,
}

/// Bytes that came to `cache` against those below it.
pub(super) fn of_bytes(one: &Observation, cache: Segment, place: Place) -> Option<Verdict> {
    let (below, at) = match place {
        Place::Wire => (one.bytes.wire?, "on the wire"),
        Place::Device => (one.bytes.device?, "at the device"),
    };
    let above = one.bytes.wire.filter(|_| cache == Segment::ServerCache).or(one.bytes.application)?;
    let carried = ratio(below.as_f64(), above.as_f64())?;
    let cached = carried < CARRIED_RATIO;
    let stance = if cached { Stance::Limits } else { Stance::Clears };
    let (above, below) = (text::amount(above), text::amount(below));
    let text = format!("{}: {above} came, {below} of it were {at} ({})", one.id, text::percent(carried));
    let verdict = Verdict::on(cache, &one.id, stance, Basis::State, (1.0 - carried).clamp(0.0, 1.0));
    let severity = if cached { Severity::Warning } else { Severity::Info };
    Some(Verdict { severity, ..verdict }.in_tier(Tier::Voids).because(text, "bytes at several places", ""))
}

fn of_hits(one: &Observation, cache: Segment, network: bool) -> Option<Verdict> {
    let own = if network { Segment::ServerCache } else { Segment::ClientCache };
    let hits = one.hit_ratio.filter(|_| cache == own)?;
    if hits < HIT_RATIO {
        return None;
    }
    let text = format!("{}: a cache served {} of the requests", one.id, text::percent(hits));
    let verdict = Verdict::on(cache, &one.id, Stance::Limits, Basis::State, hits.min(1.0)).at_most(0.7);
    Some(Verdict { severity: Severity::Warning, ..verdict }.in_tier(Tier::Voids).because(
        text,
        "hit ratio",
        "",
    ))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{cleared, first, read};
    use super::*;

    #[test]
    fn bytes_that_never_were_on_the_wire_are_the_clients() {
        let of = |wire: &str| {
            read(&format!(
                "[[observation]]\nid = \"a\"\nop = \"read\"\nbytes = {{ application = 1e9, wire = {wire} }}\n"
            ))
        };
        assert_eq!(first(&of("3e6")), Segment::ClientCache);
        assert!(cleared(&of("1.05e9"), Segment::ClientCache));
    }

    #[test]
    fn bytes_that_came_over_the_wire_and_never_were_at_the_device_are_the_servers() {
        let of = |device: &str| {
            let bytes = format!("{{ application = 1e9, wire = 1.02e9, device = {device} }}");
            read(&format!("[[observation]]\nid = \"a\"\nop = \"read\"\nbytes = {bytes}\n"))
        };
        assert_eq!(first(&of("0")), Segment::ServerCache);
        assert!(cleared(&of("1e9"), Segment::ServerCache));
    }

    #[test]
    fn a_hit_ratio_of_nearly_all_is_the_caches_rate() {
        let of =
            |hits: &str| read(&format!("[[observation]]\nid = \"a\"\nop = \"read\"\nhit_ratio = {hits}\n"));
        assert_eq!(first(&of("0.97")), Segment::ClientCache);
        assert_eq!(first(&of("0.53")), Segment::Unknown);
    }
}
