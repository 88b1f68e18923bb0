//! What all connections of a proxy share.

use super::journal::Journal;
use super::options::ProxyOptions;
use super::pairs::ConnectionPairs;
use crate::connections::Connections;
use crate::life::SessionLives;
use crate::session::Sessions;
use narrows_run::StopFlag;
use narrows_wire::token::TokenKey;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};

/// What all connections of a proxy share.
pub(super) struct ProxyState {
    pub(super) options: ProxyOptions,
    pub(super) buffer_bytes: usize,
    pub(super) key: Option<TokenKey>,
    pub(super) local: SocketAddr,
    pub(super) to: Vec<SocketAddr>,
    pub(super) pairs: ConnectionPairs,
    pub(super) conversations: Connections,
    /// Last signs of life of the clients of all conversations.
    pub(super) lives: SessionLives,
    /// Out of whose memory roles take their buffers.
    pub(super) memory: Sessions,
    pub(super) journal: Journal,
    pub(super) stop: StopFlag,
    /// Connections that are open.
    pub(super) alive_count: AtomicU32,
    /// Connections beyond them that are being refused.
    pub(super) refusing_count: AtomicU32,
}

/// One of what is counted; given back when it is dropped.
pub(super) struct CountedSlot<'a>(&'a AtomicU32);

impl<'a> CountedSlot<'a> {
    /// Takes one, however many there are.
    pub(super) fn take(count: &'a AtomicU32) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for CountedSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
