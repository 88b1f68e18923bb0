//! A proxy put on the path of a simulated machine.

use super::builtin;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, CpuBasis, HostSummary, SegmentSummary};
use narrows_model::{Cut, Segment, Summary};

/// What is put on the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proxied {
    /// How many times as fast the stream past it is.
    pub past: f64,
    pub busy: f64,
    pub capacity_cpus: f64,
    pub quota: bool,
    pub shares_client: bool,
}

impl Proxied {
    pub(crate) fn healthy() -> Self {
        Self { past: 1.02, busy: 0.1, capacity_cpus: 2.0, quota: false, shares_client: false }
    }

    /// One that lets a tenth of the network through.
    pub(crate) fn slow() -> Self {
        Self { past: 10.0, capacity_cpus: 0.3, ..Self::healthy() }
    }
}

/// Whether a check measures this cell of the path past the proxy too.
fn is_corner(cell: &CellSummary) -> bool {
    let load = (cell.block_bytes.0, cell.in_flight.configured);
    cell.cut == Cut::Path && [(1 << 20, 16), (4 << 10, 1)].contains(&load)
}

/// A path over a wire that is full, of which the proxy shows `proxied`.
pub(crate) fn proxied(proxied: Proxied) -> Summary {
    let mut summary = builtin("gigabit-nfs");
    summary.target = "tcp://storage:7300/disk?via=proxy:7301".parse().unwrap();
    let template = summary.cells[0].cpu[&Role::Client].clone();
    let basis = if proxied.quota { CpuBasis::Cgroup } else { CpuBasis::Process };
    for cell in summary.cells.iter_mut().filter(|cell| !matches!(cell.cut, Cut::Generator | Cut::MemoryCopy))
    {
        let used_s = proxied.busy * proxied.capacity_cpus * cell.elapsed_s.last_done;
        let cpu = narrows_model::summary::RoleCpu {
            basis,
            capacity_cpus: proxied.capacity_cpus,
            busy_ratio: proxied.busy,
            user_s: 0.0,
            system_s: used_s,
            ..template.clone()
        };
        cell.cpu.insert(Role::Proxy, cpu);
        if cell.cut == Cut::Path {
            cell.target = summary.target.clone();
        }
    }
    let streams: Vec<_> =
        summary.cells.iter().filter(|cell| cell.cut == Cut::NetworkStream).cloned().collect();
    for mut cell in streams {
        cell.cut = Cut::DirectStream;
        cell.id = cell.id.replace("network-stream", "direct-stream");
        cell.cpu.remove(&Role::Proxy);
        cell.rate_bytes_per_s.as_mut().unwrap().0 *= proxied.past;
        cell.ops_per_s.as_mut().unwrap().0 *= proxied.past;
        summary.cells.push(cell);
    }
    let paths: Vec<_> = summary.cells.iter().filter(|cell| is_corner(cell)).cloned().collect();
    for mut cell in paths {
        (cell.cut, cell.target) = (Cut::DirectPath, cell.target.without_proxy());
        cell.id = format!("direct-{}", cell.id);
        cell.cpu.remove(&Role::Proxy);
        let faster = if cell.in_flight.configured > 1 { proxied.past } else { 1.02 };
        cell.rate_bytes_per_s.as_mut().unwrap().0 *= faster;
        cell.ops_per_s.as_mut().unwrap().0 *= faster;
        for edge in cell.interval.iter_mut().flat_map(|seen| [&mut seen.low, &mut seen.high]) {
            *edge *= faster;
        }
        summary.cells.push(cell);
    }
    for segment in [Segment::ProxyCpu, Segment::ProxyQueue] {
        summary.segments.push(SegmentSummary { measured: true, ..SegmentSummary::unmeasured(segment) });
    }
    let mut inventory = summary.hosts[0].inventory.clone();
    if !proxied.shares_client {
        inventory.host.boot_id = Some("proxy".to_owned());
    }
    summary.hosts.push(HostSummary { roles: vec![Role::Proxy], inventory, server: None });
    summary.prediction = crate::predict::predict(&summary);
    summary.diagnosis = crate::diagnose(&summary);
    summary
}
