//! A mounted folder beside its export: the same load without the kernel's client, and what of its time that leaves.
//!
//! Not here: what limits the export itself, which the rules of its protocol say of it.

use super::protocol;
use crate::facts::{reads, time_per_op_s};
use crate::view::SummaryView;
use narrows_model::nfs_mount::MountProcedure;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::workload::Access;
use narrows_model::{Cut, Nanos, Summary, Target};

/// The same load on the export by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExportLoad<'v> {
    pub cell: &'v CellSummary,
    /// Mean time of a request over the mount, in seconds.
    pub mount_s: f64,
    /// The same by the client in user space.
    pub export_s: f64,
}

impl ExportLoad<'_> {
    /// The share of a request's time that is gone without the kernel's client; below zero where its caches or its
    /// read-ahead save time.
    pub(crate) fn client_share(&self) -> f64 {
        ratio(self.mount_s - self.export_s, self.mount_s).unwrap_or(0.0)
    }
}

/// The load of `cell` on the export behind its mount; `None` where that was not measured, or is other work: whole files and
/// their names, or writes of which one side's are durable one by one.
pub(crate) fn beside<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Option<ExportLoad<'v>> {
    let found = view.ceiling(Cut::UserClient, cell).filter(|found| found.same_settings)?;
    if cell.requested.objects.is_some() || is_durable_each(cell) != is_durable_each(found.cell) {
        return None;
    }
    Some(ExportLoad { cell: found.cell, mount_s: time_per_op_s(cell)?, export_s: time_per_op_s(found.cell)? })
}

/// Whether each request is a write that returns once it is durable. Past the page cache of a mount each is
/// (Linux, fs/nfs/direct.c).
fn is_durable_each(cell: &CellSummary) -> bool {
    let is_past_cache =
        cell.requested.access == Access::Direct && matches!(cell.target.form(), Target::File { .. });
    !reads(cell.op) && (is_past_cache || protocol::is_durable_each(cell))
}

/// The cells of the export as a path of their own; `None` where it was not measured.
pub(crate) fn as_path(summary: &Summary) -> Option<Summary> {
    let target = summary.cells.iter().find(|cell| cell.cut == Cut::UserClient)?.target.clone();
    let mut export = Summary { target, ..summary.clone() };
    export.cells.retain(|cell| {
        matches!(cell.target.form(), Target::Scheme { .. })
            || matches!(cell.cut, Cut::Generator | Cut::MemoryCopy)
    });
    for cell in export.cells.iter_mut().filter(|cell| cell.cut == Cut::UserClient) {
        cell.cut = Cut::Path;
    }
    // No file system of this machine is on the way.
    for host in &mut export.hosts {
        host.inventory.path = None;
    }
    Some(export)
}

/// Where the calls of the kernel's client spent their time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MountCalls {
    pub call_count: u64,
    /// Waiting for a slot or the connection, summed.
    pub queue_ns: Nanos,
    /// On the network and at the server, summed.
    pub round_trip_ns: Nanos,
    /// All of it, summed.
    pub execute_ns: Nanos,
}

impl MountCalls {
    /// Share of the time of `cell`, which has one request in flight, that its calls did not take.
    pub(crate) fn left_share(&self, cell: &CellSummary) -> Option<f64> {
        let calls_s = self.execute_ns.as_secs_f64();
        Some(1.0 - ratio(calls_s, cell.elapsed_s.last_done)?.min(1.0))
    }

    /// Share of the calls' time before they were sent; `None` where they took no time that the kernel counts.
    pub(crate) fn queue_share(&self) -> Option<f64> {
        ratio(self.queue_ns.as_secs_f64(), self.execute_ns.as_secs_f64())
    }
}

/// The calls of `cell` that move its data, as the kernel's client counted them; `None` where it made none.
pub(crate) fn mount_calls(cell: &CellSummary) -> Option<MountCalls> {
    let of_data = |known: &&MountProcedure| matches!(known.procedure.as_str(), "READ" | "WRITE" | "COMMIT");
    let none =
        MountCalls { call_count: 0, queue_ns: Nanos(0), round_trip_ns: Nanos(0), execute_ns: Nanos(0) };
    let counted = cell.nfs_mounts.iter().flat_map(|mount| &mount.procedures).filter(of_data);
    let sum = counted.fold(none, |sum, one| MountCalls {
        call_count: sum.call_count.saturating_add(one.call_count),
        queue_ns: sum.queue_ns.saturating_add(one.queue_ns),
        round_trip_ns: sum.round_trip_ns.saturating_add(one.round_trip_ns),
        execute_ns: sum.execute_ns.saturating_add(one.execute_ns),
    });
    (sum.call_count > 0).then_some(sum)
}
