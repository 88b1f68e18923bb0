//! What the requests of a storage protocol show of the way to its server, as metrics of the cell.

use super::bytes;
use super::connection::{TCP_ROUND_TRIP_S, of_client};
use crate::collect::CellData;
use narrows_model::Target;
use narrows_model::summary::Metric;

/// The rate at or below which nine of ten long replies arrived, from their first byte to their last.
pub(crate) const REPLY_ARRIVAL_BYTES_PER_S: &str = "reply_arrival_bytes_per_s";

/// The rate at which the connections received payload, whole replies or parts of them.
pub(crate) const RECEIVED_BYTES_PER_S: &str = "received_bytes_per_s";

/// Few replies arrive faster than their link lets them, behind a pause of this machine.
const FAST_REPLY_QUANTILE: f64 = 0.9;

/// The metrics of a load on a server whose protocol this machine speaks; none of any other.
pub(super) fn metrics(data: &CellData) -> Vec<Metric> {
    if !matches!(data.cell.target.form(), Target::Scheme { .. }) {
        return Vec::new();
    }
    let arrival = data.rpc.as_ref().and_then(|rpc| rpc.arrival_quantile(FAST_REPLY_QUANTILE));
    // Of writes, the round trip of the data's sender is this one.
    let reads = !data.cell.workload.op.moves_towards_device();
    let round_trip = of_client(data)
        .filter(|_| reads)
        .map(|tcp| tcp.rtt_ns.as_secs_f64())
        .filter(|seconds| *seconds > 0.0);
    let received = bytes::wire(data, data.cell.workload.op).filter(|_| reads).and_then(|(_, rate)| rate);
    let received = received.map(|rate| rate.0);
    [
        (REPLY_ARRIVAL_BYTES_PER_S, arrival, "bytes/s"),
        (RECEIVED_BYTES_PER_S, received, "bytes/s"),
        (TCP_ROUND_TRIP_S, round_trip, "s"),
    ]
    .into_iter()
    .filter_map(|(id, value, unit)| {
        Some(Metric { id: id.to_owned(), value: value?, unit: unit.to_owned(), interval: None })
    })
    .collect()
}
