//! What was cleared and what was not measured: with the limiting list, every segment of the path in exactly one.

use super::{RuleVerdict, each_once, unmeasured};
use crate::case::Cases;
use crate::case::table::ObservationTable;
use crate::thresholds::ONE_OF_RATIO;
use crate::verdict::{Basis, Stance, Tier};
use crate::view::{Regime, RegimeKind, SummaryView};
use narrows_model::diagnosis::Evidence;
use narrows_model::observation::ObservedOp;
use narrows_model::{Exonerated, Limiting, NotMeasured, Observation, Segment};
use std::collections::BTreeMap;

/// Evidence shown for one cleared segment: one statement a load is enough.
const EVIDENCE_MAX: usize = 4;

/// Segments of the path that rules cleared, and that nothing blames.
pub(crate) fn exonerated(
    cases: &Cases<'_>,
    evaluated: &[RuleVerdict],
    limiting: &[Limiting],
) -> Vec<Exonerated> {
    let named = |segment: Segment| limiting.iter().any(|entry| entry.segment == segment);
    // A bus that devices share is tested by itself: that the devices are slow says nothing of it.
    let is_part_of_named =
        |segment: Segment| segment != Segment::DeviceBus && segment.parent().is_some_and(named);
    let of_path =
        segments(cases).into_iter().filter(|segment| !named(*segment) && !is_part_of_named(*segment));
    // Of observations a device that was cleared as a whole represents its parts.
    let wholes = cases.table().map(|_| parents(evaluated)).unwrap_or_default();
    of_path
        .chain(wholes.into_iter().filter(|segment| !named(*segment)))
        .filter_map(|segment| {
            let evidence = clearing(cases, segment, evaluated)?;
            Some(Exonerated { segment, evidence })
        })
        .collect()
}

/// The evidence that clears a segment; `None` where a rule blames it, where it is about as full as what limits, or where no
/// load cleared it.
fn clearing(cases: &Cases<'_>, segment: Segment, evaluated: &[RuleVerdict]) -> Option<Vec<Evidence>> {
    let own: Vec<&RuleVerdict> =
        evaluated.iter().filter(|evaluated| evaluated.verdict.segment == segment).collect();
    if own.iter().any(|own| is_blamed(own) || near_the_limit(own, evaluated)) {
        return None;
    }
    let clears: Vec<&RuleVerdict> =
        own.into_iter().filter(|evaluated| evaluated.verdict.stance == Stance::Clears).collect();
    let evidence = match cases.view() {
        Some(view) => of_regimes(view, &clears),
        None => of_observations(cases, clears),
    };
    (!evidence.is_empty()).then_some(evidence)
}

/// Whether a verdict blames its segment. One that only rules out others, and is not sure of it, does not.
fn is_blamed(evaluated: &RuleVerdict) -> bool {
    let by_elimination = evaluated.verdict.tier == Tier::Fallback && evaluated.verdict.confidence_max < 1.0;
    evaluated.verdict.stance == Stance::Limits && !by_elimination
}

/// The evidence of a run: of each kind of load that cleared the segment in every direction.
fn of_regimes(view: &SummaryView<'_>, clears: &[&RuleVerdict]) -> Vec<Evidence> {
    let of_load = |cell: &str| clears.iter().find(|evaluated| evaluated.verdict.cell == cell);
    let covered = |kind: RegimeKind| {
        view.regimes().iter().filter(|load| load.kind == kind).all(|load| of_load(&load.cell.id).is_some())
    };
    let everywhere = covered(RegimeKind::Bulk) && covered(RegimeKind::Single);
    view.regimes()
        .iter()
        .filter(|load| covered(load.kind))
        .filter_map(|load| Some((load, of_load(&load.cell.id)?)))
        .flat_map(|(load, evaluated)| evaluated.verdict.evidence.iter().map(move |evidence| (load, evidence)))
        .map(|(load, evidence)| if everywhere { evidence.clone() } else { under(load, evidence) })
        .take(EVIDENCE_MAX)
        .collect()
}

