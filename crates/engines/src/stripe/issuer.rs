//! The part of a stripe that issues: requests into parts for the members, their completions into one.
//!
//! One thread drives all members: it waits for all that have something in flight together, and in a member only where
//! nothing is in flight elsewhere. Data is copied once on its way to the members; what was read stays in their buffers
//! until somebody looks at it. Hot path: no allocation, no lock; one clock read a wait.

use super::flights::StripedRequests;
use super::layout::StripeLayout;
use super::member::StripeMember;
use super::wait;
use crate::clock::{Clock, Tick};
use crate::contract::{Engine, ProtocolCounters};
use crate::error::EngineError;
use crate::request::{Completions, Errno, IoCompletion, IoRequest, Slot};
use crate::slots::SlotBuffers;
use narrows_model::counters::Combine;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::{Effective, Op};
use std::sync::Arc;

/// A request that is longer than the block.
const INVALID: Errno = Errno(rustix::io::Errno::INVAL.raw_os_error());

/// Issues requests of one worker to several members.
pub(super) struct StripeEngine {
    effective: Effective,
    layout: StripeLayout,
    members: Vec<StripeMember>,
    flights: StripedRequests,
    slots: SlotBuffers,
    /// For each slot, the read whose data is still in the members' buffers.
    unseen: Vec<Option<IoRequest>>,
    /// Requests that no member ever saw.
    refused: Vec<IoCompletion>,
    /// Parts of one reap.
    parts: Completions,
    block_bytes: u64,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for StripeEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StripeEngine")
            .field("effective", &self.effective)
            .field("members", &self.members)
            .finish_non_exhaustive()
    }
}

impl StripeEngine {
    /// An engine over `members`, whose own buffers are `slots` of `block_bytes`; `effective` states the depth.
    pub(super) fn new(
        effective: Effective,
        layout: StripeLayout,
        members: Vec<StripeMember>,
        (slots, block_bytes): (SlotBuffers, u64),
        clock: Arc<dyn Clock>,
    ) -> Self {
        let depth = effective.queue_depth;
        Self {
            flights: StripedRequests::new(layout, depth),
            unseen: vec![None; depth as usize],
            refused: Vec::with_capacity(depth as usize),
            parts: Completions::with_capacity(depth as usize),
            effective,
            layout,
            members,
            slots,
            block_bytes,
            clock,
        }
    }

    /// Copies the data of `request` between its slot here and the members' own.
    fn copy(&mut self, request: &IoRequest, towards_members: bool) {
        let block = self.slots.part(request.slot, request.length_bytes);
        for piece in self.layout.pieces(request.offset_bytes, block.len() as u64) {
            let (at, length) = (saturate_usize(piece.at_bytes), saturate_usize(piece.length_bytes));
            let start = saturate_usize(piece.at_share_bytes);
            let here = &mut block[at..at + length];
            let there = &mut self.members[piece.member].buffer(request.slot)[start..start + length];
            if towards_members {
                there.copy_from_slice(here);
            } else {
                here.copy_from_slice(there);
            }
        }
    }

    /// Brings what was read last into `slot` here, where it is not yet.
    fn look(&mut self, slot: Slot) {
        let unseen = self.unseen.get_mut(slot.0 as usize).and_then(Option::take);
        if let Some(request) = unseen {
            self.copy(&request, false);
        }
    }

    /// Splits `request` into parts that wait for their members.
    fn take(&mut self, request: &IoRequest) {
        let length_bytes = u64::from(request.length_bytes);
        if length_bytes > self.block_bytes || (length_bytes == 0 && request.op != Op::Sync) {
            self.refused.push(IoCompletion { tag: request.tag, result: Err(INVALID) });
            return;
        }
        if request.op.moves_towards_device() {
            self.look(request.slot);
            self.copy(request, true);
        } else if let (Op::Read | Op::Receive, Some(unseen)) =
            (request.op, self.unseen.get_mut(request.slot.0 as usize))
        {
            *unseen = None;
        }
        let mut part_count = 0;
        for (index, member) in self.members.iter_mut().enumerate() {
            let share = self.layout.share(index, request.offset_bytes, length_bytes);
            if share.length_bytes == 0 && length_bytes > 0 {
                continue;
            }
            member.push(IoRequest {
                tag: request.slot.0,
                offset_bytes: share.offset_bytes,
                length_bytes: saturate_u32(share.length_bytes),
                ..*request
            });
            part_count += 1;
        }
        self.flights.start(*request, part_count);
    }

