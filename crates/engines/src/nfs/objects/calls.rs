//! The calls of a worker whose load is of whole objects: one after the other, over one connection or several in turn.
//!
//! A connection that ends is made again, and the call without an answer is sent again with its xid, until the answer timeout
//! is over. Hot path: no allocation, two clock reads a call.

use super::super::counters::CallCounts;
use super::super::server::NfsServer;
use super::call_end::CallEnd;
use super::link::{LinkFailure, OutgoingCall, SerialLink};
use super::unsaved::UnsavedData;
use crate::clock::Tick;
use crate::connections::{BrokenConnection, StoragePeer};
use crate::contract::ProtocolCounters;
use crate::error::{EngineError, ErrorKind};
use crate::socket::{Waited, wait_for_any};
use narrows_model::counters::Combine;
use narrows_wire::nfs::Procedure;
use narrows_wire::nfs::block::Stability;
use narrows_wire::nfs::results::CallResult;
use narrows_wire::nfs::rpc::{AuthSys, CallTemplate, end_call};
use narrows_wire::nfs::xdr::{XdrError, XdrReader};

/// Room for a call without its payload: marks, credentials with 16 groups, a handle, a name.
const HEADER_BYTES: usize = 512;
/// Wait before a connection that ended is made again.
const RETRY_NS: u64 = 50_000_000;
/// Longest attempt to make one, after which a stop and the deadline are looked at.
const REDIAL_NS: u64 = 1_000_000_000;
/// How often data is written again for one call: a server that restarts more often in that time is never caught up with.
pub(super) const RECOVERIES_MAX: u32 = 16;

/// An answer.
#[derive(Debug)]
pub(super) struct CallReply<T> {
    pub(super) value: CallResult<T>,
    /// Whether the call was sent more than once, so that the server may have executed it before.
    pub(super) was_repeated: bool,
}

/// The calls of one worker.
#[derive(Debug)]
pub(super) struct SerialCalls {
    pub(super) server: NfsServer,
    /// Port of the NFS service.
    port: u16,
    links: Vec<SerialLink>,
    /// The connection that gets the next call.
    next_link: usize,
    /// One for each procedure.
    templates: Vec<CallTemplate>,
    header: Vec<u8>,
    next_xid: u32,
    pub(super) counts: CallCounts,
    /// How durable writes are asked to be.
    pub(super) stability: Stability,
    /// Most bytes of a WRITE.
    pub(super) write_bytes_max: usize,
    pub(super) unsaved: UnsavedData,
    failure: Option<EngineError>,
    /// There was a failure.
    is_over: bool,
}

/// What [`SerialCalls`] are made over.
#[derive(Debug)]
pub(super) struct SerialConnections {
    pub(super) port: u16,
    pub(super) links: Vec<SerialLink>,
    pub(super) first_xid: u32,
}

impl SerialCalls {
    /// Calls of `caller` to `server`, with writes of `stability` and up to `write_bytes_max`.
    pub(super) fn new(
        server: NfsServer,
        caller: &AuthSys,
        connections: SerialConnections,
        (stability, write_bytes_max): (Stability, usize),
        unsaved: UnsavedData,
    ) -> Self {
        let SerialConnections { port, links, first_xid } = connections;
        Self {
            templates: Procedure::ALL.iter().map(|one| CallTemplate::new(*one, Some(caller))).collect(),
            server,
            port,
            links,
            next_link: 0,
            header: Vec::with_capacity(HEADER_BYTES),
            next_xid: first_xid,
            counts: CallCounts::default(),
            stability,
            write_bytes_max,
            unsaved,
            failure: None,
            is_over: false,
        }
    }

