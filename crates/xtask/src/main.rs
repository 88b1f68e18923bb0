//! The project's own chores, run as `cargo xtask COMMAND`.
//!
//! This file reads the command's name and turns the outcome into an exit code. It does no chore itself: each
//! command is a module.
#![forbid(unsafe_code)]

mod check;
mod dist;
mod gen_docs;
mod lab;
mod mpich;
mod new;
mod output;
mod perf;
mod process;
mod sanitize;
mod sbom;
mod tidy;
mod workspace;

use std::process::ExitCode;

use check::CheckScope;
use gen_docs::DocsMode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check [--with-mpi]  fmt --check, clippy, tidy, gen-docs --check and the documentation build, warnings denied;
                      what needs the MPI library of this machine is checked with --with-mpi alone
  tidy                crate edges, effects, lengths, names, dependency count and forbidden texts
  dist                build one static binary into target/dist, limit its size, and try it
  gen-docs [--check]  write docs/reference from the registries, or say which pages differ from them
  lab CAMPAIGN        run a campaign that is too long for `./test`; lab --help names them
  mpich               build narrows-mpi with MPICH, which may be installed beside Open MPI, and run the tests of ranks with
                      its launcher
  new KIND NAME       write the skeleton of an engine, a rule, a suite or an importer that compiles and is registered
  perf [FIGURE...] [--rounds N] [--json FILE]
                      measure the release build beside fio, iperf3 and bare loops; perf --list names the figures
  sanitize [TOOL...]  run the tests nearest to the kernel under miri-sys, miri-wire, address and thread, all of them
                      where none is named; needs a nightly toolchain, and installs its missing components
  sbom [FILE]         write what the program is made of as CycloneDX JSON, to stdout where no FILE is named

exit codes: 0 nothing found · 1 problems found · 2 bad command · 3 could not run
";

/// What a command comes to, short of not running at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskOutcome {
    Healthy,
    ProblemsFound,
    BadCommand,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(TaskOutcome::Healthy) => ExitCode::SUCCESS,
        Ok(TaskOutcome::ProblemsFound) => ExitCode::from(1),
        Ok(TaskOutcome::BadCommand) => ExitCode::from(2),
        Err(error) => {
            output::complaint(&format!("xtask: {error:#}"));
            ExitCode::from(3)
        }
    }
}

fn dispatch(arguments: &[String]) -> anyhow::Result<TaskOutcome> {
    let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["check"] => check::run(CheckScope::Everywhere),
        ["check", "--with-mpi"] => check::run(CheckScope::WithMpi),
        ["dist"] => dist::run(),
        ["tidy"] => tidy::run(),
        ["gen-docs"] => gen_docs::run(DocsMode::Write),
        ["gen-docs", "--check"] => gen_docs::run(DocsMode::Compare),
        ["lab", words @ ..] => lab::run(words),
        ["mpich"] => mpich::run(),
        ["new", words @ ..] => new::run(words),
        ["perf", words @ ..] => perf::run(words),
        ["sanitize", words @ ..] => sanitize::run(words),
        ["sbom"] => sbom::run(None),
        ["sbom", file] => sbom::run(Some(file)),
        ["--help" | "-h" | "help"] => {
            output::line(USAGE);
            Ok(TaskOutcome::Healthy)
        }
        [] => {
            output::complaint(USAGE);
            Ok(TaskOutcome::BadCommand)
        }
        other => {
            output::complaint(&format!("xtask: no command {:?}\n\n{USAGE}", other.join(" ")));
            Ok(TaskOutcome::BadCommand)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TaskOutcome, dispatch};

    #[test]
    fn an_unknown_command_is_refused() {
        let outcome = dispatch(&["launder".to_owned()]).expect("refusing needs nothing");
        assert_eq!(outcome, TaskOutcome::BadCommand);
    }

    #[test]
    fn a_word_too_many_is_refused() {
        let outcome = dispatch(&["tidy".to_owned(), "now".to_owned()]).expect("refusing needs nothing");
        assert_eq!(outcome, TaskOutcome::BadCommand);
    }
}
