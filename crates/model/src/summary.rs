//! The summary of a run: the JSON document `narrows.summary/1`.
//!
//! Keys are always there, `null` when unmeasured. Generated from these types, never from printing.

mod commit;
mod cpu;
mod law;
mod load;
mod quality;
mod relay;
mod scaling;
mod segment;
mod threshold;
mod time;

pub use commit::{CommitCall, CommitLatency};
pub use cpu::{
    CpuBasis, CpuWaiting, DaemonLoad, ForeignLoad, ForeignProgramLoad, ForeignResource, ForeignTransfer,
    ForeignTransferProgram, MemoryStall, RoleCpu,
};
pub use law::{CurvePoint, Saturation, SaturationState, SegmentFit, Sweep, SweepPoint};
pub use load::{InFlight, KindSummary, OpenLoopSummary};
pub use quality::{Doubt, DoubtCode, MixedFigure, Mixture, Mode, RepeatOutcome, Steadiness, WarmUpCut};
pub use relay::{RelayPointSummary, RelayRoleSummary, RelaySummary};
pub use scaling::{
    RateBracket, Scaling, ScalingLawSummary, ScalingPointSummary, SharedStage, SharedStageState, StageUse,
};
pub use segment::{SegmentSummary, SegmentUse, UsedOf};
pub use threshold::{ThresholdOutcome, ThresholdState};
pub use time::TimeShares;

use crate::cell::{Cut, FactorValue, Site};
use crate::change::ConfirmingChange;
use crate::counters::Role;
use crate::diagnosis::Diagnosis;
use crate::effective::Effective;
use crate::factor::Factor;
use crate::fault::ErrorCount;
use crate::inventory::Inventory;
use crate::plan::{SkippedCell, SuiteSource, Topology};
use crate::rpc::{PhaseCounters, ProcedureCounters, RpcEvents};
use crate::segment::Segment;
use crate::server::ServerFacts;
use crate::target::Target;
use crate::units::{Bytes, BytesPerSec, Nanos, OpsPerSec, ratio};
use crate::verification::Verification;
use crate::workload::{Op, Workload, is_false};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema of summaries written by this version.
pub const SUMMARY_SCHEMA: &str = "narrows.summary/1";

/// A point estimate's interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence level, 0 to 1.
    pub level: f64,
    /// How it was made.
    pub method: String,
}

impl Interval {
    /// Half of the width over `figure`, which it is the interval of; `None` where that is 0.
    ///
    /// A lower end that is clamped at 0 shows less than half of it: then the upper end alone counts.
    #[must_use]
    pub fn half_width_ratio(&self, figure: f64) -> Option<f64> {
        let half_width = if self.low > 0.0 { (self.high - self.low) / 2.0 } else { self.high - figure };
        ratio(half_width, figure)
    }
}

/// A machine that took part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct HostSummary {
    /// Roles it played.
    pub roles: Vec<Role>,
    /// What it is.
    pub inventory: Inventory,
    /// What its endpoint reported; `None` for the client.
    pub server: Option<ServerFacts>,
}

/// The metrics of a server on which nothing of ours runs, as they were read around the trials of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ServerMetricsSummary {
    /// Where they are.
    pub url: String,
    /// Trials around which they were read.
    pub read_count: u64,
    /// Trials around which they were not read, which have figures without them.
    pub missed_count: u64,
    /// Why not, the first time; `None` where they always were.
    pub missed_because: Option<String>,
}

/// What the load generator can do compared with what it was asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct GeneratorSummary {
    /// Smallest ratio of the generator's ceiling to the rate measured with the same settings.
    pub headroom_ratio: Option<f64>,
    /// Whether any cell of the path reached 0.8 of the generator's ceiling.
    pub limited: bool,
}

/// Elapsed time, to the first and the last worker's end.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Elapsed {
    /// Seconds to the first end.
    pub first_done: f64,
    /// Seconds to the last end.
    pub last_done: f64,
}

