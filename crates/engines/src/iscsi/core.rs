//! What a worker has in flight, whichever session its commands are on, and what the target's PDUs do to it.
//!
//! Hot path: no allocation, no search.

use super::counters::{CountedPdu, PduCounts};
use super::portal::IscsiPortal;
use super::tasks::{TaskKind, TaskTable};
use crate::clock::Tick;
use crate::connections::StoragePeer;
use crate::error::EngineError;
use crate::flights::RequestFlights;
use crate::request::{Completions, Errno, Slot};
use narrows_sys::buffer::AlignedBuffer;
use narrows_wire::iscsi::header::BasicHeader;
use narrows_wire::iscsi::response::{
    CommandStatus, DataInPart, Residual, TransferWish, command_status, transfer_wish,
};
use narrows_wire::iscsi::scsi::cdb::UNMAP_LIST_BYTES;
use narrows_wire::iscsi::scsi::sense::{GOOD, ScsiFailure, ScsiSense};
use std::collections::VecDeque;
use std::ops::Range;

/// How often a command is sent again after unit attentions.
const ATTENTIONS_MAX: u32 = 8;
const EREMOTEIO: Errno = Errno(121);
const EPROTO: Errno = Errno(71);

/// Where data is that is sent. It stays valid, whatever becomes of its command.
#[derive(Debug, Clone)]
pub(super) enum DataLocation {
    None,
    List([u8; UNMAP_LIST_BYTES], Range<usize>),
    Slot(Slot, Range<usize>),
}

/// The state of a load.
#[derive(Debug)]
pub(super) struct UnitLoad {
    pub(super) portal: IscsiPortal,
    pub(super) unit: [u8; 8],
    pub(super) blocks: Vec<AlignedBuffer>,
    pub(super) flights: RequestFlights,
    pub(super) tasks: TaskTable,
    pub(super) counts: PduCounts,
    /// Commands that are sent again: before all others.
    pub(super) first: VecDeque<u32>,
    /// Committed commands.
    pub(super) ready: VecDeque<u32>,
    pub(super) now: Tick,
    /// When something that was waited for came last, or waiting began.
    pub(super) last_progress: Tick,
    /// Why the load cannot go on.
    pub(super) failure: Option<EngineError>,
}

impl UnitLoad {
    /// Where `count` bytes are that are sent with a command, from `at_bytes` of its data on.
    pub(super) fn locate(&self, index: u32, at_bytes: u32, count: u32) -> DataLocation {
        let task = self.tasks.task(index);
        let at = |from_bytes: u32| from_bytes as usize..(from_bytes + count) as usize;
        match task.kind {
            _ if count == 0 => DataLocation::None,
            TaskKind::Unmap => DataLocation::List(task.list(), at(at_bytes)),
            _ => DataLocation::Slot(self.flights.slot(task.flight), at(task.at_bytes + at_bytes)),
        }
    }

    /// The bytes at `location`.
    pub(super) fn data<'a>(&'a self, location: &'a DataLocation) -> &'a [u8] {
        match location {
            DataLocation::None => &[],
            DataLocation::List(list, range) => &list[range.clone()],
            DataLocation::Slot(slot, range) => &self.blocks[slot.0 as usize][range.clone()],
        }
    }

    /// `count` bytes of the slot of a read, from `at_bytes` of its data on.
    pub(super) fn slot_part(&mut self, index: u32, at_bytes: u32, count: usize) -> &mut [u8] {
        let task = self.tasks.task(index);
        let from = (task.at_bytes + at_bytes) as usize;
        &mut self.blocks[self.flights.slot(task.flight).0 as usize][from..from + count]
    }

    /// The read that data on `session` is of, where it belongs next; `None` where nobody waits for it.
    ///
    /// # Errors
    /// Data that was not asked for, or not in its order.
    pub(super) fn begin_data(
        &mut self,
        session: usize,
        header: &BasicHeader,
        part: &DataInPart,
        data_bytes: usize,
    ) -> Result<Option<u32>, EngineError> {
        let Some(index) = self.tasks.find(header.task_tag(), session) else { return Ok(None) };
        let task = self.tasks.task(index);
        let end = u64::from(part.offset_bytes) + data_bytes as u64;
        if task.kind != TaskKind::Read
            || part.offset_bytes != task.moved_bytes
            || end > u64::from(task.length_bytes)
        {
            let why = format!(
                "bytes {} to {end} of a command arrived after the first {} of {}",
                part.offset_bytes, task.moved_bytes, task.length_bytes
            );
            return Err(self.portal.malformed("receive", why));
        }
        Ok(Some(index))
    }

    /// A PDU of data has arrived wholly.
    pub(super) fn data_arrived(
        &mut self,
        index: u32,
        part: &DataInPart,
        data_bytes: u32,
        pdu_bytes: usize,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        self.tasks.task_mut(index).moved_bytes += data_bytes;
        self.last_progress = self.now;
        match part.status {
            None => {
                self.counts.received(CountedPdu::DataIn, pdu_bytes, 0, false);
                Ok(())
            }
            Some(status) => self.status(index, status, ScsiSense::default(), pdu_bytes, out),
        }
    }

