//! A server of a storage protocol: dialled and waited for within the answer timeout, and what its silence, its refusal and
//! its nonsense mean for people.

use crate::clock::{Clock, Tick};
use crate::error::{EngineError, ErrorKind};
use crate::host_lookup;
use crate::socket::{SocketWaits, Waited};
use crate::stop::StopFlag;
use rustix::event::PollFlags;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// How messages name a kind of server.
#[derive(Debug)]
pub(crate) struct PeerWords {
    /// Such as "NFS server".
    pub(crate) kind: &'static str,
    /// Such as "server".
    pub(crate) short: &'static str,
    /// The standard that its answers are of.
    pub(crate) standard: &'static str,
    /// What to look at where a connection is refused.
    pub(crate) refused_hint: &'static str,
    /// What to look at where an answer is of no such standard.
    pub(crate) malformed_hint: &'static str,
}

/// A server, and how long its answers are waited for.
pub(crate) trait StoragePeer {
    /// How messages name its kind.
    const WORDS: PeerWords;

    /// The server as people name it.
    fn name(&self) -> String;

    /// The clock of its deadlines.
    fn clock(&self) -> &dyn Clock;

    /// How long an answer is waited for.
    fn timeout_ns(&self) -> u64;

    /// Ends every wait.
    fn stop(&self) -> &StopFlag;

    /// When an answer that is asked for now is late.
    fn deadline(&self) -> Tick {
        self.clock().now().after(self.timeout_ns())
    }

    /// Waits until `socket` shows one of `events`, until `deadline` and until a stop is asked for.
    fn expect(
        &self,
        operation: &'static str,
        socket: &impl AsFd,
        events: PollFlags,
        deadline: Tick,
    ) -> Result<(), EngineError> {
        let waits = SocketWaits { clock: self.clock(), stop: self.stop(), deadline };
        match waits.expect(socket, events) {
            Ok(Waited::Ready) => Ok(()),
            Ok(waited) => Err(self.not_ready(operation, waited)),
            Err(error) => Err(self.io_error(operation, error)),
        }
    }

    /// A connection to a port of a host, made by `connect` to each of its addresses in turn, until `deadline`.
    fn dial_with(
        &self,
        operation: &'static str,
        (host, port): (&str, u16),
        deadline: Tick,
        connect: impl Fn(SocketWaits<'_>, SocketAddr) -> io::Result<Result<TcpStream, Waited>>,
    ) -> Result<TcpStream, EngineError> {
        let within = Duration::from_nanos(deadline.since(self.clock().now()));
        let found = host_lookup::look_up(host, port, within, &|| self.stop().is_now());
        let addresses = found.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => self.not_ready(operation, Waited::Stopped),
            _ => EngineError::new(ErrorKind::NotFound, operation, self.name())
                .detail(format!("the host's address was not found: {error}"))
                .hint("check the host's name"),
        })?;
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for address in addresses {
            let waits = SocketWaits { clock: self.clock(), stop: self.stop(), deadline };
            match connect(waits, address) {
                Ok(Ok(socket)) => {
                    socket.set_nodelay(true).map_err(|error| self.io_error(operation, error))?;
                    return Ok(socket);
                }
                Ok(Err(waited)) => return Err(self.not_ready(operation, waited)),
                Err(error) => failure = error,
            }
        }
        Err(self.io_error(operation, failure))
    }

    /// The error that a wait ended as `waited`.
    fn not_ready(&self, operation: &'static str, waited: Waited) -> EngineError {
        match waited {
            Waited::Stopped => EngineError::new(ErrorKind::Stopped, operation, self.name())
                .detail(format!("a stop was requested before the {} answered", Self::WORDS.short)),
            Waited::Ready | Waited::Late => self.silent(operation),
        }
    }

    /// The error that nothing came within the timeout.
    fn silent(&self, operation: &'static str) -> EngineError {
        EngineError::new(ErrorKind::PeerGone, operation, self.name())
            .detail(format!("no answer within {} ms", self.timeout_ns() / 1_000_000))
            .hint(format!(
                "check whether the {} still runs and whether the network drops packets",
                Self::WORDS.kind
            ))
    }

    /// The error that the server closed the connection.
    fn gone(&self, operation: &'static str) -> EngineError {
        EngineError::new(ErrorKind::PeerGone, operation, self.name())
            .detail(format!("the {} closed the connection", Self::WORDS.short))
            .hint(format!("check whether the {} still runs; see its own messages", Self::WORDS.kind))
    }

    /// The error that a connection ended and was not made again within the timeout.
    fn not_made_again(&self, why: &EngineError) -> EngineError {
        EngineError::new(ErrorKind::PeerGone, "receive", self.name())
            .detail(format!(
                "the connection ended and could not be made again within {} ms: {why}",
                self.timeout_ns() / 1_000_000
            ))
            .hint(format!("check whether the {} still runs; see its own messages", Self::WORDS.kind))
    }

    /// The error that the system's `source` means in talking to this server.
    fn io_error(&self, operation: &'static str, source: io::Error) -> EngineError {
        if matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            return self.silent(operation);
        }
        let error = EngineError::from_io(operation, self.name(), source);
        match error.kind {
            ErrorKind::Refused => error.hint(Self::WORDS.refused_hint),
            _ => error,
        }
    }

    /// The error that what arrived is not what was asked for.
    fn malformed(&self, operation: &'static str, why: impl Into<String>) -> EngineError {
        EngineError::new(ErrorKind::Protocol, operation, self.name())
            .detail(format!("the answer is none of {}: {}", Self::WORDS.standard, why.into()))
            .hint(Self::WORDS.malformed_hint)
    }
}
