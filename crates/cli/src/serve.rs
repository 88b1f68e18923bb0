//! `narrows serve`: an endpoint that runs until it is stopped.

use crate::args::{ServeArguments, niceness};
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::measurement::epoch_seconds;
use crate::signals::{self, Interrupt};
use crate::token;
use narrows_endpoint::{ServeOptions, Server};
use narrows_engines::MonotonicClock;
use narrows_model::units::round_to_u64;
use narrows_run::{StopFlag, StopRequest};
use narrows_sys::niceness::set_niceness;
use std::io::Read;
use std::sync::Arc;

/// Runs the command.
pub(crate) fn run(arguments: &ServeArguments, console: &Console) -> Result<Exit, CommandFailure> {
    // Before any thread is started: all of them inherit it.
    if let Some(nice) = niceness(arguments.priority) {
        set_niceness(nice).map_err(|error| CommandFailure::could_not_run(error.to_string()))?;
    }
    let stop = StopFlag::default();
    signals::install_handlers(&stop, Interrupt::Now, |_| {})?;
    let mut options = ServeOptions::new(arguments.listen, Arc::new(MonotonicClock::new()));
    options.started_at_s = epoch_seconds();
    options.root.clone_from(&arguments.root);
    options.token = if arguments.token_from_stdin {
        Some(token::from_stdin()?)
    } else {
        token::read(arguments.token_file.as_deref())?
    };
    options.quota_bytes = Some(arguments.max_bytes.0);
    options.memory_bytes_max = options.memory_bytes_max.min(arguments.max_bytes.0);
    options.connections_max = arguments.max_connections;
    options.disk_threads_max = arguments.disk_threads;
    options.seconds_max = Some(round_to_u64(arguments.max_seconds).max(1));
    let server = Server::bind(options).map_err(|error| refused(&error))?;
    if let Some(notice) = server.notice() {
        console.say(&narrows_model::printable::one_line(&notice.to_string()));
    }
    signals::end_preparation();
    console.result(&format!("listening on {}\n", server.local_address()))?;
    if arguments.until_stdin_ends {
        let stop = stop.clone();
        std::thread::spawn(move || {
            // Whatever ends the pipe, its writer is gone.
            drop(std::io::stdin().lock().read_to_end(&mut Vec::new()));
            stop.ask(StopRequest::Now);
        });
    }
    match server.run(&stop) {
        Ok(()) => Ok(Exit::Done),
        Err(error) if error.kind == narrows_endpoint::ServeErrorKind::Leftover => {
            console.say(&format!("narrows: {error}"));
            Ok(Exit::Untrustworthy)
        }
        Err(error) => Err(CommandFailure::could_not_run(error.to_string())),
    }
}

fn refused(error: &narrows_endpoint::ServeError) -> CommandFailure {
    use narrows_endpoint::ServeErrorKind::{Options, Root};
    match error.kind {
        Options | Root => CommandFailure::bad_input(error.to_string()),
        _ => CommandFailure::could_not_run(error.to_string()),
    }
}
