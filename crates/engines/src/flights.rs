//! The requests of a worker in flight, each of one call or several.

use crate::request::{Completions, Errno, IoCompletion, IoRequest, Slot};
use narrows_model::Op;

/// One request.
#[derive(Debug, Clone, Copy)]
struct Flight {
    request: IoRequest,
    left_count: u32,
    done_bytes: u32,
    error: Option<Errno>,
}

/// The requests in flight.
#[derive(Debug)]
pub(crate) struct RequestFlights {
    flights: Vec<Flight>,
    free: Vec<u32>,
    /// Requests that were committed and have not completed.
    pub(crate) started_count: usize,
}

impl RequestFlights {
    /// None yet, at most `depth`.
    pub(crate) fn new(depth: u32) -> Self {
        let idle =
            IoRequest { tag: 0, op: Op::Sync, object: 0, offset_bytes: 0, length_bytes: 0, slot: Slot(0) };
        let flight = Flight { request: idle, left_count: 0, done_bytes: 0, error: None };
        Self { flights: vec![flight; depth as usize], free: (0..depth).rev().collect(), started_count: 0 }
    }

    /// A new request of `call_count` calls; `None` where the queue is full.
    pub(crate) fn begin(&mut self, request: &IoRequest, call_count: u32) -> Option<u32> {
        let index = self.free.pop()?;
        self.flights[index as usize] =
            Flight { request: *request, left_count: call_count, done_bytes: 0, error: None };
        Some(index)
    }

    /// The slot of a request.
    pub(crate) fn slot(&self, index: u32) -> Slot {
        self.flights[index as usize].request.slot
    }

    /// A part of a request has moved bytes, and more of it follow in the same call.
    pub(crate) fn moved(&mut self, index: u32, bytes: u32) {
        self.flights[index as usize].done_bytes += bytes;
    }

    /// A call of a request has ended; the last one completes it.
    pub(crate) fn call_ended(&mut self, index: u32, result: Result<u32, Errno>, out: &mut Completions) {
        let flight = &mut self.flights[index as usize];
        match result {
            Ok(bytes) => flight.done_bytes += bytes,
            Err(errno) => flight.error = flight.error.or(Some(errno)),
        }
        flight.left_count -= 1;
        if flight.left_count > 0 {
            return;
        }
        let result = flight.error.map_or(Ok(flight.done_bytes), Err);
        out.push(IoCompletion { tag: flight.request.tag, result });
        self.free.push(index);
        self.started_count -= 1;
    }
}
