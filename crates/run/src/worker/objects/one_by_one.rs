//! Requests of a load of whole objects that are executed one after the other, by engines that do so themselves.
//!
//! Hot path: no allocation, no lock, one clock read a request and one more where response times are put into their
//! histogram. After a system call that makes a file little of the program is left in the processor's caches, so that each
//! line of code costs time: the usual request takes the shortest way, and all others the way of those that are queued.

use super::super::Worker;
use super::super::state::WorkerState;
use super::expected_bytes;
use narrows_engines::request::{Errno, IoCompletion};
use narrows_engines::{Clock, IoRequest};

impl<C: Clock + ?Sized> Worker<'_, C> {
    /// Has requests executed until something else is due; false where one is in flight, or is now to be queued because
    /// the engine has not taken it.
    pub(in super::super) fn perform_objects(&mut self, flight: &mut WorkerState) -> bool {
        let Some(tag) = flight.free.last().copied() else { return false };
        let is_plain = self.is_plain(flight);
        // Bounded by the requests that are left, and where the clock runs by the next event, a look after a millisecond.
        loop {
            let Some(request) = self.draw_request(flight, tag) else { return true };
            let Some(result) = self.engine.perform(&request) else {
                flight.occupy(&request);
                flight.batch.push(request);
                return false;
            };
            let end_ns = self.clock.now().0;
            match all_moved(&request, result) {
                Some(bytes) if is_plain && end_ns < flight.next_event_ns => {
                    let response_ns = end_ns.saturating_sub(flight.stamp);
                    flight.stamp = end_ns;
                    flight.note_span();
                    self.recorder.completed(1, u64::from(bytes), response_ns);
                    if !self.recorder.make_room() {
                        continue;
                    }
                    // In the rate, but in no response time.
                    flight.stamp = self.clock.now().0;
                }
                _ => self.count_performed(flight, &request, result, end_ns),
            }
            if flight.stamp >= flight.next_event_ns {
                return true;
            }
        }
    }

    /// Whether a completion that did all it was to do and comes before the next event is counted as one of the window, and
    /// in no other way.
    fn is_plain(&self, flight: &WorkerState) -> bool {
        flight.measuring
            && flight.first_turn == 0
            && flight.verifier.is_none()
            && flight.write_back.is_none()
            && !flight.starts.are_gated()
            && !self.recorder.is_detailed()
    }

    /// Counts a request that the engine executed itself like a queued one, submitted at the last stamp.
    #[inline(never)]
    fn count_performed(
        &mut self,
        flight: &mut WorkerState,
        request: &IoRequest,
        result: Result<u32, Errno>,
        end_ns: u64,
    ) {
        flight.occupy(request);
        let place = &mut flight.places[request.tag as usize];
        (place.from_ns, place.submitted_ns) = (flight.stamp, flight.stamp);
        flight.completions.clear();
        flight.completions.push(IoCompletion { tag: request.tag, result });
        self.count(flight, end_ns);
    }
}

/// Bytes that a request has moved; `None` where it failed or moved not all it was to move.
#[inline]
fn all_moved(request: &IoRequest, result: Result<u32, Errno>) -> Option<u32> {
    let whole = expected_bytes(request.op, request.length_bytes);
    result.ok().filter(|moved| whole.is_none_or(|whole| *moved == whole))
}
