//! Requests of a worker over one connection or several.
//!
//! Nothing that is sent is waited for, so that neither side waits for the other. Hot path: no allocation, one clock read
//! per commit and one per read of a socket.

use super::calls::{CallState, RpcCallKind};
use super::connection::CallConnection;
use super::core::LoadCore;
use super::server::NfsServer;
use crate::clock::Tick;
use crate::connections::{
    BrokenConnection, ConnectionEngine, ConnectionLoad, LoadConnection, StoragePeer, next_in_turn,
};
use crate::contract::{Engine, ProtocolCounters};
use crate::error::{EngineError, ErrorKind};
use crate::flights::RequestFlights;
use crate::request::{Completions, IoRequest, Slot};
use crate::socket::SOCKETS_MAX;
use narrows_model::{Effective, Op};
use narrows_wire::nfs::block::{ByteRange, Stability};
use std::collections::VecDeque;

/// Most connections of a worker.
pub(super) const CONNECTIONS_MAX: usize = SOCKETS_MAX;
/// Longest attempt to make a connection again, after which the load looks at its deadline.
const REDIAL_NS: u64 = 1_000_000_000;
/// One look at what is still to be written while the engine closes.
const CLOSE_SLICE_NS: u64 = 50_000_000;

/// An engine of calls to an NFS server.
#[derive(Debug)]
pub(super) struct NfsEngine {
    pub(super) effective: Effective,
    pub(super) core: LoadCore,
    pub(super) connections: Vec<CallConnection>,
    /// Port of the NFS service.
    pub(super) port: u16,
    /// The connection that gets the next call.
    pub(super) next_connection: usize,
    /// Calls that are not committed, and the requests that they are of.
    pub(super) queued: VecDeque<u32>,
    pub(super) queued_request_count: usize,
    pub(super) read_bytes_max: u32,
    pub(super) write_bytes_max: u32,
}

impl NfsEngine {
    fn kind_of(&self, request: &IoRequest) -> Result<RpcCallKind, EngineError> {
        let refused = |detail: String| {
            Err(EngineError::new(ErrorKind::Unsupported, "queue", self.core.server.name()).detail(detail))
        };
        let block_bytes = self.core.blocks.first().map_or(0, |block| block.len());
        if request.length_bytes as usize > block_bytes {
            return refused(format!(
                "a request of {} bytes is above the block it was opened for",
                request.length_bytes
            ));
        }
        match request.op {
            Op::Read => Ok(RpcCallKind::Read),
            Op::Write => Ok(RpcCallKind::Write),
            Op::Sync => Ok(RpcCallKind::Sync),
            Op::Ping => Ok(RpcCallKind::Ping),
            op => {
                refused(format!("{op} is no operation on blocks; this load can read, write, sync and ping"))
            }
        }
    }

    /// Adds the calls of `request`; whether there was room for them.
    fn queue_one(&mut self, request: &IoRequest) -> Result<bool, EngineError> {
        let kind = self.kind_of(request)?;
        let most = match kind {
            RpcCallKind::Read => self.read_bytes_max,
            RpcCallKind::Write => self.write_bytes_max,
            _ => u32::MAX,
        };
        let length_bytes =
            if matches!(kind, RpcCallKind::Sync | RpcCallKind::Ping) { 0 } else { request.length_bytes };
        let call_count = length_bytes.div_ceil(most).max(1);
        let Some(flight) = self.core.flights.begin(request, call_count) else { return Ok(false) };
        let file = self.core.files[request.object as usize];
        for part in 0..call_count {
            let Some(index) = self.core.calls.add(kind, flight, request.object) else {
                // There are as many places as calls of all requests.
                return Err(EngineError::new(ErrorKind::Io, "queue", self.core.server.name()));
            };
            let at_bytes = part * most;
            let call = self.core.calls.call_mut(index);
            call.at_bytes = at_bytes;
            call.range = ByteRange {
                offset_bytes: request.offset_bytes + u64::from(at_bytes),
                length_bytes: (length_bytes - at_bytes).min(most),
            };
            self.core.calls.encode(index, &file);
            self.queued.push_back(index);
        }
        self.queued_request_count += 1;
        Ok(true)
    }

    fn redial(&mut self) {
        let now = self.core.now;
        for connection in &mut self.connections {
            let line = connection.line_mut();
            let due = matches!(&line.socket, Err(broken) if now >= broken.retry_at);
            if !due {
                continue;
            }
            let deadline = now.after(REDIAL_NS.min(self.core.server.timeout_ns));
            let dialled = self.core.server.dial("connect", self.port, deadline);
            let opened = dialled.and_then(|socket| {
                line.reopen(socket, &[]).map_err(|error| self.core.server.io_error("connect", error))
            });
            match opened {
                Ok(()) => self.core.counts.reconnects += 1,
                Err(why) => {
                    let retry_at = self.core.server.clock.now().after(REDIAL_NS / 10);
                    line.socket = Err(BrokenConnection { retry_at, why });
                }
            }
        }
    }