/// Rates of one repetition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct TrialSummary {
    /// Seconds to the last end.
    pub elapsed_s: f64,
    /// Bytes a second.
    pub rate_bytes_per_s: BytesPerSec,
    /// Operations a second.
    pub ops_per_s: OpsPerSec,
    /// Seconds until what was written was synced and the files were closed; `None` where a trial does not note that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_s: Option<f64>,
}

/// Quantiles of a latency, of the operations that completed; see [`InFlight::at_end`] for those that did not.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct LatencySummary {
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p999: Option<u64>,
    /// Largest that was measured; the flag `stuck_requests` reports a request that took longer.
    pub max: Option<u64>,
    /// Mean.
    pub mean: Option<f64>,
}

/// A figure that is not a rate of bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Metric {
    /// Id in the registry of metrics.
    pub id: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Its interval; `None` with too few samples.
    pub interval: Option<Interval>,
}

/// How often reads or writes returned one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct IoSizeCount {
    /// The size returned.
    pub io_bytes: Bytes,
    /// How often.
    pub io_count: u64,
}

/// What one client did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ClientSummary {
    /// The client process, from 0.
    pub client_index: u32,
    /// Its host.
    pub host: String,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Operations completed.
    pub ops: u64,
    /// Seconds to its last completion.
    pub elapsed_s: f64,
    /// CPU seconds in user mode.
    pub user_s: f64,
    /// CPU seconds in kernel mode.
    pub system_s: f64,
}

/// Bytes seen at three places in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ByteTriangle {
    /// Moved by the application, in the direction of the cell's operation.
    pub application: Bytes,
    /// Transferred by the wire as payload; `None` where unknown.
    pub wire: Option<Bytes>,
    /// Moved by the device; `None` where unknown.
    pub device: Option<Bytes>,
}

