//! What may be typed after `narrows run`.

use super::OutputArguments;
use super::value::{positive_seconds, window_seconds};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The study, a TOML file; `-` reads it from stdin
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study: PathBuf,
    /// Time for the whole command, in seconds; without it the study's
    #[arg(long, value_name = "N", value_parser = positive_seconds)]
    pub(crate) seconds: Option<f64>,
    /// Time that each trial of a cell is measured, in seconds; without it the study's
    #[arg(long, value_name = "N", value_parser = window_seconds)]
    pub(crate) cell_seconds: Option<f64>,
    /// Repetitions of every cell, or the most of them where the study lets figures decide; without it the study's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: Option<u32>,
    /// Seed of every random choice; without it the study's, and where it has none a new one is drawn and recorded
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// File that holds the token of the study's endpoints and proxy
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}
