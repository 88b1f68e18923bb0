//! What a server is started with, and which of it is refused.

use crate::error::{ServeError, ServeErrorKind};
use narrows_engines::Clock;
use narrows_wire::token::TOKEN_BYTES_MIN;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// How to make a token.
const MAKE_TOKEN_HINT: &str =
    "make one with `head -c 32 /dev/urandom | base64 > FILE` and give --token-file FILE";

/// What a server is started with.
#[derive(Clone)]
pub struct ServeOptions {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Folder that contains the disk stores; `None` offers no disk.
    pub root: Option<PathBuf>,
    /// Token that clients must know; demanded unless the address is loopback.
    pub token: Option<Vec<u8>>,
    /// Most bytes of all disk stores together; `None` is bounded by free space alone.
    pub quota_bytes: Option<u64>,
    /// Most bytes of all stores in memory together.
    pub memory_bytes_max: u64,
    /// Most connections at once.
    pub connections_max: u32,
    /// Longest life of a connection; `None` is unbounded.
    pub seconds_max: Option<u64>,
    /// Longest silence of a data connection, and of any connection before its hello is through.
    pub idle_seconds_max: u64,
    /// Most requests of all disk stores that are worked on at once; `None` for all that clients have in flight.
    pub disk_threads_max: Option<u32>,
    /// The time in seconds of the epoch, by which folders whose making was killed differ from those that are being made;
    /// 0 where it is not known, and no such folder is named.
    pub started_at_s: u64,
    /// The clock that limits are measured by and that clients compare theirs with.
    pub clock: Arc<dyn Clock>,
}

impl ServeOptions {
    /// Options for `listen` with neither root nor token: 1 GiB of memory stores, 256 connections, five minutes of
    /// silence, no end of time.
    #[must_use]
    pub fn new(listen: SocketAddr, clock: Arc<dyn Clock>) -> Self {
        Self {
            listen,
            root: None,
            token: None,
            quota_bytes: None,
            memory_bytes_max: 1 << 30,
            connections_max: 256,
            seconds_max: None,
            idle_seconds_max: 300,
            disk_threads_max: None,
            started_at_s: 0,
            clock,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ServeError> {
        let refuse = |detail: &str, hint: &str| {
            Err(ServeError::new(ServeErrorKind::Options, "serve on", self.listen.to_string(), detail, hint))
        };
        match &self.token {
            None if !self.listen.ip().is_loopback() => {
                return refuse("an address that others can reach needs a token", MAKE_TOKEN_HINT);
            }
            Some(token) if token.len() < TOKEN_BYTES_MIN => {
                return refuse(
                    &format!("the token has {} bytes and needs {TOKEN_BYTES_MIN}", token.len()),
                    MAKE_TOKEN_HINT,
                );
            }
            _ => {}
        }
        if self.connections_max == 0 {
            return refuse("no connection is allowed", "allow at least one");
        }
        if self.disk_threads_max == Some(0) {
            return refuse("no thread is allowed for disk stores", "allow at least one");
        }
        Ok(())
    }
}

impl std::fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServeOptions")
            .field("listen", &self.listen)
            .field("root", &self.root)
            .field("token", &self.token.as_ref().map(|_| ".."))
            .field("quota_bytes", &self.quota_bytes)
            .field("memory_bytes_max", &self.memory_bytes_max)
            .field("connections_max", &self.connections_max)
            .field("seconds_max", &self.seconds_max)
            .field("idle_seconds_max", &self.idle_seconds_max)
            .field("disk_threads_max", &self.disk_threads_max)
            .finish_non_exhaustive()
    }
}
