//! The loop of an engine over its connections: sending what may be sent, waiting for what arrives, completing requests.
//!
//! Nothing that is sent is waited for, so that neither side waits for the other. Hot path: no allocation, one clock read
//! per commit and one per read of a socket.

use super::load::ConnectionLoad;
use super::load_socket::LoadConnection;
use super::peer::StoragePeer;
use crate::clock::Tick;
use crate::error::EngineError;
use crate::request::Completions;
use crate::socket::{LONG_NS, WaitMode, wait_for_any};
use narrows_model::counters::{Combine, TcpCounters};

/// The connection in turn, from `next` on, of which `is_usable` is true.
pub(crate) fn next_in_turn<C>(
    connections: &[C],
    next: usize,
    is_usable: impl Fn(&C) -> bool,
) -> Option<usize> {
    let count = connections.len();
    (0..count).map(|step| (next + step) % count).find(|index| is_usable(&connections[*index]))
}

/// An engine whose requests are calls over one connection or several.
pub(crate) trait ConnectionEngine {
    type Connection: LoadConnection<Load = Self::Load>;
    type Load: ConnectionLoad;

    fn load(&self) -> &Self::Load;

    fn connections(&self) -> &[Self::Connection];

    fn parts_mut(&mut self) -> (&mut Self::Load, &mut [Self::Connection]);

    /// Makes connections again that are due, gives calls to connections, and sends what the sockets take.
    fn advance(&mut self);

    /// Lets the calls of queued requests be sent; how many requests they are of.
    fn start_queued(&mut self) -> usize;

    /// Whether connections that ended are made again.
    fn makes_again(&self) -> bool {
        true
    }

    /// Starts what is queued.
    fn commit_queued(&mut self) {
        let (load, _) = self.parts_mut();
        load.read_clock();
        if load.flights().started_count == 0 {
            // Nothing was outstanding: the server's time to answer starts now.
            load.begin_wait();
        }
        let started = self.start_queued();
        self.parts_mut().0.flights_mut().started_count += started;
        self.advance();
    }

    /// Completes at least `min` requests, or as many as are done by `until`.
    ///
    /// # Errors
    /// The load cannot go on.
    fn reap_completed(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let enough = out.len().saturating_add(min as usize);
        loop {
            let waits = out.len() < enough && self.load().flights().started_count > 0;
            self.turn(waits, until, out)?;
            if out.len() >= enough || self.load().flights().started_count == 0 {
                return Ok(());
            }
            let now = self.load().peer().clock().now();
            self.check_progress(now)?;
            if now >= until {
                return Ok(());
            }
        }
    }

    /// Does everything that can be done now, and waits for more until `until` if `waits`.
    ///
    /// # Errors
    /// The load cannot go on.
    fn turn(&mut self, waits: bool, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        self.advance();
        if let Some(failure) = self.parts_mut().0.take_failure() {
            return Err(failure);
        }
        let wait_mode = if waits { self.wait(until)? } else { WaitMode::Never };
        let (load, connections) = self.parts_mut();
        for connection in connections {
            connection.receive(wait_mode, load, out)?;
        }
        load.take_failure().map_or(Ok(()), Err)
    }

    /// Waits until a socket shows something, or until `until`; or leaves the wait to the read that follows.
    ///
    /// # Errors
    /// The system refuses to wait.
    fn wait(&self, until: Tick) -> Result<WaitMode, EngineError> {
        let peer = self.load().peer();
        let now = peer.clock().now();
        let late_at = self.load().last_progress().after(peer.timeout_ns());
        let mut span_ns = until.min(late_at).since(now);
        let sockets = || self.connections().iter().map(|connection| (connection, &connection.line().socket));
        if self.makes_again() {
            for broken in sockets().filter_map(|(_, socket)| socket.as_ref().err()) {
                span_ns = span_ns.min(broken.retry_at.since(now));
            }
        }
        if let [only] = self.connections()
            && only.line().is_open()
            && !only.is_sending()
            && span_ns >= LONG_NS
        {
            return Ok(WaitMode::Short);
        }
        let open = sockets().filter_map(|(connection, socket)| Some((connection, socket.as_ref().ok()?)));
        let waited = open.map(|(connection, socket)| (socket.tcp_stream(), connection.is_sending()));
        wait_for_any(waited, span_ns).map_err(|error| peer.io_error("wait", error))?;
        Ok(WaitMode::Never)
    }

    /// Fails where nothing has been answered for the answer timeout.
    ///
    /// # Errors
    /// The server is silent, or its connections were not made again.
    fn check_progress(&self, now: Tick) -> Result<(), EngineError> {
        let peer = self.load().peer();
        if now.since(self.load().last_progress()) < peer.timeout_ns() {
            return Ok(());
        }
        let broken = self.connections().iter().find_map(|one| one.line().socket.as_ref().err());
        Err(broken.map_or_else(|| peer.silent("receive"), |broken| peer.not_made_again(&broken.why)))
    }

    /// What the kernel counts of all connections.
    fn tcp(&self) -> Option<TcpCounters> {
        let mut all = self.connections().iter().filter_map(|one| one.line().counters());
        let mut sum = all.next()?;
        all.for_each(|more| sum.add_beside(&more));
        Some(sum)
    }

    /// Closes all connections.
    fn shut_down(&self) {
        self.connections().iter().for_each(|connection| connection.line().shut_down());
    }
}
