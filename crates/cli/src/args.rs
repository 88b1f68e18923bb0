//! What may be typed. What it means is decided by each command.

use clap::{Args, Parser, Subcommand, ValueEnum};
use narrows_model::size::parse_size;
use narrows_model::{Bytes, Target};
use std::net::SocketAddr;
use std::path::PathBuf;

/// narrows finds where a storage path narrows.
#[derive(Debug, Parser)]
#[command(name = "narrows", version, about, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure the path to TARGET segment by segment and say what limits it
    Check(Box<CheckArguments>),
    /// Serve an endpoint that a path can be measured to
    Serve(ServeArguments),
    /// Give the verdict of a record again, from the record alone
    Diagnose(DiagnoseArguments),
    /// Say what a rule or segment means, its formula and source
    Explain(ExplainArguments),
    /// Run as one client of a parent process
    #[command(name = "__client", hide = true)]
    Client,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct CheckArguments {
    /// A folder, a file (only read), or an endpoint: PATH, tcp://HOST:PORT/disk, tcp://HOST:PORT/memory
    #[arg(default_value = ".", value_parser = parse_target)]
    pub(crate) target: Target,
    /// Measure the server's side too: `self` starts an endpoint in TARGET, HOST:PORT asks one that serves TARGET
    #[arg(long, value_name = "self|HOST:PORT")]
    pub(crate) server: Option<String>,
    /// File that holds the endpoint's token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Time for the whole command, in seconds
    #[arg(long, default_value_t = 60.0, value_name = "N", value_parser = positive_seconds)]
    pub(crate) seconds: f64,
    /// Time that one cell is measured, in seconds
    #[arg(long, value_name = "N", value_parser = positive_seconds)]
    pub(crate) cell_seconds: Option<f64>,
    /// Repetitions of every cell
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
    /// Seed of every random choice; a new one is drawn and recorded without it
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
    /// Cap on the load, in bytes a second (10M is 10 MiB/s)
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) max_rate: Option<Bytes>,
    /// Measure the full grid, however long it takes within --seconds
    #[arg(long)]
    pub(crate) deep: bool,
    /// Say what would be run, and stop
    #[arg(long)]
    pub(crate) plan: bool,
    /// Print the JSON summary instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every cell and every number
    #[arg(long)]
    pub(crate) detail: bool,
    /// Folder for the record (must not exist)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Say nothing while measuring
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// An operation of check's grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckOp {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Address and port; any other than loopback needs --token-file. Port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:7300", value_name = "ADDR:PORT")]
    pub(crate) listen: SocketAddr,
    /// Folder below which the disk store lies; without it only memory is served
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// File that holds the token clients must prove
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Most bytes that the stores of all clients hold together
    #[arg(long, default_value = "4GiB", value_name = "SIZE", value_parser = parse_block)]
    pub(crate) max_bytes: Bytes,
    /// Most connections at once
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) max_connections: u32,
    /// Longest time of one client's session, in seconds
    #[arg(long, default_value_t = 3600.0, value_name = "N", value_parser = positive_seconds)]
    pub(crate) max_seconds: f64,
    /// End when stdin ends
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
    /// Take the token from the first line of stdin
    #[arg(long, hide = true, conflicts_with = "token_file")]
    pub(crate) token_from_stdin: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiagnoseArguments {
    /// Folder of a record
    pub(crate) record: PathBuf,
    /// Print the JSON summary instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every cell and every number
    #[arg(long)]
    pub(crate) detail: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Code of a rule or id of a segment, such as network.bandwidth; without it all are listed
    pub(crate) code: Option<String>,
}

fn parse_target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|error: narrows_model::target::TargetError| error.to_string())
}

fn parse_block(text: &str) -> Result<Bytes, String> {
    match parse_size(text) {
        Ok(Bytes(0)) => Err("must be above 0".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 && seconds <= 1e7 => Ok(seconds),
        _ => Err(format!("`{text}` is not a time above 0 seconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn check_without_words_checks_this_folder_for_a_minute() {
        let Command::Check(check) = Arguments::parse_from(["narrows", "check"]).command else {
            unreachable!()
        };
        assert_eq!(check.target, Target::File { path: ".".into() });
        assert!((check.seconds - 60.0).abs() < f64::EPSILON);
    }

    #[test]
    fn lists_are_split_at_commas() {
        let words = ["narrows", "check", "--block", "4KiB,1M", "--depth", "1,8", "--op", "read"];
        let Command::Check(check) = Arguments::parse_from(words).command else { unreachable!() };
        assert_eq!(check.block, [Bytes(4096), Bytes(1 << 20)]);
        assert_eq!((check.depth, check.op), (vec![1, 8], vec![CheckOp::Read]));
    }

    #[test]
    fn what_is_no_time_size_or_depth_is_refused() {
        for words in [
            ["--seconds", "0"],
            ["--seconds", "inf"],
            ["--block", "0"],
            ["--depth", "0"],
            ["--max-rate", "x"],
        ] {
            let all = ["narrows", "check", words[0], words[1]];
            assert!(Arguments::try_parse_from(all).is_err(), "{words:?}");
        }
    }
}
