//! How far the work after a restart of the server is; what is done is in `recovery`.

use std::collections::VecDeque;

/// Writes that are sent again at a time.
pub(super) const REWRITES_MAX: usize = 32;

/// How far the work after a restart is.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// A connection was made again while unstable data is kept: a COMMIT shows whether the server has restarted.
    pub(super) needs_probe: bool,
    pub(super) is_probing: bool,
    /// The verifier has changed: what is in flight ends first, then the lost writes are found.
    pub(super) is_draining: bool,
    /// Lost writes that have not been sent again.
    pub(super) lost: VecDeque<u32>,
    /// How many may be in flight.
    pub(super) window: usize,
    pub(super) in_flight_count: usize,
}

impl Recovery {
    /// Whether calls of the load wait.
    pub(super) fn holds_calls(&self) -> bool {
        self.needs_probe
            || self.is_probing
            || self.is_draining
            || !self.lost.is_empty()
            || self.in_flight_count > 0
    }

    pub(super) fn probe_ended(&mut self) {
        self.is_probing = false;
    }
}
