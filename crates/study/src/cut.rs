//! Which cuts a path has, and the load of each, made from the path's own: same block, same depth, same order, and
//! nothing that the cut does not pass through. Shared by the planners of `check` and of studies.
//!
//! Not here: which of them are measured.

use narrows_model::capabilities::{Capabilities, Support};
use narrows_model::cell::Stop;
use narrows_model::engine::EngineOptions;
use narrows_model::inventory::PathKind;
use narrows_model::workload::{
    Access, Acknowledgement, Arrivals, CacheState, PsyncOptions, RingOptions, StdioOptions, SyncPolicy,
};
use narrows_model::{Bytes, Cut, Layer, Nanos, Op, Target, Workload};

/// Memory alone settles at once and needs few samples: it is measured to show that it is far from the limit.
const SHORT_WARM_UP_NS: Nanos = Nanos(100_000_000);
const SHORT_MEASURE_NS: Nanos = Nanos(300_000_000);
/// A server's memory store: large enough to be outside a CPU's caches.
const SERVER_MEMORY_BYTES: u64 = 64 << 20;

/// The path's load as fast as possible, from memory to nowhere: only with the path's own settings does the generator
/// show the headroom of just this load.
pub(crate) fn generator(path: &Workload) -> Workload {
    Workload {
        engine: None,
        access: Access::Buffered,
        cache: CacheState::AsFound,
        sync: SyncPolicy::None,
        acknowledgement: Acknowledgement::Early,
        ring: RingOptions::default(),
        stdio: StdioOptions::default(),
        psync: PsyncOptions::default(),
        engine_options: EngineOptions::default(),
        ..unpaced(path)
    }
}

/// The path's workers, each of which copies blocks in memory one after the other: a copy is done when it returns.
pub(crate) fn memory_copy(path: &Workload) -> Workload {
    Workload { op: Op::Read, op_mix: Vec::new(), queue_depth: 1, batch: 1, ..generator(path) }
}

/// The path's load on a file that is wholly in the client's page cache.
pub(crate) fn page_cache(path: &Workload) -> Workload {
    let ring = RingOptions { completion_polling: false, ..path.ring };
    Workload {
        access: Access::Buffered,
        cache: CacheState::Warm,
        sync: SyncPolicy::None,
        ring,
        ..unpaced(path)
    }
}

/// The path's load past the client's page cache; what is written is durable in the end, as the path's is.
pub(crate) fn local_device(path: &Workload) -> Workload {
    let sync = if writes(path) { SyncPolicy::AtEnd } else { SyncPolicy::None };
    Workload { access: Access::Direct, cache: CacheState::AsFound, sync, ..unpaced(path) }
}

/// The raw stream in the direction of the path's data. Depth means nothing to it; each client has one connection, as
/// on the path.
pub(crate) fn network_stream(path: &Workload) -> Workload {
    let op = if path.op.moves_towards_device() { Op::Send } else { Op::Receive };
    Workload {
        op,
        op_mix: Vec::new(),
        write_back_every: None,
        block_mix: Vec::new(),
        queue_depth: 1,
        workers: 1,
        batch: 1,
        access: Access::Buffered,
        acknowledgement: Acknowledgement::Early,
        sync: SyncPolicy::None,
        ..unpaced(path)
    }
}

/// The path's load on an endpoint's memory, in a store of `least_bytes` or more.
pub(crate) fn server_memory(path: &Workload, least_bytes: u64) -> Workload {
    let store = path.file_bytes.0.min(SERVER_MEMORY_BYTES).max(least_bytes);
    Workload {
        file_bytes: Bytes(store / path.block_bytes.0.max(1) * path.block_bytes.0),
        access: Access::Buffered,
        acknowledgement: Acknowledgement::Early,
        sync: SyncPolicy::None,
        ..unpaced(path)
    }
}

/// The path's load on the server's own storage, without network: a synchronous engine there, so a worker for each
/// request in flight. A late acknowledgement means a durable write; the cut must pay for the same.
pub(crate) fn server_storage(path: &Workload) -> Workload {
    Workload {
        engine: None,
        access: Access::Direct,
        acknowledgement: Acknowledgement::Early,
        sync: if writes(path) { SyncPolicy::Dsync } else { SyncPolicy::None },
        queue_depth: 1,
        batch: 1,
        // A server runs one client: the workers of all of them are its own.
        clients: 1,
        workers: path.clients.max(1).saturating_mul(path.workers).saturating_mul(path.queue_depth),
        ..unpaced(path)
    }
}

/// The path's writes acknowledged before they are durable: what the commit costs. `None` where they do not wait for it.
pub(crate) fn early_path(path: &Workload) -> Option<Workload> {
    let late = path.acknowledgement == Acknowledgement::Late && writes(path);
    late.then(|| Workload { acknowledgement: Acknowledgement::Early, verify: false, ..path.clone() })
}

/// The cheapest round trips of the protocol, as many at a time as the path has requests in flight.
pub(crate) fn round_trip(path: &Workload) -> Workload {
    Workload {
        op: Op::Ping,
        op_mix: Vec::new(),
        block_mix: Vec::new(),
        write_back_every: None,
        block_bytes: Bytes(1),
        sync: SyncPolicy::None,
        max_bytes_per_s: None,
        ..unpaced(path)
    }
}

