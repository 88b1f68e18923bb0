//! How a worker starts requests: makes them for free places, hands them over, waits for their start.
//!
//! Hot path: no allocation, no lock; one clock read a commit, none at depth 1, where the last completion's stamp is
//! the submission's.

use super::stamp::stamp_block;
use super::state::WorkerState;
use super::verifier::UNITS_WAIT_NS;
use super::{REAP_SLICE_NS, Worker};
use narrows_engines::{Clock, EngineError, ErrorKind, IoRequest, Slot, Tick};
use narrows_model::Op;

/// By so much the clocks of two hosts may differ in where a window ends.
const CLOCKS_DIFFER_NS: u64 = 1_000_000;
/// A stop or a stone wall that another client has noticed arrives here within this time.
const NOTICE_NS: u64 = 1_000_000_000;
/// Pause between two looks for it.
const NOTICE_PAUSE_NS: u64 = 1_000_000;
/// From this delay on, a request that was due and had its place was delayed by the worker itself: timers and the
/// kernel's scheduler stay well within it on a CPU that is not shared.
const DELAYED_NS: u64 = 1_000_000;

impl<C: Clock + ?Sized> Worker<'_, C> {
    /// Submits as much as there is room and leave for, with one commit; returns how much is in flight then.
    pub(super) fn submit(&mut self, flight: &mut WorkerState) -> Result<usize, EngineError> {
        if flight.verifier.is_some() {
            self.fill_verified(flight);
        } else if flight.write_back.is_some() {
            self.fill_writing_back(flight);
        } else if flight.objects.is_none() {
            // Of a load of objects the one request there is was left in the batch by `perform_objects`.
            self.fill_batch::<false>(flight);
        }
        if !flight.batch.is_empty() {
            if flight.places.len() > 1 || flight.verifier.is_some() {
                flight.stamp = self.clock.now().0;
            }
            let taken = self.engine.queue(&flight.batch)?;
            let scheduled = flight.starts.are_scheduled();
            for request in &flight.batch[..taken] {
                let place = &mut flight.places[request.tag as usize];
                place.submitted_ns = flight.stamp;
                if !scheduled {
                    place.from_ns = flight.stamp;
                }
            }
            // What was not taken is offered again before anything new.
            if taken == flight.batch.len() {
                flight.batch.clear();
            } else {
                flight.batch.drain(..taken);
            }
            self.engine.commit()?;
            if taken == 0 && flight.in_flight() == 0 {
                return self.end_with_others(flight).map(|()| 0);
            }
        }
        Ok(flight.in_flight())
    }

    /// Ends the load where the engine takes nothing because another client in step with this one has ended.
    ///
    /// # Errors
    /// When it takes nothing for another reason, or when the other one has ended before its time.
    #[cold]
    fn end_with_others(&self, flight: &mut WorkerState) -> Result<(), EngineError> {
        let error = |operation: &'static str| {
            EngineError::new(ErrorKind::Io, operation, self.assignment.target().to_string())
        };
        if !self.engine.has_ended() {
            return Err(error("queue").detail("the engine accepts no request though none is in flight"));
        }
        flight.withdraw_batch();
        flight.ending = true;
        let ended_ns = self.clock.now().0;
        flight.stamp = ended_ns;
        while flight.stamp.saturating_sub(ended_ns) < NOTICE_NS {
            let is_over = ended_ns.saturating_add(CLOCKS_DIFFER_NS) >= self.window.measure_until_ns();
            if is_over || self.window.is_cancelled() {
                return Ok(());
            }
            self.clock.wait_until(Tick(flight.stamp.saturating_add(NOTICE_PAUSE_NS)));
            flight.stamp = self.clock.now().0;
        }
        Err(error("continue on")
            .detail("another client has ended before this one, and their calls are made together")
            .hint("see the errors of the others"))
    }

    /// As [`Worker::fill_batch`], for requests of which each must have its units first; counts what that costs.
    #[cold]
    fn fill_verified(&mut self, flight: &mut WorkerState) {
        let began_ns = self.clock.now().0;
        if flight.admit_waiting(self.engine.as_mut()) {
            self.fill_batch::<true>(flight);
        }
        flight.count_cost(began_ns, self.clock.now().0);
    }

    /// Makes requests for the free places that may start now; two functions, so that a load that is not verified pays
    /// nothing for those that are.
    pub(super) fn fill_batch<const VERIFIED: bool>(&mut self, flight: &mut WorkerState) {
        while let Some(tag) = flight.free.last().copied() {
            let allowed_ns = if flight.starts.are_gated() { flight.starts.next_ns() } else { 0 };
            if flight.starts.are_gated() {
                if allowed_ns > flight.stamp {
                    break;
                }
                if flight.end_seen_ns > 0 && !self.has_backlog(flight) {
                    flight.ending = true;
                    break;
                }
            }
            let kind_index = flight.kinds.draw();
            let kind = *flight.kinds.get(kind_index);
            if !flight.left.take(kind.length_bytes) {
                // Before the window what is in flight gives back what it took.
                if flight.measuring || flight.free.len() == flight.places.len() {
                    (flight.exhausted, flight.ending) = (true, true);
                }
                break;
            }
            flight.free.pop();
            let place = &mut flight.places[tag as usize];
            place.kind = kind_index;
            if flight.starts.are_gated() {
                place.from_ns = flight.starts.started(u64::from(kind.length_bytes), flight.stamp);
                if self.window.measures(place.from_ns) {
                    flight.arrivals.started += 1;
                    flight.arrivals.late += u64::from(flight.end_seen_ns > 0);
                    let own_ns = flight.stamp.saturating_sub(allowed_ns.max(flight.freed_ns));
                    flight.arrivals.delayed += u64::from(own_ns > DELAYED_NS);
                }
            }
            let offset_bytes = match kind.length_bytes {
                0 => 0,
                length_bytes => flight.blocks.next_offset_bytes(u64::from(length_bytes)),
            };
            let request = IoRequest {
                tag,
                op: kind.op,
                object: flight.object,
                offset_bytes,
                length_bytes: kind.length_bytes,
                slot: Slot(tag),
            };
            if VERIFIED {
                if !flight.admit(request, self.engine.as_mut()) {
                    break;
                }
                continue;
            }
            if kind.op.moves_towards_device() {
                self.stamp(&request, flight.stamp);
            }
            flight.batch.push(request);
        }
    }

    /// Makes the block that `request` writes differ from all others.
    #[inline]
    pub(super) fn stamp(&mut self, request: &IoRequest, stamp: u64) {
        let buffer = self.engine.buffer(request.slot);
        let length = buffer.len().min(request.length_bytes as usize);
        stamp_block(&mut buffer[..length], request.offset_bytes, stamp);
    }

    /// Waits until the next request may start, but no longer than a slice or to the window's next border.
    pub(super) fn wait_for_start(&mut self, flight: &mut WorkerState) {
        let retry_ns = if flight.has_waiting() { flight.stamp + UNITS_WAIT_NS } else { 0 };
        let until_ns = flight.starts.next_ns().max(retry_ns);
        let until_ns = until_ns.min(self.next_border_ns(flight)).min(flight.stamp + REAP_SLICE_NS);
        let spin_ns = if flight.starts.are_scheduled() { self.clock.spin_ns() } else { 0 };
        self.clock.wait_until(Tick(until_ns.saturating_sub(spin_ns)));
        flight.stamp = self.clock.now().0;
        // Bounded: the clock runs, and what is left is at most what it spins.
        while spin_ns > 0 && flight.stamp < until_ns {
            std::hint::spin_loop();
            flight.stamp = self.clock.now().0;
        }
    }

    /// The final sync.
    pub(super) fn final_sync(&mut self, flight: &mut WorkerState) -> Result<(), EngineError> {
        let object = flight.object;
        let request =
            IoRequest { tag: 0, op: Op::Sync, object, offset_bytes: 0, length_bytes: 0, slot: Slot(0) };
        self.perform_alone(request, flight)
    }

    /// One request by itself, outside of the load; its completion is left where all are.
    pub(super) fn perform_alone(
        &mut self,
        request: IoRequest,
        flight: &mut WorkerState,
    ) -> Result<(), EngineError> {
        self.engine.queue(&[request])?;
        self.engine.commit()?;
        flight.completions.clear();
        while flight.completions.is_empty() && !self.window.is_cancelled() {
            self.engine.reap(1, Tick(self.clock.now().0 + REAP_SLICE_NS), &mut flight.completions)?;
        }
        flight.stamp = self.clock.now().0;
        Ok(())
    }
}
