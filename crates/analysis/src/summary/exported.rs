//! What the `node_exporter` of a server on which nothing of ours runs says of its devices around a cell.
//!
//! It counts all devices for all programs and does not say which of them the path ends on: their bytes are no part of the
//! byte triangle, and clear no cache. Where there is one device alone, and it moved at least half of what the load did, its busy
//! time is that of the path's device; else the path may end on what is no device of the kernel, or on a device that is not counted.

use super::{Machines, bytes};
use crate::collect::{CellData, RoleDelta};
use narrows_model::counters::{CounterOrigin, DiskCounters, Role};
use narrows_model::summary::Metric;
use narrows_model::units::ratio;

/// Bytes of the cell's direction that all devices of the server moved, for whomever.
const SERVER_DEVICE_BYTES: &str = "server_device_bytes";
/// Share of the time in which the busiest device of the server was busy.
const SERVER_DEVICE_BUSY_RATIO: &str = "server_device_busy_ratio";
/// From this share of the load's bytes on, those of the only device are taken for the path's.
const PATH_DEVICE_RATIO: f64 = 0.5;

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

/// Share of the time in which the only device of the server was busy; `None` of several, of one that moved too little to be the
/// path's, and without its exporter.
pub(super) fn only_device_busy_ratio(data: &CellData, machines: &Machines<'_>) -> Option<f64> {
    let delta = exported(data, machines)?;
    let [disk] = delta.disks.as_slice() else { return None };
    let moved = disk.read_bytes.as_f64() + disk.write_bytes.as_f64();
    let asked: f64 = data.trials.values().map(|trial| trial.bytes.as_f64()).sum();
    busy_ratio(delta, disk).filter(|_| moved >= asked * PATH_DEVICE_RATIO)
}

fn exported<'d>(data: &'d CellData, machines: &Machines<'_>) -> Option<&'d RoleDelta> {
    let is_exported =
        |delta: &&RoleDelta| delta.role == Role::Server && delta.origin == CounterOrigin::NodeExporter;
    data.deltas.iter().find(is_exported).filter(|_| bytes::ends_on_foreign_server(data, machines))
}

