//! Signals become requests to stop: the first Ctrl-C after the present cell; the second, SIGTERM and a closed terminal
//! at once.
//!
//! Before the load is started, nobody may be there to heed a request: a step of the preparation can be blocked in a
//! call. A signal then removes what was made and ends the process.

use crate::exit::CommandFailure;
use narrows_engines::own_folders::remove_own_folders;
use narrows_model::printable;
use narrows_run::{StopFlag, StopRequest};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::Write;
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest wait for the removal of what a preparation made: its file system may be what is blocked.
const REMOVED_WITHIN: Duration = Duration::from_secs(1);

/// Whether the load of this process has started. Locked by a signal that ends the process, and then for ever.
static LOAD_STARTED: Mutex<bool> = Mutex::new(false);

fn load_started() -> MutexGuard<'static, bool> {
    LOAD_STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on a signal is a request on the stop flag: whoever drives the load heeds it.
pub(crate) fn end_preparation() {
    *load_started() = true;
}

/// Waits for ever if a signal is ending this process, whose exit code is then the signal's.
pub(crate) fn wait_for_ending() {
    drop(load_started());
}

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
            let started = load_started();
            if !*started {
                end_process(signal);
            }
            drop(started);
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

/// Ends the process before its load: removes what it has made, as far as that is done in a second.
#[allow(clippy::exit, reason = "the main thread may be blocked in a call that no signal ends")]
fn end_process(signal: i32) -> ! {
    let (sender, done) = channel();
    std::thread::spawn(move || sender.send(remove_own_folders()));
    let left = done
        .recv_timeout(REMOVED_WITHIN)
        .unwrap_or_else(|_| vec!["a test folder may be left behind: `narrows clean` lists it".to_owned()]);
    let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
    let first = format!("stopped by {name} before the load was started; nothing was measured");
    let lines: Vec<String> =
        std::iter::once(first).chain(left).map(|line| format!("narrows: {line}\n")).collect();
    let text = lines.concat();
    // A closed stderr changes nothing.
    drop(std::io::stderr().write_all(printable::lines(&text).as_bytes()));
    let could_not_run = CommandFailure::could_not_run(text).code();
    std::process::exit(i32::from(could_not_run))
}
