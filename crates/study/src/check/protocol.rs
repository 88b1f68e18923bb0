//! The cells of a path whose storage protocol is itself the probe: nothing of ours is on the server.
//!
//! A cut is a class of operations that any such protocol has: its cheapest round trip, the same few blocks again and
//! again, writes that need not be durable, one more connection (design 0023).

use super::cuts::PointPlanner;
use super::grid::GridPoint;
use super::route::CheckRoute;
use crate::cut;
use narrows_model::plan::SkippedCell;
use narrows_model::workload::{Access, SyncPolicy};
use narrows_model::{Cell, Cut, Op, Stop, Target, Workload};

/// The same few blocks: enough for every request in flight, and for a share of the caches of no CPU.
const HOT_BYTES: u64 = 4 << 20;

impl PointPlanner<'_> {
    /// The whole path: reads as found, writes until they are durable.
    pub(super) fn protocol_path(&self, point: GridPoint) -> Cell {
        self.spoken(Cut::Path, &self.request.target, self.on_path(point), point)
    }

    /// The load `load` of `point` on what a server has at `target`: reads as found, writes until they are durable. Those that
    /// a mount makes past its page cache are durable one by one, and so are the same on its export.
    fn spoken(&self, cut: Cut, target: &Target, load: Workload, point: GridPoint) -> Cell {
        let is_past_cache = cut == Cut::UserClient && self.path_access(point) == Access::Direct;
        let sync = match point.op {
            Op::Write if point.is_durable_each() || is_past_cache => SyncPolicy::Dsync,
            Op::Write => SyncPolicy::AtEnd,
            _ => SyncPolicy::None,
        };
        let workload = Workload { sync, ..load };
        let stop = match self.request.existing_file {
            _ if point.op == Op::Write => self.bounded(),
            // The first pass shows what was cached: a warm-up would hide it.
            Some(_) => Stop { warm_up_ns: narrows_model::Nanos(0), ..self.timed() },
            None => self.timed(),
        };
        self.cell(cut, target.clone(), workload, stop)
    }

    /// The load of `point` on the export behind the mount, without the kernel's client, with its cuts; empty for any
    /// other path.
    pub(super) fn behind_mount(&self, point: GridPoint) -> Vec<Result<Cell, SkippedCell>> {
        let load = || self.at_endpoint(point);
        match &self.request.export {
            None => Vec::new(),
            Some(Err(reason)) => {
                let cell = self.spoken(Cut::UserClient, &self.request.target, load(), point);
                vec![Err(SkippedCell { cell: cell.id, reason: reason.clone() })]
            }
            Some(Ok(export)) => {
                let cell = self.spoken(Cut::UserClient, export, load(), point);
                let mut cells = self.by_protocol(&cell);
                cells.extend(self.more_connections(&cell, point).map(Ok));
                cells.push(Ok(cell));
                cells
            }
        }
    }

    /// What `path` is compared with.
    pub(super) fn by_protocol(&self, path: &Cell) -> Vec<Result<Cell, SkippedCell>> {
        let mut cuts = Vec::new();
        if self.has_round_trips(&path.target) {
            cuts.push(Ok(self.round_trip(path)));
        }
        cuts.push(Ok(self.hot_blocks(path)));
        if path.workload.sync == SyncPolicy::Dsync {
            // The same writes, of which none needs to be durable.
            let workload = Workload { sync: SyncPolicy::None, ..path.workload.clone() };
            cuts.push(Ok(self.cell(Cut::EarlyPath, path.target.clone(), workload, path.stop)));
        }
        cuts
    }

    /// Whether the protocol at `target` has a request that neither reads nor writes.
    fn has_round_trips(&self, target: &Target) -> bool {
        let ops = match (self.route, target) {
            (CheckRoute::Local, Target::Scheme { engine, .. }) => engine.declaration().ops,
            _ => self.route.capabilities(self.request).map_or(&[][..], |known| &known.ops),
        };
        ops.contains(&Op::Ping)
    }

    /// Round trips without data, as many at a time as the path has requests in flight; the same for all of its blocks.
    fn round_trip(&self, path: &Cell) -> Cell {
        let workload = cut::round_trip(&path.workload);
        self.cell(Cut::RoundTrip, path.target.clone(), workload, self.timed())
    }

    fn hot_blocks(&self, path: &Cell) -> Cell {
        let workload = cut::hot_blocks(&path.workload, HOT_BYTES);
        self.cell(Cut::HotBlocks, path.target.clone(), workload, self.timed())
    }

    /// The path's requests over twice as many connections, at the point of bulk data; `None` at any other point and on any
    /// other path.
    pub(super) fn more_connections(&self, path: &Cell, point: GridPoint) -> Option<Cell> {
        let is_bulk = self.corners.first() == Some(&Some((point.block, point.depth)));
        // What exists was read by the path before, and is then in the server's memory.
        let is_fresh = self.request.existing_file.is_none();
        let probe = self.route.probe(&path.target).filter(|_| is_bulk && is_fresh)?;
        let workload = cut::more_connections(&path.workload, probe.connection_per_request)?;
        Some(self.cell(Cut::MoreConnections, path.target.clone(), workload, path.stop))
    }
}
