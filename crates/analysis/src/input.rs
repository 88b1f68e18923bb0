//! What the analysis is given: the facts of a run, its plan, the machine, and what happened in order.
//!
//! It deliberately reads nothing: a record, or a run in progress, hands these values over.

use narrows_model::{Event, Inventory, Plan};

/// Facts of a run that are not in its plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFacts {
    /// Version of narrows that measured.
    pub narrows_version: String,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    /// Command line.
    pub command: Vec<String>,
}

/// Everything that a summary is made of.
///
/// A record too large for memory is read through [`crate::Summarizer`] instead, one event after the other.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    /// Facts of the run.
    pub manifest: RunFacts,
    /// What was planned at the start.
    pub plan: &'a Plan,
    /// The machine of the command.
    pub inventory: &'a Inventory,
    /// What happened, in order.
    pub events: &'a [Event],
}
