//! What a worker has in flight, whichever connection its calls are on: requests, calls, unstable data, and what replies
//! do to them.
//!
//! Hot path: no allocation, no search.

use super::calls::{RpcCallKind, RpcCallTable};
use super::counters::CallCounts;
use super::recovery_state::Recovery;
use super::server::{NfsServer, refusal_errno};
use super::unstable::UnstableStore;
use crate::clock::Tick;
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use crate::flights::RequestFlights;
use crate::request::{Completions, Errno};
use narrows_sys::buffer::AlignedBuffer;
use narrows_wire::nfs::Status;
use narrows_wire::nfs::attributes::FileHandle;
use narrows_wire::nfs::block::{Stability, WriteResult, WriteVerifier, read_commit, read_read, read_write};
use narrows_wire::nfs::rpc::{ReplyOutcome, RpcRefusal, read_reply};
use narrows_wire::nfs::xdr::{XdrError, XdrReader, padding};
use std::collections::VecDeque;

/// The state of a load.
#[derive(Debug)]
pub(super) struct LoadCore {
    pub(super) server: NfsServer,
    pub(super) files: Vec<FileHandle>,
    pub(super) blocks: Vec<AlignedBuffer>,
    pub(super) flights: RequestFlights,
    pub(super) calls: RpcCallTable,
    pub(super) unstable: UnstableStore,
    pub(super) counts: CallCounts,
    /// Calls that are sent again, and COMMITs that nobody asked for: before all others.
    pub(super) first: VecDeque<u32>,
    /// Committed calls.
    pub(super) ready: VecDeque<u32>,
    pub(super) verifier: Option<WriteVerifier>,
    pub(super) recovery: Recovery,
    /// A COMMIT that nobody asked for is under way.
    pub(super) is_committing: bool,
    pub(super) now: Tick,
    /// When a reply came last, or waiting began.
    pub(super) last_progress: Tick,
    /// Why the load cannot go on.
    pub(super) failure: Option<EngineError>,
}

impl LoadCore {
    /// The parts of a call in the order in which they are sent.
    pub(super) fn parts(&self, index: u32) -> [&[u8]; 3] {
        let call = self.calls.call(index);
        let length = call.payload_bytes();
        let payload = match call.kind {
            RpcCallKind::Write => {
                let at = call.at_bytes as usize;
                &self.blocks[self.flights.slot(call.flight).0 as usize][at..at + length]
            }
            RpcCallKind::Rewrite(cell) => self.unstable.data(cell),
            _ => &[],
        };
        [&call.header, payload, &[0; 3][..padding(length)]]
    }

    /// `count` bytes of the slot of a read, from `at_bytes` of its call's part on.
    pub(super) fn slot_part(&mut self, index: u32, at_bytes: usize, count: usize) -> &mut [u8] {
        let call = self.calls.call(index);
        let at = call.at_bytes as usize + at_bytes;
        &mut self.blocks[self.flights.slot(call.flight).0 as usize][at..at + count]
    }

    /// The read that a reply on `connection` answers.
    pub(super) fn reading_call(&self, xid: u32, connection: usize) -> Option<u32> {
        self.calls.find(xid, connection).filter(|index| self.calls.call(*index).kind == RpcCallKind::Read)
    }

    /// Refuses a payload that is longer than was asked for, or that does not fill its record.
    pub(super) fn check_payload(
        &self,
        index: u32,
        payload_bytes: usize,
        head_bytes: usize,
        record_bytes: usize,
    ) -> Result<(), EngineError> {
        let asked_bytes = self.calls.call(index).range.length_bytes as usize;
        if payload_bytes > asked_bytes {
            let why = format!("a READ of {asked_bytes} bytes returned {payload_bytes}");
            return Err(self.server.malformed("receive", why));
        }
        if head_bytes + payload_bytes + padding(payload_bytes) != record_bytes {
            return Err(self
                .server
                .malformed("receive", "the length of a reply and that of its payload differ"));
        }
        Ok(())
    }

