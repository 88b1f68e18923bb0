//! Signals become requests to stop: the first Ctrl-C after the present cell; the second, SIGTERM and a closed terminal
//! at once.

use crate::exit::CommandFailure;
use narrows_run::{StopFlag, StopRequest};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// What the first Ctrl-C asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Stop after the present cell; the second one stops now.
    AfterCell,
    /// Stop now.
    Now,
}

/// Turns signals into requests on `stop` from now on; `told` is called for each.
///
/// # Errors
/// When the system refuses a signal handler.
pub(crate) fn install_handlers(
    stop: &StopFlag,
    interrupt: Interrupt,
    notify: impl Fn(StopRequest) + Send + 'static,
) -> Result<(), CommandFailure> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| CommandFailure::could_not_run(format!("catch Ctrl-C: {error}")))?;
    let stop = stop.clone();
    std::thread::spawn(move || {
        for signal in &mut signals {
            if signal == SIGINT && interrupt == Interrupt::AfterCell {
                stop.ask_sooner();
            } else {
                stop.ask(StopRequest::Now);
            }
            notify(stop.request());
        }
    });
    Ok(())
}
