//! Numbers measured elsewhere: the contents of an observation file, checked and in base units.
//!
//! A published table, another tool's output or a run of narrows' own can be described so; all use the same diagnosis.
//! Not here: reading the file, which is in `study`, and evaluating the numbers, which is in `analysis`.

mod document;

pub use document::{DiagnosisDocument, ObservationUse, PerCall, PerCallBreak, SCHEMA as ANSWER_SCHEMA};

use crate::cell::FactorValue;
use crate::counters::Role;
use crate::segment::Segment;
use crate::units::{Bytes, BytesPerSec, OpsPerSec};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema that an observation file names.
pub const SCHEMA: &str = "narrows.observations/1";

/// The contents of one observation file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Observations {
    /// What was measured, in one line.
    pub title: String,
    /// Where the numbers come from.
    pub source: Option<String>,
    /// The most that segments can sustain.
    pub ceilings: Vec<Ceiling>,
    /// The observations, in the order of the file.
    pub observations: Vec<Observation>,
    /// Which segment a factor varies, where its name does not say it.
    pub factor_segments: BTreeMap<String, Segment>,
    /// Arithmetic that the source prints.
    pub claims: Vec<Claim>,
}

/// The highest rate that a segment sustains, or the shortest time that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    /// Bytes a second at most.
    BytesPerS(BytesPerSec),
    /// Operations a second at most.
    OpsPerS(OpsPerSec),
    /// Seconds at least.
    LatencyS(f64),
}

/// What a ceiling's value applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Each client.
    Client,
    /// Each server.
    Server,
    /// All together.
    #[default]
    Shared,
    /// Each connection.
    Connection,
    /// Each device.
    Device,
    /// Each node.
    Node,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 6] =
        [Scope::Client, Scope::Server, Scope::Shared, Scope::Connection, Scope::Device, Scope::Node];

    /// The name as in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scope::Client => "client",
            Scope::Server => "server",
            Scope::Shared => "shared",
            Scope::Connection => "connection",
            Scope::Device => "device",
            Scope::Node => "node",
        }
    }
}

/// What a ceiling rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CeilingBasis {
    /// A data sheet or a link's speed: nothing passes it.
    Declared,
    /// An isolated test: a lower bound of what the segment sustains.
    #[default]
    Measured,
}

/// The most that a segment can sustain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Ceiling {
    /// The segment.
    pub segment: Segment,
    /// The capacity of one of its scope.
    pub capacity: Capacity,
    /// What the capacity applies to.
    pub scope: Scope,
    /// How many of that scope there are, 1 or more, where the file says so.
    pub count: Option<u64>,
    /// The operation that it applies to; `None` for all.
    pub op: Option<ObservedOp>,
    /// What it rests on.
    pub basis: CeilingBasis,
    /// A remark of the file's author.
    pub note: Option<String>,
}

/// What the clients did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObservedOp {
    /// Data were read.
    Read,
    /// Data were written.
    Write,
    /// Both at once.
    Mixed,
    /// Operations on names.
    Metadata,
    /// Bytes were sent through a stream.
    Send,
    /// Not stated.
    #[default]
    Unknown,
}

impl ObservedOp {
    /// Every operation.
    pub const ALL: [ObservedOp; 6] = [
        ObservedOp::Read,
        ObservedOp::Write,
        ObservedOp::Mixed,
        ObservedOp::Metadata,
        ObservedOp::Send,
        ObservedOp::Unknown,
    ];

    /// The name as in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ObservedOp::Read => "read",
            ObservedOp::Write => "write",
            ObservedOp::Mixed => "mixed",
            ObservedOp::Metadata => "metadata",
            ObservedOp::Send => "send",
            ObservedOp::Unknown => "unknown",
        }
    }
}

/// How a figure is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// Not changed.
    #[default]
    Exact,
    /// Read off a chart, or rounded.
    Approximate,
    /// The true rate is this or more.
    LowerBound,
    /// The true rate is this or less.
    UpperBound,
}

impl Quality {
    /// Every quality.
    pub const ALL: [Quality; 4] =
        [Quality::Exact, Quality::Approximate, Quality::LowerBound, Quality::UpperBound];

    /// The name as in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Quality::Exact => "exact",
            Quality::Approximate => "approximate",
            Quality::LowerBound => "lower-bound",
            Quality::UpperBound => "upper-bound",
        }
    }
}

/// Bytes counted at several places in the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ObservedBytes {
    /// Bytes that the application moved.
    pub application: Option<Bytes>,
    /// Bytes on the wire.
    pub wire: Option<Bytes>,
    /// Bytes at the device.
    pub device: Option<Bytes>,
}

