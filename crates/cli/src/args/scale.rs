//! What may be typed after `narrows scale`.

use super::value::{parse_block, parse_cap, parse_target, positive_seconds, window_seconds};
use super::{CheckOp, HostArguments, OutputArguments, OverwriteArguments};
use clap::{Args, ValueEnum};
use narrows_model::{Bytes, Target};
use std::path::PathBuf;

const TARGET_HELP: &str = "A folder, a file (only read), a block device, an export, a bucket or an endpoint: as for a study's `target`";

#[derive(Debug, Args)]
pub(crate) struct ScaleArguments {
    /// What is loaded.
    #[arg(default_value = ".", value_parser = parse_target, help = TARGET_HELP)]
    pub(crate) target: Target,
    /// Numbers of client processes, each a point of the curve; six or more for the universal scalability law
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,2,4,8,16,32", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) clients: Vec<u32>,
    /// Operations, each a curve of its own
    #[arg(long, value_name = "read|write,..", value_delimiter = ',', value_enum, default_value = "read")]
    pub(crate) op: Vec<CheckOp>,
    /// Bytes of a request
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = parse_block)]
    pub(crate) block: Bytes,
    /// Requests in flight of each client
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) depth: u32,
    /// Bytes of each client's file; the default is 64MiB, or the whole of a file that exists
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) file: Option<Bytes>,
    /// Past the page cache or through it; the default is past it where that is possible
    #[arg(long, value_name = "direct|buffered", value_enum)]
    pub(crate) access: Option<ScaleAccess>,
    /// Cap on the load of all clients together, in bytes a second: 10M, 10MiB/s or 100Mbit/s
    #[arg(long, value_name = "RATE", value_parser = parse_cap)]
    pub(crate) max_rate: Option<Bytes>,
    /// Time for the whole command, in seconds
    #[arg(long, default_value_t = 180.0, value_name = "N", allow_negative_numbers = true, value_parser = positive_seconds)]
    pub(crate) seconds: f64,
    /// Measuring time of each trial, in seconds
    #[arg(long, default_value_t = 1.0, value_name = "N", allow_negative_numbers = true, value_parser = window_seconds)]
    pub(crate) cell_seconds: f64,
    /// Repetitions of every point; from three on their spread is the uncertainty of the curve
    #[arg(long, default_value_t = 3, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
    /// Seed of all random choices, the order of the points included; the default is a new one, which is recorded
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// File with the endpoint's token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) hosts: HostArguments,
    #[command(flatten)]
    pub(crate) overwrite: OverwriteArguments,
    /// New file for the points and laws as comma-separated values, to be plotted; `-` prints them in place of the text
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) plot_data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Where the requests of a scale run pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScaleAccess {
    /// Past the page cache (`O_DIRECT`).
    Direct,
    /// Through the page cache.
    Buffered,
}

#[cfg(test)]
mod tests {
    use super::super::{CliArguments, CliCommand};
    use clap::Parser;

    #[test]
    fn scale_without_options_reads_with_six_numbers_of_clients() {
        let scale = |words: &[&str]| match CliArguments::parse_from(words).command {
            CliCommand::Scale(scale) => (scale.clients.clone(), scale.op.len(), scale.depth),
            _ => unreachable!(),
        };
        assert_eq!(scale(&["narrows", "scale", "/srv"]), (vec![1, 2, 4, 8, 16, 32], 1, 1));
        let words = ["narrows", "scale", "--clients", "1,3", "--op", "read,write", "--depth", "4"];
        assert_eq!(scale(&words), (vec![1, 3], 2, 4));
        for wrong in [["--clients", "0"], ["--clients", "257"], ["--access", "mmap"], ["--cell-seconds", "0"]]
        {
            assert!(CliArguments::try_parse_from(["narrows", "scale", wrong[0], wrong[1]]).is_err());
        }
    }
}
