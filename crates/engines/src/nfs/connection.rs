//! One connection with many calls in flight.
//!
//! Calls leave in vectored writes from where they are; what arrives is read in large pieces, and the rest of a READ's
//! payload straight into its slot. Hot path: no allocation once a reply of each kind has come.

use super::core::LoadCore;
use crate::clock::Tick;
use crate::error::EngineError;
use crate::request::Completions;
use crate::socket::{DataSocket, WaitMode};
use narrows_model::counters::{Combine, TcpCounters};
use narrows_wire::nfs::block::read_begun;
use narrows_wire::nfs::record::{MARK_BYTES, RecordReader, RpcRecord};
use narrows_wire::nfs::xdr::padding;
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::TcpStream;

/// Parts of one vectored write: header, payload and padding of 64 calls, below the kernel's limit of 1024.
const PARTS_MAX: usize = 192;
/// Calls of one vectored write.
const CALLS_PER_WRITE: usize = PARTS_MAX / 3;
/// What one read takes at least beyond a payload: the replies of many small calls.
const ARRIVED_BYTES: usize = 256 << 10;
/// A reply without its payload is shorter.
const HEAD_BYTES: usize = 4096;
/// Reads in a row, so that a peer which sends without end cannot keep this side from looking at its deadline.
const READS_MAX: usize = 64;
/// Wait before a connection that ended is made again.
const RETRY_NS: u64 = 50_000_000;

/// A payload that arrives in its slot.
#[derive(Debug, Clone, Copy)]
struct IncomingPayload {
    call: u32,
    arrived_bytes: usize,
    left_bytes: usize,
    padding_bytes: usize,
    is_end: bool,
    reply_bytes: usize,
    /// When its first bytes were seen, and how many there were.
    began: Tick,
    began_bytes: usize,
}

/// Why a connection cannot be used at present.
#[derive(Debug)]
pub(super) struct BrokenConnection {
    pub(super) retry_at: Tick,
    pub(super) why: EngineError,
}

/// One connection.
#[derive(Debug)]
pub(super) struct CallConnection {
    index: usize,
    pub(super) socket: Result<DataSocket, BrokenConnection>,
    records: RecordReader,
    record_bytes_max: usize,
    arrived: Box<[u8]>,
    arrived_bytes: usize,
    payload: Option<IncomingPayload>,
    /// Calls that have not left wholly.
    sending: VecDeque<u32>,
    /// Bytes of the first of them that have left.
    left_bytes: usize,
    /// What connections that ended have counted.
    past: Option<TcpCounters>,
}

