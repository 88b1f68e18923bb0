//! What was really granted to a worker, to be shown beside what was asked for.

use crate::capabilities::Completion;
use crate::units::Bytes;
use crate::workload::{Access, Acknowledgement, RingFacts, SyncPolicy, is_false};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was really granted to one worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Effective {
    /// The engine that serves the requests.
    pub engine: String,
    /// Whether the page cache is bypassed; `None` where there is no such thing.
    pub access: Option<Access>,
    /// Requests this worker can really have in flight.
    pub queue_depth: u32,
    /// What makes writes durable.
    pub sync: SyncPolicy,
    /// When the endpoint acknowledges a write; `None` without an endpoint.
    pub acknowledgement: Option<Acknowledgement>,
    /// What a completed write means.
    pub write_completion: Completion,
    /// What offsets and lengths are multiples of.
    pub alignment_bytes: Bytes,
    /// TCP facts of the worker's connection; `None` without one.
    pub connection: Option<ConnectionFacts>,
    /// How the ring is set up; `None` without one.
    #[serde(default)]
    pub ring: Option<RingFacts>,
    /// Whether the worker's thread shares its table of open files with no other: its reads and writes then take no lock
    /// for other threads.
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_own_file_table: bool,
}

/// TCP facts of one connection, as granted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ConnectionFacts {
    /// Local address and port.
    pub local: String,
    /// Remote address and port.
    pub remote: String,
    /// Whether both ends are on the loopback interface or the same address.
    pub loopback: bool,
    /// Whether Nagle's algorithm is off.
    pub nodelay: bool,
    /// Send buffer granted by the kernel.
    pub send_buffer_bytes: Bytes,
    /// Receive buffer granted by the kernel.
    pub receive_buffer_bytes: Bytes,
    /// Largest segment.
    pub segment_bytes: Bytes,
    /// Congestion control algorithm, where the kernel reports it.
    pub congestion_control: Option<String>,
}
