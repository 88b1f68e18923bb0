//! What load is put on a target: operation, block size, order, caching, durability, concurrency.
//!
//! Not here: when it starts and stops, which is the cell's.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One kind of request an engine can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
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
    /// Store a whole object.
    Put,
    /// Fetch a whole object.
    Get,
    /// List names.
    List,
    /// Send a block into a stream.
    Send,
    /// Receive a block from a stream.
    Receive,
    /// Many single-character calls in one request.
    CharRun,
    /// A collective operation of several ranks.
    Collective,
}

impl Op {
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
            Op::List => "list",
            Op::Send => "send",
            Op::Receive => "receive",
            Op::CharRun => "char_run",
            Op::Collective => "collective",
        }
    }

    /// Whether the data moves from the client towards the device.
    #[must_use]
    pub fn moves_towards_device(self) -> bool {
        matches!(self, Op::Write | Op::Put | Op::Send)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The order in which blocks are visited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// One after the other; each worker has its own part of the file and starts again at its end.
    #[default]
    Sequential,
    /// Each request at a block drawn uniformly, with replacement.
    Random,
}

/// Whether the operating system's page cache stands between the requests and the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Through the page cache.
    #[default]
    Buffered,
    /// Past the page cache (`O_DIRECT`).
    Direct,
}

/// What is done about caches before a reading trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// Nothing: what is cached is cached.
    #[default]
    AsFound,
    /// The file's pages are dropped from the page cache, and the drop is verified.
    Cold,
    /// The file is read once before, so that its pages are cached.
    Warm,
}

/// When written data must be durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
}

/// When an endpoint acknowledges a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Acknowledgement {
    /// As soon as the data has arrived at the server.
    #[default]
    Early,
    /// When the data is durable.
    Late,
}

/// A load, complete enough to be repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// What each request does.
    pub op: Op,
    /// Bytes a request moves.
    pub block_bytes: Bytes,
    /// Bytes of the file (object) that the requests visit, per client.
    pub file_bytes: Bytes,
    /// The order in which blocks are visited.
    pub order: Order,
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
    /// A cap on the rate of all clients together; `None` is as fast as it goes.
    pub max_bytes_per_s: Option<u64>,
}

impl Workload {
    /// Requests in flight that the load asks for: clients x workers x queue depth.
    #[must_use]
    pub fn in_flight_configured(&self) -> u64 {
        u64::from(self.clients) * u64::from(self.workers) * u64::from(self.queue_depth)
    }
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            op: Op::Read,
            block_bytes: Bytes(4096),
            file_bytes: Bytes(64 << 20),
            order: Order::Sequential,
            access: Access::Buffered,
            cache: CacheState::AsFound,
            sync: SyncPolicy::None,
            acknowledgement: Acknowledgement::Early,
            queue_depth: 1,
            workers: 1,
            clients: 1,
            max_bytes_per_s: None,
        }
    }
}
