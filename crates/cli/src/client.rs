//! The hidden command of a client process: everything is said through its pipes.

use crate::exit::{CommandFailure, Exit};
use crate::identity::own_identity;
use crate::registry::registry;
use narrows_engines::{Clock, MonotonicClock};
use std::sync::Arc;

/// Its name.
pub(crate) const CLIENT_COMMAND: &str = "__client";

/// Serves the parent process until it closes the pipe.
pub(crate) fn run() -> Result<Exit, CommandFailure> {
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::new());
    narrows_run::client_process::serve(
        std::io::stdin(),
        std::io::stdout(),
        &registry(),
        &clock,
        &own_identity,
    )
    .or_else(|error| crate::exit::unless_parent_gone(&error))?;
    Ok(Exit::Done)
}
