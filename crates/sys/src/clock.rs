//! The two clocks of narrows: a monotonic one that measures, a wall clock that labels; and waiting until an instant.
//!
//! It keeps no epoch of its own: a stamp is the kernel's `CLOCK_MONOTONIC`, so stamps of all processes of one host
//! compare. It does not correct clocks of different hosts against each other. Reading is a hot path: no allocation,
//! no lock, no system call where the kernel offers the vDSO.

use std::time::SystemTime;

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

const NS_PER_S: u64 = 1_000_000_000;
/// Reads per calibration batch: long enough (about 6 us) to swamp the two stamps around it.
const BATCH_READS: u32 = 256;
/// Batches; the fastest counts, because an interruption only ever adds time.
const BATCHES: u32 = 16;

/// The monotonic clock, with what reading it costs and how finely it steps on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Monotonic {
    resolution_ns: u64,
    cost_ns: u64,
}

impl Monotonic {
    /// The clock, calibrated now.
    ///
    /// # Cost
    /// About 4,000 reads: 0.1 ms with the vDSO, a few milliseconds where every read is a system call. Make one and
    /// copy it.
    #[must_use]
    pub fn new() -> Self {
        let (mut resolution_ns, mut fastest_batch_ns) = (u64::MAX, u64::MAX);
        for _ in 0..BATCHES {
            let first_ns = read_ns();
            let mut previous_ns = first_ns;
            for _ in 0..BATCH_READS {
                let stamp_ns = read_ns();
                if stamp_ns > previous_ns {
                    resolution_ns = resolution_ns.min(stamp_ns - previous_ns);
                }
                previous_ns = stamp_ns;
            }
            if previous_ns > first_ns {
                fastest_batch_ns = fastest_batch_ns.min(previous_ns - first_ns);
            }
        }
        if resolution_ns == u64::MAX {
            // A clock so coarse that no batch saw it move: wait for one step of it.
            resolution_ns = one_step_ns();
            fastest_batch_ns = resolution_ns;
        }
        let cost_ns = fastest_batch_ns.div_ceil(u64::from(BATCH_READS)).max(1);
        Self { resolution_ns, cost_ns }
    }

    /// Nanoseconds since an arbitrary point that all processes of this host share (boot, on Linux).
    ///
    /// # Cost
    /// [`Self::cost_ns`].
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        read_ns()
    }

    /// The smallest non-zero step between two successive reads, as measured: a difference below it means nothing.
    ///
    /// Where a read costs more than the clock's true step, this is about the cost of a read.
    #[must_use]
    pub fn resolution_ns(&self) -> u64 {
        self.resolution_ns
    }

    /// What one read costs, rounded up, at least 1: the mean over the fastest of several batches of reads.
    #[must_use]
    pub fn cost_ns(&self) -> u64 {
        self.cost_ns
    }
}

impl Default for Monotonic {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a wait may end early: look at the stop request, then wait again"]
pub enum Wake {
    /// The instant was reached.
    Reached,
    /// A signal arrived first.
    Interrupted,
}

/// Sleeps until the monotonic clock reads `deadline_ns` or a signal arrives at this thread, whichever is first.
///
/// A deadline in the past returns at once. The kernel may wake late (timer slack, 50 us by default; load), never early.
pub fn wait_until(deadline_ns: u64) -> Wake {
    let deadline = timespec(deadline_ns);
    match clock_nanosleep_absolute(ClockId::Monotonic, &deadline) {
        Ok(()) => Wake::Reached,
        // Of the documented failures only EINTR can occur: clock and deadline are valid by construction.
        Err(_) => Wake::Interrupted,
    }
}

/// Sleeps for `duration_ns` or until a signal arrives at this thread, whichever is first.
pub fn wait_ns(duration_ns: u64) -> Wake {
    wait_until(read_ns().saturating_add(duration_ns))
}

/// The wall clock: for labels and file names, never for durations.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place where the wall clock is read")]
pub fn wall_time() -> SystemTime {
    SystemTime::now()
}

#[inline]
pub(crate) fn read_ns() -> u64 {
    let stamp = clock_gettime(ClockId::Monotonic);
    // CLOCK_MONOTONIC is never negative, and 2^64 ns are 584 years of uptime.
    stamp.tv_sec.unsigned_abs() * NS_PER_S + stamp.tv_nsec.unsigned_abs()
}

fn one_step_ns() -> u64 {
    let first_ns = read_ns();
    loop {
        let stamp_ns = read_ns();
        if stamp_ns > first_ns {
            return stamp_ns - first_ns;
        }
    }
}

fn timespec(instant_ns: u64) -> Timespec {
    // Both quotients fit: u64::MAX / 1e9 is below i64::MAX, and a remainder is below 1e9.
    Timespec {
        tv_sec: i64::try_from(instant_ns / NS_PER_S).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(instant_ns % NS_PER_S).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_never_go_back() {
        let clock = Monotonic::new();
        let stamps: Vec<u64> = (0..10_000).map(|_| clock.now_ns()).collect();
        assert!(stamps.is_sorted());
        assert!(stamps[9_999] > stamps[0]);
    }

    #[test]
    fn stamps_agree_with_the_kernels_uptime() {
        let text = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime_s: f64 = text.split(' ').next().unwrap().parse().unwrap();
        let stamp_s = Monotonic::new().now_ns() as f64 / 1e9;
        // Uptime counts suspended time too, so the monotonic clock may only lag behind it.
        assert!(stamp_s <= uptime_s + 5.0, "monotonic {stamp_s} s, uptime {uptime_s} s");
    }

    #[test]
    fn calibration_finds_a_positive_step_and_cost() {
        let clock = Monotonic::new();
        assert!(clock.resolution_ns() >= 1);
        assert!(clock.cost_ns() >= 1);
    }

    #[test]
    fn a_wait_never_ends_before_its_deadline() {
        let clock = Monotonic::new();
        let deadline_ns = clock.now_ns() + 2_000_000;
        while wait_until(deadline_ns) == Wake::Interrupted {}
        assert!(clock.now_ns() >= deadline_ns);
    }

    #[test]
    fn a_new_file_has_the_wall_clocks_time() {
        let before = wall_time();
        let written = tempfile::tempfile().unwrap().metadata().unwrap().modified().unwrap();
        // File stamps move with the tick, so one may be a few milliseconds before the clock.
        let slack = std::time::Duration::from_millis(100);
        assert!(before - slack <= written && written <= wall_time() + slack);
    }

    #[test]
    fn a_deadline_in_the_past_is_reached_at_once() {
        assert_eq!(wait_until(0), Wake::Reached);
    }

    #[test]
    fn the_longest_instant_splits_without_loss() {
        let split = timespec(u64::MAX);
        assert_eq!(split.tv_sec.unsigned_abs() * NS_PER_S + split.tv_nsec.unsigned_abs(), u64::MAX);
    }
}
