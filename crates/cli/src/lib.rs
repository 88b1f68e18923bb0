//! The command line: arguments, wiring, terminal, exit codes. The only crate that prints.
//!
//! Every command is a short pipeline of the other crates' values. Deliberately absent: measuring, evaluating and
//! rendering, which belong to `run`, `analysis` and `report`.
#![forbid(unsafe_code)]

mod advice;
mod args;
mod check;
mod clean;
mod client;
mod compare;
mod compare_figures;
mod console;
mod diagnose;
mod exit;
mod explain;
mod fail_if;
mod hosts;
mod identity;
mod import;
mod input;
mod job_rank;
mod measurement;
mod new_file;
mod noise;
mod parallel_job;
mod predict;
mod progress;
mod proxy;
mod ranks;
mod record_events;
mod registry;
mod relay;
mod run;
mod scale;
mod serve;
mod sides;
mod signals;
mod suite;
mod token;

use args::{CliArguments, CliCommand};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use console::Console;
use exit::Exit;
use narrows_engines::EngineFactory;
use narrows_engines::own_folders::take_problems;
use narrows_model::{EngineId, printable};
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

pub use exit::{CommandFailure, EXIT_CODES, ExitCodeFacts};
pub use identity::own_identity;
pub use job_rank::{JobRank, launched_rank};
pub use measurement::{refusal_of_bytes, time_of_day};
pub use narrows_engines::own_folders::keep_disks;
pub use parallel_job::COLLECTIVE_SUITES;
pub use ranks::{RankJob, serve_rank};

/// What a binary brings along. The plain binary brings nothing; others may add engines and coordinators.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Setup {
    engines: Vec<(EngineId, Arc<dyn EngineFactory>)>,
    job: Option<RankJob>,
}

impl Setup {
    /// The same with an engine, in the place of one that this crate knows.
    #[must_use]
    pub fn with_engine(mut self, engine: EngineId, factory: Arc<dyn EngineFactory>) -> Self {
        self.engines.push((engine, factory));
        self
    }

    /// The same with the ranks of `job` as clients, of which this process is the first.
    #[must_use]
    pub fn with_job(self, job: RankJob) -> Self {
        Self { job: Some(job), ..self }
    }
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.engines.iter().map(|(engine, _)| engine)).finish()
    }
}

/// Every command with its arguments and their help, for the reference.
#[must_use]
pub fn command_line() -> clap::Command {
    CliArguments::command()
}

/// Runs the command that the process was started with, and returns its exit code.
#[must_use]
pub fn main_with(setup: &Setup) -> ExitCode {
    ranks::prepare(setup);
    registry::prepare(setup);
    let raw: Vec<OsString> = std::env::args_os().collect();
    let console = Console::for_process(&raw);
    narrows_sys::process::keep_rights_of_owner();
    if let Err(error) = narrows_sys::process::report_oversized_files_as_errors() {
        return console.fail(&CommandFailure::could_not_run(error.to_string()));
    }
    if let Some(failure) = of_two_lines(&raw) {
        return console.fail(&failure);
    }
    if let Some(failure) = parallel_job::refusal_of_suite(&raw) {
        return console.fail(&failure);
    }
    let arguments = match CliArguments::try_parse_from(narrows_suites::spelled_out(raw.clone())) {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => return console.fail(&not_text(&raw)),
        Err(error) => return console.usage(&error),
    };
    if let Some(rank) = job_rank::launched_rank().filter(|_| !ranks::is_job() && measures(&arguments.command))
    {
        return parallel_job::refuse(rank, &console);
    }
    if let Some(failure) = without_folder(&arguments.command) {
        return console.fail(&failure);
    }
    let command: Vec<String> = raw.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let outcome = match arguments.command {
        CliCommand::Check(check) => check::run(&check, &command, &console),
        CliCommand::Run(run) => run::run(&run, &command, &console),
        CliCommand::Relay(relay) => relay::run(&relay, &command, &console),
        CliCommand::Suite(suite) => suite::run(&suite.choice, &command, &console),
        CliCommand::Scale(scale) => scale::run(&scale, &command, &console),
        CliCommand::Serve(serve) => serve::run(&serve, &console),
        CliCommand::Proxy(proxy) => proxy::run(&proxy, &console),
        CliCommand::Clean(clean) => clean::run(&clean, &console),
        CliCommand::Diagnose(diagnose) => diagnose::run(&diagnose, &console),
        CliCommand::Predict(predict) => predict::run(&predict, &console),
        CliCommand::Noise(noise) => noise::run(&noise, &command, &console),
        CliCommand::Compare(compare) => compare::run(&compare, &console),
        CliCommand::Import(import) => import::run(&import, &console),
        CliCommand::Explain(explain) => explain::run(&explain, &console),
        CliCommand::Client => client::run(),
        CliCommand::RelayRole => relay::role(),
    };
    signals::wait_for_ending();
    let problems = take_problems();
    for problem in &problems {
        console.say(&format!("narrows: {problem}"));
    }
    match outcome {
        Ok(_) if !problems.is_empty() => Exit::Untrustworthy.into(),
        Ok(code) => code.into(),
        Err(failure) => {
            let code = console.fail(&failure);
            if problems.is_empty() { code } else { Exit::Untrustworthy.into() }
        }
    }
}

/// Which of the words `raw` are no text, where one of them had to be.
fn not_text(raw: &[OsString]) -> CommandFailure {
    let words = raw.iter().filter(|word| word.to_str().is_none());
    let words: Vec<String> = words.map(|word| format!("`{}`", word.to_string_lossy())).collect();
    CommandFailure::bad_input(format!(
        "found {}, which is not UTF-8; allowed: UTF-8 in all arguments except paths of files; use a symbolic link \
         with a plain name for such a folder (ln -s)",
        words.join(", ")
    ))
}

/// Whether `command` puts load on.
fn measures(command: &CliCommand) -> bool {
    matches!(
        command,
        CliCommand::Check(_)
            | CliCommand::Run(_)
            | CliCommand::Relay(_)
            | CliCommand::Suite(_)
            | CliCommand::Scale(_)
            | CliCommand::Noise(_)
    )
}

/// Why a command that measures is refused where the current folder was deleted: the record, and often TARGET, would be in
/// it.
fn without_folder(command: &CliCommand) -> Option<CommandFailure> {
    let error = std::env::current_dir().err().filter(|_| measures(command))?;
    Some(CommandFailure::bad_input(format!(
        "the current folder is no longer there ({error}), and the record would be in it; change to a folder that exists \
         (cd), and start again"
    )))
}

/// Why the words `raw` are refused, if one of them has a line break: in a message it would pass for a line of our own.
fn of_two_lines(raw: &[OsString]) -> Option<CommandFailure> {
    let word =
        raw.iter().map(|word| word.to_string_lossy()).find(|word| word.contains(printable::breaks_line))?;
    Some(CommandFailure::bad_input(format!(
        "found `{}`, which has a line break; allowed: words of one line; reach a file of such a name through a link that \
         has a plain one (ln -s)",
        printable::one_line(&word)
    )))
}
