//! The worker threads of all disk connections together: how many may use the disk at once, and what they did.
//!
//! Each connection has threads of its own (`pool`); this is what they share. Hot path: two clock reads a request, and
//! a lock only where their number is limited.

use narrows_engines::Clock;
use narrows_model::Nanos;
use narrows_model::counters::WorkerCounters;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What the workers of a server share.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    /// Most requests that use the disk at once; `None` for as many as there are threads.
    at_once_max: Option<u32>,
    serving_count: Mutex<u32>,
    /// For those that wait for their turn: one is done.
    done: Condvar,
    thread_count: AtomicU32,
    served_count: AtomicU64,
    busy_ns: AtomicU64,
    queued_ns: AtomicU64,
}

/// A thread among the workers, until this is dropped.
#[derive(Debug)]
pub(crate) struct WorkerGuard<'w> {
    workers: &'w Workers,
}

impl Drop for WorkerGuard<'_> {
    fn drop(&mut self) {
        self.workers.thread_count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The right to use the disk, until this is dropped.
struct DiskPermit<'w> {
    workers: &'w Workers,
}

impl Drop for DiskPermit<'_> {
    fn drop(&mut self) {
        if self.workers.at_once_max.is_some() {
            *self.workers.serving() -= 1;
            self.workers.done.notify_one();
        }
    }
}

impl Workers {
    /// Workers of which so many use the disk at once.
    pub(crate) fn new(at_once_max: Option<u32>) -> Self {
        Self { at_once_max, ..Self::default() }
    }

    /// Counts the calling thread among the workers until the returned value is dropped.
    pub(crate) fn register_thread(&self) -> WorkerGuard<'_> {
        self.thread_count.fetch_add(1, Ordering::Relaxed);
        WorkerGuard { workers: self }
    }

    /// Serves a request that is queued since `queued_at_ns`, when its turn has come.
    pub(crate) fn serve<T>(&self, clock: &dyn Clock, queued_at_ns: u64, request: impl FnOnce() -> T) -> T {
        let permit = self.wait_for_permit();
        let started_ns = clock.now().0;
        let outcome = request();
        let finished_ns = clock.now().0;
        drop(permit);
        self.served_count.fetch_add(1, Ordering::Relaxed);
        self.queued_ns.fetch_add(started_ns.saturating_sub(queued_at_ns), Ordering::Relaxed);
        self.busy_ns.fetch_add(finished_ns.saturating_sub(started_ns), Ordering::Relaxed);
        outcome
    }

    /// What they did so far.
    pub(crate) fn counters(&self) -> WorkerCounters {
        let thread_count = self.thread_count.load(Ordering::Relaxed);
        WorkerCounters {
            worker_count: self.at_once_max.map_or(thread_count, |most| most.min(thread_count)),
            served_count: self.served_count.load(Ordering::Relaxed),
            busy_ns: Nanos(self.busy_ns.load(Ordering::Relaxed)),
            queued_ns: Nanos(self.queued_ns.load(Ordering::Relaxed)),
        }
    }

    fn wait_for_permit(&self) -> DiskPermit<'_> {
        if let Some(most) = self.at_once_max {
            let full = |serving: &mut u32| *serving >= most;
            let waited = self.done.wait_while(self.serving(), full);
            *waited.unwrap_or_else(PoisonError::into_inner) += 1;
        }
        DiskPermit { workers: self }
    }

    fn serving(&self) -> MutexGuard<'_, u32> {
        self.serving_count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_engines::{Tick, VirtualClock};
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn time_in_the_queue_and_at_the_disk_is_counted_apart() {
        let (workers, clock) = (Workers::new(None), VirtualClock::default());
        let _employed = workers.register_thread();
        clock.wait_until(Tick(700));
        workers.serve(&clock, 200, || clock.wait_until(Tick(730)));
        let counters = workers.counters();
        assert_eq!((counters.worker_count, counters.served_count), (1, 1));
        assert_eq!((counters.queued_ns, counters.busy_ns), (Nanos(500), Nanos(30)));
    }

    #[test]
    fn no_more_than_the_limit_use_the_disk_at_once() {
        const THREADS: usize = 8;
        let (workers, clock) = (Workers::new(Some(2)), VirtualClock::default());
        let (now, most) = (AtomicU32::new(0), AtomicU32::new(0));
        let all_here = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let _employed = workers.register_thread();
                    all_here.wait();
                    assert_eq!(workers.counters().worker_count, 2);
                    for _ in 0..100 {
                        workers.serve(&clock, 0, || {
                            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                            std::thread::yield_now();
                            now.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                    all_here.wait();
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 2);
        assert_eq!((workers.counters().served_count, workers.counters().worker_count), (800, 0));
    }
}
