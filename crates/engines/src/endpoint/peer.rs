//! Whom an endpoint's connection talks to: dialled and waited for within its answer timeout, until a stop is asked for.
//!
//! Here are also the errors that talking to a peer can end in. What is said is not its business.

use crate::clock::{Clock, Tick};
use crate::error::{EngineError, ErrorKind};
use crate::host_lookup;
use crate::socket::{SocketWaits, Waited, poll_socket};
use crate::stop::StopFlag;
use narrows_model::Via;
use narrows_wire::{ErrorKind as WireKind, Refusal};
use rustix::event::PollFlags;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// The commands that answer: an endpoint's and a proxy's.
const SERVE: &str = "narrows serve";
const PROXY: &str = "narrows proxy";

/// Whom to talk to, and how long to wait for it.
#[derive(Clone)]
pub(super) struct Peer {
    host: String,
    port: u16,
    clock: Arc<dyn Clock>,
    timeout: Duration,
    stop: StopFlag,
    /// Which command the peer should be.
    command: &'static str,
    /// The proxy that is dialled instead.
    via: Option<Via>,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Peer({})", self.name())
    }
}

impl Peer {
    pub(super) fn new(host: &str, port: u16, clock: Arc<dyn Clock>, timeout_ns: u64) -> Self {
        Self {
            host: host.to_owned(),
            port,
            clock,
            timeout: answer_timeout(timeout_ns),
            stop: StopFlag::default(),
            command: SERVE,
            via: None,
        }
    }

    /// The same peer, which should be a proxy.
    pub(super) fn of_proxy(self) -> Self {
        Self { command: PROXY, ..self }
    }

    /// The same peer, whose answers are waited for `timeout_ns` at most.
    pub(super) fn with_timeout(self, timeout_ns: u64) -> Self {
        Self { timeout: answer_timeout(timeout_ns), ..self }
    }

    /// The same peer, not waited for any more once `stop` asks to stop now.
    pub(super) fn with_stop_flag(self, stop: StopFlag) -> Self {
        Self { stop, ..self }
    }

    /// Whether it should be a proxy itself.
    pub(super) fn is_proxy(&self) -> bool {
        self.command == PROXY
    }

    /// The same peer, reached through a proxy where one is given.
    pub(super) fn through(self, via: Option<&Via>) -> Self {
        Self { via: via.cloned(), ..self }
    }

    /// The peer's own address as people write it.
    pub(super) fn address(&self) -> String {
        address(&self.host, self.port)
    }

    /// The peer as people name it: its address, and the proxy before it.
    pub(super) fn name(&self) -> String {
        let via = self.via.as_ref().map_or_else(String::new, |via| format!(" via {via}"));
        format!("{}{via}", self.address())
    }

    /// What is dialled.
    fn dial_address(&self) -> (&str, u16) {
        self.via.as_ref().map_or((&self.host, self.port), |via| (&via.host, via.port))
    }

    /// What to look at where nobody takes the connection, or it is cut.
    fn unreachable_hint(&self) -> String {
        match &self.via {
            None => format!("check the address, and that `{}` runs there", self.command),
            Some(via) => {
                format!("check that `{PROXY}` runs at {via}, and `{}` at {}", self.command, self.address())
            }
        }
    }

