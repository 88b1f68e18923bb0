//! Laws that figures follow over a sweep: time over block size, rate over concurrency.

use super::Interval;
use crate::cell::FactorValue;
use crate::units::{Bytes, BytesPerSec, OpsPerSec};
use crate::workload::Op;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One point of a segment's curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CurvePoint {
    /// Operation.
    pub op: Op,
    /// Bytes a request moves.
    pub block_bytes: Bytes,
    /// Requests in flight that were asked for, over workers and depth, of one client.
    pub queue_depth: u64,
    /// Clients.
    pub clients: u32,
    /// The rate.
    pub value: BytesPerSec,
    /// Its interval; `None` with too few samples.
    pub interval: Option<Interval>,
}

/// Latency-bandwidth law T(b) = a + b/B (Hockney), fitted over block sizes at one request in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct SegmentFit {
    /// a, the time at no bytes, in seconds.
    pub a_s: f64,
    /// Its interval; `None` for fewer than three block sizes.
    pub a_s_interval: Option<Interval>,
    /// B, the rate at unbounded size.
    pub b_bytes_per_s: f64,
    /// Its interval; `None` for fewer than three block sizes, and where any larger rate fits as well.
    pub b_bytes_per_s_interval: Option<Interval>,
    /// a · B, the block size that reaches half of B; `None` where the fitted a is negative.
    pub n_half_bytes: Option<f64>,
    /// Its interval; `None` for fewer than three block sizes, and where it has no upper end.
    pub n_half_bytes_interval: Option<Interval>,
    /// Largest deviation of a measured time from the law, over the law's time.
    pub deviation_ratio_max: f64,
    /// The probability that points which follow the law deviate as much as these; if small, the law does not apply over
    /// these block sizes. `None` where the points' own uncertainty is not known.
    pub lack_of_fit_p_value: Option<f64>,
    /// Points fitted.
    pub point_count: u64,
}

/// Whether more in flight still adds to the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SaturationState {
    /// Doubling adds under 3 % beyond the knee.
    Reached,
    /// The last doubling that was measured still added 3 % or more.
    NotReached,
    /// The points are too uncertain to decide.
    Undecided,
}

/// Where a rate stops growing with the number of requests in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Saturation {
    /// Whether the rate stops growing within what was measured.
    pub state: SaturationState,
    /// The fewest requests in flight (or clients, workers: what was swept) from which doubling adds under 3 %; `None`
    /// unless reached.
    pub knee_in_flight: Option<f64>,
    /// Interval of the knee from the points' uncertainty; `None` unless reached and the uncertainty is known.
    pub knee_in_flight_interval: Option<Interval>,
    /// What the last doubling added, as a share of the rate before; negative where the rate falls.
    pub last_doubling_gain_ratio: f64,
    /// Its interval; `None` where the points' uncertainty is not known.
    pub last_doubling_gain_ratio_interval: Option<Interval>,
}

/// The figures along one factor of a study, all other factors fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Sweep {
    /// The factor that varies.
    pub factor: String,
    /// The values at which the other factors are fixed.
    pub fixed: BTreeMap<String, FactorValue>,
    /// The figures, by rising value of a quantity, in the order of the run for names.
    pub points: Vec<SweepPoint>,
    /// The law of latency and bandwidth; `None` unless the block size varies, with one request in flight.
    pub fit: Option<SegmentFit>,
    /// Where more in flight stops to help; `None` unless the number in flight varies, of a closed loop without a cap.
    pub saturation: Option<Saturation>,
}

/// One point of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct SweepPoint {
    /// The factor's value.
    pub value: FactorValue,
    /// The cell.
    pub cell: String,
    /// Bytes a second; `None` when nothing completed.
    pub rate_bytes_per_s: Option<BytesPerSec>,
    /// Interval of the rate in bytes; `None` with too few samples.
    pub interval: Option<Interval>,
    /// Operations a second; `None` when nothing completed.
    pub ops_per_s: Option<OpsPerSec>,
    /// Median response time; `None` when nothing completed.
    pub latency_ns_p50: Option<u64>,
    /// 99th percentile of the response time; `None` when nothing completed.
    pub latency_ns_p99: Option<u64>,
    /// Flags of the cell.
    pub flags: Vec<String>,
}
