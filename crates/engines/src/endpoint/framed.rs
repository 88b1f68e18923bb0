//! Requests pipelined to a server's store in memory or on disk.
//!
//! Nothing that is sent is waited for: what does not fit into the socket's buffer waits here and leaves when there is
//! room, while replies are read, so that neither side waits for the other. Hot path: no allocation once the queue has been full,
//! one clock read per wait; payloads leave from the slots' own memory and large ones arrive straight in it.

use super::blocks::{blocks, index};
use super::connect::Conversation;
use super::facts::effective;
use super::peer::Peer;
use super::send_queue::{OutgoingRequest, SendQueue};
use super::silence::SilenceTimer;
use crate::clock::Tick;
use crate::contract::{Engine, OpenSpec, ProtocolCounters, Readiness, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::request::{Completions, Errno, IoCompletion, IoRequest, Slot};
use crate::socket::{DataSocket, LONG_NS, WaitMode};
use narrows_model::units::saturate_usize;
use narrows_model::{Effective, Op};
use narrows_sys::buffer::AlignedBuffer;
use narrows_wire::open::Grant;
use narrows_wire::reply::{ReplyDecoder, ReplyHeader, ReplyPiece};
use narrows_wire::request::{RequestHeader, RequestKind};
use rustix::event::PollFlags;
use std::io::{self, IoSliceMut};
use std::os::fd::AsFd;

/// What one read takes beyond a reply's payload: the replies of many small requests.
const ARRIVED_BYTES: usize = 256 << 10;

/// Errors of a write after which the server's last words may still be read.
const CUT_OFF: [io::ErrorKind; 2] = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];

pub(super) fn open(
    conversation: Conversation,
    spec: &OpenSpec,
    worker: &WorkerContext,
    granted: &Grant,
) -> Result<Box<dyn Engine>, EngineError> {
    let (peer, socket, rest) = conversation.into_parts();
    let depth = spec.workload.queue_depth;
    let effective = effective(&peer, &socket, granted, depth)?;
    let mut arrived = vec![0; ARRIVED_BYTES.max(rest.len())].into_boxed_slice();
    arrived[..rest.len()].copy_from_slice(&rest);
    let data_socket = DataSocket::new(socket).map_err(|error| peer.io_error("open", error))?;
    let idle = IoRequest { tag: 0, op: Op::Sync, object: 0, offset_bytes: 0, length_bytes: 0, slot: Slot(0) };
    Ok(Box::new(FramedEngine {
        silence: SilenceTimer::new(peer.clock().now(), peer.timeout_ns()),
        peer,
        data_socket,
        effective,
        blocks: blocks(depth, spec.workload.block_bytes, worker.seed)?,
        decoder: ReplyDecoder::new(depth),
        asked: vec![idle; saturate_usize(u64::from(depth))],
        send_queue: SendQueue::with_capacity(depth),
        committed: 0,
        arrived,
        arrived_bytes: rest.len(),
        cut_off: None,
        request_count: 0,
        reply_count: 0,
    }))
}

#[derive(Debug)]
struct FramedEngine {
    peer: Peer,
    data_socket: DataSocket,
    effective: Effective,
    blocks: Vec<AlignedBuffer>,
    decoder: ReplyDecoder,
    /// The requests in flight, by their tag on the wire.
    asked: Vec<IoRequest>,
    send_queue: SendQueue,
    /// Requests at the front of `leaving` that may be sent.
    committed: usize,
    arrived: Box<[u8]>,
    arrived_bytes: usize,
    /// Why nothing can be sent any more; what the server said last is still read.
    cut_off: Option<io::Error>,
    silence: SilenceTimer,
    request_count: u64,
    reply_count: u64,
}

impl FramedEngine {
    fn flush(&mut self) {
        if self.cut_off.is_some() || self.committed == 0 {
            return;
        }
        match self.send_queue.send(&self.data_socket, &self.blocks, self.committed) {
            Ok(gone) => self.committed -= gone,
            Err(error) => self.cut_off = Some(error),
        }
    }

