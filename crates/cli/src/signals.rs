//! Signals become requests to stop: the first Ctrl-C after the present cell, the second, SIGTERM and a
//! terminal that goes away now.

use crate::exit::Failure;
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

/// Turns signals into requests on `stop` from now on; `told` hears of each.
///
/// # Errors
/// When the system refuses a signal handler.
pub(crate) fn heed(
    stop: &StopFlag,
    interrupt: Interrupt,
    told: impl Fn(StopRequest) + Send + 'static,
) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::could_not_run(format!("catch Ctrl-C: {error}")))?;
    let stop = stop.clone();
    std::thread::spawn(move || {
        for signal in &mut signals {
            if signal == SIGINT && interrupt == Interrupt::AfterCell {
                stop.ask_sooner();
            } else {
                stop.ask(StopRequest::Now);
            }
            told(stop.request());
        }
    });
    Ok(())
}
