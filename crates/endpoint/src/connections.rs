//! The connections that live now, and how many may.
//!
//! Connections whose hello is not complete have few places and little time, so that strangers keep nobody out. What ends
//! one connection is `live_connection`'s.

use crate::live_connection::{ConnectionStage, LiveConnection, TimeLimits};
use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Limits on connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    pub(crate) connections: u32,
    pub(crate) times: TimeLimits,
    /// Most connections whose hello is not through.
    pub(crate) greetings: usize,
}

/// All living connections.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: ConnectionLimits,
    next_id: AtomicU64,
    live: Mutex<HashMap<u64, Arc<LiveConnection>>>,
}

/// The place of one connection; it is freed when this value is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit<'a> {
    connections: &'a Connections,
    pub(crate) live: Arc<LiveConnection>,
}

impl Drop for ConnectionPermit<'_> {
    fn drop(&mut self) {
        self.connections.locked().remove(&self.live.id);
    }
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self { limits, next_id: AtomicU64::new(1), live: Mutex::default() }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<u64, Arc<LiveConnection>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another connection may be accepted. Where places are scarce, the oldest hello that should be through
    /// is cut for it.
    pub(crate) fn has_room(&self, now_ns: u64) -> bool {
        let live = self.locked();
        let greeting =
            || live.values().filter(|live| live.stage() == ConnectionStage::Greeting && !live.is_cut());
        if greeting().count() < self.limits.greetings {
            return true;
        }
        let oldest = greeting().min_by_key(|live| live.started_ns);
        let late = oldest.filter(|oldest| oldest.is_late(now_ns));
        if let Some(late) = late {
            late.cut("its slot was needed for another connection");
        }
        late.is_some()
    }

    /// Takes a connection in.
    pub(crate) fn admit(&self, socket: &TcpStream, now_ns: u64) -> io::Result<ConnectionPermit<'_>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let live = Arc::new(LiveConnection::start(id, socket, now_ns)?);
        self.locked().insert(live.id, Arc::clone(&live));
        Ok(ConnectionPermit { connections: self, live })
    }

    /// Counts a connection whose hello is through among the server's own; the error says why it may not stay.
    pub(crate) fn establish(&self, live: &LiveConnection) -> Result<(), String> {
        let all = self.locked();
        let count = all.values().filter(|live| live.stage() != ConnectionStage::Greeting).count();
        if u32::try_from(count).unwrap_or(u32::MAX) >= self.limits.connections {
            return Err(format!(
                "the server has {count} connections, its limit; close some, or raise the limit"
            ));
        }
        live.mark_greeted();
        Ok(())
    }

    /// Ends the connections whose time is over, and cuts those that do not end.
    pub(crate) fn enforce_limits(&self, now_ns: u64) {
        for live in self.locked().values() {
            live.enforce_limits(&self.limits.times, now_ns);
        }
    }

    /// Cuts all connections.
    pub(crate) fn cut_all(&self, why: &str) {
        for live in self.locked().values() {
            live.cut(why);
        }
    }
}
