//! Raw streams into a server's sink and out of its source.
//!
//! A request is one block of the stream; requests complete in order. At the end both sides compare how many bytes
//! passed. Hot path: no allocation, one clock read per wait; blocks leave from and arrive in the slots' own memory.

use super::blocks::{blocks, index};
use super::connect::{Conversation, Peer};
use super::facts::{effective, tcp_counters};
use super::total::{self, END_FRAME_BYTES_MAX};
use crate::clock::Tick;
use crate::contract::{Engine, OpenSpec, ProtocolCounters, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::request::{Completion, Completions, Request, Slot};
use narrows_model::units::saturate_usize;
use narrows_model::{Effective, Layer, Op};
use narrows_sys::buffer::AlignedBuffer;
use narrows_wire::frame::Decoder;
use narrows_wire::open::{Granted, decode_total};
use rustix::event::PollFlags;
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, TcpStream};

/// What one read takes beyond the first waiting block: many small blocks at once.
const SPILL_BYTES: usize = 256 << 10;

/// Blocks of one vectored write, below the kernel's limit of 1024.
const PARTS_MAX: usize = 128;

pub(super) fn open(
    conversation: Conversation,
    spec: &OpenSpec,
    worker: &WorkerContext,
    layer: Layer,
    granted: &Granted,
) -> Result<Box<dyn Engine>, EngineError> {
    let (peer, socket, rest) = conversation.into_parts();
    let depth = spec.workload.queue_depth;
    let effective = effective(&peer, &socket, granted, depth)?;
    let mut spill = vec![0; SPILL_BYTES.max(rest.len())].into_boxed_slice();
    spill[..rest.len()].copy_from_slice(&rest);
    Ok(Box::new(StreamEngine {
        last_moved: peer.clock().now(),
        peer,
        socket,
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
    socket: TcpStream,
    sends: bool,
    effective: Effective,
    blocks: Vec<AlignedBuffer>,
    waiting: VecDeque<Request>,
    /// Requests at the front of `waiting` that have been committed.
    committed: usize,
    front_done_bytes: usize,
    spill: Box<[u8]>,
    /// What of `spill` has arrived and belongs to no block yet.
    spilled: std::ops::Range<usize>,
    /// Bytes handed to the socket, or taken from it.
    passed_bytes: u64,
    last_moved: Tick,
    request_count: u64,
    reply_count: u64,
}

impl StreamEngine {
    /// Moves what can be moved at once; tells whether anything was.
    fn advance(&mut self, out: &mut Completions) -> Result<bool, EngineError> {
        let mut moved = false;
        while self.committed > 0 {
            let step = if self.sends { self.send(out) } else { self.receive(out) };
            match step {
                Ok(true) => moved = true,
                Ok(false) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.ended(error)),
            }
        }
        if moved {
            self.last_moved = self.peer.clock().now();
        }
        Ok(moved)
    }

    fn send(&mut self, out: &mut Completions) -> io::Result<bool> {
        let mut slices = [IoSlice::new(&[]); PARTS_MAX];
        let mut used = 0;
        for request in self.waiting.iter().take(self.committed.min(PARTS_MAX)) {
            let skip = if used == 0 { self.front_done_bytes } else { 0 };
            slices[used] =
                IoSlice::new(&self.blocks[index(request.slot.0)][skip..index(request.length_bytes)]);
            used += 1;
        }
        let sent = match self.socket.write_vectored(&slices[..used]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            other => other?,
        };
        self.passed(sent, out);
        Ok(true)
    }

    fn receive(&mut self, out: &mut Completions) -> io::Result<bool> {
        if self.spilled.is_empty() {
            let Some(request) = self.waiting.front() else { return Ok(false) };
            let place =
                &mut self.blocks[index(request.slot.0)][self.front_done_bytes..index(request.length_bytes)];
            let room = place.len();
            let slices = &mut [IoSliceMut::new(place), IoSliceMut::new(&mut self.spill)];
            let length = match self.socket.read_vectored(slices) {
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
            out.push(Completion { tag: request.tag, result: Ok(request.length_bytes) });
            self.waiting.pop_front();
        }
    }

    /// The error that ended the stream, in the server's own words where it left some.
    fn ended(&mut self, error: io::Error) -> EngineError {
        if self.sends {
            let mut decoder = Decoder::new(END_FRAME_BYTES_MAX);
            let length = self.socket.read(&mut self.spill).unwrap_or(0);
            decoder.push(&self.spill[..length]);
            if let Ok(Some(frame)) = decoder.next()
                && let Err(told) = decode_total(frame)
            {
                return self.peer.wire_error("send", &told);
            }
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.peer.gone("receive"),
            _ => self.peer.io_error(if self.sends { "send" } else { "receive" }, error),
        }
    }

    fn wait(&self, until: Tick, now: Tick) -> Result<(), EngineError> {
        let silent_at = self.last_moved.after(self.peer.timeout_ns());
        let events = if self.sends { PollFlags::OUT } else { PollFlags::IN };
        self.peer.wait(&self.socket, events, until.min(silent_at).since(now))
    }
}

impl Engine for StreamEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.blocks[index(slot.0)]
    }

    fn queue(&mut self, requests: &[Request]) -> Result<usize, EngineError> {
        let op = if self.sends { Op::Send } else { Op::Receive };
        let fits = |request: &Request| {
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
            self.last_moved = self.peer.clock().now();
        }
        self.request_count += u64::try_from(self.waiting.len() - self.committed).unwrap_or(0);
        self.committed = self.waiting.len();
        Ok(())
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let enough = out.len().saturating_add(index(min));
        loop {
            let moved = self.advance(out)?;
            if out.len() >= enough || self.committed == 0 {
                return Ok(());
            }
            let now = self.peer.clock().now();
            if now >= until {
                return Ok(());
            }
            if !moved && now.since(self.last_moved) >= self.peer.timeout_ns() {
                return Err(self.peer.silent(if self.sends { "send" } else { "receive" }));
            }
            self.wait(until, now)?;
        }
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        out.request_count = self.request_count;
        out.reply_count = self.reply_count;
        out.tcp = tcp_counters(&self.socket);
    }

    fn close(mut self: Box<Self>) -> Result<(), EngineError> {
        let ended = self.socket.set_nonblocking(false).and_then(|()| self.socket.shutdown(Shutdown::Write));
        ended.map_err(|error| self.peer.io_error("close", error))?;
        let total = if self.sends {
            total::of_sink(&self.peer, &mut self.socket, &mut self.spill)?
        } else {
            let tail = self.spill[self.spilled.clone()].to_vec();
            let (total, more_bytes) = total::of_source(&self.peer, &mut self.socket, &mut self.spill, tail)?;
            self.passed_bytes += more_bytes;
            total
        };
        if total == self.passed_bytes {
            return Ok(());
        }
        Err(EngineError::new(ErrorKind::Protocol, "close", self.peer.name())
            .detail(format!("{} bytes passed here and {total} at the server", self.passed_bytes))
            .hint("do not use what was measured on this stream"))
    }
}
