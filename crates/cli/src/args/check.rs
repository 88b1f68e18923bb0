//! What may be typed after `narrows check`.

use super::value::{parse_block, parse_cap, parse_target, positive_seconds};
use super::{HostArguments, OutputArguments, OverwriteArguments};
use clap::{Args, ValueEnum};
use narrows_analysis::FAIL_IF_FORM;
use narrows_model::typed::SIZES;
use narrows_model::{Bytes, Target};
use std::path::PathBuf;

const TARGET_HELP: &str = "A folder, a file (only read), a block device, an export, a LUN, a bucket or an endpoint: PATH, blk:/dev/NAME, \
                           nfs://HOST/EXPORT/PATH, iscsi://HOST/IQN/LUN, s3://BUCKET/PREFIX, tcp://HOST:PORT/disk, tcp://HOST:PORT/memory";

/// Of `check` and `run`.
pub(super) const METRICS_HELP: &str = "Read the CPU, disks and network of TARGET's server around each trial from the node_exporter that runs there: http://HOST:9100/metrics";

#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArguments {
    /// What is checked.
    #[arg(default_value = ".", value_parser = parse_target, help = TARGET_HELP)]
    pub(crate) target: Target,
    /// Measure the server's side too: `self` starts an endpoint in TARGET, HOST:PORT connects to one that serves TARGET
    #[arg(long, value_name = "self|HOST:PORT")]
    pub(crate) server: Option<String>,
    /// Where the server's own counters are.
    #[arg(long, value_name = "URL", help = METRICS_HELP)]
    pub(crate) server_metrics: Option<String>,
    /// File with the endpoint's token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Time for the whole command, in seconds
    #[arg(long, default_value_t = 60.0, value_name = "N", allow_negative_numbers = true, value_parser = positive_seconds)]
    pub(crate) seconds: f64,
    /// Measuring time of one cell, in seconds
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive_seconds)]
    pub(crate) cell_seconds: Option<f64>,
    /// Repetitions of every cell
    #[arg(long, default_value_t = 1, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
    /// Seed of all random choices; the default is a new one, which is recorded
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Block sizes instead of 4KiB,64KiB,1MiB
    #[arg(long, value_name = "SIZE,..", value_delimiter = ',', value_parser = parse_block)]
    pub(crate) block: Vec<Bytes>,
    /// Requests in flight instead of 1,16
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) depth: Vec<u32>,
    /// Operations instead of read,write
    #[arg(long, value_name = "read|write,..", value_delimiter = ',', value_enum)]
    pub(crate) op: Vec<CheckOp>,
    /// Cap on the load, in bytes a second: 10M, 10MiB/s or 100Mbit/s
    #[arg(long, value_name = "RATE", value_parser = parse_cap)]
    pub(crate) max_rate: Option<Bytes>,
    /// Measure more blocks and depths, as many as --seconds has time for: --plan says how many, and what all would take
    #[arg(long)]
    pub(crate) deep: bool,
    /// Measure every cell of the plan, also those without which the verdict is decided
    #[arg(long)]
    pub(crate) whole_plan: bool,
    /// Change what is blamed afterwards, and measure whether the path moves as predicted
    #[arg(long)]
    pub(crate) confirm: bool,
    /// Fail with exit code 1 if this holds, such as 'random read 4KiB iops < 20000'; several are allowed
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    #[command(flatten)]
    pub(crate) hosts: HostArguments,
    #[command(flatten)]
    pub(crate) overwrite: OverwriteArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// What is printed below the options of `check`.
pub(super) fn notes() -> String {
    format!(
        "Without options it makes files of 4 GiB at once and writes 40 GiB in all at most, less where the path takes less in 2.5 s \
         or little is free; --plan says both for TARGET.\n--fail-if takes {FAIL_IF_FORM}.\n{SIZES}"
    )
}

/// An operation of check's grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckOp {
    /// Reads.
    Read,
    /// Writes.
    Write,
}
