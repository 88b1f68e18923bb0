//! How soon a rank's messenger looks for messages again.

use std::time::Duration;

/// Pause between two looks while messages are exchanged: the start and the end of a trial are a dozen of them, one after the other.
const PAUSE_EXCHANGING: Duration = Duration::from_micros(20);
/// How long after a message others are expected at once.
const EXCHANGE_NS: u64 = 10_000_000;
/// Pause later, until a rank that was busy answers.
const PAUSE_EXPECTING: Duration = Duration::from_micros(200);
/// Pause while this rank's client runs its load: messages then may wait, and the processor is the load's.
const PAUSE_LOADED: Duration = Duration::from_millis(1);

/// What decides the pause.
#[derive(Debug, Default)]
pub(crate) struct MessagePolling {
    /// Whether the load of this rank's client runs.
    is_loaded: bool,
    /// The newest trial in which that client has ended.
    ended_trial: u64,
    /// When the last message was sent or received.
    exchanged_ns: u64,
}

impl MessagePolling {
    /// A message was sent or received.
    pub(crate) fn note_message(&mut self, now_ns: u64) {
        self.exchanged_ns = now_ns;
    }

    /// The client prepares for another trial.
    pub(crate) fn prepare(&mut self) {
        self.is_loaded = false;
    }

    /// The client was given the times of its load; a client that has ended may be given later ones, which change nothing.
    pub(crate) fn start(&mut self, trial: u64) {
        self.is_loaded = trial > self.ended_trial;
    }

    /// The client has ended its load, or failed.
    pub(crate) fn end(&mut self, trial: u64) {
        self.ended_trial = self.ended_trial.max(trial);
        self.is_loaded = false;
    }

    /// The pause until the next look.
    pub(crate) fn pause(&self, now_ns: u64) -> Duration {
        match now_ns.saturating_sub(self.exchanged_ns) {
            _ if self.is_loaded => PAUSE_LOADED,
            silent_ns if silent_ns < EXCHANGE_NS => PAUSE_EXCHANGING,
            _ => PAUSE_EXPECTING,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_far_apart_only_while_the_client_of_this_rank_runs_its_load() {
        const LATER_NS: u64 = 20_000_000;
        let mut polling = MessagePolling::default();
        polling.note_message(5);
        polling.prepare();
        assert_eq!((polling.pause(6), polling.pause(LATER_NS)), (PAUSE_EXCHANGING, PAUSE_EXPECTING));
        polling.start(1);
        assert_eq!((polling.pause(6), polling.pause(LATER_NS)), (PAUSE_LOADED, PAUSE_LOADED));
        polling.end(1);
        assert_eq!(polling.pause(6), PAUSE_EXCHANGING);
        // A stone wall, or a window that was moved, sends times to all clients again.
        polling.start(1);
        assert_eq!(polling.pause(6), PAUSE_EXCHANGING);
        polling.prepare();
        polling.start(2);
        assert_eq!(polling.pause(6), PAUSE_LOADED);
    }
}
