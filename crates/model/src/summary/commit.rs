//! How long a load waited for its data to be durable.

use super::LatencySummary;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The call that makes data durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CommitCall {
    /// A write that returns once it is durable (`O_DSYNC`, or acknowledged so by the server).
    Write,
    /// A sync after writes (`fdatasync`, `fsync`), by itself.
    Sync,
}

/// Times of the calls that make a load's data durable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CommitLatency {
    /// Which call.
    pub call: CommitCall,
    /// How many there were.
    pub count: u64,
    /// How long each took.
    pub latency_ns: LatencySummary,
}