/// The evidence of observations: those with the most clients first, as in the limiting list: what is shared shows there
/// whether it is full.
fn of_observations(cases: &Cases<'_>, mut clears: Vec<&RuleVerdict>) -> Vec<Evidence> {
    let clients: BTreeMap<&str, Option<u64>> =
        cases.loads().filter_map(|case| Some((case.id, case.observation()?.clients))).collect();
    clears.sort_by_key(|evaluated| {
        std::cmp::Reverse(clients.get(evaluated.verdict.cell.as_str()).copied().flatten())
    });
    let all = clears.into_iter().flat_map(|evaluated| evaluated.verdict.evidence.iter().cloned());
    each_once(all).take(EVIDENCE_MAX).collect()
}

/// Evidence that applies to one load alone.
fn under(load: &Regime<'_>, evidence: &Evidence) -> Evidence {
    Evidence { text: format!("{}: {}", load.name(), evidence.text), ..evidence.clone() }
}

/// Whether a resource is about as full as one that limits the same load.
fn near_the_limit(own: &RuleVerdict, evaluated: &[RuleVerdict]) -> bool {
    let comparable = |other: &&RuleVerdict| {
        other.verdict.stance == Stance::Limits
            && other.verdict.cell == own.verdict.cell
            && other.verdict.tier == own.verdict.tier
            && other.verdict.basis == own.verdict.basis
    };
    let of_limits = evaluated.iter().filter(comparable).map(|other| other.verdict.load_ratio.min(1.0));
    own.verdict.tier == Tier::Resource
        && own.verdict.basis != Basis::State
        && of_limits
            .reduce(f64::max)
            .is_some_and(|first| own.verdict.load_ratio >= first * (1.0 - ONE_OF_RATIO))
}

/// Segments without a part that rules cleared.
fn parents(evaluated: &[RuleVerdict]) -> Vec<Segment> {
    let is_parent = |segment: &Segment| Segment::ALL.iter().any(|other| other.parent() == Some(*segment));
    let cleared = |segment: &&Segment| {
        evaluated.iter().any(|evaluated| {
            evaluated.verdict.segment == **segment && evaluated.verdict.stance == Stance::Clears
        })
    };
    Segment::ALL.iter().filter(|segment| is_parent(segment)).filter(cleared).copied().collect()
}

/// Segments of the path that are in neither other list, with why and how to measure them.
pub(crate) fn not_measured(
    cases: &Cases<'_>,
    evaluated: &[RuleVerdict],
    limiting: &[Limiting],
    exonerated: &[Exonerated],
) -> Vec<NotMeasured> {
    segments(cases)
        .into_iter()
        .filter(|segment| !limiting.iter().any(|entry| entry.segment == *segment))
        .filter(|segment| !exonerated.iter().any(|entry| entry.segment == *segment))
        .map(|segment| match cases.view() {
            Some(view) => unmeasured::of_run(view, evaluated, segment),
            None => unmeasured::of_observations(limiting, segment),
        })
        .collect()
}

/// The segments of the path.
fn segments(cases: &Cases<'_>) -> Vec<Segment> {
    if let Some(table) = cases.table() {
        return observed_segments(table);
    }
    let all = cases.view().map(|view| view.summary.segments.as_slice()).unwrap_or_default();
    all.iter().map(|segment| segment.id).filter(|segment| *segment != Segment::Unknown).collect()
}

/// The segments of the path of observations: all parts but those of a network, a proxy or a load generator that nothing in the file speaks
/// of, that of a FUSE mount, which no key describes, and but storage where bytes are only sent.
fn observed_segments(table: &ObservationTable<'_>) -> Vec<Segment> {
    let (network, proxy) = (table.has_network(), table.has_proxy());
    let streams = table.observations().iter().all(|one| one.op == ObservedOp::Send);
    let is_part = |segment: Segment| segment.parent().is_some() || segment == Segment::WorkloadConcurrency;
    let of_path = |segment: &Segment| match segment.parent() {
        _ if streams && is_storage(*segment) => false,
        Some(Segment::Network | Segment::Server) => network,
        Some(Segment::Proxy) => proxy,
        _ => *segment != Segment::ClientDaemon,
    };
    let spoken_of = |segment: &Segment| {
        let ceiling = table.all.ceilings.iter().any(|ceiling| ceiling.segment == *segment);
        let offered =
            |one: &Observation| one.offered_ops_per_s.is_some() || one.offered_bytes_per_s.is_some();
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
