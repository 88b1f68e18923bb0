//! Raw streams into a server's sink and out of its source.
//!
//! A request is one block of the stream; requests complete in order. At the end both sides compare how many bytes
//! passed. Hot path: no allocation, one clock read per wait; blocks leave from and arrive in the slots' own memory, and
//! where one block is all there is to wait for, the call that moves it waits.

use super::blocks::{blocks, index};
use super::connect::Conversation;
use super::facts::effective;
use super::peer::Peer;
use super::silence::SilenceTimer;
use super::total::{self, END_FRAME_BYTES_MAX};
use crate::clock::Tick;
use crate::contract::{Engine, OpenSpec, ProtocolCounters, Readiness, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::request::{Completions, IoCompletion, IoRequest, Slot};
use crate::socket::{DataSocket, LONG_NS, WaitMode};
use narrows_model::units::saturate_usize;
use narrows_model::{Effective, Layer, Op};
use narrows_sys::buffer::AlignedBuffer;
use narrows_wire::frame::Decoder;
use narrows_wire::open::{Grant, decode_total};
use rustix::event::PollFlags;
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::os::fd::AsFd;

/// What one read takes beyond the waiting blocks where these are small: many of them at once.
const SPILL_BYTES: usize = 256 << 10;

/// Blocks of this size are read alone: what spills over is copied once more.
const UNSPILLED_BYTES: usize = 64 << 10;

/// Blocks of one vectored call, below the kernel's limit of 1024.
const PARTS_MAX: usize = 128;

pub(super) fn open(
    conversation: Conversation,
    spec: &OpenSpec,
    worker: &WorkerContext,
    layer: Layer,
    granted: &Grant,
) -> Result<Box<dyn Engine>, EngineError> {
    let (peer, socket, rest) = conversation.into_parts();
    let depth = spec.workload.queue_depth;
    let effective = effective(&peer, &socket, granted, depth)?;
    let data_socket = DataSocket::new(socket).map_err(|error| peer.io_error("open", error))?;
    let mut spill = vec![0; SPILL_BYTES.max(rest.len())].into_boxed_slice();
    spill[..rest.len()].copy_from_slice(&rest);
    Ok(Box::new(StreamEngine {
        silence: SilenceTimer::new(peer.clock().now(), peer.timeout_ns()),
        peer,
        data_socket,
        sends: layer == Layer::Sink,
        effective,
        blocks: blocks(depth, spec.workload.block_bytes, worker.seed)?,
        waiting: VecDeque::with_capacity(saturate_usize(u64::from(depth))),
        committed: 0,
        front_done_bytes: 0,
        spill,
        spilled: 0..rest.len(),
        passed_bytes: 0,
        request_count: 0,
        reply_count: 0,
    }))
}

#[derive(Debug)]
struct StreamEngine {
    peer: Peer,
    data_socket: DataSocket,
    sends: bool,
    effective: Effective,
    blocks: Vec<AlignedBuffer>,
    waiting: VecDeque<IoRequest>,
    /// Requests at the front of `waiting` that have been committed.
    committed: usize,
    front_done_bytes: usize,
    spill: Box<[u8]>,
    /// What of `spill` has arrived and belongs to no block yet.
    spilled: std::ops::Range<usize>,
    /// Bytes handed to the socket, or taken from it.
    passed_bytes: u64,
    silence: SilenceTimer,
    request_count: u64,
    reply_count: u64,
}

impl StreamEngine {
    /// Moves what can be moved at once, the first of it with `patience`; returns whether anything was.
    fn advance(&mut self, mut wait_mode: WaitMode, out: &mut Completions) -> Result<bool, EngineError> {
        let mut moved = false;
        while self.committed > 0 {
            let step = if self.sends { self.send(wait_mode, out) } else { self.receive(wait_mode, out) };
            wait_mode = WaitMode::Never;
            match step {
                Ok(true) => moved = true,
                Ok(false) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.stream_error(error)),
            }
        }
        if moved {
            self.silence.restart(self.peer.clock().now());
        }
        Ok(moved)
    }

    fn send(&mut self, wait_mode: WaitMode, out: &mut Completions) -> io::Result<bool> {
        let mut slices = [IoSlice::new(&[]); PARTS_MAX];
        let mut used = 0;
        for request in self.waiting.iter().take(self.committed.min(PARTS_MAX)) {
            let skip = if used == 0 { self.front_done_bytes } else { 0 };
            slices[used] =
                IoSlice::new(&self.blocks[index(request.slot.0)][skip..index(request.length_bytes)]);
            used += 1;
        }
        let sent = match self.data_socket.send(&slices[..used], wait_mode) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            other => other?,
        };
        self.passed(sent, out);
        Ok(true)
    }

    fn receive(&mut self, wait_mode: WaitMode, out: &mut Completions) -> io::Result<bool> {
        if self.spilled.is_empty() {
            let Some(request) = self.waiting.front() else { return Ok(false) };
            let place =
                &mut self.blocks[index(request.slot.0)][self.front_done_bytes..index(request.length_bytes)];
            let room = place.len();
            let mut slices = [IoSliceMut::new(place), IoSliceMut::new(&mut self.spill)];
            let spills = index(request.length_bytes) < UNSPILLED_BYTES;
            let offered = if spills { &mut slices[..] } else { &mut slices[..1] };
            let length = match self.data_socket.receive(offered, wait_mode) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                other => other?,
            };
            self.spilled = 0..length.saturating_sub(room);
            self.passed(length.min(room), out);
        }
        while let (false, Some(request)) =
            (self.spilled.is_empty() || self.committed == 0, self.waiting.front())
        {
            let place =
                &mut self.blocks[index(request.slot.0)][self.front_done_bytes..index(request.length_bytes)];
            let length = place.len().min(self.spilled.len());
            place[..length].copy_from_slice(&self.spill[self.spilled.start..self.spilled.start + length]);
            self.spilled.start += length;
            self.passed(length, out);
        }
        Ok(true)
    }

    /// Notes that `length` bytes passed at the front of the waiting requests.
    fn passed(&mut self, length: usize, out: &mut Completions) {
        self.passed_bytes += u64::try_from(length).unwrap_or(0);
        self.front_done_bytes += length;
        while let Some(request) = self.waiting.front() {
            let whole = index(request.length_bytes);
            if self.front_done_bytes < whole || self.committed == 0 {
                return;
            }
            self.front_done_bytes -= whole;
            self.committed -= 1;
            self.reply_count += 1;
            out.push(IoCompletion { tag: request.tag, result: Ok(request.length_bytes) });
            self.waiting.pop_front();
        }
    }

    /// The error that ended the stream, in the server's own words where it left some.
    fn stream_error(&mut self, error: io::Error) -> EngineError {
        if self.sends {
            let mut decoder = Decoder::new(END_FRAME_BYTES_MAX);
            let spill = &mut [IoSliceMut::new(&mut self.spill)];
            let length = self.data_socket.receive(spill, WaitMode::Never).unwrap_or(0);
            decoder.push(&self.spill[..length]);
            if let Ok(Some(frame)) = decoder.next()
                && let Err(refusal) = decode_total(frame)
            {
                return self.peer.wire_error("send", &refusal);
            }
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.peer.gone("receive"),
            _ => self.peer.io_error(if self.sends { "send" } else { "receive" }, error),
        }
    }

    /// Waits until something can be moved, or `until`; or leaves the wait to the call that follows, with the patience
    /// that is returned.
    fn wait(&self, until: Tick, now: Tick) -> Result<WaitMode, EngineError> {
        let span_ns = until.min(self.silence.next_look()).since(now);
        // Of several blocks the first is complete before the last has room: a call that waited would report it too
        // late.
        if self.committed == 1 && span_ns >= LONG_NS {
            return Ok(WaitMode::Short);
        }
        self.peer.wait(self.data_socket.tcp_stream(), self.poll_flags(), span_ns)?;
        Ok(WaitMode::Never)
    }

    /// What the socket must show for the stream to go on.
    fn poll_flags(&self) -> PollFlags {
        if self.sends { PollFlags::OUT } else { PollFlags::IN }
    }
}

