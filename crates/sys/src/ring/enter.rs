//! Entering the kernel: to submit, to wait, and to settle what is in flight before a ring is dropped.
//!
//! Hot path: one system call a submission, and none for a wait whose completions are there.

use io_uring::{EnterFlags, types};

use super::Ring;
use crate::clock::read_ns;
use crate::error::SysErrno;

const NS_PER_S: u64 = 1_000_000_000;
/// How long the kernel may look for what it can cancel while a ring is dropped.
const CANCEL_NS: u32 = 10_000_000;

/// How a call of the kernel ended that may be repeated.
enum EnterOutcome {
    /// It did what there was to do; so many entries were taken.
    Took(u32),
    /// The deadline passed, a signal came, or the kernel has no room at present.
    CutShort,
}

impl Ring {
    /// Starts all that is queued, without waiting for any of it.
    ///
    /// What the kernel has no room for at present stays queued, and a [`Ring::wait`] starts it.
    ///
    /// # Errors
    /// The kernel's number when it takes no request any more.
    pub fn submit(&mut self) -> Result<(), SysErrno> {
        if self.grants.submission_polling {
            self.queued_count = 0;
            if self.kernel.submission().need_wakeup() {
                self.enter(0, EnterFlags::SQ_WAKEUP, None)?;
            }
            return Ok(());
        }
        while self.queued_count > 0 {
            match self.enter(0, EnterFlags::empty(), None)? {
                EnterOutcome::Took(0) | EnterOutcome::CutShort => break,
                EnterOutcome::Took(_) => {}
            }
        }
        Ok(())
    }

    /// Returns when at least `count_min` completions can be drained, or all that is in flight, or when the monotonic
    /// clock reads `until_ns`. With a count of 0 it looks once and does not wait.
    ///
    /// # Errors
    /// The kernel's number when it completes nothing any more.
    pub fn wait(&mut self, count_min: u32, until_ns: u64) -> Result<(), SysErrno> {
        let count_min = count_min.min(self.in_flight_count);
        if count_min == 0 {
            return self.look_for_all();
        }
        while self.is_short_of(count_min) {
            if self.grants.completion_polling && !self.grants.submission_polling {
                // Polling knows no deadline, so that each look is a call of its own.
                self.look()?;
            } else {
                self.sleep(count_min, until_ns)?;
            }
            // The kernel reports a passed deadline only where nothing at all has completed.
            if self.is_short_of(count_min) && read_ns() >= until_ns {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether there is still something to start, or fewer than `count_min` completions can be drained.
    fn is_short_of(&mut self, count_min: u32) -> bool {
        self.queued_count > 0 || self.ready_count() < count_min
    }

    /// Completions that can be drained.
    pub(super) fn ready_count(&mut self) -> u32 {
        // A ring has a few thousand entries.
        u32::try_from(self.kernel.completion().len()).unwrap_or(u32::MAX)
    }

    /// Lets the kernel complete what it can, without waiting.
    pub(super) fn look(&mut self) -> Result<(), SysErrno> {
        self.enter(0, EnterFlags::GETEVENTS, None).map(drop)
    }

    /// Waits in the kernel, at most to the deadline.
    fn sleep(&mut self, count_min: u32, until_ns: u64) -> Result<(), SysErrno> {
        let mut flags = EnterFlags::GETEVENTS;
        let wait_ns = if self.absolute_deadlines {
            flags |= EnterFlags::ABS_TIMER;
            until_ns
        } else {
            until_ns.saturating_sub(read_ns())
        };
        self.enter(count_min, flags, Some(wait_ns)).map(drop)
    }

    /// One call of the kernel that takes what is queued and, where `flags` say so, waits for `count_min`.
    fn enter(
        &mut self,
        count_min: u32,
        flags: EnterFlags,
        wait_ns: Option<u64>,
    ) -> Result<EnterOutcome, SysErrno> {
        let mut flags = flags;
        if self.grants.submission_polling && self.kernel.submission().need_wakeup() {
            flags |= EnterFlags::SQ_WAKEUP;
        }
        let submitter = self.kernel.submitter();
        let answer = match wait_ns {
            // SAFETY: every queued entry was made by `queue`, which vouches for what it points to.
            None => unsafe {
                submitter.enter::<libc::sigset_t>(self.queued_count, count_min, flags.bits(), None)
            },
            Some(wait_ns) => {
                let end = timespec(wait_ns);
                let arguments = types::SubmitArgs::new().timespec(&end);
                let flags = flags | EnterFlags::EXT_ARG;
                // SAFETY: as above; the argument is the structure that EXT_ARG announces, and it and the time it
                // points to outlive the call.
                unsafe { submitter.enter(self.queued_count, count_min, flags.bits(), Some(&arguments)) }
            }
        };
        match answer.map_err(SysErrno::from) {
            Ok(taken) => {
                // The kernel takes at most what it was given.
                let taken = u32::try_from(taken).unwrap_or(u32::MAX).min(self.queued_count);
                self.queued_count -= taken;
                Ok(EnterOutcome::Took(taken))
            }
            Err(errno) => match errno.raw() {
                libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY => Ok(EnterOutcome::CutShort),
                _ => Err(errno),
            },
        }
    }

    /// Cancels what is in flight and waits for it; whether the kernel has nothing any more.
    pub(super) fn settle(&mut self, timeout_ns: u64) -> bool {
        if !self.grants.submission_polling {
            // What was queued and never submitted is not the kernel's.
            self.in_flight_count -= self.queued_count;
        }
        self.queued_count = 0;
        if self.in_flight_count == 0 {
            return true;
        }
        // A kernel that cannot cancel all at once completes what there is, or keeps it.
        let cancel_timeout = types::Timespec::new().nsec(CANCEL_NS);
        drop(self.kernel.submitter().register_sync_cancel(Some(cancel_timeout), types::CancelBuilder::any()));
        let until_ns = read_ns().saturating_add(timeout_ns);
        while self.in_flight_count > 0 && read_ns() < until_ns {
            if self.wait(self.in_flight_count, until_ns).is_err() {
                break;
            }
            self.drain(|_| {});
        }
        self.in_flight_count == 0
    }
}

fn timespec(ns: u64) -> types::Timespec {
    // A remainder is below 1e9, so it fits.
    types::Timespec::new().sec(ns / NS_PER_S).nsec(u32::try_from(ns % NS_PER_S).unwrap_or(0))
}
