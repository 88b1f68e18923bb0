//! Suites of collective calls, which all ranks run together.
//!
//! Every rank has the same words, so that all of them know what to do without being asked. Rank 0 alone prints.

mod buffer;
mod coll_perf;
mod darray;
mod mpi_io_test;
mod noncontig;
mod phase;
mod room;
mod suite_file;
mod tile_io;

use crate::gathered::{agreed, gathered};
use crate::{BAD_INPUT, COULD_NOT_RUN};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use coll_perf::CollPerfArguments;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use mpi_io_test::MpiIoTestArguments;
use narrows_model::Json as _;
use narrows_model::collective::{COLLECTIVE_SCHEMA, CollectivePoint, CollectiveRun};
use narrows_model::rank::RankFacts;
use noncontig::NoncontigArguments;
use serde::{Deserialize, Serialize};
use std::path::Path;
use tile_io::TileIoArguments;

/// Exit code where data read differs from data written, as of `narrows`.
const UNTRUSTWORTHY: u8 = 4;

/// What is typed for the suites of this file.
#[derive(Debug, Parser)]
#[command(name = "narrows-mpi suite", disable_help_subcommand = true)]
struct CollectiveArguments {
    #[command(subcommand)]
    suite: CollectiveSuite,
}

#[derive(Debug, Subcommand)]
enum CollectiveSuite {
    /// Each rank writes and reads blocks of one shared file, or of a file of its own (PVFS2's mpi-io-test)
    MpiIoTest(MpiIoTestArguments),
    /// A distributed three-dimensional array is written and read by collective calls (as in ROMIO)
    CollPerf(CollPerfArguments),
    /// Each rank writes or reads its tile of a two-dimensional data set in one file (Argonne's mpi-tile-io)
    MpiTileIo(TileIoArguments),
    /// Each rank writes and reads small pieces, contiguous or not in memory and in the file (as ROMIO's noncontig)
    Noncontig(NoncontigArguments),
}

impl CollectiveSuite {
    fn options(&self) -> &SuiteOptions {
        match self {
            Self::MpiIoTest(arguments) => &arguments.options,
            Self::CollPerf(arguments) => &arguments.options,
            Self::MpiTileIo(arguments) => &arguments.options,
            Self::Noncontig(arguments) => &arguments.options,
        }
    }

    /// The file, as it was named.
    fn file(&self) -> &Path {
        match self {
            Self::MpiIoTest(arguments) => &arguments.file,
            Self::CollPerf(arguments) => &arguments.file,
            Self::MpiTileIo(arguments) => &arguments.file,
            Self::Noncontig(arguments) => &arguments.file,
        }
    }
}

/// Options that every suite has.
#[derive(Debug, Args)]
struct SuiteOptions {
    /// Run also what moves more than four times the memory of a host, or may last longer than 15 minutes
    #[arg(long)]
    yes: bool,
    /// Print the figures as JSON, those of each rank among them, in place of the lines
    #[arg(long)]
    json: bool,
    /// A hint for opening the file; may be repeated
    #[arg(long = "hint", value_name = "KEY=VALUE", value_parser = hint)]
    hints: Vec<(String, String)>,
}

/// What the suite ended with.
#[derive(Debug, Default)]
pub(crate) struct CollectiveEnd {
    /// For stdout.
    pub(crate) output: String,
    /// For stderr.
    pub(crate) problem: Option<String>,
    /// The exit code of all ranks.
    pub(crate) code: u8,
}

/// What a suite measured.
struct SuiteOutput {
    /// The lines of the original.
    text: String,
    points: Vec<CollectivePoint>,
    /// What data read differed from data written, where they were compared.
    mismatch: Option<String>,
}

/// Whether `words` (behind the program's name) ask for one of these suites.
pub(crate) fn is_wanted(words: &[String]) -> bool {
    let named = words.get(1).is_some_and(|name| narrows::COLLECTIVE_SUITES.contains(&name.as_str()));
    named && words.first().is_some_and(|word| word == "suite")
}

