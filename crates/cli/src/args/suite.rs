//! What may be typed after `narrows suite`.

use super::value::{parse_block, positive_seconds, whole, window_seconds};
use super::{BonnieArguments, IozoneArguments, OutputArguments, PostmarkArguments, SIZES, ServePriority};
use clap::{Args, Subcommand, ValueEnum};
use narrows_model::Bytes;
use narrows_suites::ioperf::{
    BUFFER_KB_MAX, COUNT_MAX, PASSES_MAX, PROCESSES_MAX, PUBLISHED_BUFFER_KB, PUBLISHED_COUNT,
};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct SuiteArguments {
    #[command(subcommand)]
    pub(crate) name: SuiteName,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SuiteName {
    /// bonnie++: a file by characters and blocks, rewritten, random seeks; then many files made, seen and deleted
    Bonnie(Box<BonnieArguments>),
    /// IOPerf: fwrite, fread, putc, getc and random seeks through C's standard I/O, one process and several
    Ioperf(Box<IoperfArguments>),
    /// IOzone: one file over record and file sizes, or several processes; its letters (-a, -i 0, -g 4m, -t 4) and long
    /// options together
    #[command(after_help = format!("IOzone's letters:\n{}", narrows_suites::iozone::letters_help()))]
    Iozone(Box<IozoneArguments>),
    /// Jovian-2: peer-to-peer parallel I/O, striped over the disks of all serving nodes
    #[command(after_help = SIZES)]
    Jovian(Box<JovianArguments>),
    /// PostMark: creation of many small files, transactions that read, append, create and delete, their deletion; its
    /// command language from a script or stdin, or as options
    Postmark(Box<PostmarkArguments>),
}

#[derive(Debug, Args)]
pub(crate) struct IoperfArguments {
    /// Folder of any mounted file system, in which the suite makes a folder of its own for its files
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Size of an I/O in KB of 1024 bytes: what one fwrite or fread moves
    #[arg(long, default_value_t = PUBLISHED_BUFFER_KB, value_name = "KB", allow_negative_numbers = true, value_parser = whole(1, BUFFER_KB_MAX))]
    pub(crate) buffer: u64,
    /// I/Os of each test and process; the file of each has as many times the buffer
    #[arg(long, default_value_t = PUBLISHED_COUNT, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, COUNT_MAX))]
    pub(crate) count: u64,
    /// Times that each test is done; its figures are all bytes over all the time
    #[arg(long, default_value_t = 1, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, PASSES_MAX))]
    pub(crate) passes: u32,
    /// Processes of the row NPV, which start each test together, each with a file of its own
    #[arg(long, default_value_t = 1, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, PROCESSES_MAX))]
    pub(crate) processes: u32,
    /// Rows to measure: a plain run, one process below the driver, --processes of them; without it run, and all three from
    /// 2 processes on
    #[arg(long, value_name = "run,1PV,NPV", value_delimiter = ',', value_enum, ignore_case = true)]
    pub(crate) rows: Vec<IoperfRow>,
    /// Call that follows every I/O that writes: each fwrite, and each --buffer KB of putc
    #[arg(long, default_value = "fflush", value_name = "fflush|fdatasync|fsync", value_enum)]
    pub(crate) flush: FlushCall,
    /// Name of the rows in the table; without it this host's
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Print the table as CSV, with the same figures
    #[arg(long)]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) cuts: SuiteCutArguments,
    /// Seed of every random choice; without it a new one is drawn and recorded
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// How the path below a suite's tests is looked at.
#[derive(Debug, Args)]
pub(crate) struct SuiteCutArguments {
    /// Look at the server's side too: `self` starts an endpoint in the folder, HOST:PORT asks one that serves it
    #[arg(long, value_name = "self|HOST:PORT")]
    pub(crate) server: Option<String>,
    /// File that holds the token of --server HOST:PORT
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Measure what the suite prints alone: no cuts of the path (its layers one by one), and so nothing to judge it by
    #[arg(long)]
    pub(crate) no_verdict: bool,
    /// Time that each cut of the path is measured, in seconds; without it 1 (iozone: 0.25)
    #[arg(long, value_name = "N", value_parser = positive_seconds)]
    pub(crate) cell_seconds: Option<f64>,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IoperfRow {
    Run,
    #[value(name = "1PV")]
    One,
    #[value(name = "NPV")]
    Many,
}

/// What follows a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FlushCall {
    Fflush,
    Fdatasync,
    Fsync,
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
    /// Bytes that each client writes and reads, in whole requests; without it 70MiB, rounded up to whole ones
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) bytes: Option<Bytes>,
    /// Requests that each client has in flight
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) depth: u32,
    /// Most of a client's requests in flight at one server; without it --depth
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
    /// Repetitions of each test; from 3 on the least and the greatest are left out of the means
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
    /// Engine of the configuration local; psync has one request in flight
    #[arg(long, default_value = "psync", value_name = "psync|uring|mmap", value_enum)]
    pub(crate) engine: LocalEngine,
    /// Most requests that each server started here works on at once; without it all that clients have in flight
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) disk_threads: Option<u32>,
    /// What comes first on nodes started here that are client and server: their clients' work, or what they serve
    #[arg(long, default_value = "equal", value_name = "ROLE")]
    pub(crate) priority: ServePriority,
    /// Measure what the suite prints alone: no cuts of the path (its layers one by one), and so nothing to judge it by
    #[arg(long)]
    pub(crate) no_verdict: bool,
    /// Time that each cut of the path is measured, in seconds
    #[arg(long, default_value_t = 1.0, value_name = "N", value_parser = window_seconds)]
    pub(crate) cell_seconds: f64,
    /// File that holds the token of --servers or --nodes
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Seed of every random choice; without it a new one is drawn and recorded
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
