//! What is in flight, slot by slot: how much of each transfer is done, and which sync is due after it.
//!
//! Pure: it never enters the kernel. Hot path: no allocation.

use crate::clock::{Clock, Tick};
use crate::files::SyncCount;
use crate::request::{Errno, IoCompletion};
use narrows_model::Histogram;
use narrows_model::workload::SyncPolicy;
use narrows_sys::ring::{RingCompletion, RingOp, RingRequest};
use std::sync::Arc;

/// A request of the worker's, of which one step is in the ring.
#[derive(Debug, Clone, Copy)]
struct RingFlight {
    tag: u32,
    /// The request as it was first.
    whole: RingRequest,
    done_bytes: u32,
    /// Its write is done, and the sync that completes it is in the ring since then.
    sync_from: Option<Tick>,
}

/// Every slot's flight.
#[derive(Debug)]
pub(super) struct RingFlights {
    slots: Vec<RingFlight>,
    next_steps: Vec<RingRequest>,
    sync_count: SyncCount,
}

impl RingFlights {
    /// For `depth` slots, with a sync after as many writes as `sync` says.
    pub(super) fn new(depth: u32, sync: SyncPolicy, clock: &Arc<dyn Clock>) -> Self {
        let whole = RingRequest {
            op: RingOp::Read,
            slot: 0,
            file: 0,
            offset_bytes: 0,
            length_bytes: 0,
            block_offset_bytes: 0,
        };
        let none = RingFlight { tag: 0, whole, done_bytes: 0, sync_from: None };
        Self {
            slots: vec![none; depth as usize],
            next_steps: Vec::with_capacity(depth as usize),
            sync_count: SyncCount::new(sync, clock),
        }
    }

    /// The ring has taken `first`, all of the worker's request `tag`.
    #[inline]
    pub(super) fn started(&mut self, tag: u32, first: RingRequest) {
        if let Some(flight) = self.slots.get_mut(first.slot as usize) {
            *flight = RingFlight { tag, whole: first, done_bytes: 0, sync_from: None };
        }
    }

    /// The worker's completion that an answer of the ring makes; `None` where another step follows.
    #[inline]
    pub(super) fn answered(&mut self, done: RingCompletion) -> Option<IoCompletion> {
        let flight = self.slots.get_mut(done.slot as usize)?;
        let moved = match done.result {
            Err(errno) => return Some(IoCompletion { tag: flight.tag, result: Err(Errno(errno.raw())) }),
            Ok(moved) => moved,
        };
        let completion = |result| Some(IoCompletion { tag: flight.tag, result: Ok(result) });
        match flight.whole.op {
            RingOp::Fdatasync => return completion(0),
            RingOp::PunchHole => return completion(flight.whole.length_bytes),
            RingOp::Write if flight.sync_from.is_some() => {
                flight.sync_from.into_iter().for_each(|from| self.sync_count.ended(from));
                return completion(flight.done_bytes);
            }
            RingOp::Read | RingOp::Write => {}
        }
        flight.done_bytes = flight.done_bytes.saturating_add(moved);
        if moved > 0 && flight.done_bytes < flight.whole.length_bytes {
            self.next_steps.push(rest(flight));
            return None;
        }
        if flight.whole.op == RingOp::Write && self.sync_count.is_due_after_write() {
            flight.sync_from = Some(self.sync_count.started());
            self.next_steps.push(RingRequest { op: RingOp::Fdatasync, ..flight.whole });
            return None;
        }
        Some(IoCompletion { tag: flight.tag, result: Ok(flight.done_bytes) })
    }

    /// Times of the syncs that followed writes, from when they were due; `None` where none are asked for.
    pub(super) fn sync_times(&self) -> Option<&Histogram> {
        self.sync_count.times()
    }

    /// Whether a step is to be put into the ring.
    #[inline]
    pub(super) fn has_next_step(&self) -> bool {
        !self.next_steps.is_empty()
    }

    /// A step to be put into the ring, in the slot of the step before it.
    pub(super) fn next_step(&mut self) -> Option<RingRequest> {
        self.next_steps.pop()
    }
}

fn rest(flight: &RingFlight) -> RingRequest {
    RingRequest {
        offset_bytes: flight.whole.offset_bytes + u64::from(flight.done_bytes),
        length_bytes: flight.whole.length_bytes - flight.done_bytes,
        block_offset_bytes: flight.done_bytes,
        ..flight.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flights(depth: u32, sync: SyncPolicy) -> RingFlights {
        let clock: Arc<dyn Clock> = Arc::new(crate::clock::VirtualClock::default());
        RingFlights::new(depth, sync, &clock)
    }

    fn write(slot: u32) -> RingRequest {
        RingRequest {
            op: RingOp::Write,
            slot,
            file: 0,
            offset_bytes: 8192,
            length_bytes: 4096,
            block_offset_bytes: 0,
        }
    }

    fn answer(slot: u32, bytes: u32) -> RingCompletion {
        RingCompletion { slot, result: Ok(bytes) }
    }

    #[test]
    fn the_rest_of_a_short_transfer_follows_in_its_slot_until_nothing_more_comes() {
        let mut flights = flights(1, SyncPolicy::None);
        flights.started(5, write(0));
        assert_eq!(flights.answered(answer(0, 1000)), None);
        let rest = flights.next_step().unwrap();
        assert_eq!((rest.offset_bytes, rest.length_bytes, rest.block_offset_bytes), (9192, 3096, 1000));
        assert_eq!(flights.answered(answer(0, 0)), Some(IoCompletion { tag: 5, result: Ok(1000) }));
        assert!(!flights.has_next_step());
    }

    #[test]
    fn the_last_of_so_many_writes_completes_with_its_sync() {
        let mut flights = flights(2, SyncPolicy::Every(2));
        flights.started(0, write(0));
        flights.started(1, write(1));
        assert_eq!(flights.answered(answer(1, 4096)), Some(IoCompletion { tag: 1, result: Ok(4096) }));
        assert_eq!(flights.answered(answer(0, 4096)), None);
        let sync = flights.next_step().unwrap();
        assert_eq!((sync.op, sync.slot), (RingOp::Fdatasync, 0));
        assert_eq!(flights.answered(answer(0, 0)), Some(IoCompletion { tag: 0, result: Ok(4096) }));
    }

    #[test]
    fn a_failed_sync_fails_its_write() {
        let mut flights = flights(1, SyncPolicy::Every(1));
        flights.started(3, write(0));
        assert_eq!(flights.answered(answer(0, 4096)), None);
        let failed = RingCompletion { slot: 0, result: Err(narrows_sys::SysErrno::from_raw(5)) };
        assert_eq!(flights.answered(failed), Some(IoCompletion { tag: 3, result: Err(Errno(5)) }));
    }
}
