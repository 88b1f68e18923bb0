//! Signs of life of a session's client, by which the session of a stopped one ends.
//!
//! A stopped process keeps its connections, and the kernel answers keep-alive probes for it. A session is watched from the
//! moment when its client said on a connection that it would ask all the while. Once such a session has had no sign of
//! life on any of its connections for [`SIGN_OF_LIFE_S`], all of them end, also where the one on which it asked has ended
//! before: its client asks until it has removed what it stored.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Longest time without any sign of life of a watched session, in seconds: the client asks twice a second, and has this
/// long for a suspended machine or a link that is down to come back.
pub(crate) const SIGN_OF_LIFE_S: u64 = 60;

/// Time of the last sign of life of the client of one session. Its connections share it.
#[derive(Debug, Default)]
pub(crate) struct SessionLife {
    last_sign_ns: AtomicU64,
    /// Whether the client said that it would ask all the while.
    is_watched: AtomicBool,
}

impl SessionLife {
    /// Notes a sign of life of the client at `now_ns`.
    pub(crate) fn note_sign(&self, now_ns: u64) {
        self.last_sign_ns.fetch_max(now_ns, Ordering::Relaxed);
    }

    /// Watches the session from `now_ns` on.
    pub(crate) fn watch(&self, now_ns: u64) {
        self.note_sign(now_ns);
        self.is_watched.store(true, Ordering::Relaxed);
    }

    /// Time since the last sign of life in nanoseconds; `None` where nobody promised any.
    pub(crate) fn silent_ns(&self, now_ns: u64) -> Option<u64> {
        let is_watched = self.is_watched.load(Ordering::Relaxed);
        is_watched.then(|| now_ns.saturating_sub(self.last_sign_ns()))
    }

    /// Time of the last sign of life; 0 where there was none.
    pub(crate) fn last_sign_ns(&self) -> u64 {
        self.last_sign_ns.load(Ordering::Relaxed)
    }
}

/// The lives of all sessions by their ids, for connections that name a session.
#[derive(Debug, Default)]
pub(crate) struct SessionLives {
    by_id: Mutex<HashMap<String, Weak<SessionLife>>>,
}

impl SessionLives {
    fn locked(&self) -> MutexGuard<'_, HashMap<String, Weak<SessionLife>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of the new session `id`, which nobody promised signs of yet.
    pub(crate) fn begin(&self, id: &str) -> Arc<SessionLife> {
        let life = Arc::new(SessionLife::default());
        let mut by_id = self.locked();
        by_id.retain(|_, life| life.strong_count() > 0);
        by_id.insert(id.to_owned(), Arc::downgrade(&life));
        life
    }

    /// The life of the session `id`; `None` where it has ended or never was.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<SessionLife>> {
        self.locked().get(id).and_then(Weak::upgrade)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_watched_once_its_client_promised_signs() {
        let lives = SessionLives::default();
        let life = lives.begin("a");
        assert_eq!(life.silent_ns(9), None);
        lives.find("a").unwrap().watch(5);
        assert_eq!(life.silent_ns(9), Some(4));
        life.note_sign(8);
        life.note_sign(7);
        assert_eq!(life.silent_ns(9), Some(1), "an earlier sign that is noted later takes nothing back");
    }

    #[test]
    fn the_life_of_a_session_that_ended_is_not_found() {
        let lives = SessionLives::default();
        drop(lives.begin("a"));
        assert!(lives.find("a").is_none());
    }
}
