//! How long a role waits for bytes that do not come: calls return after a slice of time, and slices are counted.
//!
//! The kernel wakes the waiting call (`SO_RCVTIMEO`, `SO_SNDTIMEO`, poll): nothing spins, and no clock is read.

use super::RoleError;
use narrows_engines::host_lookup::{LOOKUP_TIMEOUT, look_up};
use narrows_model::Nanos;
use narrows_run::StopFlag;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

/// Longest time in one call: how late a stop is heeded.
pub(super) const SLICE: Duration = Duration::from_millis(100);

const SLICE_NS: u64 = 100_000_000;

/// The patience of one role in one trial.
pub(super) struct ProgressDeadline<'a> {
    stop: &'a StopFlag,
    slices_max: u64,
    slices: u64,
    moved: u64,
}

impl<'a> ProgressDeadline<'a> {
    pub(super) fn new(stop: &'a StopFlag, silence_ns: Nanos) -> Self {
        Self { stop, slices_max: silence_ns.0.div_ceil(SLICE_NS).max(1), slices: 0, moved: 0 }
    }

    /// The addresses of `host`, waited for as long as bytes are.
    ///
    /// # Errors
    /// When a stop is asked for; inside, when the resolver refuses or does not answer.
    pub(super) fn look_up(&self, host: &str, port: u16) -> Result<io::Result<Vec<SocketAddr>>, RoleError> {
        let timeout = Duration::from_nanos(self.slices_max.saturating_mul(SLICE_NS)).min(LOOKUP_TIMEOUT);
        let found = look_up(host, port, timeout, &|| self.stop.is_now());
        if self.stop.is_now() { Err(RoleError::Stopped) } else { Ok(found) }
    }

    /// A call returned with nothing after a slice; `moved` bytes have passed until now.
    ///
    /// # Errors
    /// When a stop is asked for, or nothing has moved for too long while `what` was waited for.
    pub(super) fn check_progress(&mut self, what: &str, moved: u64) -> Result<(), RoleError> {
        if self.stop.is_now() {
            return Err(RoleError::Stopped);
        }
        if moved != self.moved {
            (self.moved, self.slices) = (moved, 0);
        }
        self.slices += 1;
        if self.slices < self.slices_max {
            return Ok(());
        }
        let seconds = Duration::from_nanos(self.slices_max.saturating_mul(SLICE_NS)).as_secs_f64();
        Err(RoleError::failed(format!(
            "nothing was transferred for {seconds} s while it waited for {what}, after {moved} bytes; the peer may \
            have ended or stalled"
        )))
    }

    /// Waits until `socket` shows one of `events`.
    ///
    /// # Errors
    /// As [`ProgressDeadline::check_progress`], and when the system refuses.
    pub(super) fn wait_ready(
        &mut self,
        socket: impl AsFd,
        events: PollFlags,
        what: &str,
    ) -> Result<(), RoleError> {
        let slice = Timespec { tv_sec: 0, tv_nsec: SLICE.subsec_nanos().into() };
        loop {
            match poll(&mut [PollFd::new(&socket, events)], Some(&slice)) {
                Ok(0) => self.check_progress(what, self.moved)?,
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(RoleError::failed(format!("wait for {what}: {errno}"))),
            }
        }
    }
}
