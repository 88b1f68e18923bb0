//! What load is put on a target: operation, block size, order, caching, durability, concurrency.
//!
//! Not here: when it starts and stops, which is the cell's.

use crate::engine::mpiio::{MpiioFile, MpiioOptions};
use crate::engine::{EngineId, EngineOptions};
use crate::units::{Bytes, Nanos};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

mod arrivals;
mod client_files;
mod edges;
mod mix;
mod objects;
mod order;
mod psync;
mod ring;
mod stdio;
mod tree;
mod weights;

pub use arrivals::Arrivals;
pub use client_files::ClientFiles;
pub use edges::Edges;
pub use mix::{BlockShare, OpShare};
pub use objects::{
    BIAS_MAX, NameForm, OBJECT_BYTES_MAX, OBJECT_COUNT_MAX, OBJECT_FOLDERS_MAX, ObjectCalls, ObjectDraws,
    ObjectKind, ObjectSet, ObjectSync, SYNCED_FOLDERS_MAX, Spread, TRANSACTION_COUNT_MAX, Transactions,
};
pub use order::Order;
pub use psync::{PsyncCalls, PsyncOptions, VECTORS_MAX};
pub use ring::{FeatureRequest, RingFacts, RingOptions};
pub use stdio::{StdioCalls, StdioFlush, StdioOptions};
pub use tree::{FolderTree, TREE_DEPTH_MAX, TREE_FOLDERS_MAX};
pub use weights::{MEMBER_WEIGHTS_MAX, MemberWeights};

/// One kind of request an engine can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Read a block at an offset.
    Read,
    /// Write a block at an offset.
    Write,
    /// Make what was written durable.
    Sync,
    /// Discard a range.
    Trim,
    /// An operation on a name.
    Meta,
    /// Store a whole object that was not there.
    Put,
    /// Fetch a whole object.
    Get,
    /// Write at the end of an object.
    Append,
    /// Look at an object's attributes.
    Stat,
    /// Delete an object.
    Delete,
    /// Give an object another name in its folder, or its own name back.
    Rename,
    /// List names.
    List,
    /// Send a block into a stream.
    Send,
    /// Receive a block from a stream.
    Receive,
    /// A collective operation of several ranks.
    Collective,
    /// The cheapest round trip of a storage protocol: it moves no data.
    Ping,
}

impl Op {
    /// Those that concern a whole object by its name, not a range of one that is open.
    pub const OF_OBJECTS: [Self; 6] =
        [Self::Put, Self::Get, Self::Append, Self::Stat, Self::Rename, Self::Delete];

    /// The name as in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Sync => "sync",
            Op::Trim => "trim",
            Op::Meta => "meta",
            Op::Put => "put",
            Op::Get => "get",
            Op::Append => "append",
            Op::Stat => "stat",
            Op::Delete => "delete",
            Op::Rename => "rename",
            Op::List => "list",
            Op::Send => "send",
            Op::Receive => "receive",
            Op::Collective => "collective",
            Op::Ping => "ping",
        }
    }

    /// Whether the data moves from the client towards the device.
    #[must_use]
    pub fn moves_towards_device(self) -> bool {
        matches!(self, Op::Write | Op::Put | Op::Append | Op::Send)
    }

    /// Whether it concerns a whole object by its name, not a range of one that is open.
    #[must_use]
    pub fn is_of_objects(self) -> bool {
        Self::OF_OBJECTS.contains(&self)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether the operating system's page cache is between the requests and the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Through the page cache.
    #[default]
    Buffered,
    /// Past the page cache (`O_DIRECT`).
    Direct,
}

/// What is done about caches before a trial that reads, or that writes over what an earlier load left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// Nothing: what is cached is cached.
    #[default]
    AsFound,
    /// The file's pages are dropped from the page cache, and the drop is verified.
    Cold,
    /// The file is read once before, so that its pages are cached.
    Warm,
    /// What was written is on the device, and a dummy file without blocks has been read since, whose pages displace
    /// others; how much is still cached is reported, and no amount is an error.
    Displaced {
        /// Bytes of the dummy file; only more than the memory displaces all.
        scan_bytes: Bytes,
    },
}

