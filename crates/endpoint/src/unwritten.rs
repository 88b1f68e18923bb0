//! Writes of one session that were acknowledged early and are not yet in their files, whatever connection they came over.
//!
//! Who was told that a write is done may look for it over any connection of the session: what overlaps one waits until
//! it is in its file. A connection may be closed while its queue is still worked off: who looks at the files next must
//! wait for that too. Hot path: one atomic load where there is none, else one short lock and a scan of those there are.
//! They are many only where the disk is slower than what comes, and then nobody waits for the scan.

use narrows_wire::request::{Header, Kind};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All of a session.
#[derive(Debug, Default)]
pub(crate) struct Unwritten {
    /// How many there are, for who needs to know no more.
    count: AtomicUsize,
    state: Mutex<State>,
    /// Some are done.
    fewer: Condvar,
    next_owner: AtomicU64,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct State {
    ranges: Vec<Range>,
    /// Threads that wait for fewer: without any, nobody is woken.
    waiting_count: usize,
}

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    /// The connection that it came over.
    owner: u64,
    /// The object's name, hashed: two names with one hash wait for each other, and nothing worse.
    object: u64,
    from_bytes: u64,
    end_bytes: u64,
}

impl Range {
    /// Whether `late` must not pass this write.
    fn holds_up(&self, late: &Self) -> bool {
        self.object == late.object && self.from_bytes < late.end_bytes && late.from_bytes < self.end_bytes
    }
}

impl Unwritten {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of a connection whose requests mean `objects` by their places in this list.
    pub(crate) fn join(&self, objects: &[String]) -> Connection<'_> {
        Connection {
            all: self,
            owner: self.next_owner.fetch_add(1, Ordering::Relaxed),
            objects: objects.iter().map(|name| self.hasher.hash_one(name)).collect(),
        }
    }

    /// Removes what `is_done` says, and tells who waits.
    fn remove(&self, mut state: MutexGuard<'_, State>, is_done: impl FnOnce(&mut Vec<Range>)) {
        is_done(&mut state.ranges);
        self.count.store(state.ranges.len(), Ordering::Release);
        let is_waited_for = state.waiting_count > 0;
        drop(state);
        if is_waited_for {
            self.fewer.notify_all();
        }
    }

    /// Waits until there is none; whether that came in time.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let mut state = self.state();
        state.waiting_count += 1;
        let waited = self.fewer.wait_timeout_while(state, patience, |state| !state.ranges.is_empty());
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.waiting_count -= 1;
        state.ranges.is_empty()
    }
}

/// What one connection adds, and waits for.
#[derive(Debug)]
pub(crate) struct Connection<'a> {
    all: &'a Unwritten,
    owner: u64,
    objects: Vec<u64>,
}

impl Connection<'_> {
    /// What `header` touches: an object as a whole where it is synced or removed.
    fn range(&self, header: &Header) -> Range {
        let (from_bytes, end_bytes) = match header.kind {
            Kind::Sync | Kind::Remove => (0, u64::MAX),
            Kind::Read | Kind::Write => {
                let end = header.offset_bytes.saturating_add(u64::from(header.length_bytes));
                (header.offset_bytes, end)
            }
        };
        let object = self.objects[crate::data::index(header.object)];
        Range { owner: self.owner, object, from_bytes, end_bytes }
    }

    /// One more; to be called before it is acknowledged.
    pub(crate) fn add(&self, header: &Header) {
        let mut state = self.all.state();
        state.ranges.push(self.range(header));
        self.all.count.store(state.ranges.len(), Ordering::Release);
    }

    /// One less: it is in its file, has failed, or was dropped.
    pub(crate) fn done(&self, header: &Header) {
        let range = self.range(header);
        self.all.remove(self.all.state(), |ranges| {
            if let Some(at) = ranges.iter().position(|other| *other == range) {
                ranges.swap_remove(at);
            }
        });
    }

    /// Whether `header` must wait for a write of this or another connection.
    pub(crate) fn must_wait(&self, header: &Header) -> bool {
        // Whoever sends this because of an acknowledgement sends it after the write was added.
        if self.all.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let late = self.range(header);
        self.all.state().ranges.iter().any(|early| early.holds_up(&late))
    }

    /// Waits until nothing stands before `header`. Who calls it does none of the writing.
    pub(crate) fn wait_for(&self, header: &Header) {
        let late = self.range(header);
        let mut state = self.all.state();
        state.waiting_count += 1;
        let blocked = |state: &mut State| state.ranges.iter().any(|early| early.holds_up(&late));
        let waited = self.all.fewer.wait_while(state, blocked);
        waited.unwrap_or_else(PoisonError::into_inner).waiting_count -= 1;
    }
}

impl Drop for Connection<'_> {
    /// What was dropped is waited for no longer.
    fn drop(&mut self) {
        self.all.remove(self.all.state(), |ranges| ranges.retain(|range| range.owner != self.owner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn header(kind: Kind, object: u32, offset_bytes: u64) -> Header {
        Header { kind, tag: 0, object, length_bytes: 100, offset_bytes }
    }

    #[test]
    fn who_waits_for_all_goes_on_when_the_last_is_done_and_not_before() {
        let unwritten = Unwritten::default();
        assert!(unwritten.wait(Duration::ZERO), "nothing to wait for");
        let connection = unwritten.join(&names(&["a"]));
        connection.add(&header(Kind::Write, 0, 0));
        connection.add(&header(Kind::Write, 0, 100));
        connection.done(&header(Kind::Write, 0, 0));
        assert!(!unwritten.wait(Duration::from_millis(1)));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| unwritten.wait(Duration::from_mins(1)));
            connection.done(&header(Kind::Write, 0, 100));
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn only_what_overlaps_a_write_waits_for_it_whatever_connection_either_came_over() {
        let unwritten = Unwritten::default();
        let (writer, other) = (unwritten.join(&names(&["a", "b"])), unwritten.join(&names(&["b", "a"])));
        writer.add(&header(Kind::Write, 0, 1000));
        for (kind, offset_bytes, waits) in [
            (Kind::Read, 901, true),
            (Kind::Read, 900, false),
            (Kind::Write, 1099, true),
            (Kind::Write, 1100, false),
            (Kind::Sync, 0, true),
            (Kind::Remove, 0, true),
        ] {
            assert_eq!(writer.must_wait(&header(kind, 0, offset_bytes)), waits, "{kind:?} {offset_bytes}");
            assert_eq!(other.must_wait(&header(kind, 1, offset_bytes)), waits, "{kind:?} {offset_bytes}");
            assert!(!writer.must_wait(&header(kind, 1, offset_bytes)), "of another object");
            assert!(!other.must_wait(&header(kind, 0, offset_bytes)), "of another object");
        }
        writer.done(&header(Kind::Write, 0, 1000));
        assert!(!other.must_wait(&header(Kind::Sync, 1, 0)));
    }

    #[test]
    fn who_waits_for_another_connections_write_goes_on_when_it_is_done_or_its_connection_gone() {
        let unwritten = Unwritten::default();
        let reader = unwritten.join(&names(&["a"]));
        let read = header(Kind::Read, 0, 50);
        for is_dropped in [false, true] {
            let writer = unwritten.join(&names(&["a"]));
            let write = header(Kind::Write, 0, 0);
            writer.add(&write);
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| reader.wait_for(&read));
                assert!(reader.must_wait(&read));
                if is_dropped {
                    drop(writer);
                } else {
                    writer.done(&write);
                }
                waiting.join().unwrap();
            });
            assert!(!reader.must_wait(&read));
        }
    }
}
