//! What the `node_exporter` of a server on which nothing of ours runs says of its devices around a cell.
//!
//! It counts all devices for all programs and does not say which of them the path ends on: their bytes are no part of the
//! byte triangle, and clear no cache. Where there is one device alone, its busy time is that of the path's device.

use super::{Machines, bytes};
use crate::collect::{CellData, RoleDelta};
use narrows_model::counters::{CounterOrigin, DiskCounters, Role};
use narrows_model::summary::Metric;
use narrows_model::units::ratio;

/// Bytes of the cell's direction that all devices of the server moved, for whomever.
const SERVER_DEVICE_BYTES: &str = "server_device_bytes";
/// Share of the time in which the busiest device of the server was busy.
const SERVER_DEVICE_BUSY_RATIO: &str = "server_device_busy_ratio";

/// The metrics of the server's devices; none without its exporter.
pub(super) fn metrics(data: &CellData, machines: &Machines<'_>) -> Vec<Metric> {
    let Some(delta) = exported(data, machines) else { return Vec::new() };
    let writes = data.cell.workload.op.moves_towards_device();
    let moved = |disk: &DiskCounters| if writes { disk.write_bytes } else { disk.read_bytes };
    let bytes: f64 = delta.disks.iter().map(|disk| moved(disk).as_f64()).sum();
    let busiest = delta.disks.iter().filter_map(|disk| busy_ratio(delta, disk)).reduce(f64::max);
    let busy = busiest.map(|busy| super::service::metric(SERVER_DEVICE_BUSY_RATIO, busy, "ratio"));
    let bytes = super::service::metric(SERVER_DEVICE_BYTES, bytes, "bytes");
    busy.map_or_else(Vec::new, |busy| vec![bytes, busy])
}

/// Share of the time in which the only device of the server was busy; `None` of several, and without its exporter.
pub(super) fn only_device_busy_ratio(data: &CellData, machines: &Machines<'_>) -> Option<f64> {
    let delta = exported(data, machines)?;
    let [disk] = delta.disks.as_slice() else { return None };
    busy_ratio(delta, disk)
}

fn exported<'d>(data: &'d CellData, machines: &Machines<'_>) -> Option<&'d RoleDelta> {
    let is_exported =
        |delta: &&RoleDelta| delta.role == Role::Server && delta.origin == CounterOrigin::NodeExporter;
    data.deltas.iter().find(is_exported).filter(|_| bytes::ends_on_foreign_server(data, machines))
}

fn busy_ratio(delta: &RoleDelta, disk: &DiskCounters) -> Option<f64> {
    ratio(disk.busy_ns.as_f64(), delta.elapsed.as_f64()).map(|busy| busy.min(1.0))
}
