//! Waiting for a span of time instead of until an instant, for callers without a clock.

use super::Ring;
use crate::clock::read_ns;
use crate::error::SysErrno;

impl Ring {
    /// As [`Ring::wait`], for at most `wait_ns` from now.
    ///
    /// # Errors
    /// The kernel's number when it completes nothing any more.
    ///
    /// # Cost
    /// That of a wait, and a reading of the clock.
    pub fn wait_for(&mut self, count_min: u32, wait_ns: u64) -> Result<(), SysErrno> {
        self.wait(count_min, read_ns().saturating_add(wait_ns))
    }
}
