//! What one repetition of a cell gave: totals, histograms and the counters around it.

use crate::Histogram;
use crate::cell::CellId;
use crate::counters::CounterSample;
use crate::effective::Effective;
use crate::fault::ErrorCount;
use crate::rpc::RpcCounters;
use crate::units::{Bytes, Nanos};
use crate::verification::Verification;
use crate::workload::Op;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a worker did in one interval of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct IntervalSample {
    /// The cell.
    pub cell: CellId,
    /// The repetition, from 0.
    pub trial: u32,
    /// Whether the interval is in the measured window.
    pub measured: bool,
    /// The client process, from 0.
    pub client_index: u32,
    /// The worker in its client, from 0.
    pub worker_index: u32,
    /// Start, on the load's monotonic clock.
    pub start_ns: Nanos,
    /// End, on the load's monotonic clock.
    pub end_ns: Nanos,
    /// Operations completed.
    pub op_count: u64,
    /// Bytes moved by them.
    pub bytes: Bytes,
    /// Operations that failed.
    pub error_count: u64,
    /// Response times of the completed operations.
    pub response: Histogram,
}

/// What one client process did in the measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ClientTotals {
    /// The client process, from 0.
    pub client_index: u32,
    /// Host on which it ran.
    pub host: String,
    /// Operations completed.
    pub op_count: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// From the window's start to this client's last completion.
    pub elapsed_ns: Nanos,
    /// CPU time in user mode of its workers.
    pub user_ns: Nanos,
    /// CPU time in kernel mode of its workers.
    pub system_ns: Nanos,
    /// Time in which its workers were runnable and waited for a CPU; `None` where the kernel does not report it.
    #[serde(default)]
    pub waiting_ns: Option<Nanos>,
}

impl ClientTotals {
    /// Adds what the same client did in another trial; waiting times are known only if both are.
    pub fn add_trial(&mut self, other: &Self) {
        self.op_count = self.op_count.saturating_add(other.op_count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.elapsed_ns = self.elapsed_ns.saturating_add(other.elapsed_ns);
        self.user_ns = self.user_ns.saturating_add(other.user_ns);
        self.system_ns = self.system_ns.saturating_add(other.system_ns);
        let waits = self.waiting_ns.zip(other.waiting_ns);
        self.waiting_ns = waits.map(|(waiting, more)| waiting.saturating_add(more));
    }
}

/// Counters of one role around the measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CounterPair {
    /// At the window's start.
    pub before: CounterSample,
    /// At its end.
    pub after: CounterSample,
}

/// What the requests of one kind did in the measured window, in a workload that mixes several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct OpTotals {
    /// The operation.
    pub op: Op,
    /// Bytes a request of this kind moves.
    pub block_bytes: Bytes,
    /// Operations completed.
    pub op_count: u64,
    /// Bytes moved by them.
    pub bytes: Bytes,
    /// Their response times.
    pub response: Histogram,
}

impl OpTotals {
    /// All but the response times.
    #[must_use]
    pub fn counts(&self) -> OpCounts {
        OpCounts { op: self.op, block_bytes: self.block_bytes, op_count: self.op_count, bytes: self.bytes }
    }

    /// Adds what other requests of this kind did.
    pub fn add(&mut self, other: &Self) {
        let mut sum = self.counts();
        sum.add(&other.counts());
        (self.op_count, self.bytes) = (sum.op_count, sum.bytes);
        self.response.merge(&other.response);
    }
}

/// What requests of one kind did, without their response times: small, however many trials are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpCounts {
    /// The operation.
    pub op: Op,
    /// Bytes a request of this kind moves.
    pub block_bytes: Bytes,
    /// Operations completed.
    pub op_count: u64,
    /// Bytes moved by them.
    pub bytes: Bytes,
}

impl OpCounts {
    /// Whether `other` is of the same operation and block.
    #[must_use]
    pub fn is_same_kind(&self, other: &Self) -> bool {
        (self.op, self.block_bytes) == (other.op, other.block_bytes)
    }

