//! Writes of one session that were acknowledged early and are not yet in their files, whatever connection they came over.
//!
//! A client whose write was acknowledged may read it over any connection of the session: requests that overlap the
//! write wait until it is in its file. A connection may be closed while its queue is still processed: whoever looks at
//! the files next must wait for that too. Hot path: one atomic load if there is none, else one short lock and a scan of
//! all. There are many only if the disk is slower than the client, and then nobody waits for the scan.

use narrows_wire::request::{RequestHeader, RequestKind};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All of a session.
#[derive(Debug, Default)]
pub(crate) struct UnwrittenRanges {
    /// How many there are, for who needs to know no more.
    count: AtomicUsize,
    state: Mutex<UnwrittenState>,
    /// Some are done.
    fewer: Condvar,
    next_owner: AtomicU64,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct UnwrittenState {
    ranges: Vec<WriteRange>,
    /// Threads that wait for fewer: without any, nobody is woken.
    waiting_count: usize,
}

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WriteRange {
    /// The connection that it came over.
    owner: u64,
    /// The object's name, hashed: two names with one hash wait for each other, and nothing worse.
    object: u64,
    from_bytes: u64,
    end_bytes: u64,
}

impl WriteRange {
    /// Whether `late` must not pass this write.
    fn blocks(&self, late: &Self) -> bool {
        self.object == late.object && self.from_bytes < late.end_bytes && late.from_bytes < self.end_bytes
    }
}

impl UnwrittenRanges {
    fn state(&self) -> MutexGuard<'_, UnwrittenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of a connection whose requests mean `objects` by their places in this list.
    pub(crate) fn join(&self, objects: &[String]) -> ConnectionWrites<'_> {
        ConnectionWrites {
            all: self,
            owner: self.next_owner.fetch_add(1, Ordering::Relaxed),
            objects: objects.iter().map(|name| self.hasher.hash_one(name)).collect(),
        }
    }

    /// Removes what `is_done` says, and wakes those who wait.
    fn remove(&self, mut state: MutexGuard<'_, UnwrittenState>, is_done: impl FnOnce(&mut Vec<WriteRange>)) {
        is_done(&mut state.ranges);
        self.count.store(state.ranges.len(), Ordering::Release);
        let is_waited_for = state.waiting_count > 0;
        drop(state);
        if is_waited_for {
            self.fewer.notify_all();
        }
    }

    /// Waits until there is none; whether that came in time.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let mut state = self.state();
        state.waiting_count += 1;
        let waited = self.fewer.wait_timeout_while(state, timeout, |state| !state.ranges.is_empty());
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.waiting_count -= 1;
        state.ranges.is_empty()
    }
}

/// What one connection adds, and waits for.
#[derive(Debug)]
pub(crate) struct ConnectionWrites<'a> {
    all: &'a UnwrittenRanges,
    owner: u64,
    objects: Vec<u64>,
}

impl ConnectionWrites<'_> {
    /// What `header` touches: an object as a whole where it is synced or removed.
    fn range(&self, header: &RequestHeader) -> WriteRange {
        let (from_bytes, end_bytes) = match header.kind {
            RequestKind::Sync | RequestKind::Remove => (0, u64::MAX),
            RequestKind::Read | RequestKind::Write => {
                let end = header.offset_bytes.saturating_add(u64::from(header.length_bytes));
                (header.offset_bytes, end)
            }
        };
        let object = self.objects[crate::grant::index(header.object)];
        WriteRange { owner: self.owner, object, from_bytes, end_bytes }
    }

    /// One more; to be called before it is acknowledged.
    pub(crate) fn add(&self, header: &RequestHeader) {
        let mut state = self.all.state();
        state.ranges.push(self.range(header));
        self.all.count.store(state.ranges.len(), Ordering::Release);
    }

    /// One less: it is in its file, has failed, or was dropped.
    pub(crate) fn done(&self, header: &RequestHeader) {
        let range = self.range(header);
        self.all.remove(self.all.state(), |ranges| {
            if let Some(at) = ranges.iter().position(|other| *other == range) {
                ranges.swap_remove(at);
            }
        });
    }

    /// Whether `header` must wait for a write of this or another connection.
    pub(crate) fn must_wait(&self, header: &RequestHeader) -> bool {
        // Whoever sends this because of an acknowledgement sends it after the write was added.
        if self.all.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let late = self.range(header);
        self.all.state().ranges.iter().any(|early| early.blocks(&late))
    }

    /// Waits until nothing has to be done before `header`. The caller does none of the writing.
    pub(crate) fn wait_for(&self, header: &RequestHeader) {
        let late = self.range(header);
        let mut state = self.all.state();
        state.waiting_count += 1;
        let blocked = |state: &mut UnwrittenState| state.ranges.iter().any(|early| early.blocks(&late));
        let waited = self.all.fewer.wait_while(state, blocked);
        waited.unwrap_or_else(PoisonError::into_inner).waiting_count -= 1;
    }
}

impl Drop for ConnectionWrites<'_> {
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

    fn header(kind: RequestKind, object: u32, offset_bytes: u64) -> RequestHeader {
        RequestHeader { kind, tag: 0, object, length_bytes: 100, offset_bytes }
    }

    #[test]
    fn who_waits_for_all_continues_when_the_last_is_done_and_not_before() {
        let unwritten = UnwrittenRanges::default();
        assert!(unwritten.wait(Duration::ZERO), "nothing to wait for");
        let connection = unwritten.join(&names(&["a"]));
        connection.add(&header(RequestKind::Write, 0, 0));
        connection.add(&header(RequestKind::Write, 0, 100));
        connection.done(&header(RequestKind::Write, 0, 0));
        assert!(!unwritten.wait(Duration::from_millis(1)));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| unwritten.wait(Duration::from_mins(1)));
            connection.done(&header(RequestKind::Write, 0, 100));
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn only_what_overlaps_a_write_waits_for_it_whatever_connection_either_came_over() {
        let unwritten = UnwrittenRanges::default();
        let (writer, other) = (unwritten.join(&names(&["a", "b"])), unwritten.join(&names(&["b", "a"])));
        writer.add(&header(RequestKind::Write, 0, 1000));
        for (kind, offset_bytes, waits) in [
            (RequestKind::Read, 901, true),
            (RequestKind::Read, 900, false),
            (RequestKind::Write, 1099, true),
            (RequestKind::Write, 1100, false),
            (RequestKind::Sync, 0, true),
            (RequestKind::Remove, 0, true),
        ] {
            assert_eq!(writer.must_wait(&header(kind, 0, offset_bytes)), waits, "{kind:?} {offset_bytes}");
            assert_eq!(other.must_wait(&header(kind, 1, offset_bytes)), waits, "{kind:?} {offset_bytes}");
            assert!(!writer.must_wait(&header(kind, 1, offset_bytes)), "of another object");
            assert!(!other.must_wait(&header(kind, 0, offset_bytes)), "of another object");
        }
        writer.done(&header(RequestKind::Write, 0, 1000));
        assert!(!other.must_wait(&header(RequestKind::Sync, 1, 0)));
    }

    #[test]
    fn who_waits_for_another_connections_write_continues_when_it_is_done_or_its_connection_gone() {
        let unwritten = UnwrittenRanges::default();
        let reader = unwritten.join(&names(&["a"]));
        let read = header(RequestKind::Read, 0, 50);
        for is_dropped in [false, true] {
            let writer = unwritten.join(&names(&["a"]));
            let write = header(RequestKind::Write, 0, 0);
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
