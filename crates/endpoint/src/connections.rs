//! The connections that live now, and the limits that end them.

use narrows_engines::endpoint::tcp_counters;
use narrows_model::counters::TcpCounters;
use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One living connection, as others see it.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) id: u64,
    socket: TcpStream,
    started_ns: u64,
    heard_ns: AtomicU64,
    /// Whether silence is allowed: a control connection waits while its client measures.
    patient: AtomicBool,
    ending: Mutex<Option<String>>,
}

impl Live {
    /// Notes that the peer was heard of.
    pub(crate) fn heard(&self, now_ns: u64) {
        self.heard_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Allows silence from now on.
    pub(crate) fn be_patient(&self) {
        self.patient.store(true, Ordering::Relaxed);
    }

    /// Asks the connection's thread to end: its reads find the end, and it tells the peer why.
    pub(crate) fn end(&self, why: &str) {
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        if ending.is_none() {
            *ending = Some(why.to_owned());
        }
        // A socket that is closed already needs no end.
        let _ = self.socket.shutdown(Shutdown::Read);
    }

    /// Why the connection is to end; `None` while it is not.
    pub(crate) fn ending(&self) -> Option<String> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Cuts the connection at once.
    pub(crate) fn cut(&self, why: &str) {
        self.end(why);
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// The connection's counters; `None` where the kernel does not tell.
    pub(crate) fn counters(&self) -> Option<TcpCounters> {
        tcp_counters(&self.socket)
    }
}

/// Limits on connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    pub(crate) connections: u32,
    pub(crate) lifetime_s: Option<u64>,
    pub(crate) silence_s: u64,
}

/// All living connections.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: ConnectionLimits,
    next_id: AtomicU64,
    live: Mutex<HashMap<u64, Arc<Live>>>,
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self { limits, next_id: AtomicU64::new(1), live: Mutex::default() }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection in; the error says why it may not come in.
    pub(crate) fn admit(&self, socket: &TcpStream, now_ns: u64) -> Result<Arc<Live>, String> {
        let mut live = self.locked();
        let count = u32::try_from(live.len()).unwrap_or(u32::MAX);
        if count >= self.limits.connections {
            return Err(format!(
                "the server has {count} connections, the most it allows; end some, or raise its limit"
            ));
        }
        let socket =
            socket.try_clone().map_err(|error| format!("the server cannot hold a connection: {error}"))?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let entry = Arc::new(Live {
            id,
            socket,
            started_ns: now_ns,
            heard_ns: AtomicU64::new(now_ns),
            patient: AtomicBool::new(false),
            ending: Mutex::new(None),
        });
        live.insert(id, Arc::clone(&entry));
        Ok(entry)
    }

    /// Lets go of a connection that has ended.
    pub(crate) fn leave(&self, id: u64) {
        self.locked().remove(&id);
    }

    /// Ends the connections whose time is over.
    pub(crate) fn watch(&self, now_ns: u64) {
        let second = 1_000_000_000;
        for live in self.locked().values() {
            let age_ns = now_ns.saturating_sub(live.started_ns);
            let silence_ns = now_ns.saturating_sub(live.heard_ns.load(Ordering::Relaxed));
            let idle_max = self.limits.silence_s;
            match self.limits.lifetime_s {
                Some(limit) if age_ns > limit.saturating_mul(second) => {
                    live.end(&format!("the server allows a connection {limit} s, and they are over"));
                }
                _ if silence_ns > idle_max.saturating_mul(second)
                    && !live.patient.load(Ordering::Relaxed) =>
                {
                    live.end(&format!("nothing passed for {idle_max} s, the most the server waits"));
                }
                _ => {}
            }
        }
    }

    /// Cuts all connections.
    pub(crate) fn cut_all(&self, why: &str) {
        for live in self.locked().values() {
            live.cut(why);
        }
    }
}
