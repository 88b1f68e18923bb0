//! A session: the store that the connections of one client share, and the counters of those connections.

use crate::channel::refused;
use crate::connections::Live;
use crate::quota::{Quota, Reservation};
use crate::stores::{Quotas, Stores};
use crate::unwritten::Unwritten;
use narrows_engines::endpoint::add_tcp_counters;
use narrows_model::counters::TcpCounters;
use narrows_wire::{Error, Refusal};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Longest wait for data connections to leave a session that ends.
const LEAVE: Duration = Duration::from_secs(10);

/// The store that the connections of one client share; it ends with the last of its holders.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    /// What its connections have acknowledged and not yet written.
    pub(crate) unwritten: Unwritten,
    stores: Mutex<Stores>,
    ledger: Mutex<Ledger>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Ledger {
    live: HashMap<u64, Arc<Live>>,
    closed: TcpCounters,
    /// Whether the session lets nobody in any more.
    ended: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// What the session stores, for one change or opening at a time.
    pub(crate) fn stores(&self) -> MutexGuard<'_, Stores> {
        locked(&self.stores)
    }

    /// Counts `live` among the session's data connections until the value that is returned goes.
    pub(crate) fn join(self: &Arc<Self>, live: &Arc<Live>) -> Result<Member, Error> {
        let mut ledger = locked(&self.ledger);
        if ledger.ended {
            return Err(unknown_session());
        }
        ledger.live.insert(live.id, Arc::clone(live));
        Ok(Member { session: Arc::clone(self), live: Arc::clone(live) })
    }

    /// The counters of all data connections that the session has had, summed; `None` before the first.
    pub(crate) fn tcp(&self) -> Option<TcpCounters> {
        let ledger = locked(&self.ledger);
        let mut sum = ledger.closed.clone();
        for counters in ledger.live.values().filter_map(|live| live.counters()) {
            add_tcp_counters(&mut sum, &counters);
        }
        (sum.connection_count > 0).then_some(sum)
    }

    /// Ends the session's data connections, waits until they have left, and removes what was stored.
    pub(crate) fn end(&self, why: &str) {
        let mut ledger = locked(&self.ledger);
        ledger.ended = true;
        for live in ledger.live.values() {
            live.cut(why);
        }
        // Connections that stay past the wait keep the store until they go.
        let _ = self.left.wait_timeout_while(ledger, LEAVE, |ledger| !ledger.live.is_empty());
        self.stores().clear();
    }
}

/// The membership of one data connection.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) session: Arc<Session>,
    live: Arc<Live>,
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut ledger = locked(&self.session.ledger);
        if let Some(counters) = self.live.counters() {
            add_tcp_counters(&mut ledger.closed, &counters);
        }
        ledger.live.remove(&self.live.id);
        drop(ledger);
        self.session.left.notify_all();
    }
}

/// All sessions that live.
#[derive(Debug)]
pub(crate) struct Sessions {
    by_id: Mutex<HashMap<String, Weak<Session>>>,
    quotas: Quotas,
}

impl Sessions {
    pub(crate) fn new(memory_bytes_max: u64, disk_bytes_max: u64) -> Self {
        Self {
            by_id: Mutex::default(),
            quotas: Quotas {
                memory: Quota::new("memory", memory_bytes_max),
                disk: Quota::new("disk store", disk_bytes_max),
            },
        }
    }

    /// Memory for what a connection or a cell needs in flight, out of what all stores in memory may take.
    pub(crate) fn reserve_memory(&self, bytes: u64) -> Result<Reservation, Error> {
        self.quotas.memory.reserve(bytes)
    }

    /// A new session with this random id.
    pub(crate) fn open(&self, id: String) -> Arc<Session> {
        let session = Arc::new(Session {
            id: id.clone(),
            unwritten: Unwritten::default(),
            stores: Mutex::new(Stores::new(&id, &self.quotas)),
            ledger: Mutex::default(),
            left: Condvar::new(),
        });
        let mut by_id = locked(&self.by_id);
        by_id.retain(|_, session| session.strong_count() > 0);
        by_id.insert(id, Arc::downgrade(&session));
        session
    }

    /// The session `id`, if it lives.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Session>, Error> {
        locked(&self.by_id).get(id).and_then(Weak::upgrade).ok_or_else(unknown_session)
    }
}

fn unknown_session() -> Error {
    refused(Refusal::NotFound, "the session is not known here: it has ended, or belongs to another server")
}
