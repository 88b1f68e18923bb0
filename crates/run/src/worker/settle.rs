//! How a worker processes completions: checks each against its own request and counts it.
//!
//! Hot path: no allocation, no lock, one clock read a batch. Requests that were submitted together and completed
//! together have one response time, which is recorded once for all of them.

use super::state::{WorkerFaults, WorkerState};
use super::{ERRORS_MAX, REAP_SLICE_NS, Worker};
use narrows_engines::request::{Errno, IoCompletion};
use narrows_engines::{Clock, Completions, EngineError, Tick};
use narrows_model::Op;
use narrows_model::verification::DATA_MISMATCH;

/// Completions with the same response time, not yet recorded.
#[derive(Default)]
struct ResponseBatch {
    op_count: u64,
    bytes: u64,
    response_ns: u64,
}

impl<C: Clock + ?Sized> Worker<'_, C> {
    /// Waits for completions and counts them.
    pub(super) fn reap(&mut self, flight: &mut WorkerState) -> Result<(), EngineError> {
        let (min, until_ns) = self.reap_limits(flight);
        flight.completions.clear();
        self.engine.reap(min, Tick(until_ns), &mut flight.completions)?;
        let now_ns = self.clock.now().0;
        self.count(flight, now_ns);
        Ok(())
    }

    /// Counts what has completed by `now_ns`.
    #[inline]
    pub(super) fn count(&mut self, flight: &mut WorkerState, now_ns: u64) {
        flight.stamp = now_ns;
        if flight.stamp >= flight.next_event_ns {
            // An engine that blocks hands over the window's first completion after its start: it counts.
            self.cross_into_window(flight);
        }
        if !flight.completions.is_empty() {
            if let Some(write_back) = &mut flight.write_back {
                write_back.note(flight.completions.as_slice(), &flight.places);
            }
            if flight.verifier.is_some() {
                let stamp = flight.stamp;
                self.settle::<true>(flight);
                flight.count_cost(stamp, self.clock.now().0);
            } else {
                self.settle::<false>(flight);
            }
        }
    }

    /// How many completions to wait for, and until when at the latest: a free place whose request is due before ends
    /// the wait, as does the window's border.
    fn reap_limits(&self, flight: &WorkerState) -> (u32, u64) {
        let in_flight = flight.in_flight();
        let min = if flight.ending { 1 } else { flight.batch_min.min(in_flight) };
        let min = u32::try_from(min).unwrap_or(u32::MAX);
        let until_ns = (flight.stamp + REAP_SLICE_NS).min(self.next_border_ns(flight));
        if !flight.starts.are_gated() || flight.free.is_empty() || flight.ending {
            return (min, until_ns);
        }
        let spin_ns = if flight.starts.are_scheduled() { self.clock.spin_ns() } else { 0 };
        let start_ns = flight.starts.next_ns().saturating_sub(spin_ns);
        // Close to the next start the engine is asked again and again, since it may return late from a wait.
        if start_ns <= flight.stamp { (0, flight.stamp) } else { (min, until_ns.min(start_ns)) }
    }

    /// Notes when each slot of the load has completed once.
    #[inline]
    fn count_first_turn(&mut self, flight: &mut WorkerState) {
        if flight.first_turn > 0 {
            flight.first_turn = flight.first_turn.saturating_sub(flight.completions.len());
            if flight.first_turn == 0 {
                self.window.note_turn();
            }
        }
    }

    /// Notes where in the trial the completions are; whether they count.
    #[inline]
    fn note_completions(&self, flight: &mut WorkerState) -> bool {
        // A completion that arrives after the window belongs to no interval of it.
        let counts = flight.stamp <= self.window.measure_until_ns() || !self.ends_by_time();
        if counts {
            flight.note_span();
        } else if !flight.at_end.is_noted && !flight.starts.are_scheduled() {
            flight.note_late(self.window.measure_until_ns());
        }
        flight.answered_ns = flight.stamp;
        if !flight.measuring {
            flight.give_back();
        }
        counts
    }

    /// Counts the completions; two functions, so that a load that is not verified pays nothing for those that are.
    fn settle<const VERIFIED: bool>(&mut self, flight: &mut WorkerState) {
        let counts = self.note_completions(flight);
        self.count_first_turn(flight);
        if flight.free.is_empty() {
            flight.freed_ns = flight.stamp;
        }
        let scheduled = flight.starts.are_scheduled();
        let WorkerState {
            completions,
            places,
            free,
            kinds,
            starts,
            faults,
            stamp,
            verifier,
            objects,
            longest_ns,
            ..
        } = flight;
        let mut run = ResponseBatch::default();
        for done in completions.as_slice() {
            let place = places[done.tag as usize];
            free.push(done.tag);
            starts.completed(*stamp);
            let kind = kinds.get(place.kind);
            let whole = objects.as_ref().map_or_else(|| kind.moved_bytes(), |set| set.expected_bytes());
            let moved_bytes = self.check_completion(*done, kind.op, whole, faults);
            if let (Some(set), None) = (objects.as_mut(), moved_bytes) {
                set.failed();
            }
            if VERIFIED
                && let Some(verifier) = verifier
                && let Some(mismatch) =
                    verifier.completed(done.tag, moved_bytes.is_some(), self.engine.as_mut())
            {
                self.fail(faults, kind.op, DATA_MISMATCH, &mismatch);
                continue;
            }
            let Some(bytes) = moved_bytes else { continue };
            let response_ns = stamp.saturating_sub(place.from_ns);
            let service_ns = stamp.saturating_sub(place.submitted_ns);
            *longest_ns = service_ns.max(*longest_ns);
            if scheduled && self.window.measures(place.from_ns) {
                self.recorder.arrived(place.kind, response_ns, service_ns);
            }
            if !counts {
                continue;
            }
            if response_ns != run.response_ns {
                self.recorder.completed(run.op_count, run.bytes, run.response_ns);
                run = ResponseBatch { response_ns, ..ResponseBatch::default() };
            }
            run.op_count += 1;
            run.bytes += bytes;
            if self.recorder.is_detailed() {
                self.recorder.detail(place.kind, bytes, response_ns, service_ns);
            }
        }
        self.recorder.completed(run.op_count, run.bytes, run.response_ns);
        if self.recorder.make_room() {
            // In the rate, but in no response time.
            *stamp = self.clock.now().0;
        }
        if faults.count >= ERRORS_MAX {
            flight.next_event_ns = 0;
        }
    }

    /// Bytes that a request has moved, of the `whole` where that is known; `None` when it failed or moved too few, which is
    /// noted.
    #[inline]
    fn check_completion(
        &mut self,
        done: IoCompletion,
        op: Op,
        whole: Option<u32>,
        faults: &mut WorkerFaults,
    ) -> Option<u64> {
        match (done.result, whole) {
            (Ok(moved), Some(whole)) if moved == whole => Some(u64::from(moved)),
            (Ok(moved), None) => Some(if op == Op::Stat { u64::from(moved) } else { 0 }),
            (Ok(moved), Some(whole)) => {
                self.fail(faults, op, "SHORT", &format!("{op} moved {moved} of {whole} bytes"));
                None
            }
            (Err(errno), _) => {
                let message = match self.engine.failure_detail(done.tag) {
                    Some(detail) => format!("{op} failed: {detail}"),
                    None => format!("{op} failed"),
                };
                self.fail_with(faults, op, errno, &message);
                None
            }
        }
    }

    #[cold]
    fn fail_with(&mut self, faults: &mut WorkerFaults, op: Op, errno: Errno, message: &str) {
        self.fail(faults, op, &errno.name(), message);
    }

    #[cold]
    fn fail(&mut self, faults: &mut WorkerFaults, op: Op, errno: &str, message: &str) {
        faults.count += 1;
        self.recorder.failed();
        faults.note(op, errno, &format!("{message} on {}", self.assignment.target()));
    }

    /// Notes the outcome of the final sync.
    pub(super) fn check_final_sync(&mut self, completions: &Completions, faults: &mut WorkerFaults) {
        if let Some(Err(errno)) = completions.as_slice().first().map(|done| done.result) {
            self.fail_with(faults, Op::Sync, errno, "the final sync failed");
        }
    }
}
