//! What is asked of `check`, with the facts that a plan needs.
//!
//! Values only; `check::validate` checks them.

use narrows_model::capabilities::Capabilities;
use narrows_model::inventory::PathKind;
use narrows_model::{Bytes, Op, Target};

/// Whose endpoint takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// One that the command starts itself on loopback, rooted in the target's folder.
    SelfStarted,
    /// One on the storage server, over the folder that the target mounts.
    Remote,
}

/// An endpoint that takes part beside a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedServer {
    /// Whose it is.
    pub kind: ServerKind,
    /// Name or address of its host.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
}

/// What the engines that take part can do; `None` where it is not known, which plans for an ordinary file system.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EngineFacts {
    /// The engine of a path, on that path.
    pub path: Option<Capabilities>,
    /// The endpoint's memory layer.
    pub server_memory: Option<Capabilities>,
    /// The endpoint's disk layer, and with it the server's own storage.
    pub server_disk: Option<Capabilities>,
}

/// What is asked of `check`.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckRequest {
    /// What the path leads to: a path, or an endpoint's memory or disk.
    pub target: Target,
    /// The endpoint that takes part beside a path.
    pub server: Option<RequestedServer>,
    /// What kind of path leads to a path target; `None` where it is not known.
    pub path_kind: Option<PathKind>,
    /// The export behind a folder on an NFS mount, spoken to in user space beside the mount, or why it is not; `None` for
    /// any other path.
    pub export: Option<Result<Target, String>>,
    /// Time for the whole command.
    pub budget_s: f64,
    /// Length of a cell's measured window.
    pub cell_seconds: f64,
    /// Repetitions of a cell.
    pub trials: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// Block sizes instead of the usual ones.
    pub blocks: Option<Vec<Bytes>>,
    /// Depths (requests in flight of one client) instead of the usual ones.
    pub depths: Option<Vec<u32>>,
    /// Operations instead of reading and writing.
    pub ops: Option<Vec<Op>>,
    /// A cap on the rate of all load but the generator's own; `None` is as fast as possible.
    pub max_bytes_per_s: Option<u64>,
    /// Whether the full map is asked for instead of the grid.
    pub deep: bool,
    /// Length of the target where it is a file that exists: it is only ever read.
    pub existing_file: Option<Bytes>,
    /// Why what exists is only read, where there is more to say of it.
    pub read_only_reason: Option<String>,
    /// Free space for test files: the path's, or the endpoint's store (its quota, where that is less).
    pub free_bytes: Option<Bytes>,
    /// Memory of this machine that a page cache can use.
    pub memory_bytes: Option<Bytes>,
    /// What the engines can do.
    pub engines: EngineFacts,
    /// Whether the endpoint behind a proxy is reached without it too, or why not; without meaning for other targets.
    pub past_the_proxy: Result<(), String>,
}

impl CheckRequest {
    /// The request that `narrows check TARGET` makes without options or facts.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            target,
            server: None,
            path_kind: None,
            export: None,
            budget_s: 60.0,
            cell_seconds: 1.5,
            trials: 1,
            seed: 0,
            blocks: None,
            depths: None,
            ops: None,
            max_bytes_per_s: None,
            deep: false,
            existing_file: None,
            read_only_reason: None,
            free_bytes: None,
            memory_bytes: None,
            engines: EngineFacts::default(),
            past_the_proxy: Err("whether the endpoint can be reached without it was not tried".to_owned()),
        }
    }
}
