//! What an engine can do with a target, as data, so that what it cannot do is a planned skip.

use crate::units::Bytes;
use crate::workload::Op;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a completion of an engine means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// Nothing was done at all.
    Nothing,
    /// The data is in the buffer of the C library's stream in this process.
    InStreamBuffer,
    /// The local socket buffer has taken the data.
    InSocketBuffer,
    /// The data is in the server's memory.
    InServerMemory,
    /// The data is in the page cache.
    InPageCache,
    /// The device has taken the data.
    OnDevice,
    /// The data survives a loss of power.
    Durable,
    /// The declared law of a simulation.
    Simulated,
}

/// What an engine can do with one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Capabilities {
    /// The engine's name.
    pub engine: String,
    /// Operations that it can be asked for.
    pub ops: Vec<Op>,
    /// Most requests one worker can have in flight; 1 for a synchronous engine.
    pub queue_depth_max: u32,
    /// Whether the page cache can be bypassed, and why not where it cannot.
    pub direct: Support,
    /// Whether writes can be made durable one by one.
    pub durable_writes: Support,
    /// Whether completions can be polled for at the device; `Yes` also where it could not be tried.
    #[serde(default)]
    pub completion_polling: Support,
    /// Whether a read returns what was written before.
    pub stores_data: bool,
    /// What offsets, lengths and buffers must be a multiple of for direct access.
    pub alignment_bytes: Bytes,
    /// What a completed write means by default.
    pub write_completion: Completion,
    /// Whether all workers must stop together (collective engines).
    pub lockstep: bool,
}

/// Whether something is supported, and if not, why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(tag = "support", rename_all = "snake_case")]
pub enum Support {
    /// It is.
    #[default]
    Yes,
    /// It is not.
    No {
        /// Why, for people.
        reason: String,
    },
}

impl Support {
    /// The answer of an engine that has no ring whose completions could be polled for.
    #[must_use]
    pub fn no_ring(engine: &str) -> Self {
        Support::No { reason: format!("the engine {engine} has no ring") }
    }

    /// Whether it is supported.
    #[must_use]
    pub fn is_yes(&self) -> bool {
        matches!(self, Support::Yes)
    }
}
