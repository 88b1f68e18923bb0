//! What may be typed. What it means is decided by each command.

mod check;
mod compare;
mod hosts;
mod import;
mod noise;
mod overwrite;
mod predict;
mod proxy;
mod relay;
mod run;
mod scale;
mod serve;
mod suite;
mod value;

use clap::{Args, Parser, Subcommand};
use narrows_model::typed::SIZES;
use std::path::PathBuf;

pub(crate) use check::{CheckArguments, CheckOp};
pub(crate) use compare::{COMPARE_EXITS, CompareArguments};
pub(crate) use hosts::HostArguments;
pub(crate) use import::{ALL_SECTIONS, ImportArguments};
pub(crate) use noise::NoiseArguments;
pub(crate) use overwrite::OverwriteArguments;
pub(crate) use predict::PredictArguments;
pub(crate) use proxy::ProxyArguments;
pub(crate) use relay::RelayArguments;
pub(crate) use run::RunArguments;
pub(crate) use scale::{ScaleAccess, ScaleArguments};

pub(crate) use serve::{ServeArguments, niceness};
pub(crate) use suite::{SuiteArguments, SuiteChoice};

/// narrows finds where a storage path narrows.
#[derive(Debug, Parser)]
#[command(name = "narrows", version, about, disable_help_subcommand = true)]
pub(crate) struct CliArguments {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Measure the path to TARGET segment by segment and report what limits it
    #[command(after_help = check::notes())]
    Check(Box<CheckArguments>),
    /// Run a study: the sweeps of a TOML file, cell by cell
    Run(RunArguments),
    /// The client / proxy / server buffer experiment: one stream, one buffer size per role, every call counted
    #[command(after_help = SIZES)]
    Relay(Box<RelayArguments>),
    /// Run a classic benchmark, with its native output on stdout and narrows' interpretation on stderr
    Suite(SuiteArguments),
    /// Load TARGET with more and more clients: aggregate and per-client curves, the law that they follow, what is full
    #[command(after_help = SIZES)]
    Scale(Box<ScaleArguments>),

    /// Serve an endpoint that a path can be measured to
    #[command(after_help = SIZES)]
    Serve(ServeArguments),
    /// Forward connections from one address to another
    #[command(after_help = SIZES)]
    Proxy(ProxyArguments),
    /// List what killed runs and servers left in a folder, and remove it with --remove
    Clean(CleanArguments),
    /// Repeat the verdict of a record, using only the record
    Diagnose(DiagnoseArguments),
    /// Compute the rate of more clients than a record has, with intervals, or say why the record leaves it open
    Predict(PredictArguments),
    /// Run one check several times: how much runs of the path differ with nothing changed, and what differences they show
    #[command(after_help = SIZES, mut_arg("seconds", noise::seconds_of_a_run), mut_arg("out", noise::folder_of_records), mut_arg("fail_if", |fail_if| fail_if.hide(true)))]
    Noise(Box<NoiseArguments>),
    /// Compare B with A, each a run or several, from their records: better, worse or undecided, load by load
    #[command(after_help = COMPARE_EXITS)]
    Compare(CompareArguments),
    /// Turn the native output of another tool into observations that `diagnose` reads
    #[command(after_help = SIZES)]
    Import(Box<ImportArguments>),
    /// Explain a word, rule or segment of a report, or every figure of the newest record (LAST)
    Explain(ExplainArguments),
    /// Run as one client of a parent process
    #[command(name = "__client", hide = true)]
    Client,
    /// Run one role of the buffer experiment for a parent process
    #[command(name = "__relay", hide = true)]
    RelayRole,
}

/// What every command that measures lets be said about its words and its record.
#[derive(Debug, Clone, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct OutputArguments {
    /// Print what would be run, and run nothing
    #[arg(long)]
    pub(crate) plan: bool,
    /// Run it even if it moves more than 4 times the memory of this machine, may last longer than 15 minutes, or
    /// displaces caches; see COSTS in what --plan prints
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print the JSON summary instead of text; with --plan the plan
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every cell and every number
    #[arg(long)]
    pub(crate) detail: bool,
    /// Folder for the record (must not exist); the default is narrows-record-TIME in the current folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print nothing before the results: neither the load nor progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiagnoseArguments {
    /// Folder of a record, or a TOML file of observations (numbers measured elsewhere); `-` reads such a file from
    /// stdin
    #[arg(value_name = "RECORD|FILE.toml")]
    pub(crate) subject: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every cell and every number
    #[arg(long)]
    pub(crate) detail: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// Folder that was measured or served (--root); only folders directly in it are looked at
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Remove the folders whose run has ended; without it, nothing is changed
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// A word, code or segment of a report, such as network.bandwidth; LAST or a record's folder for the figures of its
    /// first screen; without it, list all words
    #[arg(value_name = "WORD|LAST|RECORD")]
    pub(crate) word: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use narrows_model::{Bytes, Target};

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        CliArguments::command().debug_assert();
    }

    #[test]
    fn check_without_words_checks_this_folder_for_a_minute() {
        let CliCommand::Check(check) = CliArguments::parse_from(["narrows", "check"]).command else {
            unreachable!()
        };
        assert_eq!(check.target, Target::File { path: ".".into() });
        assert!((check.seconds - 60.0).abs() < f64::EPSILON);
    }

    #[test]
    fn lists_are_split_at_commas() {
        let words = ["narrows", "check", "--block", "4KiB,1M", "--depth", "1,8", "--op", "read"];
        let CliCommand::Check(check) = CliArguments::parse_from(words).command else { unreachable!() };
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
            assert!(CliArguments::try_parse_from(all).is_err(), "{words:?}");
        }
    }
}