    /// Takes what is done at a member and starts what waited for room there; `waits` for one part until `until`. Whether
    /// a part was done.
    fn serve(
        &mut self,
        index: usize,
        (waits, until): (bool, Tick),
        out: &mut Completions,
    ) -> Result<bool, EngineError> {
        let Self { members, parts, flights, unseen, .. } = self;
        let Some(member) = members.get_mut(index) else { return Ok(false) };
        parts.clear();
        member.reap(waits, until, parts)?;
        for part in parts.as_slice() {
            let slot = Slot(part.tag);
            let Some(done) = flights.part_done(index, slot, part.result) else { continue };
            let read = flights.request(slot).filter(|request| matches!(request.op, Op::Read | Op::Receive));
            if let (Some(request), Some(unseen)) = (read, unseen.get_mut(slot.0 as usize)) {
                *unseen = Some(request);
            }
            out.push(done);
        }
        member.start()?;
        Ok(!parts.is_empty())
    }

    /// The only member with parts in flight; `None` where there are several or none.
    fn only_busy(&self) -> Option<usize> {
        let mut busy = self.members.iter().enumerate().filter(|(_, member)| member.is_busy());
        let (first, _) = busy.next()?;
        busy.next().is_none().then_some(first)
    }

    /// Serves members that can go on, waiting for one for `span_ns`, which ends at `until`; whether one could.
    fn advance(&mut self, span_ns: u64, until: Tick, out: &mut Completions) -> Result<bool, EngineError> {
        if let (1.., Some(only)) = (span_ns, self.only_busy()) {
            return self.serve(only, (true, until), out);
        }
        let ready = wait::ready(&mut self.members, span_ns)?;
        for index in ready.iter() {
            self.serve(index, (false, Tick(0)), out)?;
        }
        Ok(!ready.is_empty())
    }

    /// Lets each member that owes an answer look whether it was silent for too long.
    fn look_for_silence(&mut self, out: &mut Completions) -> Result<(), EngineError> {
        for index in 0..self.members.len() {
            if self.members[index].is_busy() {
                let now = self.clock.now();
                self.serve(index, (true, now), out)?;
            }
        }
        Ok(())
    }
}

impl Engine for StripeEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.look(slot);
        self.slots.slot(slot)
    }

    /// A request whose slot is still in flight is not taken.
    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        let depth = self.effective.queue_depth as usize;
        for (index, request) in requests.iter().enumerate() {
            let full = self.flights.len() + self.refused.len() >= depth;
            if full || !self.flights.is_free(request.slot) {
                return Ok(index);
            }
            self.take(request);
        }
        Ok(requests.len())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        self.members.iter_mut().try_for_each(StripeMember::start)
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let enough = out.len().saturating_add(min as usize);
        out.extend_from_slice(&self.refused);
        self.refused.clear();
        loop {
            let waits = out.len() < enough;
            let span_ns = if waits { until.since(self.clock.now()) } else { 0 };
            let went_on = self.advance(span_ns, until, out)?;
            if out.len() >= enough || self.flights.len() == 0 {
                return Ok(());
            }
            if span_ns == 0 {
                return if went_on { Ok(()) } else { self.look_for_silence(out) };
            }
        }
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        *out = ProtocolCounters::default();
        for member in &mut self.members {
            let mut counters = ProtocolCounters::default();
            member.counters(&mut counters);
            out.request_count += counters.request_count;
            out.reply_count += counters.reply_count;
            match (&mut out.tcp, counters.tcp) {
                (Some(sum), Some(more)) => sum.add_beside(&more),
                (sum, more) => *sum = sum.take().or(more),
            }
        }
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        let mut outcome = Ok(());
        for member in self.members {
            let closed = member.close();
            outcome = outcome.and(closed);
        }
        outcome
    }
}
