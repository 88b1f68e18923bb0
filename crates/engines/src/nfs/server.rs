//! The NFS server that is talked to: dialled within the answer timeout, and what its refusals mean for people.

use crate::clock::{Clock, Tick};
use crate::connections::{PeerWords, StoragePeer};
use crate::error::{EngineError, ErrorKind};
use crate::request::Errno;
use crate::socket::{SocketWaits, Waited};
use crate::stop::StopFlag;
use narrows_model::NfsAddress;
use narrows_wire::nfs::Status;
use narrows_wire::nfs::rpc::{AuthSys, RpcRefusal};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;

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

impl StoragePeer for NfsServer {
    const WORDS: PeerWords = PeerWords {
        kind: "NFS server",
        short: "server",
        standard: "NFSv3",
        refused_hint: "check the address, and that an NFS server with version 3 runs there",
        malformed_hint: "check that the address and its ports are those of an NFS server",
    };

    fn name(&self) -> String {
        format!("nfs:{}", self.address)
    }

    fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    fn timeout_ns(&self) -> u64 {
        self.timeout_ns
    }

    fn stop(&self) -> &StopFlag {
        &self.stop
    }
}

impl NfsServer {
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

    /// A connection to `port`, until `deadline`: from a reserved port of this machine where it may have one.
    pub(super) fn dial(
        &self,
        operation: &'static str,
        port: u16,
        deadline: Tick,
    ) -> Result<TcpStream, EngineError> {
        let service = (self.address.host.as_str(), port);
        let connect = |waits: SocketWaits<'_>, address| self.dial_address(waits, address);
        self.dial_with(operation, service, deadline, connect)
            .map_err(|error| EngineError { target: format!("{} (port {port})", error.target), ..error })
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

/// The system's number that means the same as `refusal`.
pub(super) fn refusal_errno(refusal: RpcRefusal) -> Errno {
    const EACCES: Errno = Errno(13);
    const EPROTO: Errno = Errno(71);
    if matches!(refusal, RpcRefusal::Credentials(_)) { EACCES } else { EPROTO }
}

/// What to look at where a server says no.
const PERMISSION_HINT: &str = "check the export's clients and its access; a server that maps root to nobody \
    (root_squash) takes ?uid=N&gid=N of a user who may write there, and one that demands a port below 1024 (secure) a \
    program with CAP_NET_BIND_SERVICE";
