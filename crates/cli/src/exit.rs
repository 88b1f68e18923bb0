//! Exit codes, and failures that have one.

use narrows_analysis::{Trust, trust};
use narrows_engines::{EngineError, ErrorKind};
use narrows_model::Summary;
use narrows_model::event::EndReason;
use narrows_model::summary::ThresholdState;
use narrows_record::RecordError;
use std::process::ExitCode;

/// What one of the process's exit codes says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCodeFacts {
    /// The code.
    pub code: u8,
    /// Its name in the JSON of a failure.
    pub kind: &'static str,
    /// What it says, in one line.
    pub title: &'static str,
    /// When it is given.
    pub definition: &'static str,
    /// A case of it.
    pub example: &'static str,
}

const DONE: ExitCodeFacts = ExitCodeFacts {
    code: 0,
    kind: "done",
    title: "done",
    definition: "The command succeeded. For a verdict: every planned cell within the budget was measured completely, \
                 and the load generator was not the limit.",
    example: "`narrows check` with a verdict, `narrows run` with every cell, `narrows explain`, `narrows serve` after \
              Ctrl-C",
};

const CROSSED: ExitCodeFacts = ExitCodeFacts {
    code: 1,
    kind: "threshold_crossed",
    title: "done, and a requested threshold was exceeded",
    definition: "The command succeeded, its figures are trustworthy, and they exceed a threshold set by an option. \
                 Without such an option this code is never used.",
    example: "`narrows compare A B --fail-if-worse` where a load of B is worse than that of A by more than the margin; \
              `narrows check --fail-if 'random read 4KiB iops < 20000'` where even the upper end of the interval is below",
};

pub(crate) const BAD_INPUT: ExitCodeFacts = ExitCodeFacts {
    code: 2,
    kind: "bad_input",
    title: "bad input",
    definition: "The command line or an input file must be corrected first. No load was run.",
    example: "an unknown scheme, a study with an unknown key, a folder that does not exist, a wrong token, a record \
        of a later version, costs that need `--yes`",
};

const COULD_NOT_RUN: ExitCodeFacts = ExitCodeFacts {
    code: 3,
    kind: "could_not_run",
    title: "could not run",
    definition: "The input is valid, but the machine, the peer or the file system refused, or nothing was measured.",
    example: "no permission to write in the folder, a closed port, a listening address that is in use, a record of a run \
              that was stopped before anything was measured",
};

const UNTRUSTWORTHY: ExitCodeFacts = ExitCodeFacts {
    code: 4,
    kind: "untrustworthy",
    title: "measured, but not trustworthy",
    definition: "There is a verdict, but some of the figures are not trustworthy: the load generator was near its own \
                 limit, operations failed, data read differs from data written, cells are missing or incomplete, the \
                 run was interrupted, a load of `--fail-if` was not measured, the record is damaged, or a steady state or an interval that a study requires \
                 was not reached. Also where something that narrows made could not be removed, or was replaced by \
                 somebody else.",
    example: "Ctrl-C in the middle of a check, a server that went away, a path as fast as the null engine",
};

/// Every exit code of the process.
pub static EXIT_CODES: &[ExitCodeFacts] = &[DONE, CROSSED, BAD_INPUT, COULD_NOT_RUN, UNTRUSTWORTHY];

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Done, and a threshold that was asked for was crossed.
    Crossed,
    /// Measured, but not trustworthy.
    Untrustworthy,
}

