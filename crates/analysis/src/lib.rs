//! From the values of a run to a verdict: events become a [`Summary`], a summary becomes a [`narrows_model::Diagnosis`].
//!
//! Everything here is pure: no files, no clock, no threads, no output, so that a recorded run can be analysed
//! again elsewhere and gives the same verdict. The steps, each of which can be called alone:
//! [`summarize`] (figures), [`predict`] (what the segments promise the path), [`diagnose`] (what limits),
//! [`refinement`] (what is worth measuring next), [`doubts`] (whether the run can be relied on). [`analyse`] does all but
//! the refinement.
//!
//! Deliberately absent: measurement, rendering of whole reports (only single numbers, in [`text`]), and any
//! judgement outside of [`rules`].
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as narrows_analysis;

mod collect;
mod compare;
mod confidence;
mod diagnose;
mod doubts;
mod effects;
mod explain;
mod input;
mod observations;
mod predict;
mod refine;
mod relay;
pub mod rules;
pub mod spread;
mod summary;
#[cfg(test)]
mod testing;
pub mod text;
pub mod view;

pub use compare::{MARGIN_RATIO, MeasuredRun, RunReader, Side, compare};
pub use diagnose::diagnose;
pub use doubts::doubts;
pub use effects::{Effect, Gain, effects};
pub use explain::{Explanation, explain, topics};
pub use input::{Input, RunFacts};
pub use observations::{
    ObservationRule, ObservationTable, ObservationTest, diagnose_observations, diagnosis_document,
    known_factors, observation_rules, per_call,
};
pub use predict::predict;
pub use refine::{Suspect, refinement};
pub use summary::{Summarizer, summarize};

use narrows_model::{Segment, Summary};

/// The whole analysis: the summary with its prediction, its verdict, and what limits each cell of the path.
///
/// # Cost
/// Linear in the events; ten thousand cells take well under a second in a release build.
#[must_use]
pub fn analyse(input: &Input<'_>) -> Summary {
    conclude(summarize(input))
}

/// Adds the verdict, and the doubts, to a summary that has none yet, as [`Summarizer::finish`] gives it.
#[must_use]
pub fn conclude(mut summary: Summary) -> Summary {
    if let Some(relay) = &summary.relay {
        summary.diagnosis = relay::diagnose(relay);
        summary.doubts = doubts::doubts(&summary);
        return summary;
    }
    let (diagnosis, by_cell) = diagnose::diagnose_cells(&summary);
    for (cell, segment) in by_cell {
        mark(&mut summary, &cell, segment);
    }
    summary.diagnosis = diagnosis;
    summary.doubts = doubts::doubts(&summary);
    summary
}

fn mark(summary: &mut Summary, cell: &str, segment: Segment) {
    if let Some(found) = summary.cells.iter_mut().find(|known| known.id == cell) {
        found.limiting = Some(segment);
    }
}
