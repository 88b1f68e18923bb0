//! Why a call did not do what it was to do.

use super::super::server::refusal_errno;
use crate::request::Errno;
use narrows_wire::nfs::Status;
use narrows_wire::nfs::rpc::RpcRefusal;

/// Why a call did not do what it was to do.
#[derive(Debug, Clone, Copy)]
pub(super) enum CallEnd {
    /// The server executed it and failed.
    Status(Status),
    /// The server did not execute it.
    Refused(RpcRefusal),
    /// No call can be made any more: the failure of all calls says why.
    Over,
}

impl CallEnd {
    /// The system's number that means the same.
    pub(super) fn errno(&self) -> Errno {
        const ECONNABORTED: Errno = Errno(103);
        match self {
            Self::Status(status) => Errno(status.errno()),
            Self::Refused(refusal) => refusal_errno(*refusal),
            Self::Over => ECONNABORTED,
        }
    }

    /// The protocol's words for it.
    pub(super) fn words(&self) -> Option<String> {
        match self {
            Self::Status(status) => Some(format!("the server answered {}", status.name())),
            Self::Refused(refusal) => Some(refusal.to_string()),
            Self::Over => None,
        }
    }
}
