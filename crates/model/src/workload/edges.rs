//! How a trial begins and ends for its clients, beside its window.

use crate::units::Bytes;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done at the edges of a trial; nothing without a wish.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a wish of its own")]
pub struct Edges {
    /// Bytes that each worker writes in memory right before it starts, so that the processor's caches contain nothing
    /// of its blocks; `None` for none.
    pub purge_bytes: Option<Bytes>,
    /// Whether a trial that a count ends lasts until its files are closed.
    pub times_close: bool,
    /// Whether the first client that has done its share of a count ends the trial for all: the stone wall. The others stop
    /// with the request that they are at.
    pub stone_wall: bool,
    /// Whether each worker that ends syncs what it wrote and closes its file at once, and the trial notes, beside the time
    /// that rates are taken over, when the last has: the clock of a parent that waits for its children.
    #[serde(skip_serializing_if = "is_unset")]
    pub ends_apart: bool,
    /// Whether each worker reads the first block of its part once before it starts.
    #[serde(skip_serializing_if = "is_unset")]
    pub primes: bool,
    /// Whether files that the load itself writes stay when the run is over.
    pub keeps_files: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_unset(wish: &bool) -> bool {
    !wish
}

impl Edges {
    /// Whether nothing is wished.
    #[must_use]
    pub fn are_plain(&self) -> bool {
        *self == Self::default()
    }
}