    /// What should still run, as a clause.
    fn expected_program(&self) -> String {
        match &self.via {
            None if self.command == PROXY => format!("the proxy at {} still runs", self.address()),
            None => "the server still runs".to_owned(),
            Some(via) => {
                format!("the proxy at {via} still runs, and the server at {} behind it", self.address())
            }
        }
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Gives up waiting from now on when `stop` asks to stop now.
    pub(super) fn set_stop_flag(&mut self, stop: StopFlag) {
        self.stop = stop;
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn timeout_ns(&self) -> u64 {
        u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The error that the system's `source` means in talking to this peer.
    pub(super) fn io_error(&self, operation: &'static str, source: io::Error) -> EngineError {
        if matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            return self.silent(operation);
        }
        let error = EngineError::from_io(operation, self.name(), source);
        match error.kind {
            ErrorKind::Refused => error.hint(self.unreachable_hint()),
            // A proxy resets what it cannot pass on.
            ErrorKind::PeerGone if self.via.is_some() => error.hint(self.unreachable_hint()),
            _ => error,
        }
    }

    /// The error that nothing came within the timeout.
    pub(super) fn silent(&self, operation: &'static str) -> EngineError {
        EngineError::new(ErrorKind::PeerGone, operation, self.name())
            .detail(format!("no answer within {} ms", self.timeout.as_millis()))
            .hint(format!("check whether {} and whether the network drops packets", self.expected_program()))
    }

    /// The error that all was to stop before an answer came.
    pub(super) fn stopped(&self, operation: &'static str) -> EngineError {
        EngineError::new(ErrorKind::Stopped, operation, self.name())
            .detail("a stop was requested before the server answered")
    }

    /// The error that the peer closed the connection.
    pub(super) fn gone(&self, operation: &'static str) -> EngineError {
        EngineError::new(ErrorKind::PeerGone, operation, self.name())
            .detail(match &self.via {
                None if self.command == PROXY => "the proxy closed the connection".to_owned(),
                None => "the server closed the connection".to_owned(),
                Some(via) => format!("the connection through the proxy at {via} was closed"),
            })
            .hint(format!("check whether {}; see its own messages", self.expected_program()))
    }

    /// The error that a breach or a refusal by the peer means.
    pub(super) fn wire_error(&self, operation: &'static str, error: &narrows_wire::Error) -> EngineError {
        let (kind, hint) = match error.kind() {
            WireKind::Protocol | WireKind::Refused(Refusal::Protocol) => {
                let hint = format!("check that the address is that of a `{}`", self.command);
                (ErrorKind::Protocol, hint)
            }
            WireKind::Version => (ErrorKind::Protocol, String::new()),
            WireKind::Token => (ErrorKind::Token, String::new()),
            WireKind::TooLarge => (ErrorKind::Unsupported, String::new()),
            WireKind::Refused(reason) => (refusal_kind(reason), String::new()),
        };
        EngineError::new(kind, operation, self.name()).detail(error.to_string()).hint(hint)
    }

    /// Waits until `socket` shows one of `events`, a signal comes, or `span_ns` has passed.
    pub(super) fn wait(
        &self,
        socket: &TcpStream,
        events: PollFlags,
        span_ns: u64,
    ) -> Result<(), EngineError> {
        poll_socket(socket, events, span_ns).map(drop).map_err(|error| self.io_error("wait", error))
    }

    /// Waits until `socket` shows one of `events`: within the timeout, and until a stop is asked for.
    pub(super) fn expect(
        &self,
        operation: &'static str,
        socket: impl AsFd,
        events: PollFlags,
    ) -> Result<(), EngineError> {
        let deadline = self.clock.now().after(self.timeout_ns());
        if self.is_ready_by(deadline, operation, socket, events)? {
            return Ok(());
        }
        Err(self.silent(operation))
    }

    /// Whether `socket` shows one of `events` by `deadline`; waits until then, or until a stop is asked for.
    pub(super) fn is_ready_by(
        &self,
        deadline: Tick,
        operation: &'static str,
        socket: impl AsFd,
        events: PollFlags,
    ) -> Result<bool, EngineError> {
        let waited = self.waits_until(deadline).expect(&socket, events);
        match waited.map_err(|error| self.io_error(operation, error))? {
            Waited::Ready => Ok(true),
            Waited::Stopped => Err(self.stopped(operation)),
            Waited::Late => Ok(false),
        }
    }

    fn waits_until(&self, deadline: Tick) -> SocketWaits<'_> {
        SocketWaits { clock: self.clock.as_ref(), stop: &self.stop, deadline }
    }

    /// A new connection, at the first of its addresses that answers.
    pub(super) fn dial(&self) -> Result<TcpStream, EngineError> {
        let (host, port) = self.dial_address();
        let found = host_lookup::look_up(host, port, self.timeout, &|| self.stop.is_now());
        let addresses = found.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => self.stopped("connect"),
            _ => EngineError::new(ErrorKind::NotFound, "connect", self.name())
                .detail(format!("the host's address was not found: {error}"))
                .hint("check the host's name"),
        })?;
        let mut last = None;
        for address in addresses {
            match self.connect(address) {
                Err(error) if error.kind != ErrorKind::Stopped => last = Some(error),
                answer => return answer,
            }
        }
        Err(last.unwrap_or_else(|| {
            EngineError::new(ErrorKind::NotFound, "connect", self.name()).detail("the host has no address")
        }))
    }

    fn connect(&self, address: SocketAddr) -> Result<TcpStream, EngineError> {
        let deadline = self.clock.now().after(self.timeout_ns());
        let connected = self.waits_until(deadline).connect(address, None);
        match connected.map_err(|error| self.io_error("connect", error))? {
            Ok(socket) => Ok(socket),
            Err(Waited::Stopped) => Err(self.stopped("connect")),
            Err(_) => Err(self.silent("connect")),
        }
    }
}

/// A socket takes no timeout of zero, and one below a millisecond is answered by nobody.
fn answer_timeout(timeout_ns: u64) -> Duration {
    Duration::from_nanos(timeout_ns.max(1_000_000))
}

/// A host and its port as people write them.
pub(super) fn address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn refusal_kind(reason: Refusal) -> ErrorKind {
    match reason {
        Refusal::Unsupported => ErrorKind::Unsupported,
        Refusal::NotFound => ErrorKind::NotFound,
        Refusal::Permission => ErrorKind::Permission,
        Refusal::NoSpace => ErrorKind::NoSpace,
        Refusal::Busy => ErrorKind::Refused,
        Refusal::Ended => ErrorKind::PeerGone,
        Refusal::Protocol => ErrorKind::Protocol,
        Refusal::Io => ErrorKind::Io,
    }
}