    /// Does what the whole reply `record` on `connection` asks for.
    pub(super) fn reply(
        &mut self,
        connection: usize,
        record: &[u8],
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        let malformed = |server: &NfsServer, error: XdrError| server.malformed("receive", error.to_string());
        let mut reader = XdrReader::new(record);
        let (xid, outcome) = read_reply(&mut reader).map_err(|error| malformed(&self.server, error))?;
        let Some(index) = self.calls.find(xid, connection) else {
            self.counts.strays += 1;
            return Ok(());
        };
        if let ReplyOutcome::Refused(refusal) = outcome {
            self.call_refused(index, refusal, record.len(), out);
            return Ok(());
        }
        match self.calls.call(index).kind {
            RpcCallKind::Ping => self.ping_ended(index, record.len(), out),
            RpcCallKind::Read => {
                let head = read_read(&mut reader).map_err(|error| malformed(&self.server, error))?;
                if !head.status.is_ok() {
                    self.call_failed(index, head.status, record.len(), out);
                    return Ok(());
                }
                let length = head.payload_bytes as usize;
                self.check_payload(index, length, reader.read_bytes(), record.len())?;
                let payload = &reader.rest()[..length];
                self.slot_part(index, 0, length).copy_from_slice(payload);
                self.read_ended(index, length, head.is_end, record.len(), out);
            }
            RpcCallKind::Write | RpcCallKind::Rewrite(_) => {
                match read_write(&mut reader).map_err(|error| malformed(&self.server, error))? {
                    Ok(result) => self.write_ended(index, result, record.len(), out)?,
                    Err(status) => self.call_failed(index, status, record.len(), out),
                }
            }
            RpcCallKind::Sync | RpcCallKind::Commit | RpcCallKind::Probe => {
                match read_commit(&mut reader).map_err(|error| malformed(&self.server, error))? {
                    Ok(verifier) => self.commit_ended(index, verifier, record.len(), out),
                    Err(status) => self.call_failed(index, status, record.len(), out),
                }
            }
        }
        Ok(())
    }

    /// Counts the reply to a call, which waits from now on for what becomes of it.
    fn answered(&mut self, index: u32, reply_bytes: usize, is_error: bool) {
        let call = self.calls.call(index);
        let latency_ns = self.now.0.saturating_sub(call.sent_ns);
        self.counts.received(call.kind.procedure(), reply_bytes, latency_ns, is_error);
        self.calls.take_back(index);
        self.last_progress = self.now;
    }

    /// Sends a call again under a new xid, with what is missing of it.
    fn renew(&mut self, index: u32) {
        let file = self.files[self.calls.call(index).file as usize];
        self.calls.encode(index, &file);
    }

    /// A read has returned `count` bytes.
    pub(super) fn read_ended(
        &mut self,
        index: u32,
        count: usize,
        is_end: bool,
        reply_bytes: usize,
        out: &mut Completions,
    ) {
        self.answered(index, reply_bytes, false);
        let moved = u32::try_from(count).unwrap_or(u32::MAX);
        let call = self.calls.call_mut(index);
        let flight = call.flight;
        if moved == 0 || is_end || moved >= call.range.length_bytes {
            self.calls.end(index);
            self.flights.call_ended(flight, Ok(moved), out);
            return;
        }
        call.at_bytes += moved;
        call.range.offset_bytes += u64::from(moved);
        call.range.length_bytes -= moved;
        self.counts.short_reads += 1;
        self.flights.moved(flight, moved);
        self.renew(index);
        self.first.push_back(index);
    }

    fn ping_ended(&mut self, index: u32, reply_bytes: usize, out: &mut Completions) {
        self.answered(index, reply_bytes, false);
        let flight = self.calls.call(index).flight;
        self.calls.end(index);
        self.flights.call_ended(flight, Ok(0), out);
    }

