//! What a worker makes of completions: judges each against its own request and counts it.
//!
//! Hot path: no allocation, no lock, one clock read a batch. Requests that were submitted together and completed
//! together have one response time, which is recorded once for all of them.

use super::flight::{Faults, Flight};
use super::{ERRORS_MAX, REAP_SLICE_NS, Worker};
use narrows_engines::request::{Completion, Errno};
use narrows_engines::{Clock, Completions, EngineError, Tick};
use narrows_model::Op;
use narrows_model::verification::DATA_MISMATCH;

/// Completions with the same response time, not yet recorded.
#[derive(Default)]
struct Run {
    op_count: u64,
    bytes: u64,
    response_ns: u64,
}

impl<C: Clock + ?Sized> Worker<'_, C> {
    /// Waits for completions and counts them.
    pub(super) fn reap(&mut self, flight: &mut Flight) -> Result<(), EngineError> {
        let (min, until_ns) = self.patience(flight);
        flight.completions.clear();
        self.engine.reap(min, Tick(until_ns), &mut flight.completions)?;
        let now_ns = self.clock.now().0;
        self.count(flight, now_ns);
        Ok(())
    }

    /// Counts what has completed by `now_ns`.
    #[inline]
    pub(super) fn count(&mut self, flight: &mut Flight, now_ns: u64) {
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
    fn patience(&self, flight: &Flight) -> (u32, u64) {
        let in_flight = flight.in_flight();
        let min = if flight.ending { 1 } else { flight.together.min(in_flight) };
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

    /// Counts the completions; two functions, so that a load that is not verified pays nothing for those that are.
    fn settle<const VERIFIED: bool>(&mut self, flight: &mut Flight) {
        // A completion that arrives after the window belongs to no interval of it.
        let counts = flight.stamp <= self.window.measure_until_ns() || !self.ends_by_time();
        if counts {
            flight.note_span();
        } else if !flight.at_end.is_noted && !flight.starts.are_scheduled() {
            flight.note_late(self.window.measure_until_ns());
        }
        if !flight.measuring {
            flight.give_back();
        }
        if flight.first_turn > 0 {
            flight.first_turn = flight.first_turn.saturating_sub(flight.completions.len());
            if flight.first_turn == 0 {
                self.window.note_turn();
            }
        }
        if flight.free.is_empty() {
            flight.freed_ns = flight.stamp;
        }
        let Flight { completions, places, free, kinds, starts, faults, stamp, verifier, objects, .. } =
            flight;
        let mut run = Run::default();
        let scheduled = starts.are_scheduled();
        for done in completions.as_slice() {
            let place = places[done.tag as usize];
            free.push(done.tag);
            starts.completed(*stamp);
            let kind = kinds.of(place.kind);
            let whole =
                objects.as_ref().map_or_else(|| kind.moved_bytes(), |objects| objects.expected_bytes());
            let judged = self.judge(*done, kind.op, whole, faults);
            if let (Some(objects), None) = (objects.as_mut(), judged) {
                objects.failed();
            }
            if VERIFIED
                && let Some(verifier) = verifier
                && let Some(mismatch) = verifier.completed(done.tag, judged.is_some(), self.engine.as_mut())
            {
                self.fail(faults, kind.op, DATA_MISMATCH, &mismatch);
                continue;
            }
            let Some(bytes) = judged else { continue };
            let response_ns = stamp.saturating_sub(place.from_ns);
            let service_ns = stamp.saturating_sub(place.submitted_ns);
            if scheduled && self.window.measures(place.from_ns) {
                self.recorder.arrived(place.kind, response_ns, service_ns);
            }
            if !counts {
                continue;
            }
            if response_ns != run.response_ns {
                self.recorder.completed(run.op_count, run.bytes, run.response_ns);
                run = Run { response_ns, ..Run::default() };
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
    fn judge(&mut self, done: Completion, op: Op, whole: Option<u32>, faults: &mut Faults) -> Option<u64> {
        match (done.result, whole) {
            (Ok(moved), Some(whole)) if moved == whole => Some(u64::from(moved)),
            (Ok(moved), None) => Some(if op == Op::Stat { u64::from(moved) } else { 0 }),
            (Ok(moved), Some(whole)) => {
                self.fail(faults, op, "SHORT", &format!("{op} moved {moved} of {whole} bytes"));
                None
            }
            (Err(errno), _) => {
                self.fail_with(faults, op, errno, &format!("{op} failed"));
                None
            }
        }
    }

    #[cold]
    fn fail_with(&mut self, faults: &mut Faults, op: Op, errno: Errno, message: &str) {
        self.fail(faults, op, &errno.name(), message);
    }

    #[cold]
    fn fail(&mut self, faults: &mut Faults, op: Op, errno: &str, message: &str) {
        faults.count += 1;
        self.recorder.failed();
        faults.note(op, errno, &format!("{message} on {}", self.assignment.target()));
    }

    /// Notes the outcome of the final sync.
    pub(super) fn judge_sync(&mut self, completions: &Completions, faults: &mut Faults) {
        if let Some(Err(errno)) = completions.as_slice().first().map(|done| done.result) {
            self.fail_with(faults, Op::Sync, errno, "the final sync failed");
        }
    }
}
