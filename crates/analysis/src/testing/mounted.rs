//! A simulated machine's path as a folder on an NFS mount, with the export behind it.

use super::by_protocol::{scaled, spoken};
use narrows_model::nfs_mount::{MountProcedure, NfsMountCounters};
use narrows_model::summary::CellSummary;
use narrows_model::workload::Access;
use narrows_model::{Cut, Nanos, Summary, Target};

/// What the mount and its export show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mounted {
    /// How many times as long a request takes over the mount.
    pub slower: f64,
    /// Share of the calls' time in the queue of the kernel's client.
    pub queue_share: f64,
    /// Long replies of the export arrive at so many times the rate of all.
    pub arrival: f64,
    /// Hot blocks of the export move so many times as much.
    pub hot: f64,
}

impl Default for Mounted {
    fn default() -> Self {
        Self { slower: 1.0, queue_share: 0.0, arrival: 4.0, hot: 1.0 }
    }
}

/// A mount and its export that show this.
pub(crate) fn mounted(shown: Mounted) -> Summary {
    let mut summary = spoken(|cell| cell.arrival(shown.arrival).hot(shown.hot));
    summary.target = "/mnt/share".parse::<Target>().unwrap();
    let mut mount = Vec::new();
    for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
        mount.push(over_mount(cell, &summary.target, shown));
        cell.cut = Cut::UserClient;
        cell.id = cell.id.replace("path", Cut::UserClient.name());
    }
    summary.cells.extend(mount);
    summary.diagnosis = crate::diagnose(&summary);
    summary
}

fn over_mount(export: &CellSummary, target: &Target, shown: Mounted) -> CellSummary {
    let scaled = scaled(export, 1.0 / shown.slower);
    let mut cell = CellSummary { target: target.clone(), metrics: Vec::new(), ..scaled };
    cell.rtt_min_ns = None;
    // Writes are as durable as those of the export.
    cell.requested.access = Access::Buffered;
    let execute_ns = 1_000_000_000.0;
    let queue_ns = execute_ns * shown.queue_share;
    cell.nfs_mounts = vec![NfsMountCounters {
        mount_point: "/mnt/share".to_owned(),
        procedures: vec![MountProcedure {
            procedure: if crate::facts::reads(export.op) { "READ" } else { "WRITE" }.to_owned(),
            call_count: 1000,
            transmission_count: 1000,
            queue_ns: Nanos::from_secs_f64(queue_ns / 1e9),
            round_trip_ns: Nanos::from_secs_f64((execute_ns - queue_ns) / 1e9),
            execute_ns: Nanos::from_secs_f64(execute_ns / 1e9),
            ..MountProcedure::default()
        }],
        ..NfsMountCounters::default()
    }];
    cell
}