impl Engine for StreamEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.blocks[index(slot.0)]
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        let op = if self.sends { Op::Send } else { Op::Receive };
        let fits = |request: &IoRequest| {
            request.op == op
                && request.length_bytes > 0
                && self
                    .blocks
                    .get(index(request.slot.0))
                    .is_some_and(|block| index(request.length_bytes) <= block.len())
        };
        if let Some(request) = requests.iter().find(|request| !fits(request)) {
            return Err(EngineError::new(ErrorKind::Unsupported, "queue", self.peer.name()).detail(format!(
                "this stream can {op} blocks up to the size it was opened for, not {} {} bytes",
                request.op, request.length_bytes
            )));
        }
        let room = self.blocks.len().saturating_sub(self.waiting.len());
        let taken = requests.len().min(room);
        self.waiting.extend(&requests[..taken]);
        Ok(taken)
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        if self.committed == 0 {
            self.silence.restart(self.peer.clock().now());
        }
        self.request_count += u64::try_from(self.waiting.len() - self.committed).unwrap_or(0);
        self.committed = self.waiting.len();
        Ok(())
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let enough = out.len().saturating_add(index(min));
        let mut wait_mode = match (self.committed, min) {
            (1, 1..) if self.spilled.is_empty() => self.wait(until, self.peer.clock().now())?,
            _ => WaitMode::Never,
        };
        loop {
            let moved = self.advance(wait_mode, out)?;
            if out.len() >= enough || self.committed == 0 {
                return Ok(());
            }
            let now = self.peer.clock().now();
            if now >= until {
                return Ok(());
            }
            if !moved && self.silence.is_over(now, self.data_socket.tcp_stream()) {
                return Err(self.peer.silent(if self.sends { "send" } else { "receive" }));
            }
            wait_mode = self.wait(until, now)?;
        }
    }

    fn readiness(&mut self) -> Result<Option<Readiness<'_>>, EngineError> {
        let awaited =
            Readiness { descriptor: self.data_socket.tcp_stream().as_fd(), events: self.poll_flags() };
        Ok(self.spilled.is_empty().then_some(awaited))
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        out.request_count = self.request_count;
        out.reply_count = self.reply_count;
        out.tcp = self.data_socket.counters();
    }

    fn close(mut self: Box<Self>) -> Result<(), EngineError> {
        let socket = self.data_socket.tcp_stream();
        socket.shutdown(Shutdown::Write).map_err(|error| self.peer.io_error("close", error))?;
        let total = if self.sends {
            total::of_sink(&self.peer, socket, &mut self.spill)?
        } else {
            let tail = self.spill[self.spilled.clone()].to_vec();
            let (total, more_bytes) = total::of_source(&self.peer, socket, &mut self.spill, tail)?;
            self.passed_bytes += more_bytes;
            total
        };
        if total == self.passed_bytes {
            return Ok(());
        }
        Err(EngineError::new(ErrorKind::Protocol, "close", self.peer.name())
            .detail(format!("{} bytes were transferred here and {total} at the server", self.passed_bytes))
            .hint("do not use the figures of this stream"))
    }
}
