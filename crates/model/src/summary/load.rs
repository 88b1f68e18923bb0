//! The load that a cell put on: in flight, open loops, kinds of requests.

use super::{CellSummary, LatencySummary};
use crate::trial::InFlightAtEnd;
use crate::units::{Bytes, BytesPerSec, OpsPerSec};
use crate::workload::Op;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct InFlight {
    /// Asked for: clients x workers x depth; in an open loop the most that may be in flight.
    pub configured: u64,
    /// Found by Little's law, rate x mean time in the system: response time in a closed loop, service time in an open
    /// one, where waiting for the start is not in flight.
    pub measured: Option<f64>,
    /// Requests that were thinking instead of in flight, rate x think time; `None` without think time.
    pub thinking: Option<f64>,
    /// In flight when the measured windows ended: the count of all trials, the oldest of any. No latency counts them.
    /// `None` where that was not noted.
    #[serde(default)]
    pub at_end: Option<InFlightAtEnd>,
}

impl CellSummary {
    /// What the largest response time is at least, where a request had been in flight for longer when its window ended
    /// than any that completed took; `None` where none had.
    #[must_use]
    pub fn response_ns_at_least(&self) -> Option<u64> {
        let at_end = self.in_flight.at_end.filter(|at_end| at_end.count > 0)?;
        Some(at_end.longest_response_ns.0).filter(|longest| *longest > self.latency_ns.max.unwrap_or(0))
    }
}

/// What an open loop adds to a cell's figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoopSummary {
    /// Requests whose scheduled start lies in the measured windows.
    pub scheduled_count: u64,
    /// Of these, how many had not been started at their window's end: the backlog.
    pub unstarted_count: u64,
    /// Completed operations a second over the offered ones; well below 1 the offered load is more than the path carries.
    pub achieved_ratio: Option<f64>,
}

/// What the requests of one kind did, in a workload that mixes several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindSummary {
    /// The operation.
    pub op: Op,
    /// Bytes a request of this kind moves.
    pub block_bytes: Bytes,
    /// Operations completed.
    pub op_count: u64,
    /// Bytes a second; `None` when nothing completed.
    pub rate_bytes_per_s: Option<BytesPerSec>,
    /// Operations a second; `None` when nothing completed.
    pub ops_per_s: Option<OpsPerSec>,
    /// Response time.
    pub latency_ns: LatencySummary,
}