/// One cell's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CellSummary {
    /// Name of the cell.
    pub id: String,
    /// Suite; `None` for check.
    pub suite: Option<String>,
    /// Test of the suite; `None` for check.
    pub test: Option<String>,
    /// Phase of the test; `None` for check, whose cells are one measured phase.
    pub phase: Option<String>,
    /// Driver of a workload that is not a stream of requests; `None` for request streams.
    pub driver: Option<String>,
    /// Where the path is cut.
    pub cut: Cut,
    /// Where the load ran.
    pub site: Site,
    /// The target of the requests.
    pub target: Target,
    /// More targets that were loaded together with it.
    #[serde(default)]
    pub more_targets: Vec<Target>,
    /// Who talked to whom.
    pub topology: Topology,
    /// Factors of a sweep.
    pub factors: BTreeMap<String, FactorValue>,
    /// What the cut `changed-path` changes, and why; `None` for all other cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirms: Option<ConfirmingChange>,
    /// Whether it was added to the plan while the run went on, to show what limits another cell of the path.
    #[serde(default, skip_serializing_if = "is_false")]
    pub refines: bool,
    /// Operation.
    pub op: Op,
    /// Bytes a request moves.
    pub block_bytes: Bytes,
    /// Bytes of the file.
    pub file_bytes: Bytes,
    /// Requests in flight of one client (workers x depth).
    pub queue_depth: u64,
    /// Clients.
    pub clients: u32,
    /// What was asked for.
    pub requested: Workload,
    /// What was granted; `None` when no trial started.
    pub effective: Option<Effective>,
    /// Elapsed time, summed over trials.
    pub elapsed_s: Elapsed,
    /// Bytes a second; `None` when nothing completed.
    pub rate_bytes_per_s: Option<BytesPerSec>,
    /// Operations a second; `None` when nothing completed.
    pub ops_per_s: Option<OpsPerSec>,
    /// Interval of the rate in bytes; `None` with too few samples.
    pub interval: Option<Interval>,
    /// What was cut off before the interval was made; `None` with too few samples.
    pub warm_up: Option<WarmUpCut>,
    /// Whether the rate was steady (SNIA rule, on the trials where there are five, else on the interval series); `None`
    /// with too few samples.
    pub steady: Option<bool>,
    /// The figures by which that was decided; `None` with too few samples.
    pub steadiness: Option<Steadiness>,
    /// Figures that have more than one mode.
    pub mixtures: Vec<Mixture>,
    /// Whether the repetitions reached what they were made for.
    pub repeat: RepeatOutcome,
    /// The repetitions that the figures are of; see [`RepeatOutcome::trials_before`] for those before a steady window.
    pub trials: Vec<TrialSummary>,
    /// Load asked for in an open loop; `None` in a closed one.
    pub offered_ops_per_s: Option<OpsPerSec>,
    /// What an open loop adds; `None` in a closed one.
    pub open_loop: Option<OpenLoopSummary>,
    /// Requests in flight.
    pub in_flight: InFlight,
    /// Response time: from the scheduled start in an open loop, from the submission in a closed one.
    pub latency_ns: LatencySummary,
    /// Service time, from the submission; `None` in a closed loop, where it is the response time.
    pub service_ns: Option<LatencySummary>,
    /// Times of the calls that make its data durable; `None` of a load that waits for none.
    #[serde(default)]
    pub commit: Option<CommitLatency>,
    /// The same figures for each kind of request; empty where all are alike.
    pub kinds: Vec<KindSummary>,
    /// What is not a rate of bytes: transactions, files a second, scores.
    pub metrics: Vec<Metric>,
    /// Clients, by index.
    pub per_client: Vec<ClientSummary>,
    /// Failures met.
    pub errors: Vec<ErrorCount>,
    /// What the check of its data found, in all trials; `None` for a load that is not verified.
    #[serde(default)]
    pub verification: Option<Verification>,
    /// Procedures of the storage protocol; empty where none is counted.
    pub protocol: Vec<ProcedureCounters>,
    /// What happened to its calls beyond their replies; `None` where none is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_events: Option<RpcEvents>,
    /// Phases of its calls; empty where none are distinguished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocol_phases: Vec<PhaseCounters>,
    /// What the kernel's NFS client did at the mounts of the path, whose data does not pass `protocol`.
    #[serde(default)]
    pub nfs_mounts: Vec<crate::nfs_mount::NfsMountCounters>,
    /// Requests with their replies; `None` where not counted.
    pub round_trip_count: Option<u64>,
    /// Messages one way, both directions; `None` where not counted.
    pub message_count: Option<u64>,
    /// Reads and writes by role; `None` where not counted.
    pub io_count: Option<BTreeMap<String, u64>>,
    /// Sizes that reads and writes returned, by role; `None` where not counted.
    pub io_size_histogram: Option<BTreeMap<String, Vec<IoSizeCount>>>,
    /// CPU by role.
    pub cpu: BTreeMap<Role, RoleCpu>,
    /// CPU that programs used which are no part of the path, by machine; empty where it was not counted.
    #[serde(default)]
    pub foreign_cpu: Vec<ForeignLoad>,
    /// Devices and interfaces of the path that moved a tenth or more of their bytes for others; empty where none did.
    #[serde(default)]
    pub foreign_transfers: Vec<ForeignTransfer>,
    /// Machines of the path on which tasks waited for memory for a tenth of the time or more; empty where none did.
    #[serde(default)]
    pub memory_stalls: Vec<MemoryStall>,
    /// The process that serves its file system (FUSE); `None` without one, or where it is not known.
    #[serde(default)]
    pub daemon: Option<DaemonLoad>,
    /// What the time of the client's load was spent on; `None` where it is not known.
    #[serde(default)]
    pub time_shares: Option<TimeShares>,
    /// What the time in which the server's workers served requests was spent on; `None` where it is not known.
    #[serde(default)]
    pub server_shares: Option<TimeShares>,
    /// Bytes at application, wire and device.
    pub bytes: ByteTriangle,
    /// Round-trip time of the connections, smallest; `None` without any.
    pub rtt_min_ns: Option<Nanos>,
    /// Segments sent again; `None` without connections.
    pub retransmit_count: Option<u64>,
    /// Busy share of the busiest device under the path; `None` where unknown.
    pub device_busy_ratio: Option<f64>,
    /// How long requests were in the queues of the devices under the path and at the devices, or why that is not known; `None`
    /// where no request reached a device of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_trace: Option<crate::counters::BlockTrace>,
    /// Share of the application's bytes that a cache served; `None` where unknown.
    pub cache_served_ratio: Option<f64>,
    /// Codes of what must be known to read the figures.
    pub flags: Vec<String>,
    /// What limits this cell; `None` where the evidence does not say.
    pub limiting: Option<Segment>,
}

