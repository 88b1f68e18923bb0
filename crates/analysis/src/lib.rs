//! From the values of a run to a verdict: events become a [`narrows_model::Summary`], a summary becomes a
//! [`narrows_model::Diagnosis`].
//!
//! Everything here is pure: no files, no clock, no threads, no output, so that a recorded run can be analysed
//! again elsewhere and gives the same verdict. The steps, each of which can be called alone:
//! [`summarize`] (figures), [`predict`] (what the segments promise the path), [`diagnose`] (what limits),
//! [`outlook`] (which loads are
//! decided), [`refinement`] (what is worth measuring next), [`doubts`] (whether the run can be relied on). [`analyse`] does all but
//! the refinement.
//!
//! Deliberately absent: measurement, rendering of whole reports (only single numbers, by `model::quantity`), and any
//! judgement outside of [`rules`].
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as narrows_analysis;

mod case;
mod collect;
mod compare;
mod conclude;
mod confidence;
mod diagnose;
mod doubts;
mod effects;
mod explain;
mod extrapolate;
mod facts;
mod fail_if;
mod figures;
mod input;
mod method;
mod outlook;
mod predict;
mod refine;
pub mod rules;
mod scaling;
pub mod spread;
mod summary;
#[cfg(test)]
mod testing;
mod thresholds;
mod verdict;
pub mod view;

pub use case::{Cases, known_factors};
pub use compare::{
    ComparisonBasis, ComparisonSide, MARGIN_RATIO, MeasuredRun, NamedRun, RunReader, compare, noise,
};
pub use conclude::{analyse, conclude};
pub use diagnose::{diagnose, diagnose_observations, diagnosis_document};
pub use doubts::{Trust, doubts, trust};
pub use effects::{Effect, Gain, effects};
pub use explain::{Explanation, explain, topics};
pub use extrapolate::{ExtrapolationRequest, extrapolate, why_no_curve};
pub use fail_if::{FAIL_IF_FORM, fail_if_cells, fail_if_problems};
pub use figures::{NamedFigures, compare_figures, mean_figures};
pub use input::{Input, RunFacts};
pub use method::calls::per_call;
pub use method::given::PAYLOAD_RATIO;
pub use method::scope::CLIENT_LINK;
pub use outlook::{LoadStanding, Outlook, RepeatReason, outlook, repeats, stays_disturbed};
pub use predict::predict;
pub use refine::{Suspect, refinement};
pub use scaling::scalings;
pub use summary::laws::is_unbounded;
pub use summary::{Summarizer, summarize};
pub use thresholds::{
    BUSY_RATIO, FALL_RATIO, NO_EFFECT_RATIO, OVERLAP_RATIO, SHORT_RUN_S, SIZES_MIN, THROTTLED_RATIO,
    UNEQUAL_RATIO, UNEXPLAINED_RATIO,
};
pub use verdict::{FLUSHES, GROUP_LIMIT, OWN_CONNECTIONS};

use narrows_model::quantity as text;
