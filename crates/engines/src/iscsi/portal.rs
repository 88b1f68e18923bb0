//! The portal of a target: dialled within the answer timeout, and what its refusals mean for people.

use crate::clock::{Clock, Tick};
use crate::connections::{PeerWords, StoragePeer};
use crate::error::{EngineError, ErrorKind};
use crate::stop::StopFlag;
use narrows_model::IscsiAddress;
use narrows_wire::iscsi::scsi::sense::ScsiFailure;
use narrows_wire::{ErrorKind as WireErrorKind, Refusal};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

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

impl StoragePeer for IscsiPortal {
    const WORDS: PeerWords = PeerWords {
        kind: "iSCSI target",
        short: "target",
        standard: "iSCSI",
        refused_hint: "check the address, and that an iSCSI target runs there",
        malformed_hint: "check that the address is that of an iSCSI target",
    };

    fn name(&self) -> String {
        format!("iscsi:{}", self.address.plain())
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

impl IscsiPortal {
    /// The portal of `address`.
    pub(super) fn new(address: IscsiAddress, clock: Arc<dyn Clock>, timeout_ns: u64, stop: StopFlag) -> Self {
        // Below a millisecond nobody answers.
        Self { address, clock, timeout_ns: timeout_ns.max(1_000_000), stop }
    }

    /// A connection, until `deadline`.
    pub(super) fn dial(&self, operation: &'static str, deadline: Tick) -> Result<TcpStream, EngineError> {
        let service = (self.address.host.as_str(), self.address.port);
        self.dial_with(operation, service, deadline, |waits, address| waits.connect(address, None))
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
