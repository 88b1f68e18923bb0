//! The NFS server that is talked to: dialled within the answer timeout, and what its refusals mean for people.

use crate::clock::{Clock, Tick};
use crate::error::{EngineError, ErrorKind};
use crate::host_lookup;
use crate::socket::{SocketWaits, Waited};
use crate::stop::StopFlag;
use narrows_model::NfsAddress;
use narrows_wire::nfs::Status;
use narrows_wire::nfs::rpc::{AuthSys, RpcRefusal};
use rustix::event::PollFlags;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Ports that only a privileged program binds, and that some servers demand: those below 512 have services of their own.
const RESERVED_PORTS: std::ops::Range<u16> = 512..1024;

/// A server, and how long its answers are waited for.
#[derive(Clone)]
pub(super) struct NfsServer {
    pub(super) address: NfsAddress,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) timeout_ns: u64,
    pub(super) stop: StopFlag,
}

impl std::fmt::Debug for NfsServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NfsServer({})", self.name())
    }
}

impl NfsServer {
    /// The server as people name it.
    pub(super) fn name(&self) -> String {
        format!("nfs:{}", self.address)
    }

    /// Who calls: the user of this process, unless the address names another.
    pub(super) fn caller(&self) -> AuthSys {
        let groups = rustix::process::getgroups().unwrap_or_default();
        AuthSys {
            machine: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            user_id: self.address.user_id.unwrap_or_else(|| rustix::process::geteuid().as_raw()),
            group_id: self.address.group_id.unwrap_or_else(|| rustix::process::getegid().as_raw()),
            groups: match self.address.group_id.or(self.address.user_id) {
                Some(_) => Vec::new(),
                None => groups.into_iter().map(rustix::process::Gid::as_raw).collect(),
            },
        }
    }

    /// When an answer that is asked for now is late.
    pub(super) fn deadline(&self) -> Tick {
        self.clock.now().after(self.timeout_ns)
    }

    /// Waits until `socket` shows one of `events`, until `deadline` and until a stop is asked for.
    pub(super) fn expect(
        &self,
        operation: &'static str,
        socket: &impl AsFd,
        events: PollFlags,
        deadline: Tick,
    ) -> Result<(), EngineError> {
        let waits = SocketWaits { clock: self.clock.as_ref(), stop: &self.stop, deadline };
        match waits.expect(socket, events) {
            Ok(Waited::Ready) => Ok(()),
            Ok(waited) => Err(self.not_ready(operation, waited)),
            Err(error) => Err(self.io_error(operation, error)),
        }
    }

