//! One member of a stripe: its engine, what waits for it, and how much may be in flight there.
//!
//! Hot path: no allocation below the depth it was made for.

use crate::clock::Tick;
use crate::contract::{Engine, ProtocolCounters, Readiness};
use crate::error::EngineError;
use crate::request::{Completions, IoRequest, Slot};
use std::collections::VecDeque;

/// One member of a stripe.
pub(super) struct StripeMember {
    engine: Box<dyn Engine>,
    /// Parts of committed requests that the member has not taken yet, in their order.
    waiting: VecDeque<IoRequest>,
    in_flight: usize,
    in_flight_max: usize,
}

impl std::fmt::Debug for StripeMember {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StripeMember")
            .field("effective", self.engine.effective())
            .field("waiting", &self.waiting.len())
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

impl StripeMember {
    /// A member served by `engine`, with at most `in_flight_max` parts in flight.
    pub(super) fn new(engine: Box<dyn Engine>, in_flight_max: u32) -> Self {
        let depth = engine.effective().queue_depth as usize;
        let in_flight_max = depth.min(in_flight_max as usize).max(1);
        Self { engine, waiting: VecDeque::with_capacity(depth), in_flight: 0, in_flight_max }
    }

    pub(super) fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    /// The member's own buffer for its part of the request in `slot`.
    pub(super) fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.engine.buffer(slot)
    }

    /// Adds a part behind those that wait.
    pub(super) fn push(&mut self, part: IoRequest) {
        self.waiting.push_back(part);
    }

    /// Starts what waits, as far as the limit lets it.
    pub(super) fn start(&mut self) -> Result<(), EngineError> {
        let mut started = false;
        while self.in_flight < self.in_flight_max
            && let Some(part) = self.waiting.front()
        {
            if self.engine.queue(std::slice::from_ref(part))? == 0 {
                break;
            }
            self.waiting.pop_front();
            self.in_flight += 1;
            started = true;
        }
        if started { self.engine.commit() } else { Ok(()) }
    }

    /// Whether parts are in flight there.
    pub(super) fn is_busy(&self) -> bool {
        self.in_flight > 0
    }

    /// What shows that parts of it are done; `None` where that is seen by looking.
    pub(super) fn readiness(&mut self) -> Result<Option<Readiness<'_>>, EngineError> {
        self.engine.readiness()
    }

    /// Adds the parts that are done to `out`, and waits for one of them at most until `until` where `waits`.
    pub(super) fn reap(
        &mut self,
        waits: bool,
        until: Tick,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        let before = out.len();
        self.engine.reap(u32::from(waits), until, out)?;
        self.in_flight = self.in_flight.saturating_sub(out.len() - before);
        Ok(())
    }

    pub(super) fn counters(&mut self, out: &mut ProtocolCounters) {
        self.engine.counters(out);
    }

    pub(super) fn close(self) -> Result<(), EngineError> {
        self.engine.close()
    }
}
