//! A connection with one call at a time: for everything before and after the load.
//!
//! Each call is waited for within the answer timeout, and until a stop is asked for.

use super::counters::CallCounts;
use super::server::NfsServer;
use crate::clock::Tick;
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use narrows_wire::nfs::Procedure;
use narrows_wire::nfs::record::{RecordReader, RpcRecord};
use narrows_wire::nfs::rpc::{AuthSys, CallTemplate, ReplyOutcome, RpcRefusal, end_call, read_reply};
use narrows_wire::nfs::xdr::{XdrError, XdrReader};
use rustix::event::PollFlags;
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::net::TcpStream;

/// Longest reply: a part of a listing, or a small file.
pub(super) const REPLY_BYTES_MAX: usize = 256 << 10;
/// What one receive takes.
const RECEIVE_BYTES: usize = 64 << 10;

/// A connection to one service of a server.
#[derive(Debug)]
pub(super) struct RpcSession {
    pub(super) server: NfsServer,
    pub(super) port: u16,
    caller: AuthSys,
    socket: TcpStream,
    kept: Vec<u8>,
    /// Where what arrives is put first; as large as the largest receive.
    buffer: Vec<u8>,
    call: Vec<u8>,
    next_xid: u32,
    pub(super) counts: CallCounts,
    /// When all of what is done with it must be over, whatever a single answer takes.
    ends_at: Option<Tick>,
}

impl RpcSession {
    /// A connection to `port` of `server`.
    pub(super) fn open(server: &NfsServer, port: u16) -> Result<Self, EngineError> {
        let socket = server.dial("connect", port, server.deadline())?;
        Ok(Self {
            caller: server.caller(),
            port,
            socket,
            kept: Vec::new(),
            buffer: vec![0; RECEIVE_BYTES],
            call: Vec::new(),
            // Servers remember calls by it: two connections from one port must not look alike.
            next_xid: first_xid(server.clock.now().0),
            counts: CallCounts::default(),
            ends_at: None,
            server: server.clone(),
        })
    }

    /// From now on all calls together take no longer than `timeouts` waits for one answer: a server may answer each of them
    /// late, and give answers that ask for ever more calls.
    pub(super) fn end_within(&mut self, timeouts: u64) {
        let span_ns = self.server.timeout_ns.saturating_mul(timeouts);
        self.ends_at = Some(self.server.clock.now().after(span_ns));
    }

    /// The socket, to be looked at.
    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// The socket, for a load: nothing is in flight on it.
    pub(super) fn into_socket(self) -> TcpStream {
        self.socket
    }

    /// Calls `procedure` with what `put` appends, and returns what `read` reads of its results.
    pub(super) fn call<T>(
        &mut self,
        operation: &'static str,
        procedure: Procedure,
        put: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(&mut XdrReader<'_>) -> Result<T, XdrError>,
    ) -> Result<T, EngineError> {
        let answered = self.call_or_refusal(operation, procedure, put, read)?;
        answered.map_err(|refusal| self.server.refused(operation, refusal))
    }

    /// The same, or why the server did not execute the call.
    pub(super) fn call_or_refusal<T>(
        &mut self,
        operation: &'static str,
        procedure: Procedure,
        put: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(&mut XdrReader<'_>) -> Result<T, XdrError>,
    ) -> Result<Result<T, RpcRefusal>, EngineError> {
        self.next_xid = self.next_xid.wrapping_add(1);
        let xid = self.next_xid;
        let mut call = std::mem::take(&mut self.call);
        CallTemplate::new(procedure, Some(&self.caller)).begin(xid, &mut call);
        put(&mut call);
        end_call(&mut call, 0);
        let started_ns = self.server.clock.now().0;
        let deadline = self.server.deadline();
        let deadline = self.ends_at.map_or(deadline, |end| deadline.min(end));
        if deadline <= self.server.clock.now() {
            return Err(EngineError::new(ErrorKind::PeerGone, operation, self.server.name())
                .detail("all calls together took too long")
                .hint("see why the server answers late, or asks for ever more calls"));
        }
        let sent = self.send(operation, &call, deadline);
        self.counts.sent(procedure, call.len(), false);
        self.call = call;
        sent?;
        let (reply_bytes, answered) = self.receive(operation, xid, deadline, read)?;
        let latency_ns = self.server.clock.now().0.saturating_sub(started_ns);
        self.counts.received(procedure, reply_bytes, latency_ns, answered.is_err());
        Ok(answered)
    }

    fn send(&self, operation: &'static str, mut bytes: &[u8], deadline: Tick) -> Result<(), EngineError> {
        while !bytes.is_empty() {
            self.server.expect(operation, &self.socket, PollFlags::OUT, deadline)?;
            match rustix::net::send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(errno) => return Err(self.server.io_error(operation, errno.into())),
            }
        }
        Ok(())
    }

    /// The results of the call `xid` with the bytes of its reply; other replies are passed over.
    fn receive<T>(
        &mut self,
        operation: &'static str,
        xid: u32,
        deadline: Tick,
        read: impl FnOnce(&mut XdrReader<'_>) -> Result<T, XdrError>,
    ) -> Result<(usize, Result<T, RpcRefusal>), EngineError> {
        let mut records = RecordReader::new(REPLY_BYTES_MAX);
        loop {
            let mut input = self.kept.as_slice();
            loop {
                let found = records
                    .next(&mut input)
                    .map_err(|error| self.server.malformed(operation, error.to_string()))?;
                let Some(RpcRecord::Whole(record)) = found else { break };
                let mut reader = XdrReader::new(record);
                let (of, outcome) = read_reply(&mut reader)
                    .map_err(|error| self.server.malformed(operation, error.to_string()))?;
                if of != xid {
                    continue;
                }
                let answered = match outcome {
                    ReplyOutcome::Refused(refusal) => Err(refusal),
                    ReplyOutcome::Accepted => Ok(read(&mut reader)
                        .map_err(|error| self.server.malformed(operation, error.to_string()))?),
                };
                let reply_bytes = record.len();
                self.kept = input.to_vec();
                return Ok((reply_bytes, answered));
            }
            let rest = input.len();
            let consumed = self.kept.len() - rest;
            self.kept.drain(..consumed);
            if self.server.clock.now() >= deadline {
                // A server may send without end, only never what was asked for.
                return Err(self.server.silent(operation));
            }
            self.server.expect(operation, &self.socket, PollFlags::IN, deadline)?;
            match rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(self.server.gone(operation)),
                Ok((length, _)) => self.kept.extend_from_slice(&self.buffer[..length]),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(errno) => return Err(self.server.io_error(operation, io::Error::from(errno))),
            }
        }
    }
}

/// A first xid from a time.
pub(super) fn first_xid(now_ns: u64) -> u32 {
    let mixed = now_ns.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    u32::try_from(mixed >> 32).unwrap_or(0)
}
