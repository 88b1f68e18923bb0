//! Rates of more clients than were measured: the JSON document `narrows.extrapolation/1`, what `narrows predict --json`
//! prints.
//!
//! Not here: how it is computed, which is `analysis`'.

use crate::segment::Segment;
use crate::summary::Interval;
use crate::target::Target;
use crate::units::{Bytes, BytesPerSec};
use crate::workload::Op;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Schema of extrapolations written by this version.
pub const EXTRAPOLATION_SCHEMA: &str = "narrows.extrapolation/1";

/// A change of one stage that is supposed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StageChange {
    /// So many times as many devices as were measured.
    Disks(f64),
    /// A network that transfers so many bytes of payload a second.
    Link(BytesPerSec),
    /// So many times the CPU of the server.
    ServerCpu(f64),
}

/// Rates of more clients than were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Extrapolation {
    /// Always [`EXTRAPOLATION_SCHEMA`].
    pub schema: String,
    /// Version that computed it.
    pub narrows_version: String,
    /// Start of the run that it is computed from, RFC 3339, UTC.
    pub measured_at: String,
    /// The changes that are supposed; empty for the path as it was measured.
    pub changes: Vec<StageChange>,
    /// The loads of the run, in the order of its sweeps.
    pub loads: Vec<LoadExtrapolation>,
}

/// The rates of one load.
///
/// # Units
/// Rates are in bytes a second, or in operations a second where the load moves no bytes; `unit` says which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct LoadExtrapolation {
    /// The target.
    pub target: Target,
    /// Operation.
    pub op: Op,
    /// Bytes a request moves.
    pub block_bytes: Bytes,
    /// Requests in flight of one client.
    pub queue_depth: u64,
    /// The unit of rates: `B/s` or `1/s`.
    pub unit: String,
    /// The most clients that were measured.
    pub measured_clients_max: u32,
    /// How rates are computed; `None` where they are refused.
    pub method: Option<ExtrapolationMethod>,
    /// Why there are no rates, and what to do; `None` where there are.
    pub refusal: Option<ExtrapolationRefusal>,
    /// What each stage that all clients share sustains, as measured or supposed.
    pub stages: Vec<ExtrapolatedStage>,
    /// What is assumed, in sentences.
    pub assumptions: Vec<String>,
    /// The rates, by servers and clients; empty where they are refused.
    pub rates: Vec<ExtrapolatedRate>,
}

/// How a rate is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExtrapolationMethod {
    /// The level that the points past the knee have.
    Plateau,
    /// The law that six points or more support, past the knee.
    Law,
    /// The rate of the most clients, and what growth the points leave beyond it.
    Growth,
    /// A closed network of queues with measured demands: mean value analysis below, asymptotic bounds above.
    Network,
    /// A closed network of queues with measured demands that has windows or stripes: simulated below, asymptotic bounds above.
    Simulation,
}

/// Why there are no rates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ExtrapolationRefusal {
    /// Why.
    pub reason: String,
    /// What to do.
    pub hint: String,
}

/// What a stage sustains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ExtrapolatedStage {
    /// The segment.
    pub segment: Segment,
    /// The most of one server.
    pub ceiling: f64,
    /// The cut or counter that it comes from, or the change that is supposed.
    pub source: String,
    /// Whether more servers have more of it.
    pub is_per_server: bool,
}

/// The rate of some clients at some servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ExtrapolatedRate {
    /// Clients.
    pub clients: u32,
    /// Servers.
    pub servers: u32,
    /// The rate of all clients.
    pub rate: f64,
    /// The interval that has a measured rate 95 times in 100.
    pub interval: Interval,
    /// What is full there; `None` where nothing is, or the method does not show it.
    pub full: Option<Segment>,
    /// The rate that was measured with so many clients; `None` where none was.
    pub measured: Option<f64>,
    /// Of writes that memory acknowledges, the rate once it is full, by simulation; `None` of others, and where it never fills.
    pub after_full: Option<FullMemoryRate>,
}

/// The rate of writes once the memory that acknowledges them is full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct FullMemoryRate {
    /// The rate of all clients.
    pub rate: f64,
    /// The interval that has a measured rate 95 times in 100.
    pub interval: Interval,
    /// Seconds after which it is full at the latest: all memory that was available, at the rate that memory grows by; `None`
    /// where the record does not have the memory.
    pub full_after_s_max: Option<f64>,
}
