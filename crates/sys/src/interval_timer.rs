//! A timer of the kernel that is waited for among sockets: slices of time count, whatever else comes meanwhile.
//!
//! It reports that time has passed and not what time it is, for callers that read no clock.

use crate::error::SysErrno;
use rustix::io::read;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Slices of time, one after the other. Readable for poll once one is over.
#[derive(Debug)]
pub struct IntervalTimer {
    timer: OwnedFd,
}

impl IntervalTimer {
    /// Slices of this length from now on, which must not be zero. Source: `timerfd_create(2)`.
    ///
    /// # Errors
    /// The kernel's, out of descriptors or memory; `EINVAL` for no time, and for more than 2^63 seconds.
    pub fn start(slice: Duration) -> Result<Self, SysErrno> {
        let invalid = |_| rustix::io::Errno::INVAL;
        let tv_sec = i64::try_from(slice.as_secs()).map_err(invalid)?;
        let slice = Timespec { tv_sec, tv_nsec: slice.subsec_nanos().into() };
        if slice == Timespec::default() {
            // The kernel would take it for a timer that never ends.
            return Err(rustix::io::Errno::INVAL.into());
        }
        let times = Itimerspec { it_interval: slice, it_value: slice };
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
        Ok(Self { timer })
    }

    /// How many slices are over since the last call.
    #[must_use]
    pub fn passed(&self) -> u64 {
        let mut count = [0; 8];
        // Nothing to read: none is over.
        read(&self.timer, &mut count).map_or(0, |_| u64::from_ne_bytes(count))
    }
}

impl AsFd for IntervalTimer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    #[test]
    fn a_slice_that_is_over_wakes_who_polls_and_counts_once() {
        let ticks = IntervalTimer::start(Duration::from_millis(1)).unwrap();
        poll(&mut [PollFd::new(&ticks, PollFlags::IN)], None).unwrap();
        assert!(ticks.passed() >= 1);
        let long = IntervalTimer::start(Duration::from_hours(1)).unwrap();
        assert_eq!(long.passed(), 0);
    }

    #[test]
    fn a_slice_of_no_time_is_refused() {
        assert!(IntervalTimer::start(Duration::ZERO).is_err());
    }
}
