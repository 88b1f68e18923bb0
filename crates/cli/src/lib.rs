//! The command line: arguments, wiring, terminal, exit codes. The only crate that prints.
//!
//! Every command is a short pipeline of the other crates' values. Deliberately absent: measuring, judging and
//! rendering, which belong to `run`, `analysis` and `report`.
#![forbid(unsafe_code)]

mod args;
mod check;
mod client;
mod compare;
mod console;
mod counters;
mod diagnose;
mod exit;
mod explain;
mod import;
mod measurement;
mod progress;
mod proxy;
mod relay;
mod run;
mod serve;
mod signals;
mod suite;
mod token;
mod written;

use args::{Arguments, Command};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use console::Console;
use std::ffi::OsString;
use std::process::ExitCode;

pub use exit::{EXIT_CODES, ExitCodeFacts, Failure};

/// What a binary brings along. The plain binary brings nothing; others may add engines and coordinators.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Setup {}

/// Every command with its arguments and their help, for the reference.
#[must_use]
pub fn command_line() -> clap::Command {
    Arguments::command()
}

/// Runs the command that the process was started with, and returns its exit code.
#[must_use]
pub fn main_with(_setup: &Setup) -> ExitCode {
    let raw: Vec<OsString> = std::env::args_os().collect();
    let console = Console::of_process();
    let arguments = match Arguments::try_parse_from(args::spelled_out(raw.clone())) {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => return console.fail(&not_text(&raw)),
        Err(error) => return console.usage(&error),
    };
    let command: Vec<String> = raw.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let outcome = match arguments.command {
        Command::Check(check) => check::run(&check, &command, &console),
        Command::Run(run) => run::run(&run, &command, &console),
        Command::Relay(relay) => relay::run(&relay, &command, &console),
        Command::Suite(suite) => suite::run(&suite, &command, &console),
        Command::Serve(serve) => serve::run(&serve, &console),
        Command::Proxy(proxy) => proxy::run(&proxy, &console),
        Command::Diagnose(diagnose) => diagnose::run(&diagnose, &console),
        Command::Compare(compare) => compare::run(&compare, &console),
        Command::Import(import) => import::run(&import, &console),
        Command::Explain(explain) => explain::run(&explain, &console),
        Command::Client => client::run(),
        Command::RelayRole => relay::role(),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(failure) => console.fail(&failure),
    }
}

/// Which of the words `raw` are no text, where one of them had to be.
fn not_text(raw: &[OsString]) -> Failure {
    let words = raw.iter().filter(|word| word.to_str().is_none());
    let words: Vec<String> = words.map(|word| format!("`{}`", word.to_string_lossy())).collect();
    Failure::bad_input(format!(
        "found {}, which is no UTF-8; allowed: UTF-8 in every word of an option but paths of files; reach a folder \
         of such a name through a link that has a plain one (ln -s)",
        words.join(", ")
    ))
}
