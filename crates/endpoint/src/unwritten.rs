//! Writes of one session that were acknowledged early and are not yet in their files, whatever connection they came over.
//!
//! A connection may be closed while its queue is still worked off: who looks at the files next must wait for that.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many there are.
#[derive(Debug, Default)]
pub(crate) struct Unwritten {
    count: Mutex<u64>,
    none: Condvar,
}

impl Unwritten {
    fn count(&self) -> MutexGuard<'_, u64> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more; to be called before it is acknowledged.
    pub(crate) fn add(&self) {
        *self.count() += 1;
    }

    /// So many fewer: they are in their files, failed, or were dropped.
    pub(crate) fn done(&self, count: usize) {
        let mut left = self.count();
        *left = left.saturating_sub(count as u64);
        if *left == 0 {
            self.none.notify_all();
        }
    }

    /// Waits until there is none; whether that came in time.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let waited = self.none.wait_timeout_while(self.count(), patience, |left| *left > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_goes_on_when_the_last_is_done_and_not_before() {
        let unwritten = Unwritten::default();
        assert!(unwritten.wait(Duration::ZERO), "nothing to wait for");
        unwritten.add();
        unwritten.add();
        unwritten.done(1);
        assert!(!unwritten.wait(Duration::from_millis(1)));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| unwritten.wait(Duration::from_mins(1)));
            unwritten.done(1);
            assert!(waiting.join().unwrap());
        });
    }
}