impl CallConnection {
    /// The connection `index` over `socket`, with replies to reads of up to `read_bytes` and `calls` calls.
    pub(super) fn new(index: usize, socket: TcpStream, read_bytes: u32, calls: usize) -> io::Result<Self> {
        let record_bytes_max = read_bytes as usize + HEAD_BYTES;
        Ok(Self {
            index,
            socket: Ok(DataSocket::new(socket)?),
            records: RecordReader::new(record_bytes_max),
            record_bytes_max,
            arrived: vec![0; (record_bytes_max + MARK_BYTES).max(ARRIVED_BYTES)].into_boxed_slice(),
            arrived_bytes: 0,
            payload: None,
            sending: VecDeque::with_capacity(calls),
            left_bytes: 0,
            past: None,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        self.socket.is_ok()
    }

    /// Whether calls wait for room in the socket.
    pub(super) fn is_sending(&self) -> bool {
        self.is_open() && !self.sending.is_empty()
    }

    /// The connection was made again.
    pub(super) fn reopen(&mut self, socket: TcpStream) -> io::Result<()> {
        self.socket = Ok(DataSocket::new(socket)?);
        Ok(())
    }

    /// What the kernel counts, connections that ended included.
    pub(super) fn counters(&self) -> Option<TcpCounters> {
        let now = self.socket.as_ref().ok().and_then(DataSocket::counters);
        match (now, &self.past) {
            (Some(mut now), Some(past)) => {
                now.add_interval(past);
                Some(now)
            }
            (now, past) => now.or_else(|| past.clone()),
        }
    }

    /// Adds an assigned call.
    pub(super) fn push(&mut self, call: u32) {
        self.sending.push_back(call);
    }

    /// The connection has ended: what it had in flight is sent again, by whichever connection.
    pub(super) fn break_off(&mut self, core: &mut LoadCore, why: EngineError) {
        self.past = self.counters();
        let retry_at = core.server.clock.now().after(RETRY_NS);
        self.socket = Err(BrokenConnection { retry_at, why });
        self.records = RecordReader::new(self.record_bytes_max);
        (self.arrived_bytes, self.payload, self.left_bytes) = (0, None, 0);
        self.sending.clear();
        core.connection_ended(self.index);
    }

    /// Sends what the socket takes at once.
    pub(super) fn flush(&mut self, core: &mut LoadCore) {
        while !self.sending.is_empty() {
            let Ok(socket) = &self.socket else { return };
            let mut slices = [IoSlice::new(&[]); PARTS_MAX];
            let mut used = 0;
            for (position, index) in self.sending.iter().take(CALLS_PER_WRITE).enumerate() {
                let mut skip = if position == 0 { self.left_bytes } else { 0 };
                for part in core.parts(*index) {
                    let rest = &part[skip.min(part.len())..];
                    skip = skip.saturating_sub(part.len());
                    if !rest.is_empty() {
                        slices[used] = IoSlice::new(rest);
                        used += 1;
                    }
                }
            }
            match socket.send(&slices[..used], WaitMode::Never) {
                Ok(sent) => self.remove_sent(sent, core),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    let why = core.server.io_error("send", error);
                    self.break_off(core, why);
                }
            }
        }
    }

    fn remove_sent(&mut self, sent_bytes: usize, core: &mut LoadCore) {
        self.left_bytes += sent_bytes;
        while let Some(index) = self.sending.front().copied() {
            let whole = core.calls.call(index).whole_bytes();
            if self.left_bytes < whole {
                return;
            }
            self.left_bytes -= whole;
            core.calls.call_mut(index).is_sent = true;
            self.sending.pop_front();
        }
    }

    /// Reads what has arrived, and completes what it answers; `wait_mode` is that of the first read.
    ///
    /// # Errors
    /// What arrived is no answer to what was asked.
    pub(super) fn receive(
        &mut self,
        mut wait_mode: WaitMode,
        core: &mut LoadCore,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        for _ in 0..READS_MAX {
            let Ok(socket) = &self.socket else { return Ok(()) };
            let free = &mut self.arrived[self.arrived_bytes..];
            let direct = self.payload.filter(|_| self.arrived_bytes == 0);
            let (read, offered) = match direct {
                Some(payload) if payload.left_bytes > 0 => {
                    let slot = core.slot_part(payload.call, payload.arrived_bytes, payload.left_bytes);
                    let offered = slot.len() + free.len();
                    let parts = &mut [IoSliceMut::new(slot), IoSliceMut::new(free)];
                    (socket.receive(parts, wait_mode), offered)
                }
                _ => {
                    let offered = free.len();
                    (socket.receive(&mut [IoSliceMut::new(free)], wait_mode), offered)
                }
            };
            wait_mode = WaitMode::Never;
            let length = match read {
                Ok(0) => {
                    let why = core.server.gone("receive");
                    self.break_off(core, why);
                    return Ok(());
                }
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    let why = core.server.io_error("receive", error);
                    self.break_off(core, why);
                    return Ok(());
                }
            };
            core.read_clock();
            let mut rest = length;
            if let (Some(_), Some(payload)) = (direct, &mut self.payload) {
                let in_slot = rest.min(payload.left_bytes);
                payload.arrived_bytes += in_slot;
                payload.left_bytes -= in_slot;
                rest -= in_slot;
            }
            self.arrived_bytes += rest;
            self.parse(core, out)?;
            if length < offered {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes the replies out of what has arrived.
    fn parse(&mut self, core: &mut LoadCore, out: &mut Completions) -> Result<(), EngineError> {
        let arrived = std::mem::take(&mut self.arrived);
        let mut input = &arrived[..self.arrived_bytes];
        let parsed = self.parse_from(&mut input, core, out);
        let (left, total) = (input.len(), self.arrived_bytes);
        self.arrived = arrived;
        self.arrived.copy_within(total - left..total, 0);
        self.arrived_bytes = left;
        parsed
    }

    fn parse_from(
        &mut self,
        input: &mut &[u8],
        core: &mut LoadCore,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        loop {
            if let Some(payload) = &mut self.payload {
                if !take_payload(payload, input, core) {
                    return Ok(());
                }
                let IncomingPayload { call, arrived_bytes, is_end, reply_bytes, began, began_bytes, .. } =
                    *payload;
                core.counts.arrivals.count(arrived_bytes - began_bytes, began, core.now);
                self.payload = None;
                core.read_ended(call, arrived_bytes, is_end, reply_bytes, out);
            }
            let found = self.records.next(input);
            match found.map_err(|error| core.server.malformed("receive", error.to_string()))? {
                None => return Ok(()),
                Some(RpcRecord::Whole(record)) => core.reply(self.index, record, out)?,
                Some(RpcRecord::Partial { bytes, record_bytes }) => {
                    let begun = read_begun(bytes)
                        .map_err(|error| core.server.malformed("receive", error.to_string()))?;
                    let Some((xid, head, head_bytes)) = begun else { return Ok(()) };
                    let Some(call) = core.reading_call(xid, self.index) else { return Ok(()) };
                    if !head.status.is_ok() {
                        return Ok(());
                    }
                    let payload_bytes = head.payload_bytes as usize;
                    core.check_payload(call, payload_bytes, head_bytes, record_bytes)?;
                    *input = &input[MARK_BYTES + head_bytes..];
                    self.payload = Some(IncomingPayload {
                        call,
                        arrived_bytes: 0,
                        left_bytes: payload_bytes,
                        padding_bytes: padding(payload_bytes),
                        is_end: head.is_end,
                        reply_bytes: record_bytes,
                        began: core.now,
                        began_bytes: input.len().min(payload_bytes),
                    });
                }
            }
        }
    }
}

/// Moves what has arrived of a payload to its slot; whether it is whole, its padding included.
fn take_payload(payload: &mut IncomingPayload, input: &mut &[u8], core: &mut LoadCore) -> bool {
    let count = payload.left_bytes.min(input.len());
    if count > 0 {
        core.slot_part(payload.call, payload.arrived_bytes, count).copy_from_slice(&input[..count]);
        payload.arrived_bytes += count;
        payload.left_bytes -= count;
        *input = &input[count..];
    }
    if payload.left_bytes > 0 || input.len() < payload.padding_bytes {
        return false;
    }
    *input = &input[payload.padding_bytes..];
    true
}
