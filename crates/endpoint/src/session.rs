//! A session: the store that the connections of one client share, and the counters of those connections.

use crate::channel::{READ_BYTES, refused};
use crate::descriptors::{CONNECTION, Descriptors};
use crate::life::{SessionLife, SessionLives};
use crate::live_connection::LiveConnection;
use crate::quota::{Quota, Reservation};
use crate::stores::{Quotas, Stores};
use crate::unwritten::UnwrittenRanges;
use narrows_model::counters::{Combine, TcpCounters};
use narrows_wire::open::REQUEST_BYTES_MAX;
use narrows_wire::{Error, Refusal};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Longest wait for data connections to leave a session that ends.
const LEAVE: Duration = Duration::from_secs(10);

/// Descriptors that were reserved, of the session and of the server.
pub(crate) type OpenFilesReservation = [Reservation; 2];

/// The store that the connections of one client share; it ends with the last of its holders.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    /// Last sign of life of its client.
    pub(crate) life: Arc<SessionLife>,
    /// Open files: its own share, and that of all sessions.
    files: [Arc<Quota>; 2],
    /// What its connections have acknowledged and not yet written.
    pub(crate) unwritten: UnwrittenRanges,
    stores: Mutex<Stores>,
    state: Mutex<SessionState>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct SessionState {
    live: HashMap<u64, Arc<LiveConnection>>,
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

    /// Descriptors for `count` files, out of the session's share and out of what all sessions may have.
    pub(crate) fn reserve_files(&self, count: usize) -> Result<OpenFilesReservation, Error> {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let [own, all] = &self.files;
        Ok([own.reserve(count)?, all.reserve(count)?])
    }

    /// Counts `live` among the session's data connections until the returned value is dropped.
    pub(crate) fn join(self: &Arc<Self>, live: &Arc<LiveConnection>) -> Result<SessionMember, Error> {
        // The server has charged the connection itself already.
        let files = self.files[0].reserve(CONNECTION)?;
        let mut state = locked(&self.state);
        if state.ended {
            return Err(unknown_session());
        }
        state.live.insert(live.id, Arc::clone(live));
        Ok(SessionMember { session: Arc::clone(self), live: Arc::clone(live), _files: files })
    }

    /// The counters of all data connections that the session has had, summed; `None` before the first.
    pub(crate) fn tcp(&self) -> Option<TcpCounters> {
        let state = locked(&self.state);
        let mut sum = state.closed.clone();
        for counters in state.live.values().filter_map(|live| live.counters()) {
            sum.add_beside(&counters);
        }
        (sum.connection_count > 0).then_some(sum)
    }

    /// Ends the session's data connections, waits until they have left, and removes what was stored.
    pub(crate) fn end(&self, why: &str) {
        let mut state = locked(&self.state);
        state.ended = true;
        for live in state.live.values() {
            live.cut(why);
        }
        // Connections that stay past the wait keep the store until they end.
        let _ = self.left.wait_timeout_while(state, LEAVE, |state| !state.live.is_empty());
        self.stores().clear();
    }
}

/// The membership of one data connection.
#[derive(Debug)]
pub(crate) struct SessionMember {
    pub(crate) session: Arc<Session>,
    live: Arc<LiveConnection>,
    _files: Reservation,
}

impl Drop for SessionMember {
    fn drop(&mut self) {
        let mut state = locked(&self.session.state);
        if let Some(counters) = self.live.counters() {
            state.closed.add_beside(&counters);
        }
        state.live.remove(&self.live.id);
        drop(state);
        self.session.left.notify_all();
    }
}

/// All sessions that live.
#[derive(Debug)]
pub(crate) struct Sessions {
    by_id: Mutex<HashMap<String, Weak<Session>>>,
    lives: SessionLives,
    quotas: Quotas,
    /// Memory of openings that are not whole.
    openings: Arc<Quota>,
}

impl Sessions {
    pub(crate) fn new(memory_bytes_max: u64, disk_bytes_max: u64) -> Self {
        Self {
            by_id: Mutex::default(),
            lives: SessionLives::default(),
            openings: Quota::new("server's unfinished openings", openings_bytes_max(memory_bytes_max)),
            quotas: Quotas {
                memory: Quota::new("server's memory", memory_bytes_max),
                disk: Quota::new("server's disk store", disk_bytes_max),
            },
        }
    }

    /// Last signs of life of the clients of all sessions.
    pub(crate) fn lives(&self) -> &SessionLives {
        &self.lives
    }

    /// What openings that are not whole are charged to.
    pub(crate) fn openings(&self) -> &Arc<Quota> {
        &self.openings
    }

    /// Memory for what a connection or a cell needs in flight, out of what all stores in memory may take.
    pub(crate) fn reserve_memory(&self, bytes: u64) -> Result<Reservation, Error> {
        self.quotas.memory.reserve(bytes)
    }

    /// A new session with this random id; its files are charged to `descriptors`.
    pub(crate) fn open(&self, id: String, descriptors: &Descriptors) -> Arc<Session> {
        let session = Arc::new(Session {
            id: id.clone(),
            life: self.lives.begin(&id),
            files: [descriptors.session_quota(), Arc::clone(descriptors.shared())],
            unwritten: UnwrittenRanges::default(),
            stores: Mutex::new(Stores::new(&id, &self.quotas)),
            state: Mutex::default(),
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

/// Most memory of openings that are not whole, of a server that has `memory_bytes_max` for stores: usual openings have less
/// than 1 KiB, and one of the largest fits always.
fn openings_bytes_max(memory_bytes_max: u64) -> u64 {
    const MOST_BYTES: u64 = 64 << 20;
    const LARGEST_BYTES: u64 = 2 * (REQUEST_BYTES_MAX + 2 * READ_BYTES) as u64;
    (memory_bytes_max / 16).clamp(LARGEST_BYTES, MOST_BYTES)
}

fn unknown_session() -> Error {
    refused(Refusal::NotFound, "unknown session: it has ended, or belongs to another server")
}
