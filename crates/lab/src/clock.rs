//! The lab's own monotonic clock, and bounded waits on it.
//!
//! It is separate from the product's clock on purpose: the lab's times are used to check the product. It never reads
//! the wall clock.

use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock's reading.
///
/// # Units
/// Nanoseconds since an arbitrary start.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The monotonic clock is never negative and its nanoseconds are below one second.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// An instant after which waiting stops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    at_ns: u64,
}

impl Deadline {
    pub(crate) fn after(wait: Duration) -> Self {
        let wait_ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Self { at_ns: monotonic_ns().saturating_add(wait_ns) }
    }

    pub(crate) fn left(self) -> Duration {
        Duration::from_nanos(self.at_ns.saturating_sub(monotonic_ns()))
    }

    pub(crate) fn is_over(self) -> bool {
        self.left().is_zero()
    }
}

/// Waits until a descriptor reports an event or the time is over; says whether there was an event.
pub(crate) fn wait_for_event(descriptors: &mut [PollFd<'_>], wait: Duration) -> Result<bool, Errno> {
    let timeout = Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    };
    match poll(descriptors, Some(&timeout)) {
        Ok(ready_count) => Ok(ready_count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Lets 5 ms pass before a kernel state that raises no event (a cgroup emptying) is looked at again.
pub(crate) fn pause() {
    // Only a wait: an early return costs one more look.
    let _early = wait_for_event(&mut [], Duration::from_millis(5));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_of_zero_is_over_at_once() {
        assert!(Deadline::after(Duration::ZERO).is_over());
    }

    #[test]
    fn a_deadline_too_far_to_count_never_ends() {
        assert!(!Deadline::after(Duration::MAX).is_over());
    }

    #[test]
    fn the_clock_does_not_run_backwards() {
        let first = monotonic_ns();
        assert!(monotonic_ns() >= first);
    }
}
