//! The cells of one point: the cuts that it is compared with, then the path, all with its block size and depth.

use super::grid::GridPoint;
use super::route::{CheckRoute, Endpoint};
use crate::cut;
use crate::request::CheckRequest;
use narrows_model::inventory::PathKind;
use narrows_model::plan::SkippedCell;
use narrows_model::workload::{Access, Acknowledgement, CacheState, Order, SyncPolicy};
use narrows_model::{Bytes, Cell, Cut, Layer, Nanos, Op, Site, Stop, Target, Workload};
use std::path::PathBuf;

/// Long enough for connections, windows and caches to settle in the usual case; the analysis cuts what is left. Not a multiple
/// of 100 ms, in which the kernel accounts for limits of CPUs and devices from the first use on: what it lets pass at once would
/// fall on the beginning of the window, and on its end where that lasts tenths of a second, and be counted by the load
/// alone or by the device alone.
const WARM_UP_NS: Nanos = Nanos(250_000_000);

/// A copy in memory reads from as much at most: more than the caches of common CPUs have.
const COPIED_BYTES_MAX: Bytes = Bytes(64 << 20);
/// What a check with the usual blocks and requests in flight needs of memory besides.
const OWN_MEMORY_BYTES: Bytes = Bytes(64 << 20);

/// The cells of one point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PointCells {
    pub(super) cuts: Vec<Cell>,
    /// Cuts that this path would have and that cannot be measured.
    pub(super) skipped: Vec<SkippedCell>,
    pub(super) path: Cell,
    /// What is measured after the path, because the path is worth more where time runs out.
    pub(super) after: Vec<Cell>,
}

/// Makes cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct PointPlanner<'a> {
    pub(super) request: &'a CheckRequest,
    pub(super) route: &'a CheckRoute,
    pub(super) file_bytes: Bytes,
    /// The blocks and depths at which the path is measured past its proxy too: bulk, and the smallest requests.
    pub(super) corners: [Option<(Bytes, u32)>; 2],
}

/// A cut, or why there is none.
type Planned = Result<Cell, SkippedCell>;