impl Exit {
    /// The process's exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => DONE.code,
            Exit::Crossed => CROSSED.code,
            Exit::Untrustworthy => UNTRUSTWORTHY.code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// How the command ends, by whether the figures can be relied on; the same for a run and for its record.
///
/// # Errors
/// When nothing was measured.
pub(crate) fn verdict_of(summary: &Summary, reason: EndReason) -> Result<Exit, CommandFailure> {
    match trust(summary, reason) {
        Trust::NothingMeasured(why) => Err(CommandFailure::could_not_run(why)),
        Trust::Doubtful => Ok(Exit::Untrustworthy),
        Trust::Full => Ok(threshold_exit(summary)),
    }
}

/// How a command whose figures can be relied on ends, by the conditions of `--fail-if`.
fn threshold_exit(summary: &Summary) -> Exit {
    let is_any = |state| summary.thresholds.iter().any(|outcome| outcome.state == state);
    if is_any(ThresholdState::Failed) {
        return Exit::Crossed;
    }
    if is_any(ThresholdState::NotMeasured) { Exit::Untrustworthy } else { Exit::Done }
}

/// Nothing where a child's pipe has no reader any more: the parent is gone, and the terminal is another's.
///
/// # Errors
/// Any other failure of the pipes.
pub(crate) fn unless_parent_gone(error: &std::io::Error) -> Result<(), CommandFailure> {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(CommandFailure::could_not_run(format!("communicate with the parent process: {error}"))),
    }
}

/// Why a command could not be done.
#[derive(Debug)]
pub enum CommandFailure {
    /// The input must be corrected: exit code 2.
    BadInput(anyhow::Error),
    /// The command could not run: exit code 3.
    CouldNotRun(anyhow::Error),
}

impl CommandFailure {
    /// The input must be corrected, as `message` says.
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        CommandFailure::BadInput(anyhow::Error::msg(message.into()))
    }

    /// The command could not run, for the reason in `message`.
    pub(crate) fn could_not_run(message: impl Into<String>) -> Self {
        CommandFailure::CouldNotRun(anyhow::Error::msg(message.into()))
    }

    /// Nothing when `all` is empty; else one failure that says them all, bad input if any of them is.
    ///
    /// # Errors
    /// That failure.
    pub(crate) fn combine(all: &[CommandFailure]) -> Result<(), CommandFailure> {
        let messages: Vec<String> = all.iter().map(CommandFailure::message).collect();
        let message = messages.join("\nnarrows: ");
        match all.iter().find(|failure| matches!(failure, CommandFailure::BadInput(_))) {
            _ if all.is_empty() => Ok(()),
            Some(_) => Err(CommandFailure::bad_input(message)),
            None => Err(CommandFailure::could_not_run(message)),
        }
    }

    /// How the command ends.
    fn facts(&self) -> ExitCodeFacts {
        match self {
            CommandFailure::BadInput(_) => BAD_INPUT,
            CommandFailure::CouldNotRun(_) => COULD_NOT_RUN,
        }
    }

    /// The process's exit code.
    pub(crate) fn code(&self) -> u8 {
        self.facts().code
    }

    /// The name of that exit code in JSON.
    pub(crate) fn kind(&self) -> &'static str {
        self.facts().kind
    }

    /// What happened, where, what to do.
    pub(crate) fn message(&self) -> String {
        match self {
            // Every error of the crates below reports its source itself.
            CommandFailure::BadInput(error) | CommandFailure::CouldNotRun(error) => error.to_string(),
        }
    }
}

impl From<EngineError> for CommandFailure {
    fn from(error: EngineError) -> Self {
        match error.kind {
            ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::Token => {
                CommandFailure::BadInput(error.into())
            }
            _ => CommandFailure::CouldNotRun(error.into()),
        }
    }
}

impl From<RecordError> for CommandFailure {
    fn from(error: RecordError) -> Self {
        use narrows_record::ErrorKind::{FromTheFuture, Malformed, NotARecord, NotPrivate, Occupied};
        match error.kind() {
            Occupied | NotPrivate | NotARecord | FromTheFuture | Malformed => {
                CommandFailure::BadInput(error.into())
            }
            _ => CommandFailure::CouldNotRun(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_end_is_in_the_list_once() {
        let failures = [CommandFailure::bad_input("x"), CommandFailure::could_not_run("x")];
        let ways = [DONE.code, CROSSED.code, UNTRUSTWORTHY.code]
            .into_iter()
            .chain(failures.iter().map(CommandFailure::code));
        for code in ways {
            assert_eq!(EXIT_CODES.iter().filter(|exit| exit.code == code).count(), 1, "{code}");
        }
    }
}
