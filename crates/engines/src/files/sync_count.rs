//! When a sync is due: after every so many writes; and how long each took by itself, without its write.
//!
//! Hot path: no allocation, no lock; two clock reads a sync, which takes far longer.

use crate::clock::{Clock, Tick};
use narrows_model::Histogram;
use narrows_model::workload::SyncPolicy;
use std::sync::Arc;

/// Counts writes up to the next sync, and times the syncs.
#[derive(Debug)]
pub struct SyncCount {
    /// Writes from one sync to the next; `None` where none is asked for.
    every: Option<u32>,
    writes_since: u32,
    /// Where syncs are asked for.
    times: Option<SyncTimes>,
}

/// The times of syncs.
struct SyncTimes {
    clock: Arc<dyn Clock>,
    each: Histogram,
}

impl std::fmt::Debug for SyncTimes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SyncTimes").field("count", &self.each.count()).finish_non_exhaustive()
    }
}

impl SyncCount {
    /// For `policy`, timed by `clock`; syncs of other policies are not by count.
    #[must_use]
    pub fn new(policy: SyncPolicy, clock: &Arc<dyn Clock>) -> Self {
        let every = match policy {
            SyncPolicy::Every(count) => Some(count.max(1)),
            _ => None,
        };
        let times = every.map(|_| SyncTimes { clock: Arc::clone(clock), each: Histogram::new() });
        Self { every, writes_since: 0, times }
    }

    /// When a sync starts now.
    #[must_use]
    pub fn started(&self) -> Tick {
        self.times.as_ref().map_or(Tick(0), |times| times.clock.now())
    }

    /// Notes that a sync that started at `from` has ended.
    pub fn ended(&mut self, from: Tick) {
        if let Some(times) = &mut self.times {
            let taken_ns = times.clock.now().0.saturating_sub(from.0);
            times.each.record(taken_ns);
        }
    }

    /// Executes a sync and times it, also one that fails.
    pub fn time<T>(&mut self, sync: impl FnOnce() -> T) -> T {
        let from = self.started();
        let done = sync();
        self.ended(from);
        done
    }

    /// The times of all syncs; `None` where none are asked for.
    #[must_use]
    pub fn times(&self) -> Option<&Histogram> {
        self.times.as_ref().map(|times| &times.each)
    }

    /// Counts a write and returns whether a sync is due after it.
    pub fn is_due_after_write(&mut self) -> bool {
        let Some(every) = self.every else { return false };
        self.writes_since += 1;
        if self.writes_since < every {
            return false;
        }
        self.writes_since = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::VirtualClock;

    fn counted(policy: SyncPolicy) -> (SyncCount, Arc<VirtualClock>) {
        let clock = Arc::new(VirtualClock::default());
        let shared: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
        (SyncCount::new(policy, &shared), clock)
    }

    #[test]
    fn each_sync_is_timed_by_itself_and_none_where_none_is_due() {
        let (mut count, clock) = counted(SyncPolicy::Every(2));
        let pass = |ns: u64| clock.wait_until(clock.now().after(ns));
        for sync_ns in [1_000_000, 3_000_000] {
            pass(50_000);
            count.time(|| pass(sync_ns));
        }
        let times = count.times().unwrap();
        let ms = |ns: u64| (ns + 500_000) / 1_000_000;
        assert_eq!(
            (times.count(), times.quantile_ns(0.5).map(ms), times.max_ns().map(ms)),
            (2, Some(1), Some(3))
        );
        assert!(counted(SyncPolicy::Dsync).0.times().is_none());
    }

    #[test]
    fn a_sync_is_due_after_every_so_many_writes_and_never_unasked() {
        let due = |policy| {
            let (mut count, _) = counted(policy);
            (0..6).map(|_| count.is_due_after_write()).collect::<Vec<bool>>()
        };
        assert_eq!(due(SyncPolicy::Every(3)), [false, false, true, false, false, true]);
        assert_eq!(due(SyncPolicy::Every(1)), [true; 6]);
        for policy in [SyncPolicy::None, SyncPolicy::Dsync, SyncPolicy::AtEnd] {
            assert_eq!(due(policy), [false; 6]);
        }
    }
}
