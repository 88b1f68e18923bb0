//! How workers that have opened are started together, or dismissed, and how their opening is reported.

use narrows_engines::{EngineError, ErrorKind};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, PoisonError};

/// The signal that starts opened workers, or ends them.
#[derive(Debug, Default)]
pub(super) struct StartBarrier {
    state: Mutex<Option<bool>>,
    changed: Condvar,
}

impl StartBarrier {
    pub(super) fn set(&self, go: bool) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(go);
        self.changed.notify_all();
    }

    /// Dismisses workers that still wait when the returned value is dropped, for whatever reason.
    pub(super) fn abort_guard(&self) -> AbortGuard<'_> {
        AbortGuard { gate: self }
    }

    pub(super) fn wait(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *state {
                Some(go) => return go,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// Keeps a gate from being waited at for ever.
#[derive(Debug)]
pub(super) struct AbortGuard<'a> {
    gate: &'a StartBarrier,
}

impl Drop for AbortGuard<'_> {
    fn drop(&mut self) {
        self.gate.state.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(false);
        self.gate.changed.notify_all();
    }
}

/// How one worker's opening ended; one that ends without a word has failed.
pub(super) struct OpenReport {
    sender: Sender<Result<(), EngineError>>,
    outcome: Option<Result<(), EngineError>>,
}

impl OpenReport {
    pub(super) fn new(sender: Sender<Result<(), EngineError>>) -> Self {
        Self { sender, outcome: None }
    }

    pub(super) fn ended(mut self, outcome: Result<(), EngineError>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for OpenReport {
    fn drop(&mut self) {
        let broke = || {
            Err(EngineError::new(ErrorKind::Io, "open", "a worker")
                .detail("the worker ended while it opened"))
        };
        // The group waits for one word of each worker, so that the channel is open.
        drop(self.sender.send(self.outcome.take().unwrap_or_else(broke)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn an_opening_that_breaks_off_is_reported_as_a_failure() {
        let (sender, openings) = channel();
        let worker = std::thread::spawn(move || {
            let _opening = OpenReport::new(sender);
            unreachable!("as an engine that breaks its contract would end");
        });
        assert!(worker.join().is_err());
        let error = openings.recv().unwrap().unwrap_err();
        assert!(error.to_string().contains("ended while it opened"), "{error}");
    }

    #[test]
    fn a_gate_whose_owner_is_gone_lets_nobody_wait_and_one_that_was_set_stays_so() {
        let (left, set) = (StartBarrier::default(), StartBarrier::default());
        drop(left.abort_guard());
        let guard = set.abort_guard();
        set.set(true);
        drop(guard);
        assert_eq!((left.wait(), set.wait()), (false, true));
    }
}
