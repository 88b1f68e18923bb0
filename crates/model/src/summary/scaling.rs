//! How a load scales with its clients: the curve, the law that it follows, and what is full.

use super::{Interval, Saturation};
use crate::segment::Segment;
use crate::target::Target;
use crate::units::Bytes;
use crate::workload::Op;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One load by several numbers of clients. `null` until clients are swept.
///
/// # Units
/// Rates are in bytes a second, or in operations a second where the load moves no bytes; `unit` says which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Scaling {
    /// The target that is loaded.
    pub target: Target,
    /// Operation.
    pub op: Op,
    /// Bytes a request moves.
    pub block_bytes: Bytes,
    /// Requests in flight of one client.
    pub queue_depth: u64,
    /// The unit of rates: `B/s` or `1/s`.
    pub unit: String,
    /// The points, by rising number of clients.
    pub points: Vec<ScalingPointSummary>,
    /// The law that the points support: `usl`, `min` or `serial`; `None` where they are too few for a choice.
    pub model: Option<String>,
    /// Its parameters: `gamma` is the rate of one client, `alpha` and `beta` are contention and coherency, `ceiling` is C.
    pub parameters: BTreeMap<String, f64>,
    /// Their intervals.
    pub parameter_intervals: BTreeMap<String, Interval>,
    /// Clients at the peak; `None` where more clients never lower the rate.
    pub peak_clients: Option<f64>,
    /// Interval of the peak.
    pub interval: Option<Interval>,
    /// The highest rate of any number of clients by the law; `None` where it grows without end.
    pub highest_rate: Option<f64>,
    /// Its interval.
    pub highest_rate_interval: Option<Interval>,
    /// Every law that could be fitted, the best one first.
    pub laws: Vec<ScalingLawSummary>,
    /// Where more clients stop to help, by the points alone: `knee_in_flight` counts clients here. `None` without two points
    /// a doubling apart.
    pub saturation: Option<Saturation>,
    /// The rate of the most clients over that of the fewest.
    pub gain_ratio: Option<f64>,
    /// What all clients share, and whether it is full.
    pub shared_stage: SharedStage,
}

/// The load at one number of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ScalingPointSummary {
    /// Clients.
    pub clients: u32,
    /// The cell.
    pub cell: String,
    /// The rate of all of them.
    pub rate: f64,
    /// Its interval; `None` with too few samples.
    pub interval: Option<Interval>,
    /// What is between the least and the most that all of them transferred together: all bytes over the longest time, and the
    /// sum of their rates. `None` where their times differ by no more than a fifth, and both are the rate.
    pub bracket: Option<RateBracket>,
    /// Mean rate of a client.
    pub client_rate_mean: f64,
    /// Least rate of a client; `None` of one client.
    pub client_rate_min: Option<f64>,
    /// Greatest rate of a client; `None` of one client.
    pub client_rate_max: Option<f64>,
    /// Jain's index: 1 for equal shares, 1/n for one client that has it all; `None` of one client.
    pub fairness_ratio: Option<f64>,
    /// The rate over that of so many clients alone, by the fewest clients that were measured.
    pub efficiency_ratio: Option<f64>,
    /// The rate by the law; `None` without one.
    pub law_rate: Option<f64>,
    /// Flags of the cell.
    pub flags: Vec<String>,
}

/// The least and the most that a rate can be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RateBracket {
    /// All bytes over the longest time.
    pub low: f64,
    /// The sum of the clients' own rates.
    pub high: f64,
}

/// A law fitted to the points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ScalingLawSummary {
    /// `usl`, `min` or `serial`.
    pub model: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, f64>,
    /// How far points are from it, as a standard deviation over the rate; `None` without a point more than parameters.
    pub deviation_ratio: Option<f64>,
    /// Akaike's criterion, corrected for few points: less is better; `None` for too few points.
    pub aicc: Option<f64>,
}

/// Whether what all clients share is full, and from how many clients on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct SharedStage {
    /// The verdict.
    pub state: SharedStageState,
    /// Segments that were full, or nearly: the fullest first, at the fewest clients from which the rate stops to grow. Empty
    /// where none was, or none was measured.
    pub full: Vec<StageUse>,
    /// On what it rests, in sentences.
    pub evidence: Vec<String>,
}

/// Whether what all clients share is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SharedStageState {
    /// More clients add nothing, and a stage that all share was full with the fewest.
    FullWithOneClient,
    /// More clients add nothing; that a stage was full with the fewest was not measured.
    NothingAdded,
    /// The rate grows with the clients, and stops.
    SaturatedWithMany,
    /// The rate still grows with the most clients.
    NotReached,
    /// The figures leave it open.
    Undecided,
}

/// How full a segment was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct StageUse {
    /// The segment.
    pub segment: Segment,
    /// Clients at which this was seen.
    pub clients: u32,
    /// The share.
    pub used_ratio: f64,
    /// The counter or cut that it comes from, in words.
    pub counter: String,
}
