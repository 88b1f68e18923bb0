//! A session: the store that the connections of one client share, and the counters of those connections.

use crate::channel::refused;
use crate::connections::Live;
use crate::store::{MemoryObject, Quota, Root, SessionFolder};
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
    stores: Mutex<Stores>,
    ledger: Mutex<Ledger>,
    left: Condvar,
    memory_quota: Arc<Quota>,
    disk_quota: Arc<Quota>,
}

#[derive(Debug, Default)]
struct Stores {
    memory: HashMap<String, Arc<MemoryObject>>,
    folder: Option<Arc<SessionFolder>>,
    /// Bytes reserved for each object on disk.
    disk: HashMap<String, u64>,
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
    /// The memory object `name`, made with `object_bytes` when it is missing and may be made.
    pub(crate) fn memory_object(
        &self,
        name: &str,
        object_bytes: u64,
        create: bool,
    ) -> Result<Arc<MemoryObject>, Error> {
        let mut stores = locked(&self.stores);
        if let Some(object) = stores.memory.get(name) {
            if object.length_bytes() >= object_bytes {
                return Ok(Arc::clone(object));
            }
            let message = format!("object `{name}` has {} bytes, not {object_bytes}", object.length_bytes());
            return Err(refused(Refusal::Unsupported, message));
        }
        if !create {
            return Err(missing(name));
        }
        self.memory_quota.reserve(object_bytes)?;
        let object = Arc::new(MemoryObject::new(object_bytes));
        stores.memory.insert(name.to_owned(), Arc::clone(&object));
        Ok(object)
    }

    pub(crate) fn remove_memory_object(&self, name: &str) {
        if let Some(object) = locked(&self.stores).memory.remove(name) {
            self.memory_quota.release(object.length_bytes());
        }
    }

    /// The session's folder, made when it is missing.
    pub(crate) fn folder(&self, root: Option<&Root>) -> Result<Arc<SessionFolder>, Error> {
        let mut stores = locked(&self.stores);
        if let Some(folder) = &stores.folder {
            return Ok(Arc::clone(folder));
        }
        let root = root.ok_or_else(|| {
            refused(Refusal::NotFound, "this server has no disk store; start it with --root FOLDER")
        })?;
        let folder = Arc::new(SessionFolder::make(root, &self.id)?);
        stores.folder = Some(Arc::clone(&folder));
        Ok(folder)
    }

    /// Reserves room for the disk object `name` to grow to `object_bytes`.
    pub(crate) fn reserve_disk(&self, name: &str, object_bytes: u64) -> Result<(), Error> {
        let mut stores = locked(&self.stores);
        let have = stores.disk.get(name).copied().unwrap_or(0);
        if object_bytes > have {
            self.disk_quota.reserve(object_bytes - have)?;
            stores.disk.insert(name.to_owned(), object_bytes);
        }
        Ok(())
    }

    pub(crate) fn release_disk(&self, name: &str) {
        if let Some(bytes) = locked(&self.stores).disk.remove(name) {
            self.disk_quota.release(bytes);
        }
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
        self.drop_stores();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.drop_stores();
    }
}

impl Session {
    /// Removes what was stored and gives its room back.
    fn drop_stores(&self) {
        let stores = std::mem::take(&mut *locked(&self.stores));
        self.memory_quota.release(stores.memory.values().map(|object| object.length_bytes()).sum());
        self.disk_quota.release(stores.disk.values().sum());
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
    memory_quota: Arc<Quota>,
    disk_quota: Arc<Quota>,
}

impl Sessions {
    pub(crate) fn new(memory_bytes_max: u64, disk_bytes_max: u64) -> Self {
        Self {
            by_id: Mutex::default(),
            memory_quota: Arc::new(Quota::new("memory store", memory_bytes_max)),
            disk_quota: Arc::new(Quota::new("disk store", disk_bytes_max)),
        }
    }

    /// A new session with this random id.
    pub(crate) fn open(&self, id: String) -> Arc<Session> {
        let session = Arc::new(Session {
            id: id.clone(),
            stores: Mutex::default(),
            ledger: Mutex::default(),
            left: Condvar::new(),
            memory_quota: Arc::clone(&self.memory_quota),
            disk_quota: Arc::clone(&self.disk_quota),
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

fn missing(name: &str) -> Error {
    refused(Refusal::NotFound, format!("there is no object `{name}` in this session"))
}