/// What the segments predict for the path.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Prediction {
    /// Rate composed from the segments, at the cell with the highest rate.
    pub composed_bytes_per_s: Option<BytesPerSec>,
    /// (measured - composed) / composed there: the unexplained part.
    pub residual_ratio: Option<f64>,
    /// The same for every cell of the path that could be composed.
    pub cells: Vec<CellPrediction>,
}

/// What the segments predict for one cell of the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CellPrediction {
    /// The cell.
    pub cell: String,
    /// `serial` (times add, depth 1) or `minimum` (the slowest decides, saturated).
    pub law: String,
    /// Composed rate.
    pub composed_bytes_per_s: BytesPerSec,
    /// Measured rate.
    pub measured_bytes_per_s: BytesPerSec,
    /// (measured - composed) / composed.
    pub residual_ratio: f64,
}

/// The study that a run was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct StudySummary {
    /// Its file, as it was named.
    pub name: String,
    /// Its title; `None` where it has none.
    pub title: Option<String>,
    /// What it varies, in the order of the sweep: the last one changes from each point to the next.
    pub factors: Vec<Factor>,
}

/// The summary of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Summary {
    /// Schema, `narrows.summary/1`.
    pub schema: String,
    /// Version of narrows that measured.
    pub narrows_version: String,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    /// Command line.
    pub command: Vec<String>,
    /// What the path leads to.
    pub target: Target,
    /// Who talked to whom.
    pub topology: Topology,
    /// Whether everything planned was measured.
    pub complete: bool,
    /// What ended the run before its plan, for people: a peer that was lost, a test folder that was replaced; `None` where
    /// nothing did.
    #[serde(default)]
    pub ended_by: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The study that was run; `None` for a command that plans by itself.
    #[serde(default)]
    pub study: Option<StudySummary>,
    /// The buffer experiment, of `narrows relay` alone; it has no cells.
    #[serde(default)]
    pub relay: Option<RelaySummary>,
    /// The classic benchmark that was run; `None` where none was.
    #[serde(default)]
    pub suite: Option<SuiteSource>,
    /// Machines that took part.
    pub hosts: Vec<HostSummary>,
    /// The server's metrics that were read around the trials; `None` where none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_metrics: Option<ServerMetricsSummary>,
    /// Cells left out, and why.
    pub skipped: Vec<SkippedCell>,
    /// Cells that were begun and failed, and why; what they measured before is among the cells.
    pub failed: Vec<SkippedCell>,
    /// The load generator.
    pub generator: GeneratorSummary,
    /// Segments of the path.
    pub segments: Vec<SegmentSummary>,
    /// Cells in the order in which they ran.
    pub cells: Vec<CellSummary>,
    /// The figures along each factor of a study; empty without one.
    pub sweeps: Vec<Sweep>,
    /// The load over its clients, of several loads the first; `None` until clients are swept.
    pub scaling: Option<Scaling>,
    /// The same of further loads.
    #[serde(default)]
    pub more_scaling: Vec<Scaling>,
    /// What the segments predict.
    pub prediction: Prediction,
    /// Reasons not to rely on the run; empty where it can be.
    pub doubts: Vec<Doubt>,
    /// The conditions under which the run was asked to fail, each with what it was compared with; empty where it was asked
    /// for none.
    #[serde(default)]
    pub thresholds: Vec<ThresholdOutcome>,
    /// The verdict.
    pub diagnosis: Diagnosis,
}
