//! The two sockets of a forwarded connection, and how the end of one side becomes the end of the other.
//!
//! An end of stream is passed on and the other direction continues. A reset is passed on as a reset, before anything
//! else is sent: what was cut off must never look complete. So a side is closed in order only after its end was passed
//! on, and by a reset until then (`connect::set_stream`), whoever closes it.

use super::connect::close_in_order;
use crate::forward::{CallObserver, ForwardError, forward};
use narrows_engines::endpoint::{ConnectionLocality, tcp_counters};
use narrows_model::counters::{Combine, TcpCounters};
use narrows_model::relay::ForwardMode;
use narrows_run::StopFlag;
use narrows_sys::tcp_info::{TcpInfo, TcpState};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One of the two directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForwardDirection {
    /// From the client to the next hop.
    Upstream,
    /// From the next hop to the client.
    Downstream,
}

/// One side of a connection.
#[derive(Debug)]
struct PairSide {
    socket: TcpStream,
    ends: ConnectionLocality,
    /// Whether the end of what is sent to it was passed on.
    ended: AtomicBool,
    /// Its counters at the reset, which the kernel then discards.
    at_reset: OnceLock<TcpCounters>,
}

impl PairSide {
    fn new(socket: TcpStream) -> Self {
        Self {
            ends: ConnectionLocality::from_socket(&socket),
            socket,
            ended: AtomicBool::new(false),
            at_reset: OnceLock::new(),
        }
    }

    /// Cuts the connection with a reset, whoever sends or receives on it.
    fn reset(&self) {
        if let Some(counters) = tcp_counters(&self.socket, self.ends) {
            // The first reset is the one that ended it.
            let _ = self.at_reset.set(counters);
        }
        // Dissolving the association is the only way to reset a socket that others have open; if it is gone, this has
        // no effect.
        let _ = rustix::net::connect_unspec(&self.socket);
    }

    /// The connection's counters; `None` where the kernel does not report them.
    fn counters(&self) -> Option<TcpCounters> {
        self.at_reset.get().cloned().or_else(|| tcp_counters(&self.socket, self.ends))
    }

    /// Whether what it sent ended with a reset, which was reported to the thread of the other direction.
    ///
    /// After both sides have ended in order the state is the same, but then the end was passed on to it before.
    fn ended_by_reset(&self) -> bool {
        !self.ended.load(Ordering::Acquire)
            && TcpInfo::read(&self.socket).is_ok_and(|info| info.state == TcpState::Closed)
    }
}

/// What passed in one direction. Written by its thread alone, read by whoever asks.
#[derive(Debug, Default)]
pub(super) struct DirectionCounters {
    pub(super) bytes: AtomicU64,
    pub(super) call_count: AtomicU64,
}

impl DirectionCounters {
    fn add(counter: &AtomicU64, more: u64) {
        // One writer: a plain addition, and no locked one.
        counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }
}

/// Counts the calls of a direction where others see it.
struct CallCounter<'a>(&'a DirectionCounters);

impl CallObserver for CallCounter<'_> {
    fn read(&mut self, _bytes: usize) {
        DirectionCounters::add(&self.0.call_count, 1);
    }

    fn written(&mut self, bytes: usize) {
        DirectionCounters::add(&self.0.call_count, 1);
        DirectionCounters::add(&self.0.bytes, bytes as u64);
    }
}

/// A forwarded connection.
#[derive(Debug)]
pub(super) struct ConnectionPair {
    client: PairSide,
    server: PairSide,
    pub(super) upstream: DirectionCounters,
    pub(super) downstream: DirectionCounters,
    /// Whether the proxy itself talks with the client from now on.
    taken: AtomicBool,
}

impl ConnectionPair {
    pub(super) fn new(client: TcpStream, server: TcpStream) -> Self {
        Self {
            client: PairSide::new(client),
            server: PairSide::new(server),
            upstream: DirectionCounters::default(),
            downstream: DirectionCounters::default(),
            taken: AtomicBool::new(false),
        }
    }

    pub(super) fn client(&self) -> &TcpStream {
        &self.client.socket
    }

    /// Moves bytes one way to their end, and passes the end on.
    ///
    /// # Errors
    /// What the machine refuses; the connection is reset then.
    pub(super) fn forward_direction(
        &self,
        direction: ForwardDirection,
        mode: ForwardMode,
        buffer_bytes: usize,
        stop: &StopFlag,
    ) -> Result<(), String> {
        let (from, to, passed) = match direction {
            ForwardDirection::Upstream => (&self.client, &self.server, &self.upstream),
            ForwardDirection::Downstream => (&self.server, &self.client, &self.downstream),
        };
        let (source, sink) = (from.socket.as_fd(), to.socket.as_fd());
        let ended = forward(source, sink, mode, buffer_bytes, &mut CallCounter(passed), stop);
        if self.taken.load(Ordering::Acquire) {
            return Ok(());
        }
        match ended {
            Ok(_) if !from.ended_by_reset() => {
                to.ended.store(true, Ordering::Release);
                // A side that is gone needs no end.
                let _ = to.socket.shutdown(Shutdown::Write);
                close_in_order(&to.socket);
            }
            Ok(_) | Err(ForwardError::Read(_) | ForwardError::Stopped) => self.reset(),
            // Who takes nothing more is gone: the other direction reads what it sent before, and finds its end.
            Err(ForwardError::Write(_)) => {}
            Err(ForwardError::Refused(why)) => {
                self.reset();
                return Err(why);
            }
        }
        Ok(())
    }

    /// Whether the next hop has vanished, though the end of what it sent is not passed on yet or its client never ends.
    pub(super) fn is_without_next_hop(&self) -> bool {
        self.server.ended_by_reset()
    }

    /// Resets both sides.
    pub(super) fn reset(&self) {
        self.client.reset();
        self.server.reset();
    }

    /// Ends the way back for the proxy's own conversation with the client.
    pub(super) fn take_client(&self) {
        self.taken.store(true, Ordering::Release);
        // Nothing has passed: the next hop lost nothing.
        close_in_order(&self.server.socket);
        let _ = self.server.socket.shutdown(Shutdown::Both);
    }

    /// The counters of both sides' connections, summed.
    pub(super) fn add_tcp_to(&self, sum: &mut TcpCounters) {
        for side in [&self.client, &self.server] {
            if let Some(counters) = side.counters() {
                sum.add_beside(&counters);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_testkit::tcp_pair;
    use std::io::{Read, Write};

    #[test]
    fn a_connection_that_is_reset_keeps_what_it_counted() {
        let ((mut client, from_client), (to_server, mut server)) = (tcp_pair().unwrap(), tcp_pair().unwrap());
        let pair = ConnectionPair::new(from_client, to_server);
        client.write_all(&[1; 1000]).unwrap();
        let (mut from, mut to) = (&pair.client.socket, &pair.server.socket);
        let mut buffer = [0; 1000];
        from.read_exact(&mut buffer).unwrap();
        to.write_all(&buffer).unwrap();
        server.read_exact(&mut buffer).unwrap();
        let sums = || {
            let mut sum = TcpCounters::default();
            pair.add_tcp_to(&mut sum);
            (sum.connection_count, sum.received_bytes.0, sum.loopback_bytes.0)
        };
        let before = sums();
        assert_eq!((before.0, before.1), (2, 1000));
        pair.reset();
        let after = sums();
        assert!(after.2 >= before.2 && (after.0, after.1) == (before.0, before.1), "{before:?}, {after:?}");
    }
}