    /// Calls `procedure` with what `put` appends and `payload` behind it, until it is answered; `read` reads the results.
    pub(super) fn call<T>(
        &mut self,
        procedure: Procedure,
        payload: &[u8],
        put: impl FnOnce(&mut Vec<u8>),
        mut read: impl FnMut(&mut XdrReader<'_>) -> Result<CallResult<T>, XdrError>,
    ) -> Result<CallReply<T>, CallEnd> {
        // Calls that a recovery makes in between have memory of their own.
        let mut header = std::mem::take(&mut self.header);
        self.next_xid = self.next_xid.wrapping_add(1);
        let xid = self.next_xid;
        self.templates[procedure.index()].begin(xid, &mut header);
        put(&mut header);
        end_call(&mut header, payload.len());
        let outgoing = OutgoingCall { header: &header, payload, xid, deadline: Tick(0) };
        let reply = self.until_answered(procedure, outgoing, &mut read);
        self.header = header;
        reply
    }

    fn until_answered<T>(
        &mut self,
        procedure: Procedure,
        outgoing: OutgoingCall<'_>,
        read: &mut impl FnMut(&mut XdrReader<'_>) -> Result<CallResult<T>, XdrError>,
    ) -> Result<CallReply<T>, CallEnd> {
        let sent_at = self.server.clock.now();
        let mut deadline = sent_at.after(self.server.timeout_ns);
        let (mut was_repeated, mut recovery_count) = (false, 0);
        // Bounded by the deadline, which is put off for a bounded number of recoveries.
        loop {
            if self.make_ready(deadline)? {
                recovery_count += 1;
                if recovery_count <= RECOVERIES_MAX {
                    deadline = self.server.deadline();
                }
            }
            let call = OutgoingCall { deadline, ..outgoing };
            self.counts.sent(procedure, call.whole_bytes(), was_repeated);
            let link = &mut self.links[self.next_link];
            match link.exchange(&self.server, call, &mut self.counts.strays, read) {
                Ok(reply) => {
                    let latency_ns = self.server.clock.now().since(sent_at);
                    let is_error = !matches!(reply.results, Ok(Ok(_)));
                    self.counts.received(procedure, reply.reply_bytes, latency_ns, is_error);
                    self.next_link = (self.next_link + 1) % self.links.len();
                    let value = reply.results.map_err(CallEnd::Refused)?;
                    return Ok(CallReply { value, was_repeated });
                }
                Err(LinkFailure::Ended(why)) => {
                    let retry_at = self.server.clock.now().after(RETRY_NS);
                    link.break_off(BrokenConnection { retry_at, why });
                    was_repeated = true;
                }
                Err(LinkFailure::Fatal(error)) => return Err(self.give_up(error)),
            }
        }
    }

    /// Makes the connection of the next call again where it has ended, and brings data that the server may have lost back
    /// before anything else is sent; whether there was any of that.
    fn make_ready(&mut self, deadline: Tick) -> Result<bool, CallEnd> {
        if self.is_over {
            return Err(CallEnd::Over);
        }
        let mut has_recovered = false;
        for _ in 0..=RECOVERIES_MAX {
            if self.links[self.next_link].broken().is_some() {
                self.make_again(deadline)?;
                self.unsaved.needs_probe |= !self.unsaved.store.is_empty();
            }
            if self.unsaved.is_recovering || !self.unsaved.needs_recovery() {
                return Ok(has_recovered);
            }
            self.recover()?;
            has_recovered = true;
        }
        let error = self.server.gone("receive");
        Err(self.give_up(error))
    }

    /// Makes the connection of the next call again, until `deadline`.
    fn make_again(&mut self, deadline: Tick) -> Result<(), CallEnd> {
        while let Some(broken) = self.links[self.next_link].broken() {
            let now = self.server.clock.now();
            if self.server.stop.is_now() {
                let error = self.server.not_ready("connect", Waited::Stopped);
                return Err(self.give_up(error));
            }
            if now >= deadline {
                let error = self.server.not_made_again(&broken.why);
                return Err(self.give_up(error));
            }
            if now < broken.retry_at {
                let span_ns = broken.retry_at.since(now);
                if let Err(error) = wait_for_any(std::iter::empty(), span_ns) {
                    let error = self.server.io_error("wait", error);
                    return Err(self.give_up(error));
                }
                continue;
            }
            let until = now.after(REDIAL_NS).min(deadline);
            let dialled = self.server.dial("connect", self.port, until);
            let link = &mut self.links[self.next_link];
            let opened = dialled.and_then(|socket| {
                link.reopen(socket).map_err(|error| self.server.io_error("connect", error))
            });
            match opened {
                Ok(()) => self.counts.reconnects += 1,
                Err(why) => {
                    let retry_at = self.server.clock.now().after(REDIAL_NS / 10);
                    link.break_off(BrokenConnection { retry_at, why });
                }
            }
        }
        Ok(())
    }

    /// Makes no call any more, for this reason.
    pub(super) fn give_up(&mut self, error: EngineError) -> CallEnd {
        self.is_over = true;
        self.failure.get_or_insert(error);
        CallEnd::Over
    }

    /// The same where an answer is none of the protocol.
    pub(super) fn malformed(&mut self, why: &str) -> CallEnd {
        let error = self.server.malformed("receive", why);
        self.give_up(error)
    }

    /// The same where data that a caller took for written cannot be made durable.
    pub(super) fn lost(&mut self, end: CallEnd) -> CallEnd {
        let error = match end {
            CallEnd::Over => return CallEnd::Over,
            CallEnd::Status(status) => self.server.failed("write", "unstable data", status),
            CallEnd::Refused(refusal) => self.server.refused("write", refusal),
        };
        self.give_up(EngineError { kind: ErrorKind::Io, ..error })
    }

    /// Whether nothing is to be called any more: nothing can be, or a stop at once was asked for.
    pub(super) fn is_left(&self) -> bool {
        self.is_over || self.server.stop.is_now()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    pub(super) fn take_failure(&mut self) -> Option<EngineError> {
        self.failure.take()
    }

    /// Puts what was counted into `out`.
    pub(super) fn count(&self, out: &mut ProtocolCounters) {
        (out.request_count, out.reply_count) = self.counts.totals();
        out.rpc = Some(self.counts.to_model());
        let mut connections = self.links.iter().filter_map(SerialLink::counters);
        out.tcp = connections.next().map(|mut sum| {
            connections.for_each(|more| sum.add_beside(&more));
            sum
        });
    }

    /// Makes what the server has in its memory durable, unless a stop at once was asked for or nothing can be called, and
    /// closes all connections.
    pub(super) fn close(mut self) -> Result<(), EngineError> {
        let committed = if self.is_left() { Ok(()) } else { self.commit_all() };
        self.links.iter().for_each(SerialLink::shut_down);
        match (committed, self.take_failure()) {
            (Err(_), Some(failure)) => Err(failure),
            (Err(end), None) => end.words().map_or(Ok(()), |words| {
                Err(EngineError::new(ErrorKind::Io, "close", self.server.name()).detail(words))
            }),
            (Ok(()), _) => Ok(()),
        }
    }
}
