//! What was cleared and what was not measured: with the limiting list, every segment of the path in exactly one.

use super::rank::ONE_OF_RATIO;
use super::{Judged, unmeasured};
use crate::rules::{Basis, Stance, Tier};
use crate::view::{Regime, RegimeKind, View};
use narrows_model::diagnosis::Evidence;
use narrows_model::{Exonerated, Limiting, NotMeasured, Segment};

/// Evidence shown for one cleared segment: one statement a regime is enough.
const EVIDENCE_MAX: usize = 4;

/// Segments of the path that rules cleared under every load of a kind, and that nothing blames.
pub(crate) fn exonerated(view: &View<'_>, judged: &[Judged], limiting: &[Limiting]) -> Vec<Exonerated> {
    let named = |segment: Segment| limiting.iter().any(|entry| entry.segment == segment);
    segments(view)
        .filter(|segment| !named(*segment) && !segment.parent().is_some_and(named))
        .filter_map(|segment| {
            let evidence = clearing(view, segment, judged)?;
            Some(Exonerated { segment, evidence })
        })
        .collect()
}

/// The evidence that clears a segment; `None` where a rule blames it, where it is about as full as what limits, or
/// where no kind of load cleared it in every direction.
fn clearing(view: &View<'_>, segment: Segment, judged: &[Judged]) -> Option<Vec<Evidence>> {
    let of_segment = || judged.iter().filter(|judged| judged.verdict.segment == segment);
    let clears = |judged: &&Judged| judged.verdict.stance == Stance::Clears;
    if of_segment().any(|own| own.verdict.stance == Stance::Limits || near_the_limit(own, judged)) {
        return None;
    }
    let of_load = |cell: &str| of_segment().filter(clears).find(|judged| judged.verdict.cell == cell);
    let covered = |kind: RegimeKind| {
        view.regimes().iter().filter(|load| load.kind == kind).all(|load| of_load(&load.cell.id).is_some())
    };
    let everywhere = covered(RegimeKind::Bulk) && covered(RegimeKind::Single);
    let evidence: Vec<Evidence> = view
        .regimes()
        .iter()
        .filter(|load| covered(load.kind))
        .filter_map(|load| Some((load, of_load(&load.cell.id)?)))
        .flat_map(|(load, judged)| judged.verdict.evidence.iter().map(move |evidence| (load, evidence)))
        .map(|(load, evidence)| if everywhere { evidence.clone() } else { under(load, evidence) })
        .take(EVIDENCE_MAX)
        .collect();
    (!evidence.is_empty()).then_some(evidence)
}

/// Evidence that holds under one load alone.
fn under(load: &Regime<'_>, evidence: &Evidence) -> Evidence {
    Evidence { text: format!("{}: {}", load.name(), evidence.text), ..evidence.clone() }
}

/// Whether a resource is about as full as one that limits the same load.
fn near_the_limit(own: &Judged, judged: &[Judged]) -> bool {
    let comparable = |other: &&Judged| {
        other.verdict.stance == Stance::Limits
            && other.verdict.cell == own.verdict.cell
            && other.verdict.tier == own.verdict.tier
            && other.verdict.basis == own.verdict.basis
    };
    let of_limits = judged.iter().filter(comparable).map(|other| other.verdict.load_ratio.min(1.0));
    own.verdict.tier == Tier::Resource
        && own.verdict.basis != Basis::State
        && of_limits
            .reduce(f64::max)
            .is_some_and(|first| own.verdict.load_ratio >= first * (1.0 - ONE_OF_RATIO))
}

/// Segments of the path that are in neither other list, with why and how to measure them.
pub(crate) fn not_measured(
    view: &View<'_>,
    limiting: &[Limiting],
    exonerated: &[Exonerated],
) -> Vec<NotMeasured> {
    segments(view)
        .filter(|segment| !limiting.iter().any(|entry| entry.segment == *segment))
        .filter(|segment| !exonerated.iter().any(|entry| entry.segment == *segment))
        .map(|segment| unmeasured::not_measured(view, segment))
        .collect()
}

fn segments<'v>(view: &'v View<'_>) -> impl Iterator<Item = Segment> + 'v {
    view.summary.segments.iter().map(|segment| segment.id).filter(|segment| *segment != Segment::Unknown)
}
