//! The hidden command of a client process: everything is said through its pipes.

use crate::exit::{Exit, Failure};
use narrows_engines::{Clock, EngineRegistry, MonotonicClock};
use std::sync::Arc;

/// Serves the parent process until it closes the pipe.
pub(crate) fn run() -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::new());
    narrows_run::client_process::serve(
        std::io::stdin(),
        std::io::stdout(),
        &EngineRegistry::for_user(),
        &clock,
    )
    .map_err(|error| Failure::could_not_run(format!("speak with the parent process: {error}")))?;
    Ok(Exit::Done)
}
