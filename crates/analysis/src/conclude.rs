//! The steps of the analysis one after the other: figures, prediction, verdict, doubts.

use crate::diagnose::{CaseDiagnosis, diagnose_cells, diagnose_relay};
use crate::doubts::doubts;
use crate::input::Input;
use crate::predict::predict;
use crate::scaling::scalings;
use crate::summary::summarize;
use narrows_model::{Segment, Summary};

/// The whole analysis: the summary with its prediction, its verdict, and what limits each cell of the path.
///
/// # Cost
/// Linear in the events; ten thousand cells take well under a second in a release build.
#[must_use]
pub fn analyse(input: &Input<'_>) -> Summary {
    conclude(summarize(input))
}

/// Adds the prediction, the verdict, the scaling and the doubts to a summary that has none yet, as [`crate::Summarizer::finish`] gives it.
#[must_use]
pub fn conclude(mut summary: Summary) -> Summary {
    summary.prediction = predict(&summary);
    if let Some(relay) = &summary.relay {
        summary.diagnosis = diagnose_relay(relay);
        summary.doubts = doubts(&summary);
        return summary;
    }
    let CaseDiagnosis { diagnosis, by_load, uses } = diagnose_cells(&summary);
    for (cell, segment) in by_load {
        mark(&mut summary, &cell, segment);
    }
    for segment in &mut summary.segments {
        let is_decided = diagnosis.limiting.iter().any(|entry| entry.segment == segment.id)
            || diagnosis.exonerated.iter().any(|entry| entry.segment == segment.id);
        segment.uses = uses.get(&segment.id).cloned().unwrap_or_default();
        if let Some(first) = segment.uses.first() {
            segment.utilisation_ratio = Some(first.used_ratio);
        } else if is_decided {
            segment.utilisation_ratio = None; // Decided by no share: one of another load would contradict it.
        }
    }
    summary.diagnosis = diagnosis;
    let mut scalings = scalings(&summary).into_iter();
    summary.scaling = scalings.next();
    summary.more_scaling = scalings.collect();
    summary.doubts = doubts(&summary);
    summary
}

fn mark(summary: &mut Summary, cell: &str, segment: Segment) {
    if let Some(found) = summary.cells.iter_mut().find(|known| known.id == cell) {
        found.limiting = Some(segment);
    }
}
