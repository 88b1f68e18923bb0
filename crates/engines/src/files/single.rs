//! The frame of engines with one request in flight: `commit` executes it and `reap` returns it, or `perform`
//! does both.
//!
//! Hot path: no allocation, no lock.

use crate::clock::Tick;
use crate::contract::{Engine, ProtocolCounters};
use crate::error::EngineError;
use crate::request::{Completions, Errno, IoCompletion, IoRequest, Slot};
use crate::slots::SlotBuffers;
use narrows_model::{Effective, Histogram};

/// Executes one request to its end.
pub(crate) trait Perform {
    /// How many bytes were moved or discarded by `request`, whose block is in `slots`.
    fn perform(&mut self, request: &IoRequest, slots: &mut SlotBuffers) -> Result<u32, Errno>;

    /// Whether nothing can be done any more: the last request was then not executed, and [`Perform::take_failure`] says why.
    fn has_failed(&self) -> bool {
        false
    }

    /// Why nothing can be done any more.
    fn take_failure(&mut self) -> Option<EngineError> {
        None
    }

    /// Why the last request failed, beyond its errno.
    fn failure_detail(&mut self) -> Option<String> {
        None
    }

    /// Puts what a protocol has counted into `out`, where requests are calls of one.
    fn count_protocol(&self, _out: &mut ProtocolCounters) {}

    /// Times of the syncs that followed writes; `None` where none are asked for.
    fn sync_times(&self) -> Option<&Histogram> {
        None
    }

    /// Ends the work in order, with what is still kept back.
    fn finish(self) -> Result<(), EngineError>
    where
        Self: Sized,
    {
        Ok(())
    }
}

/// An engine of `performer`, with one request in flight.
#[derive(Debug)]
pub(crate) struct SingleEngine<P> {
    pub(crate) effective: Effective,
    pub(crate) slots: SlotBuffers,
    pub(crate) performer: P,
    pub(crate) flight: SingleFlight,
}

impl<P: Perform> Engine for SingleEngine<P> {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.slots.slot(slot)
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        Ok(self.flight.queue(requests))
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        if let Some(failure) = self.performer.take_failure() {
            return Err(failure);
        }
        if let Some(request) = self.flight.begin() {
            let result = self.performer.perform(&request, &mut self.slots);
            if let Some(failure) = self.performer.take_failure() {
                return Err(failure);
            }
            self.flight.end(&request, result);
        }
        Ok(())
    }

    fn reap(&mut self, _min: u32, _until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        self.flight.reap(out);
        Ok(())
    }

    fn perform(&mut self, request: &IoRequest) -> Option<Result<u32, Errno>> {
        self.flight.count();
        let result = self.performer.perform(request, &mut self.slots);
        // It is then offered to `commit`, which returns the failure.
        if self.performer.has_failed() { None } else { Some(result) }
    }

    fn failure_detail(&mut self, _tag: u32) -> Option<String> {
        self.performer.failure_detail()
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        self.flight.counters(out);
        out.syncs = self.performer.sync_times().cloned();
        self.performer.count_protocol(out);
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        self.performer.finish()
    }
}

/// A request on its way through an engine that does one at a time.
#[derive(Debug, Default)]
pub(crate) struct SingleFlight {
    pending: Option<IoRequest>,
    done: Option<IoCompletion>,
    request_count: u64,
}

impl SingleFlight {
    /// Takes the first of `requests` if nothing is in flight, and returns how many were taken.
    pub(crate) fn queue(&mut self, requests: &[IoRequest]) -> usize {
        match (self.pending, self.done, requests.first()) {
            (None, None, Some(first)) => {
                self.pending = Some(*first);
                1
            }
            _ => 0,
        }
    }

    /// The request to execute now.
    pub(crate) fn begin(&mut self) -> Option<IoRequest> {
        let request = self.pending.take()?;
        self.count();
        Some(request)
    }

    /// Counts a request that was executed.
    pub(crate) fn count(&mut self) {
        self.request_count += 1;
    }

    /// Keeps what became of `request`.
    pub(crate) fn end(&mut self, request: &IoRequest, result: Result<u32, Errno>) {
        self.done = Some(IoCompletion { tag: request.tag, result });
    }

    /// Hands over what is done: there is nothing that more could be waited for.
    pub(crate) fn reap(&mut self, out: &mut Completions) {
        if let Some(done) = self.done.take() {
            out.push(done);
        }
    }

    /// Counts every request as one call and its answer.
    pub(crate) fn counters(&self, out: &mut ProtocolCounters) {
        out.request_count = self.request_count;
        out.reply_count = self.request_count;
    }
}
