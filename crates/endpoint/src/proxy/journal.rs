//! What goes wrong, reported in lines: each kind at most once a second, so that a flood of failures is a line and a
//! number.

use narrows_engines::Clock;
use std::sync::{Arc, Mutex, PoisonError};

const PAUSE_NS: u64 = 1_000_000_000;

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
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

/// When a kind was last reported, and how often it was suppressed since.
#[derive(Debug, Clone, Copy, Default)]
struct LastReport {
    at_ns: Option<u64>,
    suppressed_count: u64,
}

/// Reports each kind of failure at most once a second.
pub(super) struct Journal {
    output: Arc<dyn Fn(&str) + Send + Sync>,
    clock: Arc<dyn Clock>,
    last_reports: Mutex<[LastReport; KINDS]>,
}

impl Journal {
    pub(super) fn new(output: Arc<dyn Fn(&str) + Send + Sync>, clock: Arc<dyn Clock>) -> Self {
        Self { output, clock, last_reports: Mutex::default() }
    }

    /// Prints `line`, or counts it.
    pub(super) fn report(&self, kind: FaultKind, line: &str) {
        let now_ns = self.clock.now().0;
        let suppressed_count = {
            let mut all = self.last_reports.lock().unwrap_or_else(PoisonError::into_inner);
            let last = &mut all[kind as usize];
            if last.at_ns.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) < PAUSE_NS) {
                last.suppressed_count += 1;
                return;
            }
            let suppressed_count = last.suppressed_count;
            *last = LastReport { at_ns: Some(now_ns), suppressed_count: 0 };
            suppressed_count
        };
        match suppressed_count {
            0 => (self.output)(line),
            count => (self.output)(&format!("{line} ({count} more like it before)")),
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
        let output = Arc::new(move |line: &str| heard.lock().unwrap().push(line.to_owned()));
        let journal = Journal::new(output, Arc::clone(&clock) as Arc<dyn Clock>);
        for _ in 0..3 {
            journal.report(FaultKind::Full, "full");
            journal.report(FaultKind::Loop, "loop");
        }
        clock.0.store(PAUSE_NS, Ordering::Relaxed);
        journal.report(FaultKind::Full, "full");
        assert_eq!(*lines.lock().unwrap(), ["full", "loop", "full (2 more like it before)"]);
    }
}