impl PointPlanner<'_> {
    /// The cells of `point`.
    pub(super) fn point(&self, point: GridPoint) -> PointCells {
        let path = self.path(point);
        if self.is_upload(point) {
            let cuts = self.upload_cuts(&path);
            return PointCells { cuts, skipped: Vec::new(), path, after: Vec::new() };
        }
        let mut planned = vec![Ok(self.generator(&path)), self.memory_copy(&path)];
        match self.route {
            CheckRoute::Local => {
                planned.extend(self.local(point));
                planned.extend(self.behind_mount(point));
            }
            CheckRoute::Disk(endpoint) | CheckRoute::Mount(endpoint) => {
                planned.extend(self.by_endpoint(endpoint, point));
            }
            CheckRoute::Memory(endpoint) => {
                planned.push(Ok(self.network(endpoint, point)));
                planned.extend(self.past_the_proxy(endpoint, point));
            }
            CheckRoute::Protocol(endpoint) => {
                planned.extend(endpoint.iter().flat_map(|endpoint| self.by_endpoint(endpoint, point)));
                planned.extend(self.by_protocol(&path));
            }
        }
        let early = self.early(&path);
        let direct = self.direct_path(&path, point);
        let mut cells = PointCells { cuts: Vec::new(), skipped: Vec::new(), path, after: Vec::new() };
        match direct {
            Some(Ok(cell)) => cells.after.push(cell),
            Some(Err(skip)) => cells.skipped.push(skip),
            None => {}
        }
        cells.after.extend(early);
        cells.after.extend(self.more_connections(&cells.path, point));
        for cut in planned {
            match cut {
                Ok(cell) => cells.cuts.push(cell),
                Err(skip) => cells.skipped.push(skip),
            }
        }
        cells
    }

    /// The whole path, as an application would use it; at an endpoint past the server's cache and durable.
    fn path(&self, point: GridPoint) -> Cell {
        match self.route {
            CheckRoute::Protocol(_) if self.is_upload(point) => self.upload(point),
            CheckRoute::Protocol(_) => self.protocol_path(point),
            CheckRoute::Local | CheckRoute::Mount(_) => {
                // What exists is read as it is found; a file system in memory has no cache that could be dropped.
                let as_found = self.request.existing_file.is_some() || self.in_memory();
                let access = self.path_access(point);
                let (cache, sync) = match point.op {
                    Op::Read if as_found || access == Access::Direct => {
                        (CacheState::AsFound, SyncPolicy::None)
                    }
                    Op::Read => (CacheState::Cold, SyncPolicy::None),
                    _ if point.is_durable_each() => (CacheState::AsFound, SyncPolicy::Dsync),
                    _ if access == Access::Direct => (CacheState::AsFound, SyncPolicy::None),
                    _ => (CacheState::AsFound, SyncPolicy::AtEnd),
                };
                let workload = Workload { access, cache, sync, ..self.on_path(point) };
                // What is written to memory is there: no sync follows that a bound on the bytes would have to bound.
                let drains = point.op == Op::Write && !self.in_memory();
                let once = drains || cache == CacheState::Cold;
                let stop = match self.request.existing_file {
                    _ if once => self.bounded(),
                    // The first pass shows what was cached: a warm-up would hide it.
                    Some(_) => Stop { warm_up_ns: Nanos(0), ..self.timed() },
                    None => self.timed(),
                };
                self.cell(Cut::Path, self.request.target.clone(), workload, stop)
            }
            CheckRoute::Disk(endpoint) => {
                let access =
                    if self.server_direct(point).is_ok() { Access::Direct } else { Access::Buffered };
                let acknowledgement = match point.op {
                    Op::Write => Acknowledgement::Late,
                    _ => Acknowledgement::Early,
                };
                let workload = Workload { access, acknowledgement, ..self.at_endpoint(point) };
                self.cell(Cut::Path, endpoint.at(Layer::Disk), workload, self.timed())
            }
            CheckRoute::Memory(endpoint) => {
                let workload = self.at_endpoint_memory(point);
                self.cell(Cut::Path, endpoint.at(Layer::Memory), workload, self.timed())
            }
        }
    }

    /// Whether the path's own requests go past the page cache: small ones where the file system lets them, and what
    /// exists is read as any application would. A durable write passes it either way.
    pub(super) fn path_access(&self, point: GridPoint) -> Access {
        let may = self.request.existing_file.is_none() && !self.in_memory() && !point.is_durable_each();
        let can = || cut::direct(self.route.capabilities(self.request), point.block).is_ok();
        if point.is_random() && may && can() { Access::Direct } else { Access::Buffered }
    }

    pub(super) fn generator(&self, path: &Cell) -> Cell {
        let workload = Workload { max_bytes_per_s: None, ..cut::generator(&path.workload) };
        self.alone(Cut::Generator, false, workload)
    }

    /// The same for all points of a block and as many workers, however large a memory store each of them has. A command that may
    /// use little memory would be killed for a region beyond the caches of its CPUs.
    fn memory_copy(&self, path: &Cell) -> Planned {
        let copy = cut::memory_copy(&path.workload);
        let workload = Workload { max_bytes_per_s: None, file_bytes: self.file_bytes, ..copy };
        let region = self.file_bytes.min(COPIED_BYTES_MAX);
        let cell = self.alone(Cut::MemoryCopy, true, workload);
        match self.request.memory_bytes {
            Some(memory) if memory.0 < region.0.saturating_add(OWN_MEMORY_BYTES.0) => {
                let reason = format!(
                    "it copies from {region} of memory, and this command can use {memory} in all; give its control group more"
                );
                Err(SkippedCell { cell: cell.id, reason })
            }
            _ => Ok(cell),
        }
    }

    fn local(&self, point: GridPoint) -> Vec<Planned> {
        let mut cuts = Vec::new();
        if point.op == Op::Read && self.path_access(point) == Access::Buffered {
            cuts.push(self.page_cache(point));
        }
        cuts.push(self.local_device(point));
        cuts
    }

    fn in_memory(&self) -> bool {
        self.request.path_kind == Some(PathKind::Memory)
    }

    fn page_cache(&self, point: GridPoint) -> Planned {
        let workload = cut::page_cache(&self.on_path(point));
        let cell = self.cell(Cut::PageCache, self.request.target.clone(), workload, self.timed());
        let room = cut::CacheRoom {
            file_bytes: self.file_bytes,
            memory_bytes: self.request.memory_bytes,
            kind: self.request.path_kind,
            existing: self.request.existing_file.is_some(),
        };
        match room.check() {
            Ok(()) => Ok(cell),
            Err(reason) => Err(SkippedCell { cell: cell.id, reason }),
        }
    }

    fn local_device(&self, point: GridPoint) -> Planned {
        let workload = cut::local_device(&self.on_path(point));
        // The path's writes pay for a sync in their time, and so do the device's: a volatile cache would flatter it.
        let stop = if point.op == Op::Write { self.bounded() } else { self.timed() };
        let cell = self.cell(Cut::LocalDevice, self.request.target.clone(), workload, stop);
        let capabilities = self.route.capabilities(self.request);
        match cut::own_device(self.request.path_kind).and_then(|()| cut::direct(capabilities, point.block)) {
            Ok(()) => Ok(cell),
            Err(reason) => Err(SkippedCell { cell: cell.id, reason }),
        }
    }

    /// What an endpoint at the server shows: the stream to it, its memory, and its storage.
    fn by_endpoint(&self, endpoint: &Endpoint, point: GridPoint) -> Vec<Planned> {
        let mut cuts = vec![Ok(self.network(endpoint, point))];
        cuts.extend(self.past_the_proxy(endpoint, point));
        cuts.push(Ok(self.server_memory(endpoint, point)));
        cuts.push(self.server_storage(point));
        cuts
    }

    fn network(&self, endpoint: &Endpoint, point: GridPoint) -> Cell {
        let workload = cut::network_stream(&self.at_endpoint(point));
        let layer = if workload.op == Op::Send { Layer::Sink } else { Layer::Source };
        self.cell(Cut::NetworkStream, endpoint.at(layer), workload, self.timed())
    }

    /// The raw stream without the proxy, which separates what the proxy costs from what the network does; `None` where no
    /// proxy is on the way.
    fn past_the_proxy(&self, endpoint: &Endpoint, point: GridPoint) -> Option<Planned> {
        if !endpoint.has_proxy() {
            return None;
        }
        let through = self.network(endpoint, point);
        let target = through.target.without_proxy();
        let cell = self.cell(Cut::DirectStream, target, through.workload, through.stop);
        Some(match &self.request.past_the_proxy {
            Ok(()) => Ok(cell),
            Err(reason) => Err(SkippedCell { cell: cell.id, reason: reason.clone() }),
        })
    }

    /// The path's own load without the proxy: what the proxy costs, by substitution. `None` where no proxy is on the way, or
    /// at a point that shows neither bulk nor the smallest requests.
    fn direct_path(&self, path: &Cell, point: GridPoint) -> Option<Planned> {
        path.target.via().filter(|_| self.corners.contains(&Some((point.block, point.depth))))?;
        let target = path.target.without_proxy();
        let cell = self.cell(Cut::DirectPath, target, path.workload.clone(), path.stop);
        Some(match &self.request.past_the_proxy {
            Ok(()) => Ok(cell),
            Err(reason) => Err(SkippedCell { cell: cell.id, reason: reason.clone() }),
        })
    }

    fn server_memory(&self, endpoint: &Endpoint, point: GridPoint) -> Cell {
        let workload = self.at_endpoint_memory(point);
        self.cell(Cut::ServerMemory, endpoint.at(Layer::Memory), workload, self.timed())
    }

    fn server_storage(&self, point: GridPoint) -> Planned {
        let workload = cut::server_storage(&self.at_endpoint(point));
        let target = Target::File { path: PathBuf::from(".") };
        let mut cell = self.cell(Cut::ServerStorage, target, workload, self.timed());
        cell.site = Site::Server;
        cell.read_only = false;
        match self.server_direct(point) {
            Ok(()) => Ok(cell),
            Err(reason) => Err(SkippedCell { cell: cell.id, reason: format!("at the server, {reason}") }),
        }
    }

    /// The same writes acknowledged before they are durable: what the commit costs. `None` where the path's own writes
    /// do not wait for it either, or where their acknowledgement is not the endpoint's to give.
    fn early(&self, path: &Cell) -> Option<Cell> {
        let workload = cut::early_path(&path.workload)?;
        Some(self.cell(Cut::EarlyPath, path.target.clone(), workload, self.timed()))
    }

    fn server_direct(&self, point: GridPoint) -> Result<(), String> {
        cut::direct(self.request.engines.server_disk.as_ref(), point.block)
    }

    fn base(&self, point: GridPoint) -> Workload {
        Workload {
            op: point.op,
            block_bytes: point.block,
            file_bytes: self.file_bytes,
            order: if point.is_random() { Order::Random } else { Order::Sequential },
            max_bytes_per_s: self.request.max_bytes_per_s,
            ..Workload::default()
        }
    }

    /// A synchronous engine has a worker for each request in flight, another one a queue.
    pub(super) fn on_path(&self, point: GridPoint) -> Workload {
        let depth_max = self.route.capabilities(self.request).map_or(1, |path| path.queue_depth_max);
        let (queue_depth, workers) =
            if point.depth <= depth_max { (point.depth, 1) } else { (1, point.depth) };
        Workload { queue_depth, workers, ..self.base(point) }
    }

    pub(super) fn at_endpoint(&self, point: GridPoint) -> Workload {
        Workload { queue_depth: point.depth, workers: 1, ..self.base(point) }
    }

    fn at_endpoint_memory(&self, point: GridPoint) -> Workload {
        cut::server_memory(&self.at_endpoint(point), super::extent::need(point))
    }

    /// A cell of memory alone, which touches nothing that others use.
    fn alone(&self, cut: Cut, copy: bool, workload: Workload) -> Cell {
        let stop = cut::short_stop(Nanos::from_secs_f64(self.request.cell_seconds));
        let mut cell = self.cell(cut, Target::Null { copy }, workload, stop);
        cell.trials = 1;
        cell.read_only = false;
        cell
    }

    pub(super) fn cell(&self, cut: Cut, target: Target, workload: Workload, stop: Stop) -> Cell {
        Cell {
            trials: self.request.trials,
            read_only: self.request.existing_file.is_some()
                && matches!(target, Target::File { .. } | Target::Block(_) | Target::Scheme { .. }),
            ..Cell::new(cut, target, workload, stop)
        }
    }

    pub(super) fn timed(&self) -> Stop {
        let measure_ns = Nanos::from_secs_f64(self.request.cell_seconds);
        Stop { warm_up_ns: WARM_UP_NS, measure_ns, bytes_max: None, ops_max: None }
    }

    /// Once over the file at most. Buffered writes fill memory faster than a device drains it: a bound on the bytes bounds the
    /// sync at the end, and what a check writes in all. Cold reads that went round the file would be served by the cache they filled. A warm-up would
    /// use the bound up before anything is measured.
    pub(super) fn bounded(&self) -> Stop {
        Stop { warm_up_ns: Nanos(0), bytes_max: Some(self.file_bytes), ..self.timed() }
    }
}
