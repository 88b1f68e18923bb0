//! The part of the engine that issues: entries into the ring, answers out of it.
//!
//! Hot path: no allocation, no lock, no clock but around syncs; one call of the kernel a commit, none for a reap whose completions are
//! there.

use super::flights::RingFlights;
use crate::clock::{Clock, Tick};
use crate::contract::{Engine, ProtocolCounters, Readiness};
use crate::error::EngineError;
use crate::files::ObjectPart;
use crate::request::{Completions, Errno, IoCompletion, IoRequest, Slot};
use narrows_model::workload::SyncPolicy;
use narrows_model::{Effective, Op};
use narrows_sys::ring::{Ring, RingOp, RingRequest};
use rustix::event::PollFlags;
use std::sync::Arc;

/// A request that the engine was not opened for.
const INVALID: Errno = Errno(rustix::io::Errno::INVAL.raw_os_error());
/// A slot whose last request is in flight.
const BUSY: i32 = rustix::io::Errno::BUSY.raw_os_error();

/// Issues requests of one worker through a ring.
#[derive(Debug)]
pub(super) struct UringEngine {
    effective: Effective,
    ring: Ring,
    /// Which bytes of each file are the object's.
    parts: Vec<ObjectPart>,
    flights: RingFlights,
    /// Completions of requests that the kernel never saw.
    refused: Vec<IoCompletion>,
    counters: ProtocolCounters,
}

impl UringEngine {
    /// An engine that issues through `ring`; `effective` states the depth.
    pub(super) fn new(
        effective: Effective,
        ring: Ring,
        parts: Vec<ObjectPart>,
        sync: SyncPolicy,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let depth = effective.queue_depth;
        Self {
            ring,
            parts,
            flights: RingFlights::new(depth, sync, clock),
            refused: Vec::with_capacity(depth as usize),
            counters: ProtocolCounters::default(),
            effective,
        }
    }

    /// Discards what has been issued: the blocks contain entropy again and the counts restart.
    pub(super) fn start_anew(&mut self, seed: u64) {
        narrows_sys::entropy::fill_entropy(self.ring.block(0), seed);
        self.counters = ProtocolCounters::default();
    }

    /// Takes what has completed; how many of the kernel's answers that were.
    fn collect(&mut self, out: &mut Completions) -> u32 {
        let Self { ring, flights, .. } = self;
        let mut answers = 0;
        ring.drain(|done| {
            answers += 1;
            if let Some(completion) = flights.answered(done) {
                out.push(completion);
            }
        });
        self.counters.reply_count += u64::from(answers);
        answers
    }

    /// Issues what continues requests: the rest of short transfers, and syncs that are due.
    fn continue_requests(&mut self) -> Result<(), EngineError> {
        while let Some(next) = self.flights.next_step() {
            self.counters.request_count += 1;
            self.ring.queue(&next).map_err(|errno| ended("continue", errno))?;
        }
        self.ring.submit().map_err(|errno| ended("submit", errno))
    }
}

fn ended(operation: &'static str, errno: narrows_sys::SysErrno) -> EngineError {
    EngineError::from_io(operation, "the io_uring", errno.into())
}

/// The form in which the ring takes `request` of one of `parts`; `None` for what it has no form for.
fn ring_request(request: &IoRequest, parts: &[ObjectPart]) -> Option<RingRequest> {
    let part = parts.get(request.object as usize)?;
    let offset_bytes = part.place(request.offset_bytes, request.length_bytes)?;
    let op = match request.op {
        Op::Read => RingOp::Read,
        Op::Write => RingOp::Write,
        Op::Sync => RingOp::Fdatasync,
        Op::Trim => RingOp::PunchHole,
        _ => return None,
    };
    Some(RingRequest {
        op,
        slot: request.slot.0,
        file: request.object,
        offset_bytes,
        length_bytes: request.length_bytes,
        block_offset_bytes: 0,
    })
}

impl Engine for UringEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.ring.block(slot.0)
    }

    /// A request whose slot is still in flight is not taken; one that the engine cannot issue completes with `EINVAL`.
    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        let depth = self.effective.queue_depth as usize;
        for (index, request) in requests.iter().enumerate() {
            if self.ring.in_flight_count() as usize + self.refused.len() >= depth {
                return Ok(index);
            }
            let first = ring_request(request, &self.parts);
            match first.map(|first| (first, self.ring.queue(&first))) {
                Some((first, Ok(()))) => {
                    self.counters.request_count += 1;
                    self.flights.started(request.tag, first);
                }
                Some((_, Err(errno))) if errno.raw() == BUSY => return Ok(index),
                _ => self.refused.push(IoCompletion { tag: request.tag, result: Err(INVALID) }),
            }
        }
        Ok(requests.len())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        self.ring.submit().map_err(|errno| ended("submit", errno))
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let enough = out.len() + min as usize;
        for completion in self.refused.drain(..) {
            out.push(completion);
        }
        loop {
            // Not above `min`, so it fits.
            let missing = u32::try_from(enough.saturating_sub(out.len())).unwrap_or(min);
            let awaited = missing.min(self.ring.in_flight_count());
            self.ring.wait(awaited, until.0).map_err(|errno| ended("wait for", errno))?;
            let answers = self.collect(out);
            if self.flights.has_next_step() {
                self.continue_requests()?;
            }
            let deadline_passed = answers < awaited;
            if deadline_passed || out.len() >= enough || self.ring.in_flight_count() == 0 {
                return Ok(());
            }
        }
    }

    fn readiness(&mut self) -> Result<Option<Readiness<'_>>, EngineError> {
        if !self.refused.is_empty() {
            return Ok(None);
        }
        let event = self.ring.event().map_err(|errno| ended("wait for", errno))?;
        Ok(event.map(|descriptor| Readiness { descriptor, events: PollFlags::IN }))
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        out.request_count = self.counters.request_count;
        out.reply_count = self.counters.reply_count;
        out.syncs = self.flights.sync_times().cloned();
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}