    /// Adds what other requests of this kind did.
    pub fn add(&mut self, other: &Self) {
        self.op_count = self.op_count.saturating_add(other.op_count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// What an open loop did.
///
/// Times are accounted by arrival: of the requests whose scheduled start is in the window, whenever they complete. So a
/// stall at the window's end shows as one in its middle does. Counts and rates are of what completes in the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct OpenLoopTotals {
    /// Requests whose scheduled start is in the window.
    pub scheduled_count: u64,
    /// Of these, how many had not been started at its end: the backlog, which is started after it.
    pub unstarted_count: u64,
    /// Of these, how many the load's own worker started more than a millisecond late, though they were due and there was
    /// room for them: waits that are no target's.
    #[serde(default)]
    pub held_up_count: u64,
    /// What those that had not completed when the time for that was over had waited by then, from their scheduled start:
    /// their response times are at least that. Neither the trial's `response` nor `service` has them.
    #[serde(default)]
    pub censored: Histogram,
    /// Times from submission to completion; the trial's `response` counts from the scheduled start.
    pub service: Histogram,
    /// Sum of all service times: divided by the window it is the mean number in flight at the target.
    pub service_sum_ns: u64,
}

impl OpenLoopTotals {
    /// All but the distributions of times.
    #[must_use]
    pub fn counts(&self) -> OpenLoopCounts {
        OpenLoopCounts {
            scheduled_count: self.scheduled_count,
            unstarted_count: self.unstarted_count,
            held_up_count: self.held_up_count,
            service_sum_ns: self.service_sum_ns,
        }
    }

    /// Adds what another open loop did.
    pub fn add(&mut self, other: &Self) {
        let mut sum = self.counts();
        sum.add(&other.counts());
        self.scheduled_count = sum.scheduled_count;
        self.unstarted_count = sum.unstarted_count;
        self.held_up_count = sum.held_up_count;
        self.service_sum_ns = sum.service_sum_ns;
        self.censored.merge(&other.censored);
        self.service.merge(&other.service);
    }
}

/// What an open loop did, without the distributions of its times: small, however many trials are added.
///
/// Fields mean what they mean in [`OpenLoopTotals`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenLoopCounts {
    /// Requests whose scheduled start is in the window.
    pub scheduled_count: u64,
    /// Of these, those not started at its end.
    pub unstarted_count: u64,
    /// Of these, those that their worker started late.
    pub held_up_count: u64,
    /// Sum of all service times.
    pub service_sum_ns: u64,
}

impl OpenLoopCounts {
    /// Adds what another open loop did.
    pub fn add(&mut self, other: &Self) {
        self.scheduled_count = self.scheduled_count.saturating_add(other.scheduled_count);
        self.unstarted_count = self.unstarted_count.saturating_add(other.unstarted_count);
        self.held_up_count = self.held_up_count.saturating_add(other.held_up_count);
        self.service_sum_ns = self.service_sum_ns.saturating_add(other.service_sum_ns);
    }
}

/// Requests that were in flight when a measured window ended: no histogram counts them.
///
/// A window ends at its time, with the last completion of a count, or with a stop. In an open loop they are those that
/// were still in flight when the time for its backlog was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct InFlightAtEnd {
    /// How many.
    pub count: u64,
    /// How long the oldest of them had been in flight by then, from its submission; 0 without any.
    pub longest_in_flight_ns: Nanos,
    /// The same from its scheduled start, as response times of an open loop count; as above in a closed one.
    pub longest_response_ns: Nanos,
}

impl InFlightAtEnd {
    /// Adds what was in flight elsewhere, or at the end of another window.
    pub fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.longest_in_flight_ns = self.longest_in_flight_ns.max(other.longest_in_flight_ns);
        self.longest_response_ns = self.longest_response_ns.max(other.longest_response_ns);
    }
}

