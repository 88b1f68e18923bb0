//! What may be typed after `narrows suite jovian`.
//!
//! Not here: what it comes to, which is `nodes`'.

use crate::arguments::one_of;
use clap::{Args, ValueEnum};
use narrows_model::typed::{block, window_seconds};
use narrows_model::workload::Acknowledgement;
use narrows_model::{Bytes, EngineId};
use std::path::PathBuf;

const ACKNOWLEDGEMENTS: [Acknowledgement; 2] = [Acknowledgement::Early, Acknowledgement::Late];
/// Engines of the configuration `local`.
const ENGINES: [EngineId; 3] = [EngineId::Psync, EngineId::Uring, EngineId::Mmap];

fn acknowledgement_name(when: Acknowledgement) -> &'static str {
    if when == Acknowledgement::Late { "late" } else { "early" }
}

/// What comes first on a machine that serves and runs clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ServePriority {
    /// The clients on this machine: serving gets about a tenth of a CPU that they also use (nice value 10)
    Client,
    /// Equal: the scheduler decides
    Equal,
    /// Serving others (nice value -10, which needs the permission)
    Server,
}

/// What is done about page caches before reads, without the size of a dummy file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushWord {
    Dummy,
    Drop,
    None,
}

impl FlushWord {
    const ALL: [Self; 3] = [Self::Dummy, Self::Drop, Self::None];

    fn name(self) -> &'static str {
        match self {
            Self::Dummy => "dummy",
            Self::Drop => "drop",
            Self::None => "none",
        }
    }
}

/// What may be typed.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Configurations: local, one-to-many cX-sY.. (X clients, Y servers), many-to-many pp-N.. (N nodes, each both), or
    /// several of these in sequence. If no servers are named, local runs too, because scaling is relative to it
    #[arg(required = true, value_name = "LABEL")]
    pub(super) labels: Vec<String>,
    /// Folder on the node's disk; servers that this command starts use separate subfolders. Several are the disks of
    /// one
    /// node, only for local
    #[arg(long, value_name = "DIR,..", value_delimiter = ',', default_value = ".")]
    pub root: Vec<PathBuf>,
    /// Remote servers: `narrows serve` at each. The default is processes on this machine
    #[arg(long, value_name = "HOST:PORT,..", value_delimiter = ',', conflicts_with = "nodes")]
    pub(super) servers: Vec<String>,
    /// Nodes that serve already and run clients too: those of --hosts, in the same order, or network namespaces of this
    /// machine, with --client-command for each
    #[arg(long, value_name = "HOST:PORT,..", value_delimiter = ',')]
    pub(super) nodes: Vec<String>,
    /// Disks of each node, each served by a `narrows serve` of its own: so many addresses of --servers or --nodes in a row are
    /// one node
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) node_disks: u32,
    /// Command before the one that starts a client, such as 'ip netns exec node1'; client i gets the i-th of them
    #[arg(long, value_name = "COMMAND")]
    pub(super) client_command: Vec<String>,
    /// Stripe unit: bytes of a request at each server; a multiple of 512
    #[arg(long, default_value = "64KiB", value_name = "SIZE", value_parser = block)]
    pub(super) unit: Bytes,
    /// Bytes that each client writes and reads, in whole requests; the default is 70MiB, rounded up to whole requests
    #[arg(long, value_name = "SIZE", value_parser = block)]
    pub(super) bytes: Option<Bytes>,
    /// Requests in flight per client
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) depth: u32,
    /// Maximum requests in flight from one client at one server; the default is --depth
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) peer_depth: Option<u32>,
    /// When a write is acknowledged: as soon as it arrives, or when it is on disk
    #[arg(long, default_value = "early", value_name = "early|late", value_parser = one_of(&ACKNOWLEDGEMENTS, acknowledgement_name))]
    pub(super) ack: Acknowledgement,
    /// Treatment of page caches before reads: a dummy file is read, the pages of the files are dropped, or none
    #[arg(long, default_value = "dummy", value_name = "dummy|drop|none", value_parser = one_of(&FlushWord::ALL, FlushWord::name))]
    pub(super) flush: FlushWord,
    /// Bytes of the dummy file, which uses no disk space; the default is an eighth more than the largest node's memory
    #[arg(long, value_name = "SIZE", value_parser = block)]
    pub(super) flush_bytes: Option<Bytes>,
    /// Repetitions of each test; from 3 on the smallest and the largest are excluded from the means
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) trials: u32,
    /// Engine of the configuration local; psync has one request in flight
    #[arg(long, default_value = "psync", value_name = "psync|uring|mmap", value_parser = one_of(&ENGINES, EngineId::name))]
    pub(super) engine: EngineId,
    /// Maximum number of requests processed at once by each server started here; the default is all that clients have
    /// in flight
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(super) disk_threads: Option<u32>,
    /// Priority on nodes started here that are client and server: their clients' work, or serving others
    #[arg(long, default_value = "equal", value_name = "ROLE")]
    pub(super) priority: ServePriority,
    /// Measure only what the suite prints: no cuts of the path (its layers separately). The verdict then rests on the figures of its own tests alone
    #[arg(long)]
    pub(super) no_verdict: bool,
    /// Measuring time of each cut of the path, in seconds
    #[arg(long, default_value_t = 1.0, value_name = "N", value_parser = window_seconds)]
    pub(super) cell_seconds: f64,
    /// File with the token of --servers or --nodes
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Seed of all random choices; the default is a new one, which is recorded
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
}
