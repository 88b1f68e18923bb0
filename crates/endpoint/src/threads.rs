//! Threads that the system may refuse: then the client is asked to come again, and nothing hangs or breaks.

use crate::channel::refused;
use narrows_probe::counters::note_ending_thread;
use narrows_wire::{Error, Refusal};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Starts `life` in a thread of `scope`, which notes how long it ran and waited for a CPU at its end.
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    life: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Error> {
    let life = || {
        let outcome = life();
        note_ending_thread();
        outcome
    };
    Builder::new().name(name.to_owned()).spawn_scoped(scope, life).map_err(|error| {
        let message = format!("the server cannot start a thread ({error}); try again with fewer connections");
        refused(Refusal::Busy, message)
    })
}
