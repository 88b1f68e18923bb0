//! Requests of a worker over one session or several.
//!
//! Nothing that is sent is waited for, so that neither side waits for the other. Hot path: no allocation, one clock read
//! per commit and one per read of a socket.

use super::claim::check_same;
use super::connection::UnitConnection;
use super::core::UnitLoad;
use super::portal::IscsiPortal;
use super::session::{LOGOUT_NS, UnitSession};
use super::tasks::TaskKind;
use super::unit::UnitFacts;
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
use narrows_wire::iscsi::negotiation::SessionOptions;
use narrows_wire::iscsi::scsi::cdb::BlockRange;
use std::collections::VecDeque;
use std::ops::Range;

/// Most sessions of a worker.
pub(super) const SESSIONS_MAX: usize = SOCKETS_MAX;
/// Longest attempt to make a session again, after which the load looks at its deadline.
const REDIAL_NS: u64 = 2_000_000_000;
/// Wait before the next attempt.
const NEXT_ATTEMPT_NS: u64 = 100_000_000;

/// An engine of commands to a unit.
#[derive(Debug)]
pub(super) struct IscsiEngine {
    pub(super) effective: Effective,
    pub(super) load: UnitLoad,
    pub(super) connections: Vec<UnitConnection>,
    pub(super) facts: UnitFacts,
    pub(super) options: SessionOptions,
    /// Which bytes of the unit each object is.
    pub(super) objects: Vec<Range<u64>>,
    /// The session that gets the next command.
    pub(super) next_session: usize,
    /// Commands that are not committed, and the requests that they are of.
    pub(super) queued: VecDeque<u32>,
    pub(super) queued_request_count: usize,
    /// Most bytes of a READ or WRITE.
    pub(super) transfer_bytes_max: u32,
    /// Whether sessions that end are not made again.
    pub(super) is_closing: bool,
}

impl IscsiEngine {
    fn kind_of(&self, request: &IoRequest) -> Result<TaskKind, EngineError> {
        let refused = |detail: String| {
            Err(EngineError::new(ErrorKind::Unsupported, "queue", self.load.portal.name()).detail(detail))
        };
        let kind = match request.op {
            Op::Read => TaskKind::Read,
            Op::Write => TaskKind::Write,
            Op::Sync => return Ok(TaskKind::Synchronize),
            Op::Ping => return Ok(TaskKind::Ping),
            Op::Trim => TaskKind::Unmap,
            op => {
                return refused(format!(
                    "{op} is no operation on blocks; this load can read, write, sync, ping and trim"
                ));
            }
        };
        let length_bytes = u64::from(request.length_bytes);
        let block_bytes = self.facts.block_bytes();
        if !request.offset_bytes.is_multiple_of(block_bytes) || !length_bytes.is_multiple_of(block_bytes) {
            return refused(format!(
                "a request of {length_bytes} bytes at {} is no whole number of blocks of {block_bytes} bytes",
                request.offset_bytes
            ));
        }
        let slot_bytes = self.load.blocks.first().map_or(0, |block| block.len()) as u64;
        if length_bytes > slot_bytes && kind != TaskKind::Unmap {
            return refused(format!(
                "a request of {length_bytes} bytes is above the block it was opened for"
            ));
        }
        let object = &self.objects[request.object as usize];
        let end = request.offset_bytes.checked_add(length_bytes);
        if end.is_none_or(|end| end > object.end - object.start) {
            return refused(format!(
                "{length_bytes} bytes at {} are beyond the {} bytes of the unit that are this load's",
                request.offset_bytes,
                object.end - object.start
            ));
        }
        Ok(kind)
    }

    /// Adds the commands of `request`; whether there was room for them.
    fn queue_one(&mut self, request: &IoRequest) -> Result<bool, EngineError> {
        let kind = self.kind_of(request)?;
        let most = match kind {
            TaskKind::Read | TaskKind::Write => self.transfer_bytes_max,
            TaskKind::Unmap => u32::try_from(self.facts.unmap_bytes_max()).unwrap_or(u32::MAX),
            TaskKind::Synchronize | TaskKind::Ping => u32::MAX,
        };
        let has_blocks = !matches!(kind, TaskKind::Synchronize | TaskKind::Ping);
        let length_bytes = if has_blocks { request.length_bytes } else { 0 };
        let count = length_bytes.div_ceil(most).max(1);
        let Some(flight) = self.load.flights.begin(request, count) else { return Ok(false) };
        let first_bytes = self.objects[request.object as usize].start + request.offset_bytes;
        let block_bytes = self.facts.block_bytes();
        for part in 0..count {
            let at_bytes = part * most;
            let part_bytes = (length_bytes - at_bytes).min(most);
            // No blocks are all of the unit for a sync, and nothing to a ping.
            let range = if has_blocks {
                BlockRange {
                    first: (first_bytes + u64::from(at_bytes)) / block_bytes,
                    count: u32::try_from(u64::from(part_bytes) / block_bytes).unwrap_or(0),
                }
            } else {
                BlockRange { first: 0, count: 0 }
            };
            let Some(index) = self.load.tasks.add(kind, flight, range) else {
                // There are as many places as commands of all requests.
                return Err(EngineError::new(ErrorKind::Io, "queue", self.load.portal.name()));
            };
            let task = self.load.tasks.task_mut(index);
            (task.at_bytes, task.length_bytes) = (at_bytes, part_bytes);
            self.queued.push_back(index);
        }
        self.queued_request_count += 1;
        Ok(true)
    }

