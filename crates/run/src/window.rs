//! The measured window as all workers of a process see it, and the counts that end a trial early.
//!
//! Hot path: relaxed atomics alone.

use crate::assignment::WindowTimes;
use crate::stop::StopFlag;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The measured window and the counts that end a trial early.
#[derive(Debug)]
pub(crate) struct Window {
    start_ns: AtomicU64,
    measure_from_ns: AtomicU64,
    measure_until_ns: AtomicU64,
    bytes_left: Option<AtomicU64>,
    ops_left: Option<AtomicU64>,
    cancelled: AtomicBool,
    stop: StopFlag,
}

impl Window {
    /// A window whose times come with [`Window::open`]; the bounds are this client's share.
    pub(crate) fn new(bytes_max: Option<u64>, ops_max: Option<u64>, stop: StopFlag) -> Self {
        Self {
            start_ns: AtomicU64::new(0),
            measure_from_ns: AtomicU64::new(u64::MAX),
            measure_until_ns: AtomicU64::new(u64::MAX),
            bytes_left: bytes_max.map(AtomicU64::new),
            ops_left: ops_max.map(AtomicU64::new),
            cancelled: AtomicBool::new(false),
            stop,
        }
    }

    /// Sets the times; before the workers are let go.
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

    /// Ends the trial for all workers.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether all workers must end now.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.stop.is_now()
    }

    /// Whether one more operation of `bytes` may start; counts it when it may.
    pub(crate) fn admit(&self, bytes: u64) -> bool {
        take(self.bytes_left.as_ref(), bytes) && take(self.ops_left.as_ref(), 1)
    }
}

/// Takes `amount` from what is left, if there is so much; the last operation may not go over.
fn take(left: Option<&AtomicU64>, amount: u64) -> bool {
    let Some(left) = left else { return true };
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_bytes_start_than_the_bound() {
        let window = Window::new(Some(10), None, StopFlag::default());
        assert!(window.admit(4) && window.admit(4));
        assert!(!window.admit(4));
        assert!(window.admit(2));
    }

    #[test]
    fn a_stop_now_ends_the_window_and_a_stop_after_the_cell_does_not() {
        let stop = StopFlag::default();
        let window = Window::new(None, None, stop.clone());
        stop.ask_sooner();
        assert!(!window.is_cancelled());
        stop.ask_sooner();
        assert!(window.is_cancelled());
    }
}
