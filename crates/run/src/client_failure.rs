//! Why a client could not run its trial, as it reports it to its parent: what to do is apart, since it is advice for the machine
//! that the client runs on.

use crate::error::RunError;
use narrows_model::printable::one_line;
use serde::{Deserialize, Serialize};

/// Why a client could not run its trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientFailure {
    /// What happened, where.
    pub message: String,
    /// What to do on the client's host; empty where nothing can be advised.
    pub hint: String,
    /// The system's name of the error; empty where it has none.
    pub errno: String,
}

impl From<RunError> for ClientFailure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Engine(mut engine) => {
                let (errno, hint) = (engine.errno(), std::mem::take(&mut engine.hint));
                Self { message: engine.to_string(), hint: one_line(&hint).into_owned(), errno }
            }
            other => Self { message: other.to_string(), hint: String::new(), errno: String::new() },
        }
    }
}