/// How much of an object is written before cells visit it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Prefill {
    /// As much as a short time lets: on a slow path objects are smaller.
    #[default]
    Timed,
    /// All of it, however long that takes.
    Whole,
    /// Nothing: a load that writes begins each trial with an empty object, and one that reads finds what an earlier one
    /// wrote.
    Nothing,
    /// Nothing, and nothing is emptied: a load reads or overwrites what an earlier one wrote.
    Kept,
}

/// When written data must be durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SyncPolicy {
    /// Never asked for.
    #[default]
    None,
    /// Every write returns when durable (`O_DSYNC`).
    Dsync,
    /// One `fdatasync` after every so many writes.
    Every(u32),
    /// One `fdatasync` at the end, inside the timed window.
    AtEnd,
    /// One `fdatasync` of each object when the trial is over, outside of its time and of its counters: the next one does not
    /// run beside the writing.
    AfterEnd,
}

/// When an endpoint acknowledges a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Acknowledgement {
    /// As soon as the data has arrived at the server.
    #[default]
    Early,
    /// When the data is durable.
    Late,
}

/// A load, complete enough to be repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Workload {
    /// The engine that issues the requests; `None` is the one that serves the target by default.
    #[serde(default)]
    pub engine: Option<EngineId>,
    /// What each request does; in a mix, what most of them do.
    pub op: Op,
    /// Operations with their weights; empty when `op` is the only one.
    #[serde(default)]
    pub op_mix: Vec<OpShare>,
    /// Bytes a request moves; in a mix, the most that one moves.
    pub block_bytes: Bytes,
    /// Block sizes with their weights; empty when `block_bytes` is the only one.
    #[serde(default)]
    pub block_mix: Vec<BlockShare>,
    /// Bytes of the file (object) that the requests visit, per client.
    pub file_bytes: Bytes,
    /// The order in which blocks are visited.
    pub order: Order,
    /// After every so many reads the block that was read last is changed and written back to its place, as a request of
    /// its own that no bound of the window counts; 1 rewrites every block. Reads at a depth of 1 alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_back_every: Option<u32>,
    /// Whether the page cache is used.
    pub access: Access,
    /// What is done about caches before the trial.
    pub cache: CacheState,
    /// When written data must be durable.
    pub sync: SyncPolicy,
    /// When an endpoint acknowledges a write.
    pub acknowledgement: Acknowledgement,
    /// Requests that one worker keeps in flight.
    pub queue_depth: u32,
    /// Workers (threads, connections) of one client.
    pub workers: u32,
    /// Load-generating processes.
    pub clients: u32,
    /// Whether a client that is alone is a process of its own too, as each of several is; else it is the command's.
    #[serde(default, skip_serializing_if = "is_false")]
    pub own_process: bool,
    /// Requests that a worker submits together and completions that it waits for together; at most the queue depth.
    #[serde(default = "one")]
    pub batch: u32,
    /// Time from a completion to the next request in its place, as a user thinks; closed loops alone.
    #[serde(default)]
    pub think_ns: Nanos,
    /// What makes a request start.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// A cap on the rate of all clients together; `None` is unlimited.
    pub max_bytes_per_s: Option<u64>,
    /// A cap on the operations a second of all clients together; `None` is unlimited.
    #[serde(default)]
    pub max_ops_per_s: Option<f64>,
    /// How a ring is set up; without meaning for engines that have none.
    #[serde(default)]
    pub ring: RingOptions,
    /// How the C library's streams are used; without meaning for engines that have none.
    #[serde(default)]
    pub stdio: StdioOptions,
    /// How requests of the engine `psync` are handed over; without meaning for others.
    #[serde(default)]
    pub psync: PsyncOptions,
    /// Options of an engine that reads them itself: what a study gives, by the names that the engine declares.
    #[serde(default, skip_serializing_if = "EngineOptions::is_empty")]
    pub engine_options: EngineOptions,
    /// What is done where a trial begins and ends.
    #[serde(default, skip_serializing_if = "Edges::are_plain")]
    pub edges: Edges,
    /// Which file each client accesses, and where in it its blocks are.
    #[serde(default, skip_serializing_if = "ClientFiles::are_plain")]
    pub client_files: ClientFiles,
    /// Whether every block says what it is, and every read is checked against what was written.
    #[serde(default)]
    pub verify: bool,
    /// How much of an object is written before the load.
    #[serde(default)]
    pub prefill: Prefill,
    /// The objects of a load whose operations are on whole objects; `None` for one that accesses ranges of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<ObjectSet>,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(crate) fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl Workload {
    /// Requests in flight that the load asks for: clients x workers x queue depth.
    #[must_use]
    pub fn in_flight_configured(&self) -> u64 {
        u64::from(self.clients) * u64::from(self.workers) * u64::from(self.queue_depth)
    }

    /// What the load does in a word: its operation, or `transactions` where they say what is done.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.transactions().is_some() { "transactions" } else { self.op.name() }
    }

    /// Operations that requests do, with their weights: one when there is no mix, and what is written back.
    #[must_use]
    pub fn ops(&self) -> Vec<OpShare> {
        if let Some(transactions) = self.transactions() {
            return transactions.shares();
        }
        if !self.op_mix.is_empty() {
            return self.op_mix.clone();
        }
        let written_back = self.write_back_every.filter(|_| self.op != Op::Write);
        let own = OpShare { op: self.op, weight: f64::from(written_back.unwrap_or(1).max(1)) };
        std::iter::once(own).chain(written_back.map(|_| OpShare { op: Op::Write, weight: 1.0 })).collect()
    }

    /// Block sizes that requests move, with their weights: one when there is no mix.
    #[must_use]
    pub fn blocks(&self) -> Vec<BlockShare> {
        if self.block_mix.is_empty() {
            vec![BlockShare { block_bytes: self.block_bytes, weight: 1.0 }]
        } else {
            self.block_mix.clone()
        }
    }

    /// Transactions on objects; `None` where there are none.
    #[must_use]
    pub fn transactions(&self) -> Option<&Transactions> {
        self.objects.as_ref()?.transactions.as_ref()
    }

    /// Sets the options of the engine whose table of options is called `table`.
    ///
    /// # Errors
    /// Options that the engine does not have, or values that it does not take; the workload keeps its own then.
    pub fn set_engine_options(
        &mut self,
        table: &str,
        options: EngineOptions,
    ) -> Result<(), serde_json::Error> {
        match table {
            "ring" => self.ring = options.typed()?,
            "psync" => self.psync = options.typed()?,
            "stdio" => self.stdio = options.typed()?,
            _ => self.engine_options = options,
        }
        Ok(())
    }

    /// Whether all clients access one file that is made for them, of which each has its part.
    #[must_use]
    pub fn shares_file(&self) -> bool {
        self.client_files.interleaved
            || MpiioOptions::from_workload(self).is_some_and(|options| options.file == MpiioFile::Shared)
    }

    /// Whether all clients make the same call at the same time, and so end after the same number of them.
    #[must_use]
    pub fn is_in_step(&self) -> bool {
        MpiioOptions::from_workload(self).is_some_and(|options| options.are_in_step())
    }

    /// Whether requests differ in operation or size.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        self.transactions().is_some() || self.is_weighted_mix() || self.write_back_every.is_some()
    }

    /// Whether operations or block sizes are drawn by weights.
    #[must_use]
    pub fn is_weighted_mix(&self) -> bool {
        self.op_mix.len() > 1 || self.block_mix.len() > 1
    }
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            engine: None,
            op: Op::Read,
            op_mix: Vec::new(),
            block_bytes: Bytes(4096),
            block_mix: Vec::new(),
            file_bytes: Bytes(64 << 20),
            order: Order::Sequential,
            write_back_every: None,
            access: Access::Buffered,
            cache: CacheState::AsFound,
            sync: SyncPolicy::None,
            acknowledgement: Acknowledgement::Early,
            queue_depth: 1,
            workers: 1,
            clients: 1,
            own_process: false,
            batch: 1,
            think_ns: Nanos(0),
            arrivals: Arrivals::Closed,
            max_bytes_per_s: None,
            max_ops_per_s: None,
            ring: RingOptions::default(),
            stdio: StdioOptions::default(),
            psync: PsyncOptions::default(),
            engine_options: EngineOptions::default(),
            edges: Edges::default(),
            client_files: ClientFiles::default(),
            verify: false,
            prefill: Prefill::Timed,
            objects: None,
        }
    }
}