    fn redial(&mut self) {
        let now = self.load.now;
        for connection in &mut self.connections {
            let due = matches!(&connection.line().socket, Err(broken) if now >= broken.retry_at);
            if !due {
                continue;
            }
            let deadline = now.after(REDIAL_NS.min(self.load.portal.timeout_ns));
            // With the same id, so that the target ends what is left of the session before.
            let session_id = Some(connection.session_id);
            let opened = UnitSession::open(&self.load.portal, &self.options, session_id, deadline)
                .and_then(|mut session| check_same(&mut session, &self.facts).map(|()| session));
            let opened = opened.and_then(|mut session| {
                self.load.counts.add(&std::mem::take(&mut session.counts));
                connection.reopen(session).map_err(|error| self.load.portal.io_error("connect", error))
            });
            match opened {
                Ok(()) => self.load.counts.reconnects += 1,
                // It is no longer the unit that it was, or what is there is no target: trying again changes nothing. A
                // target that has just started listens before it knows its names.
                Err(why) if !is_passing(why.kind) => {
                    self.load.failure.get_or_insert(why);
                    return;
                }
                Err(why) => {
                    let retry_at = self.load.portal.clock.now().after(NEXT_ATTEMPT_NS);
                    connection.line_mut().socket = Err(BrokenConnection { retry_at, why });
                }
            }
        }
        self.load.read_clock();
    }

    /// Gives commands to sessions in turn, as far as the target takes them.
    fn dispatch(&mut self) {
        while let Some(index) = self.load.first.front().or(self.load.ready.front()).copied() {
            let next = next_in_turn(&self.connections, self.next_session, UnitConnection::has_window);
            let Some(session) = next else {
                self.count_wait(index);
                return;
            };
            if self.load.first.pop_front().is_none() {
                self.load.ready.pop_front();
            }
            self.connections[session].push(index, &mut self.load);
            self.next_session = (session + 1) % self.connections.len();
        }
    }

    /// Counts a command once that waits only because the target takes no more.
    fn count_wait(&mut self, index: u32) {
        if self.connections.iter().any(UnitConnection::takes_commands) {
            let task = self.load.tasks.task_mut(index);
            self.load.counts.window_waits += u64::from(!task.has_waited);
            task.has_waited = true;
        }
    }

    /// Logs all sessions out, for at most a second.
    fn log_out(&mut self) -> Result<(), EngineError> {
        self.is_closing = true;
        self.connections.iter_mut().for_each(UnitConnection::leave);
        let mut nobody = Completions::with_capacity(0);
        let end = self.load.portal.clock.now().after(LOGOUT_NS.min(self.load.portal.timeout_ns));
        while self.connections.iter().any(|session| session.line().is_open()) {
            let now = self.load.portal.clock.now();
            if now >= end {
                return Err(self.load.portal.silent("log out of"));
            }
            self.load.last_progress = now;
            self.turn(true, end, &mut nobody)?;
        }
        Ok(())
    }
}

impl ConnectionLoad for UnitLoad {
    type Peer = IscsiPortal;

    fn peer(&self) -> &IscsiPortal {
        &self.portal
    }

    fn flights(&self) -> &RequestFlights {
        &self.flights
    }

    fn flights_mut(&mut self) -> &mut RequestFlights {
        &mut self.flights
    }

    fn read_clock(&mut self) {
        self.now = self.portal.clock.now();
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

impl ConnectionEngine for IscsiEngine {
    type Connection = UnitConnection;
    type Load = UnitLoad;

    fn load(&self) -> &UnitLoad {
        &self.load
    }

    fn connections(&self) -> &[UnitConnection] {
        &self.connections
    }

    fn parts_mut(&mut self) -> (&mut UnitLoad, &mut [UnitConnection]) {
        (&mut self.load, &mut self.connections)
    }

    fn advance(&mut self) {
        if !self.is_closing && self.connections.iter().any(|session| !session.line().is_open()) {
            self.load.read_clock();
            self.redial();
        }
        self.dispatch();
        for connection in &mut self.connections {
            connection.flush(&mut self.load);
        }
    }

    fn start_queued(&mut self) -> usize {
        self.load.ready.append(&mut self.queued);
        std::mem::take(&mut self.queued_request_count)
    }

    fn makes_again(&self) -> bool {
        !self.is_closing
    }
}

impl Engine for IscsiEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.load.blocks[slot.0 as usize]
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        for (index, request) in requests.iter().enumerate() {
            if !self.queue_one(request)? {
                return Ok(index);
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
        (out.request_count, out.reply_count) = self.load.counts.totals();
        out.tcp = self.tcp();
        out.rpc = Some(self.load.counts.to_model());
    }

    fn close(mut self: Box<Self>) -> Result<(), EngineError> {
        let logged_out = if self.load.flights.started_count == 0 { self.log_out() } else { Ok(()) };
        self.shut_down();
        logged_out
    }
}

/// Whether a target that was lost may answer otherwise a moment later, until its requests have waited for too long.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PeerGone | ErrorKind::Refused | ErrorKind::Io | ErrorKind::NotFound)
}
