//! What goes wrong, told in lines: each kind at most once a second, so that a flood of failures is a line and a number.

use narrows_engines::Clock;
use std::sync::{Arc, Mutex, PoisonError};

const PAUSE_NS: u64 = 1_000_000_000;

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The next hop took no connection.
    Unreachable,
    /// There were too many connections.
    Full,
    /// A connection was silent for too long.
    Idle,
    /// The machine refused what a connection needs.
    Machine,
    /// A connection came back to where it had been.
    Loop,
    /// Somebody was refused an answer of the proxy itself.
    Refused,
}

const KINDS: usize = 6;

/// When a kind was told last, and how often it was not told since.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    at_ns: Option<u64>,
    untold_count: u64,
}

/// Tells each kind of trouble at most once a second.
pub(super) struct Journal {
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    clock: Arc<dyn Clock>,
    told: Mutex<[Told; KINDS]>,
}

impl Journal {
    pub(super) fn new(tell: Arc<dyn Fn(&str) + Send + Sync>, clock: Arc<dyn Clock>) -> Self {
        Self { tell, clock, told: Mutex::default() }
    }

    /// Tells `line`, or counts it.
    pub(super) fn tell(&self, trouble: Trouble, line: &str) {
        let now_ns = self.clock.now().0;
        let untold_count = {
            let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let told = &mut all[trouble as usize];
            if told.at_ns.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) < PAUSE_NS) {
                told.untold_count += 1;
                return;
            }
            let untold_count = told.untold_count;
            *told = Told { at_ns: Some(now_ns), untold_count: 0 };
            untold_count
        };
        match untold_count {
            0 => (self.tell)(line),
            count => (self.tell)(&format!("{line} ({count} more like it before)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_engines::Tick;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Default)]
    struct Hand(AtomicU64);

    impl Clock for Hand {
        fn now(&self) -> Tick {
            Tick(self.0.load(Ordering::Relaxed))
        }

        fn wait_until(&self, _deadline: Tick) {}
    }

    #[test]
    fn a_flood_is_a_line_a_second_with_its_number() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (clock, heard) = (Arc::new(Hand::default()), Arc::clone(&lines));
        let tell = Arc::new(move |line: &str| heard.lock().unwrap().push(line.to_owned()));
        let journal = Journal::new(tell, Arc::clone(&clock) as Arc<dyn Clock>);
        for _ in 0..3 {
            journal.tell(Trouble::Full, "full");
            journal.tell(Trouble::Loop, "loop");
        }
        clock.0.store(PAUSE_NS, Ordering::Relaxed);
        journal.tell(Trouble::Full, "full");
        assert_eq!(*lines.lock().unwrap(), ["full", "loop", "full (2 more like it before)"]);
    }
}