    /// A connection to `port`, until `deadline`: from a reserved port of this machine where it may have one.
    pub(super) fn dial(
        &self,
        operation: &'static str,
        port: u16,
        deadline: Tick,
    ) -> Result<TcpStream, EngineError> {
        let host = self.address.host.as_str();
        let within = Duration::from_nanos(deadline.since(self.clock.now()));
        let found = host_lookup::look_up(host, port, within, &|| self.stop.is_now());
        let addresses = found.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => self.not_ready(operation, Waited::Stopped),
            _ => EngineError::new(ErrorKind::NotFound, operation, self.name())
                .detail(format!("the host's address was not found: {error}"))
                .hint("check the host's name"),
        })?;
        let waits = SocketWaits { clock: self.clock.as_ref(), stop: &self.stop, deadline };
        let mut failure = None;
        for address in addresses {
            match self.dial_address(waits, address) {
                Ok(Ok(socket)) => {
                    socket.set_nodelay(true).map_err(|error| self.io_error(operation, error))?;
                    return Ok(socket);
                }
                Ok(Err(waited)) => return Err(self.not_ready(operation, waited)),
                Err(error) => failure = Some(error),
            }
        }
        let failure = failure.unwrap_or_else(|| io::ErrorKind::NotFound.into());
        let error = self.io_error(operation, failure);
        Err(EngineError { target: format!("{} (port {port})", error.target), ..error })
    }

    fn dial_address(
        &self,
        waits: SocketWaits<'_>,
        address: SocketAddr,
    ) -> io::Result<Result<TcpStream, Waited>> {
        let any = if address.is_ipv4() {
            IpAddr::from(Ipv4Addr::UNSPECIFIED)
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        // A different port first for each process, so that many of them do not ask for the same.
        let count = RESERVED_PORTS.end - RESERVED_PORTS.start;
        let first = u16::try_from(self.clock.now().0 % u64::from(count)).unwrap_or(0);
        for step in 0..count {
            let port = RESERVED_PORTS.start + (first + step) % count;
            match waits.connect(address, Some(SocketAddr::new(any, port))) {
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) => {
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
                other => return other,
            }
        }
        waits.connect(address, None)
    }

    fn not_ready(&self, operation: &'static str, waited: Waited) -> EngineError {
        match waited {
            Waited::Stopped => EngineError::new(ErrorKind::Stopped, operation, self.name())
                .detail("a stop was requested before the server answered"),
            Waited::Ready | Waited::Late => self.silent(operation),
        }
    }

    /// The error that nothing came within the timeout.
    pub(super) fn silent(&self, operation: &'static str) -> EngineError {
        EngineError::new(ErrorKind::PeerGone, operation, self.name())
            .detail(format!("no answer within {} ms", self.timeout_ns / 1_000_000))
            .hint("check whether the NFS server still runs and whether the network drops packets")
    }

    /// The error that the server closed the connection.
    pub(super) fn gone(&self, operation: &'static str) -> EngineError {
        EngineError::new(ErrorKind::PeerGone, operation, self.name())
            .detail("the server closed the connection")
            .hint("check whether the NFS server still runs; see its own messages")
    }

    /// The error that the system's `source` means in talking to this server.
    pub(super) fn io_error(&self, operation: &'static str, source: io::Error) -> EngineError {
        if matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            return self.silent(operation);
        }
        let error = EngineError::from_io(operation, self.name(), source);
        match error.kind {
            ErrorKind::Refused => {
                error.hint("check the address, and that an NFS server with version 3 runs there")
            }
            _ => error,
        }
    }

    /// The error that what arrived is not what was asked for.
    pub(super) fn malformed(&self, operation: &'static str, why: impl Into<String>) -> EngineError {
        EngineError::new(ErrorKind::Protocol, operation, self.name())
            .detail(format!("the answer is none of NFSv3: {}", why.into()))
            .hint("check that the address and its ports are those of an NFS server")
    }

    /// The error that the server did not execute a call.
    pub(super) fn refused(&self, operation: &'static str, refusal: RpcRefusal) -> EngineError {
        let (kind, hint) = match refusal {
            RpcRefusal::Credentials(_) => (ErrorKind::Permission, PERMISSION_HINT),
            RpcRefusal::Version { .. } | RpcRefusal::NoProgram => {
                (ErrorKind::Unsupported, "let the server serve NFS version 3 over TCP")
            }
            _ => (ErrorKind::Protocol, "see the server's own messages"),
        };
        EngineError::new(kind, operation, self.name()).detail(refusal.to_string()).hint(hint)
    }

    /// The error that a call about `what` ended with `status`.
    pub(super) fn failed(&self, operation: &'static str, what: &str, status: Status) -> EngineError {
        let source = io::Error::from_raw_os_error(status.errno());
        let (kind, hint) = match EngineError::from_io(operation, "", source).kind {
            _ if status == Status::STALE => {
                (ErrorKind::NotFound, "the server no longer has what this name was; run again")
            }
            ErrorKind::Permission => (ErrorKind::Permission, PERMISSION_HINT),
            ErrorKind::NotFound => (ErrorKind::NotFound, "check the path, and that it is exported"),
            ErrorKind::NoSpace => {
                (ErrorKind::NoSpace, "free some space at the server, or give another folder")
            }
            _ => (ErrorKind::Io, "see the server's own messages"),
        };
        let target = if what.is_empty() { self.name() } else { format!("{what} at {}", self.name()) };
        EngineError::new(kind, operation, target).detail(status.name()).hint(hint)
    }
}

/// What to look at where a server says no.
const PERMISSION_HINT: &str = "check the export's clients and its access; a server that maps root to nobody \
    (root_squash) takes ?uid=N&gid=N of a user who may write there, and one that demands a port below 1024 (secure) a \
    program with CAP_NET_BIND_SERVICE";
