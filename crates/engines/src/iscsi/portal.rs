//! The portal of a target: dialled within the answer timeout, and what its refusals mean for people.

use crate::clock::{Clock, Tick};
use crate::error::{EngineError, ErrorKind};
use crate::host_lookup;
use crate::socket::{SocketWaits, Waited};
use crate::stop::StopFlag;
use narrows_model::IscsiAddress;
use narrows_wire::iscsi::scsi::sense::ScsiFailure;
use narrows_wire::{ErrorKind as WireErrorKind, Refusal};
use rustix::event::PollFlags;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// A portal, and how long its answers are waited for.
#[derive(Clone)]
pub(super) struct IscsiPortal {
    pub(super) address: IscsiAddress,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) timeout_ns: u64,
    pub(super) stop: StopFlag,
}

impl std::fmt::Debug for IscsiPortal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IscsiPortal({})", self.name())
    }
}

impl IscsiPortal {
    /// The portal of `address`.
    pub(super) fn new(address: IscsiAddress, clock: Arc<dyn Clock>, timeout_ns: u64, stop: StopFlag) -> Self {
        // Below a millisecond nobody answers.
        Self { address, clock, timeout_ns: timeout_ns.max(1_000_000), stop }
    }

    /// The unit as people name it.
    pub(super) fn name(&self) -> String {
        format!("iscsi:{}", self.address.plain())
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

    /// A connection, until `deadline`.
    pub(super) fn dial(&self, operation: &'static str, deadline: Tick) -> Result<TcpStream, EngineError> {
        let (host, port) = (self.address.host.as_str(), self.address.port);
        let within = Duration::from_nanos(deadline.since(self.clock.now()));
        let found = host_lookup::look_up(host, port, within, &|| self.stop.is_now());
        let addresses = found.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => self.not_ready(operation, Waited::Stopped),
            _ => EngineError::new(ErrorKind::NotFound, operation, self.name())
                .detail(format!("the host's address was not found: {error}"))
                .hint("check the host's name"),
        })?;
        let waits = SocketWaits { clock: self.clock.as_ref(), stop: &self.stop, deadline };
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for address in addresses {
            match waits.connect(address, None) {
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

    fn not_ready(&self, operation: &'static str, waited: Waited) -> EngineError {
        match waited {
            Waited::Stopped => EngineError::new(ErrorKind::Stopped, operation, self.name())
                .detail("a stop was requested before the target answered"),
            Waited::Ready | Waited::Late => self.silent(operation),
        }
    }

    /// The error that nothing came within the timeout.
    pub(super) fn silent(&self, operation: &'static str) -> EngineError {
        EngineError::new(ErrorKind::PeerGone, operation, self.name())
            .detail(format!("no answer within {} ms", self.timeout_ns / 1_000_000))
            .hint("check whether the iSCSI target still runs and whether the network drops packets")
    }

    /// The error that the target closed the connection.
    pub(super) fn gone(&self, operation: &'static str) -> EngineError {
        EngineError::new(ErrorKind::PeerGone, operation, self.name())
            .detail("the target closed the connection")
            .hint("check whether the iSCSI target still runs; see its own messages")
    }

    /// The error that the system's `source` means in talking to this portal.
    pub(super) fn io_error(&self, operation: &'static str, source: io::Error) -> EngineError {
        if matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            return self.silent(operation);
        }
        let error = EngineError::from_io(operation, self.name(), source);
        match error.kind {
            ErrorKind::Refused => error.hint("check the address, and that an iSCSI target runs there"),
            _ => error,
        }
    }

    /// The error that what arrived is not what was asked for.
    pub(super) fn malformed(&self, operation: &'static str, why: impl Into<String>) -> EngineError {
        EngineError::new(ErrorKind::Protocol, operation, self.name())
            .detail(format!("the answer is none of iSCSI: {}", why.into()))
            .hint("check that the address is that of an iSCSI target")
    }

    /// The error that a login did not come about.
    pub(super) fn login_failed(&self, error: &narrows_wire::Error) -> EngineError {
        let (kind, hint) = match error.kind() {
            WireErrorKind::Protocol | WireErrorKind::TooLarge => {
                return self.malformed("log in to", error.to_string());
            }
            WireErrorKind::Token => (ErrorKind::Permission, CHAP_HINT),
            WireErrorKind::Version => (ErrorKind::Unsupported, "use a target of RFC 7143"),
            WireErrorKind::Refused(Refusal::NotFound) => (
                ErrorKind::NotFound,
                "check the target's name; `iscsi-ls` and `iscsiadm` list those of a portal",
            ),
            WireErrorKind::Refused(Refusal::Permission) => (
                ErrorKind::Permission,
                "let the target's access list name this initiator, or give ?initiator=NAME",
            ),
            WireErrorKind::Refused(Refusal::Unsupported) => (
                ErrorKind::Unsupported,
                "ask for what the target supports; see the table [workload.iscsi] of studies",
            ),
            WireErrorKind::Refused(_) => (ErrorKind::Io, "see the target's own messages"),
        };
        EngineError::new(kind, "log in to", self.name()).detail(error.to_string()).hint(hint)
    }

    /// The error that a command ended with `failure`.
    pub(super) fn failed(&self, operation: &'static str, failure: ScsiFailure) -> EngineError {
        let source = io::Error::from_raw_os_error(failure.errno());
        let kind = match EngineError::from_io(operation, "", source).kind {
            kind @ (ErrorKind::Permission | ErrorKind::NoSpace) => kind,
            _ if failure.sense.is_no_unit() => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        let hint = match kind {
            ErrorKind::NotFound => "check the number of the LUN",
            ErrorKind::Permission => "the unit is write protected: only read it",
            _ => "see the target's own messages",
        };
        EngineError::new(kind, operation, self.name()).detail(failure.to_string()).hint(hint)
    }
}

/// What to look at where a proof fails.
const CHAP_HINT: &str = "give ?chap_user=NAME&chap_secret_file=FILE of an account of the target, and \
    &target_user=NAME&target_secret_file=FILE where the target is to prove itself, with another secret";