    fn write_ended(
        &mut self,
        index: u32,
        result: WriteResult,
        reply_bytes: usize,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        let call = self.calls.call(index);
        let (kind, flight, file, range) = (call.kind, call.flight, call.file, call.range);
        let asked = if kind == RpcCallKind::Write { self.calls.stability() } else { Stability::Unstable };
        if result.count > range.length_bytes || result.stability < asked {
            let why = "a WRITE was answered with more bytes, or less durable, than was asked for";
            return Err(self.server.malformed("receive", why));
        }
        self.answered(index, reply_bytes, false);
        if let RpcCallKind::Rewrite(cell) = kind {
            self.calls.end(index);
            self.rewritten(cell, result);
            return Ok(());
        }
        let at = self.calls.call(index).at_bytes as usize;
        let is_kept = result.stability == Stability::Unstable;
        if std::mem::take(&mut self.calls.call_mut(index).is_reserved) {
            if is_kept {
                let block = &mut self.blocks[self.flights.slot(flight).0 as usize];
                let written = narrows_wire::nfs::block::ByteRange { length_bytes: result.count, ..range };
                if result.count as usize == block.len() {
                    self.unstable.keep_block(file, written, result.verifier, block);
                } else {
                    let data = &block[at..at + result.count as usize];
                    self.unstable.keep(file, written, result.verifier, data);
                }
            } else {
                self.unstable.release();
            }
        }
        self.observe(result.verifier);
        if result.count == range.length_bytes || result.count == 0 {
            const EIO: Errno = Errno(5);
            self.calls.end(index);
            self.flights.call_ended(flight, if result.count == 0 { Err(EIO) } else { Ok(result.count) }, out);
            return Ok(());
        }
        let call = self.calls.call_mut(index);
        call.at_bytes += result.count;
        call.range.offset_bytes += u64::from(result.count);
        call.range.length_bytes -= result.count;
        self.flights.moved(flight, result.count);
        self.renew(index);
        self.ready.push_front(index);
        Ok(())
    }

    fn commit_ended(
        &mut self,
        index: u32,
        verifier: WriteVerifier,
        reply_bytes: usize,
        out: &mut Completions,
    ) {
        self.answered(index, reply_bytes, false);
        self.observe(verifier);
        let call = self.calls.call(index);
        let (kind, flight, file, sequence) = (call.kind, call.flight, call.file, call.sequence);
        let covers_all = self.unstable.commit(file, sequence, verifier);
        match kind {
            // The data of before the restart comes first; then it is asked for again.
            RpcCallKind::Sync if !covers_all => {
                self.renew(index);
                self.ready.push_front(index);
            }
            RpcCallKind::Sync => {
                self.calls.end(index);
                self.flights.call_ended(flight, Ok(0), out);
            }
            _ => {
                self.calls.end(index);
                self.own_commit_ended(kind);
            }
        }
    }

    fn own_commit_ended(&mut self, kind: RpcCallKind) {
        match kind {
            RpcCallKind::Commit => self.is_committing = false,
            _ => self.recovery.probe_ended(),
        }
    }

    /// The server answered a call with an error.
    fn call_failed(&mut self, index: u32, status: Status, reply_bytes: usize, out: &mut Completions) {
        let error = Errno(status.errno());
        let words = |server: &NfsServer| server.failed("write", "unstable data", status);
        self.ended_badly(index, error, reply_bytes, &words, out);
    }

    /// The server did not execute a call.
    fn call_refused(&mut self, index: u32, refusal: RpcRefusal, reply_bytes: usize, out: &mut Completions) {
        let error = refusal_errno(refusal);
        let words = |server: &NfsServer| server.refused("write", refusal);
        self.ended_badly(index, error, reply_bytes, &words, out);
    }

    fn ended_badly(
        &mut self,
        index: u32,
        error: Errno,
        reply_bytes: usize,
        words: &dyn Fn(&NfsServer) -> EngineError,
        out: &mut Completions,
    ) {
        self.answered(index, reply_bytes, true);
        let call = self.calls.call_mut(index);
        let (kind, flight) = (call.kind, call.flight);
        if std::mem::take(&mut call.is_reserved) {
            self.unstable.release();
        }
        self.calls.end(index);
        match kind {
            RpcCallKind::Ping | RpcCallKind::Read | RpcCallKind::Write | RpcCallKind::Sync => {
                self.flights.call_ended(flight, Err(error), out);
            }
            // Nobody waits for these calls: what they are about is lost, which ends the load.
            RpcCallKind::Commit | RpcCallKind::Probe | RpcCallKind::Rewrite(_) => {
                self.own_commit_ended(kind);
                let failure = words(&self.server);
                self.failure.get_or_insert(EngineError { kind: ErrorKind::Io, ..failure });
            }
        }
    }
}
