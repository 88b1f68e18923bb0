//! A connection with one call at a time, which is waited for until its answer or the connection's end.
//!
//! Hot path: no allocation; a clock read only where an answer takes more than one read of the socket.

use super::super::server::NfsServer;
use crate::clock::Tick;
use crate::connections::{BrokenConnection, LoadSocket, StoragePeer, add_parts};
use crate::error::EngineError;
use crate::socket::{WaitMode, Waited};
use narrows_model::counters::TcpCounters;
use narrows_wire::nfs::record::{MARK_BYTES, RecordReader, RpcRecord};
use narrows_wire::nfs::rpc::{ReplyOutcome, RpcRefusal, read_reply};
use narrows_wire::nfs::xdr::{XdrError, XdrReader, padding};
use rustix::event::PollFlags;
use std::io::{self, IoSlice};
use std::net::TcpStream;

/// A reply without its payload is shorter.
const HEAD_BYTES: usize = 4096;

/// A call as it is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutgoingCall<'a> {
    pub(super) header: &'a [u8],
    pub(super) payload: &'a [u8],
    pub(super) xid: u32,
    /// When its answer is late.
    pub(super) deadline: Tick,
}

impl OutgoingCall<'_> {
    /// Bytes of all of it.
    pub(super) fn whole_bytes(&self) -> usize {
        self.header.len() + self.payload.len() + padding(self.payload.len())
    }
}

/// Why a call has no answer.
#[derive(Debug)]
pub(super) enum LinkFailure {
    /// The connection ended: it may be made again.
    Ended(EngineError),
    /// The server is silent or sends no NFS, or a stop was requested: nothing more is to be expected.
    Fatal(EngineError),
}

/// An answer: what was read of its results, or why the call was not executed.
#[derive(Debug)]
pub(super) struct LinkReply<T> {
    pub(super) reply_bytes: usize,
    pub(super) results: Result<T, RpcRefusal>,
}

/// One connection.
#[derive(Debug)]
pub(super) struct SerialLink {
    line: LoadSocket,
    records: RecordReader,
    record_bytes_max: usize,
}

impl SerialLink {
    /// The connection over `socket`, with replies that have up to `payload_bytes` of data.
    pub(super) fn new(socket: TcpStream, payload_bytes: usize) -> io::Result<Self> {
        let record_bytes_max = payload_bytes + HEAD_BYTES;
        Ok(Self {
            line: LoadSocket::new(socket, &[], record_bytes_max + MARK_BYTES)?,
            records: RecordReader::new(record_bytes_max),
            record_bytes_max,
        })
    }

    /// Why it has to be made again; `None` while it is open.
    pub(super) fn broken(&self) -> Option<&BrokenConnection> {
        self.line.socket.as_ref().err()
    }

    pub(super) fn break_off(&mut self, broken: BrokenConnection) {
        self.line.break_off(broken);
        self.records = RecordReader::new(self.record_bytes_max);
    }

    /// It was made again.
    pub(super) fn reopen(&mut self, socket: TcpStream) -> io::Result<()> {
        self.line.reopen(socket, &[])
    }

    pub(super) fn counters(&self) -> Option<TcpCounters> {
        self.line.counters()
    }

    pub(super) fn shut_down(&self) {
        self.line.shut_down();
    }

    /// Sends `call` and waits for its answer, of which `read` reads the results; answers to nothing that was asked are
    /// counted in `stray_count`.
    pub(super) fn exchange<T>(
        &mut self,
        server: &NfsServer,
        call: OutgoingCall<'_>,
        stray_count: &mut u64,
        read: &mut impl FnMut(&mut XdrReader<'_>) -> Result<T, XdrError>,
    ) -> Result<LinkReply<T>, LinkFailure> {
        self.send(server, call)?;
        let mut is_first = true;
        loop {
            let taken = self.take_reply(call.xid, stray_count, read);
            if let Some(reply) = taken.map_err(|why| LinkFailure::Fatal(server.malformed("receive", why)))? {
                return Ok(reply);
            }
            let is_late = !std::mem::take(&mut is_first) && server.clock.now() >= call.deadline;
            if is_late {
                return Err(LinkFailure::Fatal(server.silent("receive")));
            }
            self.wait(server)?;
        }
    }

    fn send(&self, server: &NfsServer, call: OutgoingCall<'_>) -> Result<(), LinkFailure> {
        let parts = [call.header, call.payload, &[0; 3][..padding(call.payload.len())]];
        let mut sent_bytes = 0;
        while sent_bytes < call.whole_bytes() {
            let mut slices = [IoSlice::new(&[]); 3];
            let used = add_parts(&mut slices, 0, parts, sent_bytes);
            match (self.line.send(&slices[..used]), &self.line.socket) {
                (Ok(Some(sent)), _) => sent_bytes += sent,
                (Ok(None), Ok(socket)) => server
                    .expect("send", socket.tcp_stream(), PollFlags::OUT, call.deadline)
                    .map_err(LinkFailure::Fatal)?,
                (Ok(None), Err(_)) => return Err(LinkFailure::Ended(server.gone("send"))),
                (Err(error), _) => return Err(LinkFailure::Ended(server.io_error("send", error))),
            }
        }
        Ok(())
    }

    /// Waits for a moment for what the server sends.
    fn wait(&mut self, server: &NfsServer) -> Result<(), LinkFailure> {
        match self.line.receive(WaitMode::Short) {
            Ok(0) => Err(LinkFailure::Ended(server.gone("receive"))),
            Ok(_) => Ok(()),
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                if server.stop.is_now() {
                    return Err(LinkFailure::Fatal(server.not_ready("receive", Waited::Stopped)));
                }
                Ok(())
            }
            Err(error) => Err(LinkFailure::Ended(server.io_error("receive", error))),
        }
    }

    /// The answer to the call `xid`, where all of it has arrived.
    fn take_reply<T>(
        &mut self,
        xid: u32,
        stray_count: &mut u64,
        read: &mut impl FnMut(&mut XdrReader<'_>) -> Result<T, XdrError>,
    ) -> Result<Option<LinkReply<T>>, String> {
        let arrived_bytes = self.line.arrived().len();
        let mut input = self.line.arrived();
        let reply = loop {
            let found = self.records.next(&mut input).map_err(|error| error.to_string())?;
            let Some(RpcRecord::Whole(record)) = found else { break None };
            let mut reader = XdrReader::new(record);
            let (answered, outcome) = read_reply(&mut reader).map_err(|error| error.to_string())?;
            if answered != xid {
                *stray_count += 1;
                continue;
            }
            let results = match outcome {
                ReplyOutcome::Accepted => Ok(read(&mut reader).map_err(|error| error.to_string())?),
                ReplyOutcome::Refused(refusal) => Err(refusal),
            };
            break Some(LinkReply { reply_bytes: record.len(), results });
        };
        let taken_bytes = arrived_bytes - input.len();
        self.line.take_arrived(taken_bytes);
        Ok(reply)
    }
}
