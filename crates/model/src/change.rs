//! What is changed of a path to confirm or refute a verdict, and what came of it.

use crate::segment::Segment;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that is changed while all else stays as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PathChange {
    /// The endpoint serves from memory in place of its disk.
    MemoryStore,
    /// The load has one connection more.
    OneMoreConnection,
    /// Twice as many requests are in flight.
    TwiceInFlight,
    /// Half of the rate is offered.
    HalfTheRate,
    /// Requests pass the page cache.
    Direct,
    /// The client has one CPU less.
    OneCpuLess,
}

impl PathChange {
    /// The name as in records and cell ids.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PathChange::MemoryStore => "memory-store",
            PathChange::OneMoreConnection => "one-more-connection",
            PathChange::TwiceInFlight => "twice-in-flight",
            PathChange::HalfTheRate => "half-the-rate",
            PathChange::Direct => "direct",
            PathChange::OneCpuLess => "one-cpu-less",
        }
    }

    /// What was changed, in words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            PathChange::MemoryStore => "from the endpoint's memory in place of its disk",
            PathChange::OneMoreConnection => "with one more connection",
            PathChange::TwiceInFlight => "with twice as many requests in flight",
            PathChange::HalfTheRate => "with half of the rate offered",
            PathChange::Direct => "past the page cache",
            PathChange::OneCpuLess => "with one CPU less for the client",
        }
    }
}

/// Why a cell of the cut `changed-path` is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ConfirmingChange {
    /// The cell of the path that is changed.
    pub path: String,
    /// The segment that was named for it.
    pub segment: Segment,
    /// What is changed.
    pub change: PathChange,
}

/// Whether a path moved as predicted when what is blamed was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// It did.
    Confirmed,
    /// It did not: something else limits, or limits too.
    Refuted,
    /// What it did is between, or within chance.
    Undecided,
}
