//! What may be typed after `narrows suite`.

use super::value::{parse_block, window_seconds};
use super::{OutputArguments, ServePriority};
use clap::{Args, Subcommand, ValueEnum};
use narrows_model::Bytes;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct SuiteArguments {
    #[command(subcommand)]
    pub(crate) name: SuiteName,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SuiteName {
    /// Jovian-2: peer-to-peer parallel I/O, striped over the disks of all serving nodes
    Jovian(Box<JovianArguments>),
}

#[derive(Debug, Args)]
pub(crate) struct JovianArguments {
    /// Configurations: local, one-to-many cX-sY.. (X clients, Y servers), many-to-many pp-N.. (N nodes, each both), or
    /// several of these after each other. Where no servers are named, local runs too, since scaling is against it
    #[arg(required = true, value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// Folder of the node's disk; servers that this command starts have folders of their own in it. Several are the
    /// disks of one node, for local alone
    #[arg(long, value_name = "DIR,..", value_delimiter = ',', default_value = ".")]
    pub(crate) root: Vec<PathBuf>,
    /// Servers elsewhere: `narrows serve` at each. Without it they are processes of this machine
    #[arg(long, value_name = "HOST:PORT,..", value_delimiter = ',', conflicts_with = "nodes")]
    pub(crate) servers: Vec<String>,
    /// Nodes that serve already and run clients too: network namespaces of this machine, with --client-command for each
    #[arg(long, value_name = "HOST:PORT,..", value_delimiter = ',')]
    pub(crate) nodes: Vec<String>,
    /// Command before the one that starts a client, such as 'ip netns exec node1'; client i gets the i-th of them
    #[arg(long, value_name = "COMMAND")]
    pub(crate) client_command: Vec<String>,
    /// Stripe unit: bytes of a request at each server; a multiple of 512
    #[arg(long, default_value = "64KiB", value_name = "SIZE", value_parser = parse_block)]
    pub(crate) unit: Bytes,
    /// Bytes that each client writes and reads, whole requests; without it 70MiB, rounded up to them
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) bytes: Option<Bytes>,
    /// Requests that a client has in flight
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) depth: u32,
    /// Most of them at one server; without it as many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) peer_depth: Option<u32>,
    /// When a write is acknowledged: as soon as it arrives, or when it is on disk
    #[arg(long, default_value = "early", value_name = "early|late", value_enum)]
    pub(crate) ack: AcknowledgementWord,
    /// What is done about page caches before reads: a dummy file is read, the pages of the files are dropped, nothing
    #[arg(long, default_value = "dummy", value_name = "dummy|drop|none", value_enum)]
    pub(crate) flush: FlushWord,
    /// Bytes of the dummy file, which takes no room; without it an eighth more than the largest node's memory
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) flush_bytes: Option<Bytes>,
    /// Repetitions; the least and the greatest of 3 and more are left out of the means
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
    /// The engine of local; psync has one request in flight
    #[arg(long, default_value = "psync", value_name = "psync|uring|mmap", value_enum)]
    pub(crate) engine: LocalEngine,
    /// Most requests that a server which this command starts has at its disk at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) disk_threads: Option<u32>,
    /// What comes first on nodes that this command starts and that are both: their clients, or what they serve
    #[arg(long, default_value = "equal", value_name = "ROLE")]
    pub(crate) priority: ServePriority,
    /// Measure the tables alone: no cuts of the path beside them, and so no verdict
    #[arg(long)]
    pub(crate) no_verdict: bool,
    /// Time that each cut of the path is measured, in seconds
    #[arg(long, default_value_t = 1.0, value_name = "N", value_parser = window_seconds)]
    pub(crate) cell_seconds: f64,
    /// File that holds the token of --servers or --nodes
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Seed of every random choice; a new one is drawn and recorded without it
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AcknowledgementWord {
    Early,
    Late,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FlushWord {
    Dummy,
    Drop,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LocalEngine {
    Psync,
    Uring,
    Mmap,
}