/// Runs the suite of `words` on all ranks of `world`, which all call this together; `ranks` is where they run.
pub(crate) fn run(world: &SimpleCommunicator, ranks: &[RankFacts], words: &[String]) -> CollectiveEnd {
    let is_first = world.rank() == 0;
    let mut end = match CollectiveArguments::try_parse_from(words) {
        Ok(CollectiveArguments { suite }) => {
            ended(measured(world, &suite), |points| document(&suite, ranks, words, points))
        }
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            CollectiveEnd { output: error.to_string(), ..CollectiveEnd::default() }
        }
        Err(error) => {
            CollectiveEnd { problem: Some(error.to_string()), code: BAD_INPUT, ..CollectiveEnd::default() }
        }
    };
    if !is_first {
        end.output.clear();
        end.problem = None;
    }
    end
}

fn measured(world: &SimpleCommunicator, suite: &CollectiveSuite) -> Result<SuiteOutput, SuiteFailure> {
    match suite {
        CollectiveSuite::MpiIoTest(arguments) => mpi_io_test::run(world, arguments),
        CollectiveSuite::CollPerf(arguments) => coll_perf::run(world, arguments),
        CollectiveSuite::MpiTileIo(arguments) => tile_io::run(world, arguments),
        CollectiveSuite::Noncontig(arguments) => noncontig::run(world, arguments),
    }
}

/// The figures as JSON; `None` where lines are wanted.
fn document(
    suite: &CollectiveSuite,
    ranks: &[RankFacts],
    words: &[String],
    points: Vec<CollectivePoint>,
) -> Option<String> {
    let options = suite.options();
    let run = options.json.then(|| CollectiveRun {
        schema: COLLECTIVE_SCHEMA.to_owned(),
        narrows_version: env!("CARGO_PKG_VERSION").to_owned(),
        ended_at: narrows::time_of_day(),
        suite: words.get(1).cloned().unwrap_or_default(),
        command: words.to_vec(),
        mpi_library: library_name(&mpi::environment::library_version().unwrap_or_default()),
        file: suite.file().display().to_string(),
        hints: options.hints.iter().cloned().collect(),
        ranks: ranks.to_vec(),
        points,
    })?;
    // Keys are text: it can be written.
    run.to_json().ok().map(|json| narrows_model::json::indented(&json) + "\n")
}

/// What the library says of itself, without the zero byte and the end of line that some libraries count too.
fn library_name(reported: &str) -> String {
    reported.trim_end_matches(|end: char| end == '\0' || end.is_whitespace()).to_owned()
}

/// Why a suite gave nothing.
#[derive(Debug, Serialize, Deserialize)]
enum SuiteFailure {
    BadInput(String),
    CouldNotRun(String),
}

/// The failure of this step of a suite on whichever rank, known to all.
fn step<T, E: Into<String>>(world: &SimpleCommunicator, own: Result<T, E>) -> Result<T, SuiteFailure> {
    agreed(world, own.map_err(Into::into)).map_err(SuiteFailure::CouldNotRun)
}

fn ended(
    outcome: Result<SuiteOutput, SuiteFailure>,
    document: impl FnOnce(Vec<CollectivePoint>) -> Option<String>,
) -> CollectiveEnd {
    match outcome {
        Ok(SuiteOutput { text, points, mismatch }) => CollectiveEnd {
            output: document(points).unwrap_or(text),
            code: if mismatch.is_some() { UNTRUSTWORTHY } else { 0 },
            problem: mismatch,
        },
        Err(SuiteFailure::BadInput(problem)) => {
            CollectiveEnd { output: String::new(), problem: Some(problem), code: BAD_INPUT }
        }
        Err(SuiteFailure::CouldNotRun(problem)) => {
            CollectiveEnd { output: String::new(), problem: Some(problem), code: COULD_NOT_RUN }
        }
    }
}

/// An index of a file of integers as one of them: its lowest 32 bits.
fn lowest_bits(index: u64) -> i32 {
    let [a, b, c, d, ..] = index.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// The folder that `path` is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Ranks of `world`.
fn rank_count(world: &SimpleCommunicator) -> u32 {
    u32::try_from(world.size()).unwrap_or_default()
}

/// Whether any rank says so.
fn any(world: &SimpleCommunicator, own: bool) -> bool {
    gathered(world, vec![u8::from(own)]).iter().any(|said| said == &[1])
}

/// Hints for `MPI_File_open` as `KEY=VALUE`.
fn hint(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("a hint is KEY=VALUE, such as cb_nodes=2".to_owned()),
    }
}