    /// Reads what has arrived, until the socket has no more or gave less than was offered; `patience` is that of the
    /// first read.
    fn receive(&mut self, mut wait_mode: WaitMode, out: &mut Completions) -> Result<(), EngineError> {
        loop {
            let wanted = self.decoder.payload_wanted();
            let free = &mut self.arrived[self.arrived_bytes..];
            let (read, offered) = match wanted {
                Some((tag, at, left)) if self.arrived_bytes == 0 => {
                    let slot = self.asked[index(tag)].slot;
                    let place = &mut self.blocks[index(slot.0)][index(at)..index(at) + index(left)];
                    let offered = place.len() + free.len();
                    let parts = &mut [IoSliceMut::new(place), IoSliceMut::new(free)];
                    (self.data_socket.receive(parts, wait_mode), offered)
                }
                _ => {
                    let offered = free.len();
                    (self.data_socket.receive(&mut [IoSliceMut::new(free)], wait_mode), offered)
                }
            };
            wait_mode = WaitMode::Never;
            let length = match read {
                Ok(0) => return Err(self.closed_error()),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(self.peer.io_error("receive", error)),
            };
            self.take(length, wanted.filter(|_| self.arrived_bytes == 0), out)?;
            if length < offered {
                return Ok(());
            }
        }
    }

    /// Sorts `length` bytes that were read: first into the wanted payload, the rest through the decoder.
    fn take(
        &mut self,
        length: usize,
        wanted: Option<(u32, u32, u32)>,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        self.silence.restart(self.peer.clock().now());
        let mut rest = length;
        if let Some((_, _, left)) = wanted {
            let direct = length.min(index(left));
            rest -= direct;
            let (tag, at, last) = self.decoder.payload_arrived(direct);
            if last {
                self.complete(tag, Ok(at + u32::try_from(direct).unwrap_or(0)), out);
            }
        }
        self.arrived_bytes += rest;
        self.parse(out)
    }

    fn parse(&mut self, out: &mut Completions) -> Result<(), EngineError> {
        let arrived = std::mem::take(&mut self.arrived);
        let mut input = &arrived[..self.arrived_bytes];
        let parsed = self.parse_from(&mut input, out);
        let (left, total) = (input.len(), self.arrived_bytes);
        self.arrived = arrived;
        self.arrived.copy_within(total - left..total, 0);
        self.arrived_bytes = left;
        parsed
    }

    fn parse_from(&mut self, input: &mut &[u8], out: &mut Completions) -> Result<(), EngineError> {
        loop {
            match self.decoder.next(input).map_err(|error| self.peer.wire_error("receive", &error))? {
                None => return Ok(()),
                Some(ReplyPiece::Reply { header, complete: true }) => {
                    self.complete(header.tag, result_of(&header), out);
                }
                Some(ReplyPiece::Reply { .. }) => {}
                Some(ReplyPiece::Payload { bytes, tag, at_bytes, last }) => {
                    let slot = self.asked[index(tag)].slot;
                    let at = index(at_bytes);
                    self.blocks[index(slot.0)][at..at + bytes.len()].copy_from_slice(bytes);
                    if last {
                        self.complete(tag, Ok(at_bytes + u32::try_from(bytes.len()).unwrap_or(0)), out);
                    }
                }
            }
        }
    }

    fn complete(&mut self, wire_tag: u32, result: Result<u32, Errno>, out: &mut Completions) {
        self.reply_count += 1;
        out.push(IoCompletion { tag: self.asked[index(wire_tag)].tag, result });
    }

    fn closed_error(&mut self) -> EngineError {
        match self.cut_off.take() {
            Some(error) => self.peer.io_error("send", error),
            None => self.peer.gone("receive"),
        }
    }

    /// Waits until the socket can be read, can take more of what waits to leave, or `until`; or leaves the wait to
    /// the read that follows, with the patience that is returned.
    fn wait(&self, until: Tick) -> Result<WaitMode, EngineError> {
        let span_ns = until.min(self.silence.next_look()).since(self.peer.clock().now());
        let awaited = self.poll_flags();
        if awaited == PollFlags::IN && span_ns >= LONG_NS {
            return Ok(WaitMode::Short);
        }
        self.peer.wait(self.data_socket.tcp_stream(), awaited, span_ns)?;
        Ok(WaitMode::Never)
    }

