//! The figures of the buffer experiment.

use super::Interval;
use crate::cell::CellId;
use crate::counters::Role;
use crate::relay::{
    CallSizes, ForwardMode, RelayBuffers, RelayMachine, RelaySegments, RelaySockets, RelaySweep,
};
use crate::units::{Bytes, BytesPerSec};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The experiment in figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelaySummary {
    /// Bytes that one trial moves.
    pub total: Bytes,
    /// How the sockets were set.
    pub sockets: RelaySockets,
    /// How the proxy moved bytes.
    pub forward: ForwardMode,
    /// Whether every byte was verified at the server.
    pub verify: bool,
    /// The points in the order in which they were planned.
    pub points: Vec<RelayPointSummary>,
}

/// One point of a sweep, over its whole trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelayPointSummary {
    /// The point.
    pub cell: CellId,
    /// The sweep that it belongs to.
    pub sweep: RelaySweep,
    /// The size to which the sweep's roles are shrunk here.
    pub shrunk: Bytes,
    /// The buffers of every role.
    pub buffers: RelayBuffers,
    /// Whole trials.
    pub trial_count: u64,
    /// What went wrong in the others.
    pub problems: Vec<String>,
    /// Mean of the trials' elapsed times; `None` without a whole trial.
    pub elapsed_s: Option<f64>,
    /// Mean of the trials' rates: the published throughput.
    pub rate_mean: Option<BytesPerSec>,
    /// All bytes over all time.
    pub rate_of_totals: Option<BytesPerSec>,
    /// Interval of the rate of totals; `None` below two trials.
    #[serde(default)]
    pub rate_of_totals_interval: Option<Interval>,
    /// Interval of the mean rate; `None` below two trials.
    pub interval: Option<Interval>,
    /// The client's writes over the server's reads: above 1 where reads found several writes together.
    pub coalescing_ratio: Option<f64>,
    /// The roles, client first.
    pub roles: Vec<RelayRoleSummary>,
}

impl RelayPointSummary {
    /// Whether the point has figures.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.trial_count > 0
    }
}

/// What one role did at one point: means over the trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelayRoleSummary {
    /// Which.
    pub role: Role,
    /// Name of its host.
    pub host: String,
    /// Its machine; `None` in records from before it was reported.
    #[serde(default)]
    pub machine: Option<RelayMachine>,
    /// From its first byte to its last.
    pub elapsed_s: f64,
    /// User CPU time of the thread that moved the bytes.
    pub user_s: f64,
    /// System CPU time of that thread.
    pub system_s: f64,
    /// User and system CPU time over the trial's elapsed time.
    pub busy_ratio: f64,
    /// Reads that moved bytes.
    pub read_count: f64,
    /// Writes that moved bytes.
    pub write_count: f64,
    /// Return values of the reads, of all trials together.
    pub reads: CallSizes,
    /// Return values of the writes, of all trials together.
    pub writes: CallSizes,
    /// TCP segments, of all trials together; `None` where they are not known.
    pub segments: Option<RelaySegments>,
    /// `SO_SNDBUF` of the socket that it writes to, as the kernel reports it: twice what it grants; the least of all
    /// trials. `None` for the server, and where it is not known.
    #[serde(default)]
    pub granted_send_buffer: Option<Bytes>,
    /// `SO_RCVBUF` of the socket that it reads from, likewise; `None` for the client, and where it is not known.
    #[serde(default)]
    pub granted_receive_buffer: Option<Bytes>,
}
