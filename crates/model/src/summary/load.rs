//! The load that a cell put on: in flight, open loops, kinds of requests.

use super::{CellSummary, LatencySummary};
use crate::trial::InFlightAtEnd;
use crate::units::{Bytes, BytesPerSec, OpsPerSec};
use crate::workload::Op;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
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
    /// Whether a request costs its operation more than its bytes on common hardware: up to 64 KiB.
    #[must_use]
    pub fn is_small_block(&self) -> bool {
        const SMALL_BYTES: u64 = 64 << 10;
        self.block_bytes.0 <= SMALL_BYTES
    }

    /// What the largest response time is at least, where a request had been in flight for longer when its window ended
    /// than any that completed took, or an open loop's longest wait did not end; `None` where it is known.
    #[must_use]
    pub fn response_ns_at_least(&self) -> Option<u64> {
        let longest = self.in_flight.at_end.filter(|at_end| at_end.count > 0);
        let longest = longest.map(|at_end| at_end.longest_response_ns.0);
        let beyond = longest.filter(|longest| *longest > self.latency_ns.max.unwrap_or(0));
        beyond.or(self.latency_ns.max.filter(|largest| self.is_at_least(*largest)))
    }

    /// Whether a quantile of the response time is only known to be at least `response_ns`: waits of an open loop that
    /// were never ended reach down to it.
    #[must_use]
    pub fn is_at_least(&self, response_ns: u64) -> bool {
        let from_ns = self.open_loop.and_then(|open_loop| open_loop.censored_from_ns);
        from_ns.is_some_and(|from_ns| response_ns >= from_ns)
    }
}

/// What an open loop adds to a cell's figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct OpenLoopSummary {
    /// Requests whose scheduled start is in the measured windows.
    pub scheduled_count: u64,
    /// Of these, how many had not been started at their window's end: the backlog.
    pub unstarted_count: u64,
    /// Of these, how many the load's own worker started more than a millisecond late, though they were due and there was
    /// room for them: waits that are no target's.
    #[serde(default)]
    pub held_up_count: u64,
    /// Of these, how many had not completed when the time for that was over: response times count what they had waited.
    #[serde(default)]
    pub censored_count: u64,
    /// The shortest of those waits, where there is one: quantiles of the response time from here on are at least what
    /// they say.
    #[serde(default)]
    pub censored_from_ns: Option<u64>,
    /// Completed operations a second over the offered ones; well below 1 the offered load is more than the path
    /// sustains.
    pub achieved_ratio: Option<f64>,
}

/// What the requests of one kind did, in a workload that mixes several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
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