fn busy_ratio(delta: &RoleDelta, disk: &DiskCounters) -> Option<f64> {
    ratio(disk.busy_ns.as_f64(), delta.elapsed.as_f64()).map(|busy| busy.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::{RunData, TrialTotals};
    use crate::testing::{Grid, machine, plan};
    use narrows_model::summary::CpuBasis;
    use narrows_model::trial::CounterPair;
    use narrows_model::{Bytes, CounterSample, Cut, Nanos, Target};

    fn disk(name: &str, busy_ms: u64, read_bytes: u64) -> DiskCounters {
        DiskCounters {
            name: name.to_owned(),
            read_count: 1,
            read_bytes: Bytes(read_bytes),
            busy_ns: Nanos(busy_ms * 1_000_000),
            ..DiskCounters::default()
        }
    }

    /// What is known of a second of reads over NFS from a server whose exporter has these devices.
    fn with_devices<T>(disks: &[DiskCounters], of: impl Fn(&CellData, &Machines<'_>) -> T) -> T {
        in_cell("nfs://storage/export", Cut::Path, disks, of)
    }

    /// The same of a cell of another target, on a machine whose only folder is on a disk of its own.
    fn in_cell<T>(
        target: &str,
        cut: Cut,
        disks: &[DiskCounters],
        of: impl Fn(&CellData, &Machines<'_>) -> T,
    ) -> T {
        let at = |seconds: u64, disks: Vec<DiskCounters>| CounterSample {
            origin: CounterOrigin::NodeExporter,
            host_cpu: Some(narrows_model::counters::HostCpu {
                online_cpus: 4,
                // No whole ticks: the window of this cell has no length.
                user_ns: Nanos(seconds * 3_800_000_001),
                idle_ns: Nanos(seconds * 199_999_999),
                ..narrows_model::counters::HostCpu::default()
            }),
            disks,
            ..CounterSample::unread(Role::Server, Nanos(seconds * 1_000_000_000))
        };
        let none = disks.iter().map(|one| disk(&one.name, 0, 0)).collect();
        let mut data = CellData::nothing_yet();
        data.cell.target = target.parse::<Target>().unwrap();
        data.cell.cut = cut;
        data.deltas.push(RoleDelta::new(&CounterPair { before: at(0, none), after: at(1, disks.to_vec()) }));
        let profile = machine("local-ssd");
        let (inventory, plan) = (narrows_sim::inventory(&profile), plan(&profile, Grid::default()));
        of(&data, &Machines::new(&inventory, &RunData::new(&plan)))
    }

    fn trial_of(bytes: u64) -> TrialTotals {
        TrialTotals {
            complete: true,
            first_done: Nanos(0),
            last_done: Nanos(1_000_000_000),
            ended: None,
            op_count: 1,
            bytes: Bytes(bytes),
            response_sum_ns: 0.0,
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_busy_time_of_the_only_device_is_the_paths_and_of_several_none_is() {
        let busy = |disks: &[DiskCounters]| with_devices(disks, only_device_busy_ratio);
        assert!(near(busy(&[disk("sda", 900, 0)]).unwrap(), 0.9));
        assert_eq!(busy(&[disk("sda", 900, 0), disk("sdb", 0, 0)]), None);
        let loaded = |read_bytes: u64, write_bytes: u64| {
            let mut device = disk("sda", 900, read_bytes);
            device.write_bytes = Bytes(write_bytes);
            with_devices(&[device], |data, machines| {
                let mut data = data.clone();
                data.trials.insert(0, trial_of(1000));
                only_device_busy_ratio(&data, machines)
            })
        };
        // A device that moved less than half of what the load did is another one, as that of the system.
        assert!(near(loaded(500, 0).unwrap(), 0.9) && near(loaded(200, 300).unwrap(), 0.9));
        assert_eq!((loaded(499, 0), loaded(0, 0)), (None, None));
        let metrics = with_devices(&[disk("sda", 900, 7), disk("sdb", 100, 5)], metrics);
        let of = |id: &str| metrics.iter().find(|metric| metric.id == id).unwrap().value;
        assert!(near(of(SERVER_DEVICE_BYTES), 12.0) && near(of(SERVER_DEVICE_BUSY_RATIO), 0.9));
    }

    #[test]
    fn devices_of_the_server_are_no_part_of_the_byte_triangle() {
        let device =
            |data: &CellData, machines: &Machines<'_>| bytes::traffic(data, machines).triangle.device;
        assert_eq!(with_devices(&[disk("sda", 900, 0)], device), None);
    }

    #[test]
    fn the_servers_cpu_is_that_of_its_exporter() {
        let cpu = with_devices(&[], super::super::cpu::by_role);
        let server = &cpu[&Role::Server];
        assert_eq!(server.basis, CpuBasis::Exporter);
        assert!(near(server.capacity_cpus, 4.0) && near(server.busy_ratio, 0.95), "{server:?}");
    }

    #[test]
    fn the_servers_cpu_is_of_no_cell_whose_requests_do_not_go_there() {
        let has_server = |target: &str, cut: Cut| {
            in_cell(target, cut, &[], super::super::cpu::by_role).contains_key(&Role::Server)
        };
        for cut in [Cut::Path, Cut::HotBlocks, Cut::RoundTrip, Cut::MoreConnections, Cut::UserClient] {
            assert!(has_server("nfs://storage/export", cut), "{cut:?}");
        }
        for (target, cut) in [
            ("null:", Cut::Generator),
            ("null:copy", Cut::MemoryCopy),
            ("nfs://storage/export", Cut::MemoryCopy),
            ("/data", Cut::Path),
            ("/data", Cut::PageCache),
            ("/data", Cut::LocalDevice),
        ] {
            assert!(!has_server(target, cut), "{target} {cut:?}");
        }
    }
}
