//! Signs of life of a session's client, by which the session of a stopped one ends.
//!
//! A stopped process keeps its connections, and the kernel answers keep-alive probes for it. A session is watched while a
//! connection is open on which its client said that it would ask all the while. Once such a session has had no sign of
//! life on any of its connections for [`SIGN_OF_LIFE_S`], all of them end. A client that closes that connection is under
//! no watch any more: it removes what it stored, which may take long.

use narrows_model::units::NANOS_PER_SEC;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Longest time without any sign of life of a watched session, in seconds: the client asks twice a second, and has this
/// long for a suspended machine or a link that is down to come back.
pub(crate) const SIGN_OF_LIFE_S: u64 = 60;

/// Time of the last sign of life of the client of one session. Its connections share it.
#[derive(Debug, Default)]
pub(crate) struct SessionLife {
    last_sign_ns: AtomicU64,
    /// Connections that are open and on which the client asks all the while.
    watch_count: AtomicU32,
    /// Whether it was found silent for too long: then all of its connections end, also those that are looked at later.
    was_silent: AtomicBool,
}

impl SessionLife {
    /// Notes a sign of life of the client at `now_ns`.
    pub(crate) fn note_sign(&self, now_ns: u64) {
        self.last_sign_ns.fetch_max(now_ns, Ordering::Relaxed);
    }

    /// Time since the last sign of life in nanoseconds; `None` while nobody promised any.
    pub(crate) fn silent_ns(&self, now_ns: u64) -> Option<u64> {
        let silent_ns = now_ns.saturating_sub(self.last_sign_ns.load(Ordering::Relaxed));
        let is_watched = self.watch_count.load(Ordering::Relaxed) > 0;
        if is_watched && silent_ns >= SIGN_OF_LIFE_S * NANOS_PER_SEC {
            // The connection that watched ends as well, maybe before another one has been looked at.
            self.was_silent.store(true, Ordering::Relaxed);
        }
        (is_watched || self.was_silent.load(Ordering::Relaxed)).then_some(silent_ns)
    }

    /// Time of the last sign of life; 0 where there was none.
    pub(crate) fn last_sign_ns(&self) -> u64 {
        self.last_sign_ns.load(Ordering::Relaxed)
    }
}

/// Keeps a session watched until it is dropped.
#[derive(Debug)]
pub(crate) struct LifeWatch(Arc<SessionLife>);

impl LifeWatch {
    /// Watches the session of `life` from `now_ns` on.
    pub(crate) fn start(life: &Arc<SessionLife>, now_ns: u64) -> Self {
        life.note_sign(now_ns);
        life.watch_count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(life))
    }
}

impl Drop for LifeWatch {
    fn drop(&mut self) {
        self.0.watch_count.fetch_sub(1, Ordering::Relaxed);
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
    fn a_session_is_watched_while_one_of_its_watches_lives() {
        let lives = SessionLives::default();
        let life = lives.begin("a");
        assert_eq!(life.silent_ns(9), None);
        let watch = LifeWatch::start(&lives.find("a").unwrap(), 5);
        assert_eq!(life.silent_ns(9), Some(4));
        life.note_sign(8);
        life.note_sign(7);
        assert_eq!(life.silent_ns(9), Some(1), "an earlier sign that is noted later takes nothing back");
        drop(watch);
        assert_eq!((life.silent_ns(9), life.last_sign_ns()), (None, 8));
    }

    #[test]
    fn a_session_that_was_silent_stays_so_when_the_connection_that_watched_has_ended() {
        let life = Arc::new(SessionLife::default());
        let watch = LifeWatch::start(&life, 0);
        let minute_ns = SIGN_OF_LIFE_S * NANOS_PER_SEC;
        assert_eq!(life.silent_ns(minute_ns), Some(minute_ns));
        drop(watch);
        assert_eq!(life.silent_ns(minute_ns + 1), Some(minute_ns + 1));
    }

    #[test]
    fn the_life_of_a_session_that_ended_is_not_found() {
        let lives = SessionLives::default();
        drop(lives.begin("a"));
        assert!(lives.find("a").is_none());
    }
}
