//! The project's own chores, run as `cargo xtask COMMAND`.
//!
//! This file reads the command's name and turns the outcome into an exit code. It does no chore itself: each
//! command is a module.
#![forbid(unsafe_code)]

mod check;
mod gen_docs;
mod output;
mod perf;
mod relay_study;
mod tidy;
mod workspace;

use std::process::ExitCode;

use gen_docs::Mode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check               fmt --check, clippy, tidy, gen-docs --check and the documentation build, warnings denied
  tidy                crate edges, effects, lengths, names, dependency count and forbidden texts
  gen-docs [--check]  write docs/reference from the registries, or say which pages differ from them
  perf [FIGURE...] [--rounds N] [--json FILE]
                      measure the release build beside fio, iperf3 and bare loops; perf --list names the figures
  relay-study RECORD  write the tables of docs/studies/relay-buffers.md from a record of `narrows relay --sweep all`
  relay-study --tables
                      write its tables anew from the two CSV files that they are made of
  relay-study --check say whether the page's tables are those of the two CSV files that they are made of

exit codes: 0 nothing found · 1 problems found · 2 bad command · 3 could not run
";

/// What a command comes to, short of not running at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Healthy,
    ProblemsFound,
    BadCommand,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(Outcome::Healthy) => ExitCode::SUCCESS,
        Ok(Outcome::ProblemsFound) => ExitCode::from(1),
        Ok(Outcome::BadCommand) => ExitCode::from(2),
        Err(error) => {
            output::complaint(&format!("xtask: {error:#}"));
            ExitCode::from(3)
        }
    }
}

fn dispatch(arguments: &[String]) -> anyhow::Result<Outcome> {
    let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["check"] => check::run(),
        ["tidy"] => tidy::run(),
        ["gen-docs"] => gen_docs::run(Mode::Write),
        ["gen-docs", "--check"] => gen_docs::run(Mode::Compare),
        ["perf", words @ ..] => perf::run(words),
        ["relay-study", "--check"] => relay_study::run("--check"),
        ["relay-study", "--tables"] => relay_study::run("--tables"),
        ["relay-study", record] if !record.starts_with('-') => relay_study::run(record),
        ["--help" | "-h" | "help"] => {
            output::line(USAGE);
            Ok(Outcome::Healthy)
        }
        [] => {
            output::complaint(USAGE);
            Ok(Outcome::BadCommand)
        }
        other => {
            output::complaint(&format!("xtask: no command {:?}\n\n{USAGE}", other.join(" ")));
            Ok(Outcome::BadCommand)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, dispatch};

    #[test]
    fn an_unknown_command_is_refused() {
        let outcome = dispatch(&["launder".to_owned()]).expect("refusing needs nothing");
        assert_eq!(outcome, Outcome::BadCommand);
    }

    #[test]
    fn a_word_too_many_is_refused() {
        let outcome = dispatch(&["tidy".to_owned(), "now".to_owned()]).expect("refusing needs nothing");
        assert_eq!(outcome, Outcome::BadCommand);
    }
}