    /// The target has answered a command.
    pub(super) fn response(
        &mut self,
        session: usize,
        header: &BasicHeader,
        data: &[u8],
        pdu_bytes: usize,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        let Some(index) = self.tasks.find(header.task_tag(), session) else {
            self.counts.strays += 1;
            return Ok(());
        };
        if let Some(status) = command_status(header) {
            return self.status(index, status, ScsiSense::from_response(data), pdu_bytes, out);
        }
        self.answered(index, pdu_bytes, true);
        self.ended(index, Err(EREMOTEIO), out);
        Ok(())
    }

    /// The target has answered a ping of the load; whether there is one of this tag.
    pub(super) fn ping_answered(
        &mut self,
        session: usize,
        tag: u32,
        pdu_bytes: usize,
        out: &mut Completions,
    ) -> bool {
        let found = self.tasks.find(tag, session);
        let Some(index) = found.filter(|index| self.tasks.task(*index).kind == TaskKind::Ping) else {
            return false;
        };
        self.answered(index, pdu_bytes, false);
        self.ended(index, Ok(0), out);
        true
    }

    fn answered(&mut self, index: u32, pdu_bytes: usize, is_error: bool) {
        let task = self.tasks.task(index);
        let latency_ns = self.now.0.saturating_sub(task.sent_ns);
        self.counts.received(task.kind.counted(), pdu_bytes, latency_ns, is_error);
        self.last_progress = self.now;
    }

    fn ended(&mut self, index: u32, result: Result<u32, Errno>, out: &mut Completions) {
        let flight = self.tasks.task(index).flight;
        self.tasks.end(index);
        self.flights.call_ended(flight, result, out);
    }

    fn status(
        &mut self,
        index: u32,
        status: CommandStatus,
        sense: ScsiSense,
        pdu_bytes: usize,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        let is_good = status.status == GOOD;
        self.answered(index, pdu_bytes, !is_good);
        if is_good {
            let moved = self.moved_bytes(index, status.residual)?;
            self.ended(index, Ok(moved), out);
            return Ok(());
        }
        let task = self.tasks.task_mut(index);
        if sense.is_attention() && task.attention_count < ATTENTIONS_MAX {
            // It was not executed: what is reported happened before.
            task.attention_count += 1;
            self.counts.attentions += 1;
            self.tasks.renew(index);
            self.first.push_back(index);
            return Ok(());
        }
        let failure = ScsiFailure { status: status.status, sense };
        self.ended(index, Err(Errno(failure.errno())), out);
        Ok(())
    }

    /// Bytes that a command which succeeded has moved.
    fn moved_bytes(&self, index: u32, residual: Residual) -> Result<u32, EngineError> {
        let task = self.tasks.task(index);
        if matches!(task.kind, TaskKind::Unmap | TaskKind::Synchronize | TaskKind::Ping) {
            return Ok(task.length_bytes);
        }
        let missing = match residual {
            Residual::None => 0,
            Residual::Underflow(count) => count,
            Residual::Overflow(count) => {
                let why = format!("{count} bytes more than a command's were to be moved");
                return Err(self.portal.malformed("receive", why));
            }
        };
        let moved = task.length_bytes.saturating_sub(missing);
        if task.kind == TaskKind::Read && moved != task.moved_bytes {
            let why = format!("a READ of {} bytes ended after {}", task.length_bytes, task.moved_bytes);
            return Err(self.portal.malformed("receive", why));
        }
        Ok(moved)
    }

    /// The target asks for data of a write; `None` where nobody waits for that command.
    pub(super) fn wanted(
        &mut self,
        session: usize,
        header: &BasicHeader,
        burst_bytes_max: u32,
    ) -> Result<Option<(u32, TransferWish)>, EngineError> {
        let wish = transfer_wish(header);
        let Some(index) = self.tasks.find(header.task_tag(), session) else {
            self.counts.strays += 1;
            return Ok(None);
        };
        let task = self.tasks.task(index);
        let end = u64::from(wish.offset_bytes) + u64::from(wish.data_bytes);
        let is_write = task.kind == TaskKind::Write || task.kind == TaskKind::Unmap;
        // In order, so that what is asked for has an end.
        if !is_write
            || wish.offset_bytes != task.moved_bytes
            || wish.data_bytes == 0
            || wish.data_bytes > burst_bytes_max
            || end > u64::from(task.data_bytes())
        {
            let why = format!(
                "{} bytes at {} of a command's {} were asked for, of which {} were sent or asked for",
                wish.data_bytes,
                wish.offset_bytes,
                task.data_bytes(),
                task.moved_bytes
            );
            return Err(self.portal.malformed("receive", why));
        }
        self.tasks.task_mut(index).moved_bytes += wish.data_bytes;
        self.last_progress = self.now;
        Ok(Some((index, wish)))
    }

    /// The target does not execute the command of `tag`; whether there is one.
    pub(super) fn rejected(&mut self, session: usize, tag: u32, out: &mut Completions) -> bool {
        let Some(index) = self.tasks.find(tag, session) else { return false };
        self.last_progress = self.now;
        self.ended(index, Err(EPROTO), out);
        true
    }

    /// A session has ended: its commands are sent again from their beginning.
    pub(super) fn session_ended(&mut self, session: usize) {
        for index in self.tasks.assigned_to(session).into_iter().rev() {
            self.tasks.renew(index);
            self.first.push_front(index);
        }
    }
}
