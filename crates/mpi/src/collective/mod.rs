//! Suites of collective calls, which all ranks run together: `mpi-io-test` and `coll-perf`.
//!
//! Every rank has the same words, so that all of them know what to do without being asked. Rank 0 alone prints.

mod coll_perf;
mod darray;
mod mpi_io_test;
mod room;

use crate::gathered::{agreed, gathered};
use crate::{BAD_INPUT, COULD_NOT_RUN};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use coll_perf::CollPerfArguments;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use mpi_io_test::MpiIoTestArguments;
use std::path::Path;

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
    text: String,
    /// What data read differed from data written, where they were compared.
    mismatch: Option<String>,
}

/// Whether `words` (behind the program's name) ask for one of these suites.
pub(crate) fn is_wanted(words: &[String]) -> bool {
    let named = words.get(1).is_some_and(|name| name == "mpi-io-test" || name == "coll-perf");
    named && words.first().is_some_and(|word| word == "suite")
}

/// Runs the suite of `words` on all ranks of `world`, which all call this together.
pub(crate) fn run(world: &SimpleCommunicator, words: &[String]) -> CollectiveEnd {
    let is_first = world.rank() == 0;
    let mut end = match CollectiveArguments::try_parse_from(words) {
        Ok(arguments) => ended(measured(world, &arguments.suite)),
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
    }
}

/// Why a suite gave nothing.
enum SuiteFailure {
    BadInput(String),
    CouldNotRun(String),
}

/// The failure of this step of a suite on whichever rank, known to all.
fn step<T, E: Into<String>>(world: &SimpleCommunicator, own: Result<T, E>) -> Result<T, SuiteFailure> {
    agreed(world, own.map_err(Into::into)).map_err(SuiteFailure::CouldNotRun)
}

fn ended(outcome: Result<SuiteOutput, SuiteFailure>) -> CollectiveEnd {
    match outcome {
        Ok(output) => {
            let code = if output.mismatch.is_some() { UNTRUSTWORTHY } else { 0 };
            CollectiveEnd { output: output.text, problem: output.mismatch, code }
        }
        Err(SuiteFailure::BadInput(problem)) => {
            CollectiveEnd { output: String::new(), problem: Some(problem), code: BAD_INPUT }
        }
        Err(SuiteFailure::CouldNotRun(problem)) => {
            CollectiveEnd { output: String::new(), problem: Some(problem), code: COULD_NOT_RUN }
        }
    }
}

/// The folder that `path` is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
