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

    /// A connection to a port of a host, made by `connect` to each of its addresses in turn, until `deadline`; one that does
    /// not answer is waited for no longer than its share of the time, so that the others are tried too.
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
        self.dial_each(operation, &addresses, deadline, connect)
    }

    /// The same for addresses that are known.
    fn dial_each(
        &self,
        operation: &'static str,
        addresses: &[SocketAddr],
        deadline: Tick,
        connect: impl Fn(SocketWaits<'_>, SocketAddr) -> io::Result<Result<TcpStream, Waited>>,
    ) -> Result<TcpStream, EngineError> {
        let mut failure = self.io_error(operation, io::Error::from(io::ErrorKind::NotFound));
        for (left_count, address) in (1..=addresses.len() as u64).rev().zip(addresses) {
            let now = self.clock().now();
            let deadline = now.after(deadline.since(now) / left_count);
            match connect(SocketWaits { clock: self.clock(), stop: self.stop(), deadline }, *address) {
                Ok(Ok(socket)) => {
                    socket.set_nodelay(true).map_err(|error| self.io_error(operation, error))?;
                    return Ok(socket);
                }
                Ok(Err(Waited::Stopped)) => return Err(self.not_ready(operation, Waited::Stopped)),
                Ok(Err(waited)) => failure = self.not_ready(operation, waited),
                Err(error) => failure = self.io_error(operation, error),
            }
        }
        Err(failure)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::MonotonicClock;
    use std::cell::RefCell;
    use std::net::{Ipv4Addr, TcpListener};

    #[derive(Debug)]
    struct PeerOfTest {
        clock: MonotonicClock,
        stop: StopFlag,
    }

    impl StoragePeer for PeerOfTest {
        const WORDS: PeerWords = PeerWords {
            kind: "server",
            short: "server",
            standard: "a standard",
            refused_hint: "start it",
            malformed_hint: "correct the address",
        };

        fn name(&self) -> String {
            "peer".to_owned()
        }

        fn clock(&self) -> &dyn Clock {
            &self.clock
        }

        fn timeout_ns(&self) -> u64 {
            9_000_000_000
        }

        fn stop(&self) -> &StopFlag {
            &self.stop
        }
    }

    #[test]
    fn an_address_that_does_not_answer_leaves_time_for_the_others() {
        let peer = PeerOfTest { clock: MonotonicClock::new(), stop: StopFlag::default() };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let good = listener.local_addr().unwrap();
        let silent = SocketAddr::from(([192, 0, 2, 1], 1));
        let shares = RefCell::new(Vec::new());
        let connect = |waits: SocketWaits<'_>, address: SocketAddr| {
            shares.borrow_mut().push(waits.deadline.since(waits.clock.now()) / 1_000_000_000);
            if address == good { TcpStream::connect(address).map(Ok) } else { Ok(Err(Waited::Late)) }
        };
        let deadline = peer.clock.now().after(9_500_000_000);
        let addresses = [silent, silent, good];
        let socket = peer.dial_each("connect", &addresses, deadline, connect).unwrap();
        assert_eq!(socket.peer_addr().unwrap(), good);
        // Nothing was waited for: a third, a half and all of the time.
        assert_eq!(*shares.borrow(), [3, 4, 9]);
        let late = peer.dial_each("connect", &[silent], deadline, connect).unwrap_err();
        assert!(late.kind == ErrorKind::PeerGone && late.to_string().contains("no answer"), "{late}");
        let stopped = |_: SocketWaits<'_>, _| Ok(Err(Waited::Stopped));
        assert_eq!(
            peer.dial_each("connect", &[silent, good], deadline, stopped).unwrap_err().kind,
            ErrorKind::Stopped
        );
        let refused = |_: SocketWaits<'_>, _| Err(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert_eq!(
            peer.dial_each("connect", &[good], deadline, refused).unwrap_err().kind,
            ErrorKind::Refused
        );
    }
}
