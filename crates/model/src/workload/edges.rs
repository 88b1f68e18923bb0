//! How a trial begins and ends for its clients, beside its window.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done at the edges of a trial; nothing without a wish.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Edges {
    /// Bytes that each worker writes in memory right before it starts, so that the processor's caches contain nothing
    /// of its blocks; `None` for none.
    pub purge_bytes: Option<Bytes>,
    /// Whether a trial that a count ends lasts until its files are closed.
    pub times_close: bool,
    /// Whether the first client that has done its share of a count ends the trial for all: the stone wall. The others stop
    /// with the request that they are at.
    pub stone_wall: bool,
    /// Whether files that the load itself writes stay when the run is over.
    pub keeps_files: bool,
}

impl Edges {
    /// Whether nothing is wished.
    #[must_use]
    pub fn are_plain(&self) -> bool {
        *self == Self::default()
    }
}
