//! A ring that is waited for beside other things: an event counter that can be polled.
//!
//! The ring's own descriptor is not polled: where the kernel puts its work off until the ring is entered
//! (`IORING_SETUP_DEFER_TASKRUN`), a poller of it is not woken by that work (seen on Linux 6.18), but the counter is
//! notified. Hot path: no allocation.
//!
//! # Source
//! `io_uring_register(2)`, `IORING_REGISTER_EVENTFD`; `eventfd(2)`.

use super::Ring;
use crate::error::SysErrno;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

impl Ring {
    /// What can be read as soon as a [`Ring::wait`] of none brings a completion; `None` where one can be drained
    /// already. From the first call on each completion costs the kernel a little more.
    ///
    /// # Errors
    /// The kernel's number when it counts no completions of this ring.
    pub fn event(&mut self) -> Result<Option<BorrowedFd<'_>>, SysErrno> {
        if self.event.is_none() {
            let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(|errno| SysErrno::from_raw(errno.raw_os_error()))?;
            self.kernel.submitter().register_eventfd(event.as_raw_fd()).map_err(SysErrno::from)?;
            self.event = Some(event);
            // Completions from before the kernel counted are not signalled.
            self.look()?;
        }
        if self.ready_count() > 0 {
            return Ok(None);
        }
        Ok(self.event.as_ref().map(AsFd::as_fd))
    }

    /// Lets the kernel complete all that it can. It does a batch of its work at a time and counts once for all of it,
    /// so that who waits for the counter must leave none of it.
    pub(super) fn look_for_all(&mut self) -> Result<(), SysErrno> {
        if let Some(event) = &self.event {
            // Nothing to read is no failure: the count is looked at below anyway.
            rustix::io::read(event, &mut [0; 8]).ok();
        }
        loop {
            let before = self.ready_count();
            if self.in_flight_count <= before {
                return Ok(());
            }
            self.look()?;
            if self.event.is_none() || self.ready_count() == before {
                return Ok(());
            }
        }
    }
}
