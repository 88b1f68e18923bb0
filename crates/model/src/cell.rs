//! One point of a sweep: where the path is cut, what load is put on, when it stops.

use crate::change::ConfirmingChange;
use crate::repeat::Repeat;
use crate::segment::Segment;
use crate::target::Target;
use crate::units::{Bytes, Nanos};
use crate::workload::{SyncPolicy, Workload, is_false};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The name of a cell, unique in its plan, such as `path/read/4KiB/qd1/c1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(transparent)]
pub struct CellId(pub String);

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where the path is cut: which layers the cell's requests pass through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// The load generator alone.
    Generator,
    /// The generator and one copy of every block in memory.
    MemoryCopy,
    /// The client's page cache: system calls and the copy, no device.
    PageCache,
    /// The network alone: a raw stream into a sink or out of a source.
    NetworkStream,
    /// The same raw stream past a proxy that is on the path.
    DirectStream,
    /// Client, network and the endpoint serving from memory.
    ServerMemory,
    /// The server's own file system and device, without network, run on the server.
    ServerStorage,
    /// The client's own device without its page cache.
    LocalDevice,
    /// The whole path past a proxy that is on it: the same load on the same endpoint.
    DirectPath,
    /// The whole path, its writes acknowledged when they have arrived at the server, not when they are durable.
    EarlyPath,
    /// The whole path with one thing changed, by which a verdict is confirmed or refuted.
    ChangedPath,
    /// The cheapest round trip of the storage protocol: the network and the server's handling of a request.
    RoundTrip,
    /// The path's load on the same few blocks again and again: what the server has in its memory, and no device.
    HotBlocks,
    /// The whole path, with as many requests in flight over twice as many connections.
    MoreConnections,
    /// The load of a mounted path on the export behind the mount, spoken in user space: no client of the kernel.
    UserClient,
    /// The whole path.
    Path,
}

impl Cut {
    /// The name as in records and cell ids.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Cut::Generator => "generator",
            Cut::MemoryCopy => "memory-copy",
            Cut::PageCache => "page-cache",
            Cut::NetworkStream => "network-stream",
            Cut::DirectStream => "direct-stream",
            Cut::ServerMemory => "server-memory",
            Cut::ServerStorage => "server-storage",
            Cut::LocalDevice => "local-device",
            Cut::DirectPath => "direct-path",
            Cut::EarlyPath => "early-path",
            Cut::ChangedPath => "changed-path",
            Cut::RoundTrip => "round-trip",
            Cut::HotBlocks => "hot-blocks",
            Cut::MoreConnections => "more-connections",
            Cut::UserClient => "user-client",
            Cut::Path => "path",
        }
    }

    /// The segment whose ceiling this cut measures; `None` for the whole path.
    #[must_use]
    pub fn segment(self) -> Option<Segment> {
        match self {
            Cut::Generator => Some(Segment::Generator),
            Cut::MemoryCopy => Some(Segment::ClientMemory),
            Cut::PageCache => Some(Segment::ClientCache),
            Cut::NetworkStream | Cut::DirectStream => Some(Segment::NetworkBandwidth),
            Cut::ServerMemory => Some(Segment::ServerProtocol),
            Cut::ServerStorage | Cut::LocalDevice => Some(Segment::DeviceBandwidth),
            Cut::DirectPath => Some(Segment::ProxyQueue),
            Cut::EarlyPath => Some(Segment::ServerCommit),
            Cut::RoundTrip => Some(Segment::NetworkLatency),
            Cut::HotBlocks => Some(Segment::ServerCache),
            Cut::MoreConnections => Some(Segment::ClientConnection),
            Cut::UserClient => Some(Segment::ClientFilesystem),
            Cut::ChangedPath | Cut::Path => None,
        }
    }
}

/// The machine on which a cell's load runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// The machine of the command.
    #[default]
    Client,
    /// The endpoint's machine, inside `narrows serve`.
    Server,
}

/// When a trial stops: at the first of its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Stop {
    /// Load before the measured window; its completions are not counted.
    pub warm_up_ns: Nanos,
    /// Length of the measured window.
    pub measure_ns: Nanos,
    /// Most bytes that all clients move in the measured window; `None` is bounded by time alone.
    pub bytes_max: Option<Bytes>,
    /// Most operations that all clients do in the measured window; `None` is bounded by time alone.
    pub ops_max: Option<u64>,
}

/// Opening, barriers and counter readings around one trial.
pub const TRIAL_OVERHEAD_NS: u64 = 150_000_000;

/// The value of a factor at one point of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(untagged)]
pub enum FactorValue {
    /// A quantity, in the base unit of its factor: bytes, seconds, requests.
    Number(f64),
    /// A name.
    Text(String),
}

impl fmt::Display for FactorValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactorValue::Number(number) => write!(f, "{number}"),
            FactorValue::Text(text) => f.write_str(text),
        }
    }
}

/// One point of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Cell {
    /// Unique name.
    pub id: CellId,
    /// Where the path is cut.
    pub cut: Cut,
    /// Where the load runs.
    pub site: Site,
    /// The target of the requests. At [`Site::Server`] a path is relative to the endpoint's store.
    pub target: Target,
    /// The load.
    pub workload: Workload,
    /// When a trial stops.
    pub stop: Stop,
    /// Repetitions; the most of them where [`Cell::repeat`] may end them earlier.
    pub trials: u32,
    /// When the cell has been repeated often enough.
    #[serde(default)]
    pub repeat: Repeat,
    /// More targets that are loaded together with `target`: client i uses the one of index i modulo their number.
    #[serde(default)]
    pub more_targets: Vec<Target>,
    /// The cell's position in a study's sweep: factors with their values here.
    #[serde(default)]
    pub factors: BTreeMap<String, FactorValue>,
    /// What the cut `changed-path` changes, and why; `None` for all other cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirms: Option<ConfirmingChange>,
    /// Whether it was added to the plan while the run went on, to show what limits another cell of the path.
    #[serde(default, skip_serializing_if = "is_false")]
    pub refines: bool,
    /// Whether the target existed before and must only be read.
    pub read_only: bool,
}

impl Cell {
    /// One trial of `workload` by this machine at one target, under the name that says so, with no factor swept; it may
    /// write.
    #[must_use]
    pub fn new(cut: Cut, target: Target, workload: Workload, stop: Stop) -> Self {
        Self {
            id: Self::name(cut, &workload),
            cut,
            site: Site::Client,
            target,
            workload,
            stop,
            trials: 1,
            repeat: Repeat::Fixed,
            more_targets: Vec::new(),
            factors: BTreeMap::new(),
            confirms: None,
            refines: false,
            read_only: false,
        }
    }

    /// The name that says what the cell is: `CUT/OP/BLOCK/qdDEPTH/cCLIENTS`, with workers where there are several.
    #[must_use]
    pub fn name(cut: Cut, workload: &Workload) -> CellId {
        let workers = if workload.workers > 1 { format!("/w{}", workload.workers) } else { String::new() };
        CellId(format!(
            "{}/{}/{}/qd{}{workers}/c{}",
            cut.name(),
            workload.op,
            workload.block_bytes,
            workload.queue_depth,
            workload.clients
        ))
    }

    /// Time that one trial takes without preparation.
    #[must_use]
    pub fn trial_ns(&self) -> Nanos {
        self.stop.warm_up_ns.saturating_add(self.stop.measure_ns)
    }

    /// Time that the trials take without preparation: all of them, or the fewest where their number is open.
    #[must_use]
    pub fn planned_ns(&self) -> Nanos {
        Nanos(self.trial_ns().0.saturating_mul(u64::from(self.repeat.trials_min(self.trials))))
    }

    /// [`Cell::planned_ns`] and what surrounds each of these trials: what a budget reckons with.
    #[must_use]
    pub fn estimated_ns(&self) -> Nanos {
        let trials = u64::from(self.repeat.trials_min(self.trials));
        self.planned_ns().saturating_add(Nanos(TRIAL_OVERHEAD_NS.saturating_mul(trials)))
    }

    /// The least of [`Cell::estimated_ns`]: a count may end a window as soon as it begins.
    #[must_use]
    pub fn least_ns(&self) -> Nanos {
        let trials = u64::from(self.repeat.trials_min(self.trials));
        let counted_ns = if self.ends_by_count() { self.stop.measure_ns.0 } else { 0 };
        self.estimated_ns().saturating_sub(Nanos(counted_ns.saturating_mul(trials)))
    }

    /// Whether a count may end a trial long before its time.
    #[must_use]
    pub fn ends_by_count(&self) -> bool {
        // A load of objects ends when each was visited once, or all transactions are done.
        self.stop.bytes_max.is_some() || self.stop.ops_max.is_some() || self.workload.objects.is_some()
    }

    /// Whether time alone ends a trial: no count does before, and no sync or timed closing comes after its last request.
    #[must_use]
    pub fn ends_by_time(&self) -> bool {
        let has_tail = self.workload.sync == SyncPolicy::AtEnd || self.workload.edges.times_close;
        !self.ends_by_count() && !has_tail
    }

    /// The target of client `client_index`.
    #[must_use]
    pub fn client_target(&self, client_index: u32) -> &Target {
        let count = self.more_targets.len() + 1;
        match client_index as usize % count {
            0 => &self.target,
            index => &self.more_targets[index - 1],
        }
    }
}
