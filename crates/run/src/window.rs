//! The measured window as all workers of a process see it.
//!
//! Hot path: relaxed atomics alone.

use crate::assignment::WindowTimes;
use crate::stop::StopFlag;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The measured window.
#[derive(Debug)]
pub(crate) struct Window {
    start_ns: AtomicU64,
    measure_from_ns: AtomicU64,
    measure_until_ns: AtomicU64,
    cancelled: AtomicBool,
    turned_count: AtomicU32,
    ended_count: AtomicU32,
    last_ended_ns: AtomicU64,
    stop: StopFlag,
}

impl Window {
    /// A window whose times come with [`Window::open`].
    pub(crate) fn new(stop: StopFlag) -> Self {
        Self {
            start_ns: AtomicU64::new(0),
            measure_from_ns: AtomicU64::new(u64::MAX),
            measure_until_ns: AtomicU64::new(u64::MAX),
            cancelled: AtomicBool::new(false),
            turned_count: AtomicU32::new(0),
            ended_count: AtomicU32::new(0),
            last_ended_ns: AtomicU64::new(0),
            stop,
        }
    }

    /// Sets the times: before the workers are started, and when the window is delayed before it has begun.
    pub(crate) fn open(&self, times: WindowTimes) {
        self.start_ns.store(times.start_ns, Ordering::Relaxed);
        self.measure_from_ns.store(times.measure_from_ns, Ordering::Relaxed);
        self.measure_until_ns.store(times.measure_until_ns, Ordering::Relaxed);
    }

    /// When the load starts.
    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns.load(Ordering::Relaxed)
    }

    /// When completions begin to count.
    pub(crate) fn measure_from_ns(&self) -> u64 {
        self.measure_from_ns.load(Ordering::Relaxed)
    }

    /// When the load stops at the latest.
    pub(crate) fn measure_until_ns(&self) -> u64 {
        self.measure_until_ns.load(Ordering::Relaxed)
    }

    /// The window's times.
    pub(crate) fn times(&self) -> WindowTimes {
        WindowTimes {
            start_ns: self.start_ns(),
            measure_from_ns: self.measure_from_ns(),
            measure_until_ns: self.measure_until_ns(),
        }
    }

    /// Whether `at_ns` is in the measured window.
    pub(crate) fn measures(&self, at_ns: u64) -> bool {
        (self.measure_from_ns()..self.measure_until_ns()).contains(&at_ns)
    }

    /// Notes that a worker's queue has turned over once.
    pub(crate) fn note_turn(&self) {
        self.turned_count.fetch_add(1, Ordering::Relaxed);
    }

    /// How many workers' queues have turned over once.
    pub(crate) fn turned_count(&self) -> u32 {
        self.turned_count.load(Ordering::Relaxed)
    }

    /// Notes that a worker's load has ended, which does more before its output is there.
    pub(crate) fn note_load_end(&self, at_ns: u64) {
        self.last_ended_ns.fetch_max(at_ns, Ordering::Relaxed);
        self.ended_count.fetch_add(1, Ordering::Release);
    }

    /// When the last of so many workers' loads has ended; `None` while some are under way.
    pub(crate) fn load_ended_ns(&self, worker_count: u32) -> Option<u64> {
        let all = self.ended_count.load(Ordering::Acquire) >= worker_count;
        all.then(|| self.last_ended_ns.load(Ordering::Relaxed))
    }

    /// Ends the trial for all workers.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether all workers must end now.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.stop.is_now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_now_ends_the_window_and_a_stop_after_the_cell_does_not() {
        let stop = StopFlag::default();
        let window = Window::new(stop.clone());
        stop.ask_sooner();
        assert!(!window.is_cancelled());
        stop.ask_sooner();
        assert!(window.is_cancelled());
    }
}
