//! What may be typed after `narrows run`.

use super::check::METRICS_HELP;
use super::value::{positive_seconds, window_seconds};
use super::{HostArguments, OutputArguments, OverwriteArguments};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The study, a TOML file; `-` reads it from stdin
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study: PathBuf,
    /// Most time for the whole command, in seconds: it ends earlier once its cells are done; the default is the study's
    #[arg(long, value_name = "N", value_parser = positive_seconds)]
    pub(crate) seconds: Option<f64>,
    /// Measuring time of each trial of a cell, in seconds; the default is the study's
    #[arg(long, value_name = "N", value_parser = window_seconds)]
    pub(crate) cell_seconds: Option<f64>,
    /// Repetitions of every cell, or their maximum where the study decides by the figures; the default is the study's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: Option<u32>,
    /// Seed of all random choices; the default is the study's, else a new one, which is recorded
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Where the server's own counters are.
    #[arg(long, value_name = "URL", help = METRICS_HELP)]
    pub(crate) server_metrics: Option<String>,
    /// File with the token of the study's endpoints and proxy
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) hosts: HostArguments,
    #[command(flatten)]
    pub(crate) overwrite: OverwriteArguments,
    /// Fail with exit code 1 if this holds, such as 'random read 4KiB iops < 20000'; several are allowed
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}
