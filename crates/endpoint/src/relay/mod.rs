//! The roles of the buffer experiment: a client that writes, a proxy that forwards, a server that reads, each with
//! exactly its buffer, every return value counted.
//!
//! A role takes part in one trial at a time: it is asked over a pipe ([`serve_role`]) or a control connection, opens
//! its side of the path, moves the bytes and reports. Times and counts begin with the first byte of the experiment;
//! tickets and words (see `narrows_wire::relay`) are outside. Deliberately absent: what a trial is for, and whether a
//! report is believed, which is who asks.

mod callers;
mod client;
mod content;
mod deadline;
mod meter;
mod pipes;
mod proxy;
mod server;
mod session;
mod socket;
#[cfg(test)]
mod tests;

pub use pipes::serve_role;
pub(crate) use session::RoleHost;

use narrows_engines::Clock;
use narrows_model::counters::Role;
use narrows_run::StopFlag;
use narrows_wire::relay::{Hop, RoleReport, RoleSpec};
use std::net::IpAddr;

/// Where a role is played.
pub(crate) struct RoleSite<'a> {
    /// The clock that it is timed by.
    pub(crate) clock: &'a dyn Clock,
    /// The wish to give up.
    pub(crate) stop: &'a StopFlag,
    /// The address at which it listens for TCP.
    pub(crate) listen: IpAddr,
}

/// Why a role did not do its part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RoleError {
    /// It was asked to give up.
    #[error("stopped on request")]
    Stopped,
    /// What happened, where, what to do.
    #[error("{0}")]
    Failed(String),
}

impl RoleError {
    fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

impl From<narrows_wire::Error> for RoleError {
    fn from(error: narrows_wire::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Reports to the requester that the role takes part, and where it listens.
pub(crate) type ReportReady<'a> = &'a mut dyn FnMut(Option<Hop>) -> Result<(), RoleError>;

/// Plays the role that is asked for, to the end of its trial.
///
/// # Errors
/// What does not fit the protocol's limits, a next hop that refuses, a stream that breaks off or stalls, a stop.
pub(crate) fn play(
    asked: &RoleSpec,
    site: &RoleSite<'_>,
    ready: ReportReady<'_>,
) -> Result<RoleReport, RoleError> {
    asked.check()?;
    match asked.role {
        Role::Client => client::play(asked, site, ready),
        Role::Proxy => proxy::play(asked, site, ready),
        Role::Server => server::play(asked, site, ready),
    }
}

/// Memory that a role takes at most: two buffers with `io_uring`, and the table of return values.
pub(crate) fn memory_bytes(asked: &RoleSpec) -> u64 {
    const TABLES: u64 = 256 << 10;
    asked.buffer.0.saturating_mul(2).saturating_add(TABLES)
}
