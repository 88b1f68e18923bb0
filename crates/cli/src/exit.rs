//! Exit codes, and failures that carry one.

use narrows_engines::{EngineError, ErrorKind};
use narrows_record::RecordError;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Measured, but not trustworthy.
    Untrustworthy,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => ExitCode::SUCCESS,
            Exit::Untrustworthy => ExitCode::from(4),
        }
    }
}

/// Why a command could not be done.
#[derive(Debug)]
pub enum Failure {
    /// The input must be corrected: exit code 2.
    BadInput(anyhow::Error),
    /// The command could not run: exit code 3.
    CouldNotRun(anyhow::Error),
}

impl Failure {
    /// The input must be corrected, as `message` says.
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Failure::BadInput(anyhow::Error::msg(message.into()))
    }

    /// The command could not run, for the reason in `message`.
    pub(crate) fn could_not_run(message: impl Into<String>) -> Self {
        Failure::CouldNotRun(anyhow::Error::msg(message.into()))
    }

    /// The process's exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::BadInput(_) => 2,
            Failure::CouldNotRun(_) => 3,
        }
    }

    /// What happened, where, what to do.
    pub(crate) fn message(&self) -> String {
        match self {
            // Every error of the crates below tells of its source itself.
            Failure::BadInput(error) | Failure::CouldNotRun(error) => error.to_string(),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error.kind {
            ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::Token => {
                Failure::BadInput(error.into())
            }
            _ => Failure::CouldNotRun(error.into()),
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        use narrows_record::ErrorKind::{FromTheFuture, Malformed, NotARecord, Occupied};
        match error.kind() {
            Occupied | NotARecord | FromTheFuture | Malformed => Failure::BadInput(error.into()),
            _ => Failure::CouldNotRun(error.into()),
        }
    }
}
