//! One connection with many calls in flight.
//!
//! Calls leave in vectored writes from where they are; what arrives is read in large pieces, and the rest of a READ's
//! payload straight into its slot. Hot path: no allocation once a reply of each kind has come.

use super::core::LoadCore;
use crate::clock::Tick;
use crate::connections::{BrokenConnection, LoadConnection, LoadSocket, StoragePeer, add_parts};
use crate::error::EngineError;
use crate::request::Completions;
use narrows_wire::nfs::block::read_begun;
use narrows_wire::nfs::record::{MARK_BYTES, RecordReader, RpcRecord};
use narrows_wire::nfs::xdr::padding;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::TcpStream;

/// Parts of one vectored write: header, payload and padding of 64 calls, below the kernel's limit of 1024.
const PARTS_MAX: usize = 192;
/// Calls of one vectored write.
const CALLS_PER_WRITE: usize = PARTS_MAX / 3;
/// A reply without its payload is shorter.
const HEAD_BYTES: usize = 4096;
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

/// One connection.
#[derive(Debug)]
pub(super) struct CallConnection {
    index: usize,
    line: LoadSocket,
    records: RecordReader,
    record_bytes_max: usize,
    payload: Option<IncomingPayload>,
    /// Calls that have not left wholly.
    sending: VecDeque<u32>,
    /// Bytes of the first of them that have left.
    left_bytes: usize,
}

impl CallConnection {
    /// The connection `index` over `socket`, with replies to reads of up to `read_bytes` and `calls` calls.
    pub(super) fn new(index: usize, socket: TcpStream, read_bytes: u32, calls: usize) -> io::Result<Self> {
        let record_bytes_max = read_bytes as usize + HEAD_BYTES;
        Ok(Self {
            index,
            line: LoadSocket::new(socket, &[], record_bytes_max + MARK_BYTES)?,
            records: RecordReader::new(record_bytes_max),
            record_bytes_max,
            payload: None,
            sending: VecDeque::with_capacity(calls),
            left_bytes: 0,
        })
    }

    /// Adds an assigned call.
    pub(super) fn push(&mut self, call: u32) {
        self.sending.push_back(call);
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
}

impl LoadConnection for CallConnection {
    type Load = LoadCore;

    fn line(&self) -> &LoadSocket {
        &self.line
    }

    fn line_mut(&mut self) -> &mut LoadSocket {
        &mut self.line
    }

    fn is_sending(&self) -> bool {
        self.line.is_open() && !self.sending.is_empty()
    }

    fn break_off(&mut self, core: &mut LoadCore, why: EngineError) {
        let retry_at = core.server.clock.now().after(RETRY_NS);
        self.line.break_off(BrokenConnection { retry_at, why });
        self.records = RecordReader::new(self.record_bytes_max);
        (self.payload, self.left_bytes) = (None, 0);
        self.sending.clear();
        core.connection_ended(self.index);
    }

    fn flush(&mut self, core: &mut LoadCore) {
        while self.is_sending() {
            let mut slices = [IoSlice::new(&[]); PARTS_MAX];
            let mut used = 0;
            for (position, index) in self.sending.iter().take(CALLS_PER_WRITE).enumerate() {
                let skip_bytes = if position == 0 { self.left_bytes } else { 0 };
                used = add_parts(&mut slices, used, core.parts(*index), skip_bytes);
            }
            match self.line.send(&slices[..used]) {
                Ok(Some(sent)) => self.remove_sent(sent, core),
                Ok(None) => return,
                Err(error) => {
                    let why = core.server.io_error("send", error);
                    self.break_off(core, why);
                }
            }
        }
    }

    fn payload_rest<'a>(&self, core: &'a mut LoadCore) -> Option<&'a mut [u8]> {
        let payload = self.payload.filter(|payload| payload.left_bytes > 0)?;
        Some(core.slot_part(payload.call, payload.arrived_bytes, payload.left_bytes))
    }

    fn payload_moved(&mut self, count: usize) {
        if let Some(payload) = &mut self.payload {
            payload.arrived_bytes += count;
            payload.left_bytes -= count;
        }
    }

    fn parse(
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
                    // What is no answer to a READ is read when all of it is there.
                    let xid = bytes.first_chunk().map(|xid| u32::from_be_bytes(*xid));
                    let Some(call) = xid.and_then(|xid| core.reading_call(xid, self.index)) else {
                        return Ok(());
                    };
                    let begun = read_begun(bytes)
                        .map_err(|error| core.server.malformed("receive", error.to_string()))?;
                    let Some((head, head_bytes)) = begun else { return Ok(()) };
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