/// The path's load on the same few blocks, `least_bytes` or as many as are in flight; no write needs to be durable.
pub(crate) fn hot_blocks(path: &Workload, least_bytes: u64) -> Workload {
    let in_flight = u64::from(path.queue_depth.max(1)) * u64::from(path.workers.max(1));
    let block = path.block_bytes.0.max(1);
    let needed = block.saturating_mul(in_flight).max(least_bytes).min(path.file_bytes.0.max(block));
    Workload { file_bytes: Bytes(needed / block * block), sync: SyncPolicy::None, ..unpaced(path) }
}

/// As many requests in flight, over twice as many connections, or twice as many where each has a connection of its own;
/// `None` for a single request.
pub(crate) fn more_connections(path: &Workload, connection_per_request: bool) -> Option<Workload> {
    let queue_depth = if connection_per_request { path.queue_depth } else { path.queue_depth / 2 };
    let load = Workload { workers: path.workers.saturating_mul(2), queue_depth, ..path.clone() };
    (path.queue_depth > 1).then_some(load)
}

/// Length of a measured window that nothing else is said of.
pub(crate) const MEASURE_NS: Nanos = Nanos(1_500_000_000);
/// Length of a window that a count ends: what of the budget is for it, which the plan knows.
pub(crate) const OPEN_MEASURE_NS: Nanos = Nanos(u64::MAX);

/// When a trial of memory alone stops, where the path's stops after `measure_ns`.
pub(crate) fn short_stop(measure_ns: Nanos) -> Stop {
    Stop {
        warm_up_ns: SHORT_WARM_UP_NS,
        measure_ns: SHORT_MEASURE_NS.min(measure_ns),
        bytes_max: None,
        ops_max: None,
    }
}

/// Whether requests write.
pub(crate) fn writes(load: &Workload) -> bool {
    load.ops().iter().any(|share| share.op.moves_towards_device())
}

/// The load without what limits a user and not a machine: think time, a schedule, a check of the data, which would
/// be the workers' own limit. A cap stays, because it protects what others use.
fn unpaced(path: &Workload) -> Workload {
    Workload { think_ns: Nanos(0), arrivals: Arrivals::Closed, verify: false, ..path.clone() }
}

/// Whether the page cache can be bypassed for blocks of `block`, and why not.
pub(crate) fn direct(capabilities: Option<&Capabilities>, block: Bytes) -> Result<(), String> {
    let Some(capabilities) = capabilities else { return Ok(()) };
    if let Support::No { reason } = &capabilities.direct {
        return Err(format!("direct I/O is not possible: {reason}"));
    }
    let alignment = capabilities.alignment_bytes;
    if alignment.0 > 0 && !block.0.is_multiple_of(alignment.0) {
        return Err(format!("direct I/O needs multiples of {alignment}, and {block} is not one"));
    }
    Ok(())
}

/// Whether direct I/O on a path of this kind ends at a device of this machine, and why not.
pub(crate) fn own_device(kind: Option<PathKind>) -> Result<(), String> {
    let why = match kind {
        Some(PathKind::Memory) => "a file system in memory has no device",
        Some(PathKind::Nfs | PathKind::OtherNetwork) => {
            "direct I/O on a network file system uses the whole path, not a device of this machine; its server's side \
             is measured with --server HOST:PORT"
        }
        Some(PathKind::Fuse) => {
            "direct I/O on FUSE uses its daemon, not a device of this machine; check a folder below the \
            daemon"
        }
        Some(PathKind::LocalDevice | PathKind::BlockDevice | PathKind::Overlay | PathKind::Other) | None => {
            return Ok(());
        }
    };
    Err(why.to_owned())
}

/// What decides whether a file fits the client's page cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheRoom {
    pub(crate) file_bytes: Bytes,
    pub(crate) memory_bytes: Option<Bytes>,
    pub(crate) kind: Option<PathKind>,
    /// Whether the file existed before.
    pub(crate) existing: bool,
}

impl CacheRoom {
    /// Whether the cut of the page cache can be measured, and why not.
    pub(crate) fn check(self) -> Result<(), String> {
        if self.existing {
            return Err(
                "an existing file is read in its present cache state: filling the cache would change it"
                    .to_owned(),
            );
        }
        if self.kind == Some(PathKind::Memory) {
            return Err(
                "a file system in memory is itself the cache: the path and this cut are the same".to_owned()
            );
        }
        match self.memory_bytes {
            Some(memory) if self.file_bytes.0 > memory.0 / 2 => Err(format!(
                "a file of {} does not stay in the page cache of {memory} of memory",
                self.file_bytes
            )),
            _ => Ok(()),
        }
    }
}

/// Whether the path to a target can be cut so.
pub(crate) fn has_cut(which: Cut, target: &Target) -> bool {
    let target = target.form();
    match which {
        Cut::Generator | Cut::MemoryCopy => true,
        Cut::PageCache | Cut::LocalDevice => target.local_path().is_some(),
        Cut::NetworkStream => matches!(target, Target::Tcp { layer: Layer::Memory | Layer::Disk, .. }),
        Cut::ServerMemory | Cut::ServerStorage | Cut::EarlyPath => {
            matches!(target, Target::Tcp { layer: Layer::Disk, .. })
        }
        Cut::RoundTrip
        | Cut::HotBlocks
        | Cut::MoreConnections
        | Cut::UserClient
        | Cut::Path
        | Cut::DirectStream
        | Cut::DirectPath
        | Cut::ChangedPath => false,
    }
}
