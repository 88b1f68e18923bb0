//! The cell by which a verdict is confirmed or refuted: the path with the one thing changed that is blamed.
//!
//! Not here: what the rate has to do then, which the analysis predicts.

use crate::neighbours::candidates;
use narrows_model::change::{ConfirmingChange, PathChange};
use narrows_model::units::{BytesPerSec, round_to_u64};
use narrows_model::workload::{Access, SyncPolicy};
use narrows_model::{Cell, CellId, Cut, Layer, Plan, Segment, Target, Workload};

/// The verdict on one load of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct BlamedLoad {
    /// The cell of the path.
    pub cell: CellId,
    /// The segment that is named for it.
    pub segment: Segment,
    /// What the path moved.
    pub rate_bytes_per_s: BytesPerSec,
}

/// The cell that changes what is blamed; `None` where nothing of it can be changed from here.
///
/// # Shape
/// Of the cut `changed-path`, its id that of the path with the change added. `cpu_count` is how many CPUs the client may use.
#[must_use]
pub fn confirming_cell(plan: &Plan, load: &BlamedLoad, cpu_count: usize) -> Option<Cell> {
    let path = plan.cells.iter().find(|cell| cell.cut == Cut::Path && cell.id == load.cell)?;
    let changes = changes(load.segment);
    changes.iter().find_map(|change| changed(plan, path, load, *change, cpu_count))
}

/// What can be changed of a segment, the most telling first.
fn changes(segment: Segment) -> &'static [PathChange] {
    use PathChange::{Direct, HalfTheRate, MemoryStore, OneCpuLess, OneMoreConnection, TwiceInFlight};
    match segment {
        Segment::Device | Segment::DeviceBandwidth | Segment::DeviceIops => &[MemoryStore, HalfTheRate],
        Segment::DeviceLatency => &[MemoryStore, TwiceInFlight],
        Segment::ServerCommit | Segment::ServerFilesystem | Segment::ServerThreads => &[MemoryStore],
        Segment::ClientConnection | Segment::NetworkLoss => &[OneMoreConnection],
        Segment::Network | Segment::NetworkBandwidth => &[OneMoreConnection, HalfTheRate],
        Segment::NetworkLatency | Segment::WorkloadConcurrency => &[TwiceInFlight],
        Segment::ClientCpu | Segment::HostCpu | Segment::Generator => &[OneCpuLess, HalfTheRate],
        Segment::ServerCpu | Segment::ServerProtocol | Segment::ProxyCpu | Segment::ProxyQueue => {
            &[HalfTheRate]
        }
        Segment::ClientMemory | Segment::ClientFilesystem | Segment::ClientCache => &[Direct],
        _ => &[],
    }
}

fn changed(
    plan: &Plan,
    path: &Cell,
    load: &BlamedLoad,
    change: PathChange,
    cpu_count: usize,
) -> Option<Cell> {
    let mut cell = path.clone();
    let is_endpoint = matches!(path.target, Target::Tcp { .. });
    let [twice, connection, ..] = candidates(path);
    match change {
        PathChange::MemoryStore => cell = memory_store(plan, path)?,
        PathChange::OneMoreConnection if !is_endpoint => return None,
        PathChange::OneMoreConnection => cell.workload = connection.workload,
        PathChange::TwiceInFlight => cell.workload = twice.workload,
        PathChange::HalfTheRate => cell.workload = half_the_rate(path, load)?,
        PathChange::Direct => cell.workload = direct(plan, path)?,
        // With one CPU there is none to take.
        PathChange::OneCpuLess if cpu_count < 2 => return None,
        PathChange::OneCpuLess => {}
    }
    cell.cut = Cut::ChangedPath;
    cell.id = CellId(format!("{}/{}", Cell::name(cell.cut, &path.workload), change.name()));
    cell.confirms = Some(ConfirmingChange { path: path.id.0.clone(), segment: load.segment, change });
    Some(cell)
}

/// The same requests to the endpoint's memory: those of the cut that measures it.
fn memory_store(plan: &Plan, path: &Cell) -> Option<Cell> {
    if !matches!(path.target, Target::Tcp { layer: Layer::Disk, .. }) {
        return None;
    }
    let same = |cell: &&Cell| {
        let settings =
            |cell: &Cell| (cell.workload.op, cell.workload.block_bytes, cell.workload.in_flight_configured());
        cell.cut == Cut::ServerMemory && settings(cell) == settings(path)
    };
    plan.cells.iter().find(same).cloned()
}

/// One request at a time is not limited by what is full, and a load under a cap has another one.
fn half_the_rate(path: &Cell, load: &BlamedLoad) -> Option<Workload> {
    let may = path.workload.in_flight_configured() > 1 && path.workload.max_bytes_per_s.is_none();
    let half = round_to_u64(load.rate_bytes_per_s.0 / 2.0);
    (may && half > 0).then(|| Workload { max_bytes_per_s: Some(half), ..path.workload.clone() })
}

/// Past the page cache, where the plan has a cut that is.
fn direct(plan: &Plan, path: &Cell) -> Option<Workload> {
    let may = plan.cells.iter().any(|cell| {
        cell.cut == Cut::LocalDevice
            && cell.workload.block_bytes == path.workload.block_bytes
            && cell.workload.op == path.workload.op
    });
    let is_buffered = path.workload.access == Access::Buffered && path.workload.sync != SyncPolicy::Dsync;
    (may && is_buffered).then(|| Workload { access: Access::Direct, ..path.workload.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckRequest, plan_check};

    fn plan(target: &str) -> Plan {
        let request = CheckRequest { budget_s: 600.0, ..CheckRequest::new(target.parse().unwrap()) };
        plan_check(&request).unwrap()
    }

    fn confirmed(plan: &Plan, segment: Segment, depth: u64) -> Option<Cell> {
        let is_load = |cell: &&Cell| cell.cut == Cut::Path && cell.workload.in_flight_configured() == depth;
        let path = plan.cells.iter().find(is_load).unwrap();
        let load = BlamedLoad { cell: path.id.clone(), segment, rate_bytes_per_s: BytesPerSec(1e6) };
        confirming_cell(plan, &load, 2)
    }

    #[test]
    fn a_device_behind_an_endpoint_is_replaced_by_its_memory() {
        let cell = confirmed(&plan("tcp://storage:7300/disk"), Segment::DeviceBandwidth, 16).unwrap();
        assert!(matches!(cell.target, Target::Tcp { layer: Layer::Memory, .. }));
        assert_eq!((cell.cut, cell.confirms.unwrap().change), (Cut::ChangedPath, PathChange::MemoryStore));
        assert_eq!(cell.id.0, "changed-path/read/1MiB/qd16/c1/memory-store");
    }

    #[test]
    fn a_device_here_is_offered_half_of_the_rate_unless_one_request_is_in_flight() {
        let plan = plan("/data");
        let cell = confirmed(&plan, Segment::DeviceIops, 16).unwrap();
        assert_eq!(cell.workload.max_bytes_per_s, Some(500_000));
        assert_eq!(confirmed(&plan, Segment::DeviceIops, 1), None);
    }

    #[test]
    fn what_cannot_be_changed_from_here_has_no_cell() {
        assert_eq!(confirmed(&plan("/data"), Segment::Unknown, 16), None);
        assert_eq!(confirmed(&plan("/data"), Segment::ClientConnection, 16), None);
    }
}
