//! What was cleared and what is not known: with the limiting list, every segment of the path in exactly one.

use super::table::Table;
use crate::diagnose::{Judged, how_to_measure, told_once};
use crate::rules::{Stance, Tier};
use narrows_model::diagnosis::Evidence;
use narrows_model::observation::ObservedOp;
use narrows_model::{Exonerated, Limiting, NotMeasured, Segment};
use std::collections::BTreeMap;

/// Statements shown for one cleared segment.
const EVIDENCE_MAX: usize = 4;

/// Segments that a rule cleared under some observation, and that nothing blames.
pub(crate) fn exonerated(table: &Table<'_>, judged: &[Judged], limiting: &[Limiting]) -> Vec<Exonerated> {
    let named = |segment: Segment| limiting.iter().any(|entry| entry.segment == segment);
    let clients: BTreeMap<&str, u64> =
        table.observations().iter().filter_map(|one| Some((one.id.as_str(), one.clients?))).collect();
    let of = |segment: Segment| {
        let own = || judged.iter().filter(move |judged| judged.verdict.segment == segment);
        let blamed = |judged: &Judged| {
            judged.verdict.stance == Stance::Limits && judged.verdict.tier != Tier::Fallback
        };
        if own().any(blamed) {
            return None;
        }
        let mut clears: Vec<&Judged> =
            own().filter(|judged| judged.verdict.stance == Stance::Clears).collect();
        // Those with the most clients first, as in the limiting list: what is shared shows there whether it is full.
        clears.sort_by_key(|judged| std::cmp::Reverse(clients.get(judged.verdict.cell.as_str()).copied()));
        let told = clears.into_iter().flat_map(|judged| judged.verdict.evidence.iter().cloned());
        let evidence: Vec<Evidence> = told_once(told).take(EVIDENCE_MAX).collect();
        (!evidence.is_empty()).then_some(Exonerated { segment, evidence })
    };
    segments(table)
        .into_iter()
        .filter(|segment| !named(*segment) && !segment.parent().is_some_and(named))
        .chain(
            // A device that was cleared as a whole stands for its parts.
            parents(judged).into_iter().filter(|segment| !named(*segment)),
        )
        .filter_map(of)
        .collect()
}

/// Segments without a part that rules cleared.
fn parents(judged: &[Judged]) -> Vec<Segment> {
    let is_parent = |segment: &Segment| Segment::ALL.iter().any(|other| other.parent() == Some(*segment));
    let cleared = |segment: &&Segment| {
        judged
            .iter()
            .any(|judged| judged.verdict.segment == **segment && judged.verdict.stance == Stance::Clears)
    };
    Segment::ALL.iter().filter(|segment| is_parent(segment)).filter(cleared).copied().collect()
}

/// Segments of the path that are in neither other list, with why and how to measure them.
pub(crate) fn not_measured(
    table: &Table<'_>,
    limiting: &[Limiting],
    exonerated: &[Exonerated],
) -> Vec<NotMeasured> {
    segments(table)
        .into_iter()
        .filter(|segment| !limiting.iter().any(|entry| entry.segment == *segment))
        .filter(|segment| !exonerated.iter().any(|entry| entry.segment == *segment))
        .map(|segment| NotMeasured { segment, why: why(segment, limiting), how_to: how_to(segment) })
        .collect()
}

fn why(segment: Segment, limiting: &[Limiting]) -> String {
    let parent = segment.parent().filter(|parent| limiting.iter().any(|entry| entry.segment == *parent));
    match parent {
        Some(parent) => format!("the figures name {parent} and do not tell its parts apart"),
        None => "no figure of the file tells of it".to_owned(),
    }
}

/// The key that would tell, else how narrows measures it itself.
fn how_to(segment: Segment) -> String {
    let of_rule = super::observation_rules().iter().find(|rule| rule.segment == segment);
    of_rule.map_or_else(|| how_to_measure(segment), |rule| rule.how_to_measure).to_owned()
}

/// The segments of the path: all parts but those of a network, a proxy or a load generator that nothing in the file speaks
/// of, and but storage where bytes are only sent.
fn segments(table: &Table<'_>) -> Vec<Segment> {
    let (network, proxy) = (table.has_network(), table.has_proxy());
    let streams = table.observations().iter().all(|one| one.op == ObservedOp::Send);
    let is_part = |segment: Segment| segment.parent().is_some() || segment == Segment::WorkloadConcurrency;
    let of_path = |segment: &Segment| match segment.parent() {
        _ if streams && is_storage(*segment) => false,
        Some(Segment::Network | Segment::Server) => network,
        Some(Segment::Proxy) => proxy,
        _ => true,
    };
    let spoken_of = |segment: &Segment| {
        let ceiling = table.all.ceilings.iter().any(|ceiling| ceiling.segment == *segment);
        let offered = |one: &narrows_model::Observation| {
            one.offered_ops_per_s.is_some() || one.offered_bytes_per_s.is_some()
        };
        let open = *segment == Segment::OfferedLoad && table.observations().iter().any(offered);
        ceiling || open
    };
    let all = Segment::ALL.iter().copied();
    all.filter(|segment| {
        (is_part(*segment) && of_path(segment)) || (spoken_of(segment) && !has_parts(*segment))
    })
    .collect()
}

/// Whether a stream of bytes that nobody stores never passes a segment.
fn is_storage(segment: Segment) -> bool {
    segment.parent() == Some(Segment::Device)
        || matches!(
            segment,
            Segment::ClientCache
                | Segment::ClientFilesystem
                | Segment::ServerCache
                | Segment::ServerCommit
                | Segment::ServerMetadata
                | Segment::ServerFilesystem
        )
}

fn has_parts(segment: Segment) -> bool {
    Segment::ALL.iter().any(|other| other.parent() == Some(segment))
}
