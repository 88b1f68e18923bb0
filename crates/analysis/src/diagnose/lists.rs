//! What was cleared and what was not measured: with the limiting list, every segment of the path in exactly one.

use super::{Judged, unmeasured};
use crate::rules::{Basis, Stance, Tier};
use crate::view::View;
use narrows_model::diagnosis::Evidence;
use narrows_model::{Exonerated, Limiting, NotMeasured, Segment};

/// Evidence shown for one cleared segment: one statement a regime is enough.
const EVIDENCE_MAX: usize = 4;

/// Segments of the path that a rule judged and that are not limiting.
pub(crate) fn exonerated(view: &View<'_>, judged: &[Judged], limiting: &[Limiting]) -> Vec<Exonerated> {
    segments(view)
        .filter(|segment| !limiting.iter().any(|entry| entry.segment == *segment))
        .filter_map(|segment| {
            let evidence = clearing(segment, judged)?;
            Some(Exonerated { segment, evidence })
        })
        .collect()
}

/// The evidence that clears a segment; `None` where no rule cleared it or a rule blames it still.
fn clearing(segment: Segment, judged: &[Judged]) -> Option<Vec<Evidence>> {
    let of_segment = || judged.iter().filter(|judged| judged.verdict.segment == segment);
    // A fallback that another verdict overruled is cleared by that verdict; a resource that is full is not.
    let blamed = of_segment().any(|judged| {
        judged.verdict.stance == Stance::Limits
            && judged.verdict.tier == Tier::Resource
            && judged.verdict.basis == Basis::Utilisation
            && judged.verdict.load_ratio >= FULL_RATIO
    });
    let evidence: Vec<Evidence> = of_segment()
        .filter(|judged| judged.verdict.stance != Stance::Notes)
        .flat_map(|judged| judged.verdict.evidence.iter().cloned())
        .take(EVIDENCE_MAX)
        .collect();
    (!blamed && !evidence.is_empty()).then_some(evidence)
}

/// A load at which a segment cannot be called free, even where another one is fuller.
const FULL_RATIO: f64 = 0.9;

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
