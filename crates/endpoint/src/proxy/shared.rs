//! What all connections of a proxy share.

use super::journal::Journal;
use super::options::ProxyOptions;
use super::pairs::ConnectionPairs;
use crate::connections::Connections;
use crate::session::Sessions;
use narrows_run::StopFlag;
use narrows_wire::token::TokenKey;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU32;

/// What all connections of a proxy share.
pub(super) struct ProxyState {
    pub(super) options: ProxyOptions,
    pub(super) buffer_bytes: usize,
    pub(super) key: Option<TokenKey>,
    pub(super) local: SocketAddr,
    pub(super) to: Vec<SocketAddr>,
    pub(super) pairs: ConnectionPairs,
    pub(super) conversations: Connections,
    /// Out of whose memory roles take their buffers.
    pub(super) memory: Sessions,
    pub(super) journal: Journal,
    pub(super) stop: StopFlag,
    pub(super) alive_count: AtomicU32,
}
