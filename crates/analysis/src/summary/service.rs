//! What a server's workers and the device under a path report about a cell besides bytes and CPU, as metrics of the
//! cell.

use super::{Machines, bytes};
use crate::collect::CellData;
use narrows_model::Role;
use narrows_model::summary::Metric;
use narrows_model::units::ratio;

/// Worker threads of the server that serve requests, at most at once.
pub(crate) const SERVER_WORKER_COUNT: &str = "server_worker_count";
/// Share of their time that the server's workers served a request.
pub(crate) const SERVER_WORKER_BUSY_RATIO: &str = "server_worker_busy_ratio";
/// Requests that waited for a worker, on average.
pub(crate) const SERVER_QUEUE_LENGTH: &str = "server_queue_length";
/// Operations of the cell's direction that the device completed.
pub(crate) const DEVICE_OP_COUNT: &str = "device_op_count";
/// Flushes that the device completed.
pub(crate) const DEVICE_FLUSH_COUNT: &str = "device_flush_count";
/// Time of all flushes, summed.
pub(crate) const DEVICE_FLUSH_S: &str = "device_flush_s";

/// The metrics of one cell; none where nothing was counted.
pub(super) fn metrics(data: &CellData, machines: &Machines<'_>) -> Vec<Metric> {
    let mut metrics = workers(data);
    metrics.extend(device(data, machines));
    metrics
}

/// How busy the workers were; none where the server has none or they served nothing of this cell.
fn workers(data: &CellData) -> Vec<Metric> {
    let found = data.deltas.iter().find(|delta| delta.role == Role::Server);
    let Some((delta, workers)) = found.and_then(|delta| Some((delta, delta.workers?))) else {
        return Vec::new();
    };
    if workers.served_count == 0 {
        return Vec::new();
    }
    let elapsed_s = delta.elapsed.as_secs_f64();
    let count = f64::from(workers.worker_count);
    let busy = ratio(workers.busy_ns.as_secs_f64(), elapsed_s * count);
    let queued = ratio(workers.queued_ns.as_secs_f64(), elapsed_s);
    let shares = [(SERVER_WORKER_BUSY_RATIO, busy, "ratio"), (SERVER_QUEUE_LENGTH, queued, "requests")];
    let shares = shares.into_iter().filter_map(|(id, value, unit)| Some(metric(id, value?, unit)));
    std::iter::once(metric(SERVER_WORKER_COUNT, count, "threads")).chain(shares).collect()
}

/// The device's operations and flushes; none where it reported none.
fn device(data: &CellData, machines: &Machines<'_>) -> Vec<Metric> {
    let Some((_, disk)) = bytes::disk(data, machines) else { return Vec::new() };
    let writes = data.cell.workload.op.moves_towards_device();
    let ops = if writes { disk.write_count } else { disk.read_count };
    let mut metrics = vec![metric(DEVICE_OP_COUNT, ops as f64, "operations")];
    if disk.flush_count > 0 {
        metrics.push(metric(DEVICE_FLUSH_COUNT, disk.flush_count as f64, "flushes"));
        metrics.push(metric(DEVICE_FLUSH_S, disk.flush_ns.as_secs_f64(), "s"));
    }
    metrics
}

pub(super) fn metric(id: &str, value: f64, unit: &str) -> Metric {
    Metric { id: id.to_owned(), value, unit: unit.to_owned(), interval: None }
}