    /// What the socket must show for this side to go on: replies, and room while something waits to leave.
    fn poll_flags(&self) -> PollFlags {
        let sending = self.committed > 0 && self.cut_off.is_none();
        if sending { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
    }

    fn kind_of(&self, request: &IoRequest) -> Result<RequestKind, EngineError> {
        let refused = |detail: String| {
            Err(EngineError::new(ErrorKind::Unsupported, "queue", self.peer.name()).detail(detail))
        };
        if index(request.length_bytes) > self.blocks.first().map_or(0, |block| block.len()) {
            return refused(format!(
                "a request of {} bytes is above the block it was opened for",
                request.length_bytes
            ));
        }
        match request.op {
            Op::Read => Ok(RequestKind::Read),
            Op::Write => Ok(RequestKind::Write),
            Op::Sync => Ok(RequestKind::Sync),
            op => refused(format!("a store does not {op}; it can read, write and sync")),
        }
    }
}

impl Engine for FramedEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.blocks[index(slot.0)]
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        for (taken, request) in requests.iter().enumerate() {
            let kind = self.kind_of(request)?;
            let length_bytes = if kind == RequestKind::Sync { 0 } else { request.length_bytes };
            let Some(tag) = self.decoder.sent(kind, length_bytes) else { return Ok(taken) };
            self.asked[index(tag)] = *request;
            let IoRequest { object, offset_bytes, slot, .. } = *request;
            let header = RequestHeader { kind, tag, object, length_bytes, offset_bytes }.encode();
            let payload_bytes = if kind == RequestKind::Write { index(length_bytes) } else { 0 };
            self.send_queue.push(OutgoingRequest { header, slot, payload_bytes });
        }
        Ok(requests.len())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        if self.committed == 0 && self.decoder.in_flight() == self.send_queue.len() {
            // Nothing was outstanding: the peer's time to answer starts now.
            self.silence.restart(self.peer.clock().now());
        }
        self.request_count += u64::try_from(self.send_queue.len() - self.committed).unwrap_or(0);
        self.committed = self.send_queue.len();
        self.flush();
        Ok(())
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let enough = out.len().saturating_add(index(min));
        loop {
            self.flush();
            let waits =
                out.len() < enough && self.decoder.in_flight() > self.send_queue.len() - self.committed;
            let wait_mode = if waits { self.wait(until)? } else { WaitMode::Never };
            let before = out.len();
            self.receive(wait_mode, out)?;
            let outstanding = self.decoder.in_flight() > self.send_queue.len() - self.committed;
            if out.len() >= enough || !outstanding {
                return Ok(());
            }
            let now = self.peer.clock().now();
            if out.len() == before && self.silence.is_over(now, self.data_socket.tcp_stream()) {
                return Err(self.peer.silent("receive"));
            }
            if now >= until {
                return Ok(());
            }
        }
    }

    fn readiness(&mut self) -> Result<Option<Readiness<'_>>, EngineError> {
        Ok(Some(Readiness { descriptor: self.data_socket.tcp_stream().as_fd(), events: self.poll_flags() }))
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        out.request_count = self.request_count;
        out.reply_count = self.reply_count;
        out.tcp = self.data_socket.counters();
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        // Nothing is left to agree on: every reply was a reply to one request.
        match self.data_socket.tcp_stream().shutdown(std::net::Shutdown::Both) {
            Err(error) if error.kind() != io::ErrorKind::NotConnected && !CUT_OFF.contains(&error.kind()) => {
                Err(self.peer.io_error("close", error))
            }
            _ => Ok(()),
        }
    }
}

fn result_of(header: &ReplyHeader) -> Result<u32, Errno> {
    match i32::try_from(header.status) {
        Ok(0) => Ok(header.length_bytes),
        Ok(status) => Err(Errno(status)),
        Err(_) => Err(Errno(i32::MAX)),
    }
}