    /// Gives the calls that may be sent to connections in turn.
    fn dispatch(&mut self) {
        while let Some(connection) =
            next_in_turn(&self.connections, self.next_connection, |one| one.line().is_open())
        {
            let Some(index) = self.next_call() else { return };
            let core = &mut self.core;
            let sequence = core.unstable.next_sequence();
            core.calls.call_mut(index).sequence = sequence;
            core.calls.assign(index, connection, core.now.0, &mut core.counts);
            self.connections[connection].push(index);
            self.next_connection = (connection + 1) % self.connections.len();
        }
    }

    /// The next call that may be sent.
    fn next_call(&mut self) -> Option<u32> {
        let core = &mut self.core;
        if let Some(index) = core.next_recovery_call() {
            return Some(index);
        }
        if core.recovery.holds_calls() {
            return None;
        }
        if let Some(index) = core.first.pop_front() {
            return Some(index);
        }
        let index = *core.ready.front()?;
        let call = core.calls.call(index);
        debug_assert_eq!(call.state, CallState::Waiting, "a call is sent once");
        if call.kind == RpcCallKind::Write
            && core.calls.stability() == Stability::Unstable
            && !call.is_reserved
        {
            let has_room = core.unstable.reserve();
            if !has_room || core.unstable.is_nearly_full() {
                Self::force_commit(core);
            }
            if !has_room {
                return core.first.pop_front();
            }
            core.calls.call_mut(index).is_reserved = true;
        }
        core.ready.pop_front()
    }

    /// Sends a COMMIT for the oldest unstable data, unless one is under way.
    fn force_commit(core: &mut LoadCore) {
        let Some(file) = core.unstable.oldest_file().filter(|_| !core.is_committing) else { return };
        if let Some(index) = core.add_commit(RpcCallKind::Commit, file) {
            core.is_committing = true;
            core.counts.forced_commits += 1;
            core.first.push_back(index);
        }
    }

    /// Makes what the server has in its memory durable; not where a stop at once was asked for.
    fn commit_all(&mut self) -> Result<(), EngineError> {
        let mut out = Completions::with_capacity(self.core.blocks.len());
        self.core.read_clock();
        self.core.last_progress = self.core.now;
        while !self.core.unstable.is_empty() && !self.core.server.stop.is_now() {
            if let Some(file) = self.core.unstable.oldest_file().filter(|_| !self.core.is_committing)
                && let Some(index) = self.core.add_commit(RpcCallKind::Commit, file)
            {
                self.core.is_committing = true;
                self.core.first.push_back(index);
            }
            let until = self.core.server.clock.now().after(CLOSE_SLICE_NS);
            self.turn(true, until, &mut out)?;
            self.check_progress(self.core.server.clock.now())?;
        }
        Ok(())
    }
}

impl ConnectionLoad for LoadCore {
    type Peer = NfsServer;

    fn peer(&self) -> &NfsServer {
        &self.server
    }

    fn flights(&self) -> &RequestFlights {
        &self.flights
    }

    fn flights_mut(&mut self) -> &mut RequestFlights {
        &mut self.flights
    }

    fn read_clock(&mut self) {
        self.now = self.server.clock.now();
    }

    fn last_progress(&self) -> Tick {
        self.last_progress
    }

    fn begin_wait(&mut self) {
        self.last_progress = self.now;
    }

    fn take_failure(&mut self) -> Option<EngineError> {
        self.failure.take()
    }
}

impl ConnectionEngine for NfsEngine {
    type Connection = CallConnection;
    type Load = LoadCore;

    fn load(&self) -> &LoadCore {
        &self.core
    }

    fn connections(&self) -> &[CallConnection] {
        &self.connections
    }

    fn parts_mut(&mut self) -> (&mut LoadCore, &mut [CallConnection]) {
        (&mut self.core, &mut self.connections)
    }

    fn advance(&mut self) {
        if self.connections.iter().any(|connection| !connection.line().is_open()) {
            self.core.read_clock();
            self.redial();
        }
        self.dispatch();
        for connection in &mut self.connections {
            connection.flush(&mut self.core);
        }
    }

    fn start_queued(&mut self) -> usize {
        self.core.ready.append(&mut self.queued);
        std::mem::take(&mut self.queued_request_count)
    }
}

impl Engine for NfsEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.core.blocks[slot.0 as usize]
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        for (taken, request) in requests.iter().enumerate() {
            if !self.queue_one(request)? {
                return Ok(taken);
            }
        }
        Ok(requests.len())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        self.commit_queued();
        Ok(())
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        self.reap_completed(min, until, out)
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        (out.request_count, out.reply_count) = self.core.counts.totals();
        out.tcp = self.tcp();
        out.rpc = Some(self.core.counts.to_model());
    }

    fn close(mut self: Box<Self>) -> Result<(), EngineError> {
        let committed = if self.core.flights.started_count == 0 { self.commit_all() } else { Ok(()) };
        self.shut_down();
        committed
    }
}