/// What one repetition of a cell gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct TrialOutput {
    /// The cell.
    pub cell: CellId,
    /// The repetition, from 0.
    pub trial: u32,
    /// Whether it ran to its planned end.
    pub complete: bool,
    /// Start of the measured window, on the load's monotonic clock.
    pub start_ns: Nanos,
    /// From the window's start to the first worker's end.
    pub first_done_ns: Nanos,
    /// From the window's start to the last worker's end: the time that rates are taken over.
    pub last_done_ns: Nanos,
    /// From the window's start to when the last worker had synced what it wrote and closed its file; `None` where these do
    /// not end apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<Nanos>,
    /// Operations completed in the window.
    pub op_count: u64,
    /// Bytes moved by them.
    pub bytes: Bytes,
    /// Response times, counted from the submission. In an open loop they count from the scheduled start, and are those
    /// of the requests that were due in the window.
    pub response: Histogram,
    /// Sum of the response times of what completed in the window: divided by the window it is the mean number in flight
    /// (Little's law).
    pub response_sum_ns: u64,
    /// The window's requests by kind; empty where all are alike.
    #[serde(default)]
    pub by_kind: Vec<OpTotals>,
    /// What an open loop adds; `None` in a closed one.
    #[serde(default)]
    pub open_loop: Option<OpenLoopTotals>,
    /// What was in flight at the window's end, all workers together; `None` where that was not noted.
    #[serde(default)]
    pub in_flight_at_end: Option<InFlightAtEnd>,
    /// What was granted to the first worker; all workers of a cell are granted the same or the cell fails.
    pub effective: Option<Effective>,
    /// Clients, by index.
    pub clients: Vec<ClientTotals>,
    /// Failures met.
    pub errors: Vec<ErrorCount>,
    /// Counters around the window, a pair for each role that could be read.
    pub counters: Vec<CounterPair>,
    /// Bytes of the file that were really there (preparation is bounded in time).
    pub file_bytes: Bytes,
    /// Share of the file in the page cache of the load's machine at the window's start; `None` where unknown.
    pub resident_ratio: Option<f64>,
    /// What the check of its data found; `None` for a load that is not verified.
    #[serde(default)]
    pub verification: Option<Verification>,
    /// Remote procedure calls in the window, all workers together; `None` of an engine without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc: Option<RpcCounters>,
    /// Times of the syncs that followed writes of the load, by themselves; `None` where none did, or the engine does not
    /// time them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs: Option<Histogram>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_time_that_one_trial_lacks_is_unknown_of_both() {
        let of = |op_count, waiting_ns| ClientTotals {
            client_index: 0,
            host: "h".to_owned(),
            op_count,
            bytes: Bytes(8),
            elapsed_ns: Nanos(10),
            user_ns: Nanos(1),
            system_ns: Nanos(2),
            waiting_ns,
        };
        let mut sum = of(3, Some(Nanos(5)));
        sum.add_trial(&of(4, Some(Nanos(6))));
        assert_eq!((sum.op_count, sum.bytes, sum.elapsed_ns), (7, Bytes(16), Nanos(20)));
        assert_eq!((sum.user_ns, sum.system_ns, sum.waiting_ns), (Nanos(2), Nanos(4), Some(Nanos(11))));
        sum.add_trial(&of(1, None));
        assert_eq!((sum.op_count, sum.waiting_ns), (8, None));
    }

    #[test]
    fn kinds_differ_in_their_operation_or_block() {
        let of = |op, block_bytes, op_count| {
            let mut response = Histogram::new();
            response.record_n(1000, op_count);
            OpTotals {
                op,
                block_bytes: Bytes(block_bytes),
                op_count,
                bytes: Bytes(block_bytes * op_count),
                response,
            }
        };
        let mut reads = of(Op::Read, 4096, 2);
        let is_same = |other: OpTotals| reads.counts().is_same_kind(&other.counts());
        assert!(is_same(of(Op::Read, 4096, 9)));
        assert!(!is_same(of(Op::Write, 4096, 2)) && !is_same(of(Op::Read, 512, 2)));
        reads.add(&of(Op::Read, 4096, 3));
        assert_eq!((reads.op_count, reads.bytes, reads.response.count()), (5, Bytes(20480), 5));
    }
}
