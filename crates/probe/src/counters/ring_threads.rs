//! CPU time of the threads that the kernel runs within processes for their rings (`io_uring`), which the time of those
//! processes includes.
//!
//! A polling thread spins while its ring is used, whatever the load is; a worker thread does what would block. A thread
//! that ended keeps its last reading, so that the sums never decrease.

use std::collections::BTreeMap;

use narrows_model::counters::RingCpu;
use narrows_model::units::{Nanos, saturate_u32};

use super::TickUnit;
use crate::error::{ProbeErrorKind, Result};
use crate::parse::pid_stat;
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// How the kernel names a ring's polling thread.
///
/// # Source
/// Linux, `io_uring/sqpoll.c` ("iou-sqp-PID") and `io_uring/io-wq.c` ("iou-wrk-PID").
const POLLING_NAME: &str = "iou-sqp-";
const WORKER_NAME: &str = "iou-wrk-";
/// Threads of one process that are looked at: beyond any load's.
const THREADS_MAX: usize = 65_536;

/// The threads of rings in the processes in scope.
#[derive(Debug)]
pub(super) struct RingThreads {
    root: Root,
    pids: Vec<u32>,
    /// By process and thread.
    seen: BTreeMap<(u32, String), Thread>,
}

#[derive(Debug, Clone, Copy)]
struct Thread {
    polls: bool,
    time_ns: Nanos,
}

impl RingThreads {
    pub(super) fn new(root: &Root, pids: &[u32]) -> Self {
        Self { root: root.clone(), pids: pids.to_vec(), seen: BTreeMap::new() }
    }

    /// The sums so far; `None` where no process's threads can be seen.
    pub(super) fn read(&mut self, ticks: TickUnit, unknown: &mut UnknownFacts) -> Option<RingCpu> {
        let pids = self.pids.clone();
        let mut readable = false;
        for pid in pids {
            match self.scan_process(pid, ticks) {
                Ok(()) => readable = true,
                // The process ended: what was seen of it stays.
                Err(error) if error.kind() == ProbeErrorKind::Missing => {}
                Err(error) => unknown.add(format!("threads of process {pid}: {error}")),
            }
        }
        (readable || !self.seen.is_empty()).then(|| self.sum())
    }

    fn scan_process(&mut self, pid: u32, ticks: TickUnit) -> Result<()> {
        let folder = format!("/proc/{pid}/task");
        for thread in self.root.names(&folder)?.into_iter().take(THREADS_MAX) {
            // A thread may end between its listing and its reading.
            if let Ok(Some(found)) = self.thread(&format!("{folder}/{thread}"), ticks) {
                self.seen.insert((pid, thread), found);
            }
        }
        Ok(())
    }

    /// A thread of a ring; `None` for any other.
    fn thread(&self, folder: &str, ticks: TickUnit) -> Result<Option<Thread>> {
        let name = self.root.text(&format!("{folder}/comm"))?;
        let polls = name.starts_with(POLLING_NAME);
        if !polls && !name.starts_with(WORKER_NAME) {
            return Ok(None);
        }
        let path = format!("{folder}/stat");
        let bytes = self.root.read(&path)?;
        let stat = pid_stat::parse(&bytes).map_err(|bad| crate::error::ProbeError::malformed(&path, &bad))?;
        Ok(Some(Thread { polls, time_ns: ticks.duration(stat.user.saturating_add(stat.system)) }))
    }

    fn sum(&self) -> RingCpu {
        let of = |polls: bool| self.seen.values().filter(move |thread| thread.polls == polls);
        let time = |polls| of(polls).fold(Nanos(0), |sum, thread| sum.saturating_add(thread.time_ns));
        let count = |polls| saturate_u32(of(polls).count() as u64);
        RingCpu {
            polling_thread_count: count(true),
            polling_ns: time(true),
            worker_thread_count: count(false),
            worker_ns: time(false),
        }
    }
}