/// One measurement: a load, what it was given, and what was counted meanwhile. What is not known is `None` or empty.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Observation {
    /// Unique name.
    pub id: String,
    /// What the clients did.
    pub op: ObservedOp,
    /// Load-generating processes at once.
    pub clients: Option<u64>,
    /// Rate of all clients together.
    pub bytes_per_s: Option<BytesPerSec>,
    /// Operations a second of all clients together.
    pub ops_per_s: Option<OpsPerSec>,
    /// Mean rate of a client.
    pub bytes_per_s_per_client_mean: Option<BytesPerSec>,
    /// Rate of each client.
    pub per_client_bytes_per_s: Vec<f64>,
    /// Operations a second that were asked for (open loop).
    pub offered_ops_per_s: Option<OpsPerSec>,
    /// Bytes a second that were asked for (open loop).
    pub offered_bytes_per_s: Option<BytesPerSec>,
    /// Mean response time.
    pub latency_s: Option<f64>,
    /// Requests in flight that were asked for, of all clients.
    pub in_flight_configured: Option<f64>,
    /// Requests in flight that were seen, of all clients.
    pub in_flight_measured: Option<f64>,
    /// Window of a connection.
    pub window_bytes: Option<Bytes>,
    /// Connections of a client.
    pub connections: Option<u64>,
    /// Bytes of a request.
    pub block_bytes: Option<Bytes>,
    /// Bytes that a client moves.
    pub file_bytes: Option<Bytes>,
    /// Time until the last client was done.
    pub elapsed_s: Option<f64>,
    /// Half of the 95 % interval of `elapsed_s` over it, from the spread of its trials.
    #[serde(default)]
    pub elapsed_half_width_ratio: Option<f64>,
    /// Time until the first client was done.
    pub elapsed_first_s: Option<f64>,
    /// System calls that moved data, by role: those that the role's buffer decides.
    pub calls: BTreeMap<Role, u64>,
    /// Of these, reads (receives).
    pub read_calls: BTreeMap<Role, u64>,
    /// Of these, writes (sends).
    pub write_calls: BTreeMap<Role, u64>,
    /// TCP segments with data that a role sent.
    pub tcp_segments: BTreeMap<Role, u64>,
    /// Requests with their reply, each pair once.
    pub round_trips: Option<u64>,
    /// Messages of both directions.
    pub messages: Option<u64>,
    /// Round-trip time of the network.
    pub rtt_s: Option<f64>,
    /// Busy share of the CPUs that a role may use.
    pub cpu_ratio: BTreeMap<Role, f64>,
    /// Busy cores of a role.
    pub cpu_cores: BTreeMap<Role, f64>,
    /// Busy share of a role's busiest core.
    pub cpu_busiest_core_ratio: BTreeMap<Role, f64>,
    /// CPU time in user mode, by role.
    pub user_s: BTreeMap<Role, f64>,
    /// CPU time in system mode, by role.
    pub system_s: BTreeMap<Role, f64>,
    /// CPUs that a role may use.
    pub cpus: BTreeMap<Role, f64>,
    /// Busy share of other segments.
    pub busy_ratio: BTreeMap<Segment, f64>,
    /// Share of requests that a cache served.
    pub hit_ratio: Option<f64>,
    /// Requests that failed.
    pub errors: Option<u64>,
    /// Bytes at several places.
    pub bytes: ObservedBytes,
    /// Memory of a role.
    pub memory_bytes: BTreeMap<Role, Bytes>,
    /// What was varied on purpose.
    pub factors: BTreeMap<String, FactorValue>,
    /// Order in time.
    pub sequence: Option<u64>,
    /// How the figures are to be taken.
    pub quality: Quality,
    /// A remark of the file's author.
    pub note: Option<String>,
}

/// Arithmetic that the source prints, recomputed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Claim {
    /// As the source prints it.
    pub text: String,
    /// Its left side as arithmetic.
    pub left: String,
    /// What the left side comes to.
    pub left_value: f64,
    /// What the source says it comes to.
    pub right: f64,
    /// How far the two may differ, over the right side.
    pub tolerance_ratio: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        let named = |value: serde_json::Value, name: &str| assert_eq!(value, name);
        for scope in Scope::ALL {
            named(serde_json::to_value(scope).unwrap(), scope.name());
        }
        for op in ObservedOp::ALL {
            named(serde_json::to_value(op).unwrap(), op.name());
        }
        for quality in Quality::ALL {
            named(serde_json::to_value(quality).unwrap(), quality.name());
        }
    }

    #[test]
    fn observations_survive_json() {
        let mut one = Observation { id: "one".to_owned(), ..Observation::default() };
        one.calls.insert(Role::Client, 3);
        one.busy_ratio.insert(Segment::Device, 0.9);
        one.factors.insert("disks".to_owned(), FactorValue::Number(2.0));
        let all = Observations { title: "t".to_owned(), observations: vec![one], ..Observations::default() };
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Observations>(&text).unwrap(), all);
    }
}
