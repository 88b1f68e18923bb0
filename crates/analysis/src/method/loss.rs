//! What a share of lost segments allows a connection.

use super::metric;
use crate::summary::{TCP_RETRANSMIT_COUNT, TCP_SEGMENT_COUNT};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// Below this share of segments sent again, loss costs a window-limited stream under a percent.
pub(crate) const HARMLESS_RATIO: f64 = 0.001;
/// The constant of the law of loss for a receiver that acknowledges each segment: the square root of 3/2.
const MATHIS: f64 = 1.224_744_871_391_589;
/// A connection limited by loss moves what the law allows within this factor: losses come in bursts, acknowledgements
/// are delayed, congestion controls differ.
const LAW_FACTOR: f64 = 2.0;

/// The rate that the law of loss allows the connections of a load, beside its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossLaw {
    /// Payload that all connections together may move.
    pub(crate) allowed_bytes_per_s: f64,
    /// The load's rate of that.
    pub(crate) load: f64,
    /// The smallest round trip.
    pub(crate) round_trip_s: f64,
}

impl LossLaw {
    /// The law `(segment / round trip) x sqrt(3/2 / share)` for each connection; `None` where a figure is not known.
    ///
    /// # Source
    /// Mathis et al., ACM Computer Communication Review 27 (1997), equation 3.
    pub(crate) fn new(cell: &CellSummary) -> Option<Self> {
        let share = lost_ratio(cell).filter(|share| *share > 0.0)?;
        let round_trip_s = cell.rtt_min_ns.filter(|rtt| rtt.0 > 0)?.as_secs_f64();
        let segment_bytes = ratio(cell.bytes.wire?.as_f64(), metric(cell, TCP_SEGMENT_COUNT)?)?;
        let connections = f64::from(cell.requested.workers) * f64::from(cell.clients);
        let allowed_bytes_per_s = segment_bytes / round_trip_s * MATHIS / share.sqrt() * connections;
        let load = ratio(cell.rate_bytes_per_s?.0, allowed_bytes_per_s)?;
        Some(Self { allowed_bytes_per_s, load, round_trip_s })
    }

    /// Whether the load moves about what the law allows.
    pub(crate) fn explains_rate(self) -> bool {
        (1.0 / LAW_FACTOR..=LAW_FACTOR).contains(&self.load)
    }
}

/// The share of the segments that was sent again.
pub(crate) fn lost_ratio(cell: &CellSummary) -> Option<f64> {
    ratio(metric(cell, TCP_RETRANSMIT_COUNT)?, metric(cell, TCP_SEGMENT_COUNT)?)
}
