//! What lets the next request start: caps on rates, users who think, a schedule, or nothing at all.
//!
//! Hot path: without any of them, one branch.

use super::schedule::Schedule;
use crate::assignment::Assignment;
use crate::pace::Pace;
use std::collections::VecDeque;

/// What lets the next request of one worker start.
#[derive(Debug)]
pub(super) struct StartControl {
    /// Whether there is anything at all to wait for.
    gated: bool,
    bytes: Option<Pace>,
    ops: Option<Pace>,
    think: Option<ThinkTimer>,
    pub(super) schedule: Option<Schedule>,
}

/// Users who think between a completion and the next request, one for each place in the queue.
#[derive(Debug)]
struct ThinkTimer {
    think_ns: u64,
    /// When the users of the free places are ready. All think equally long, so the first to complete is the first.
    ready_ns: VecDeque<u64>,
}

impl StartControl {
    /// What the workload asks of worker `worker_index` with `depth` places; load starts at `start_ns`.
    pub(super) fn new(assignment: &Assignment, worker_index: u32, depth: u32, start_ns: u64) -> Self {
        let workload = &assignment.cell.workload;
        let workers = f64::from(workload.workers.max(1)) * f64::from(workload.clients.max(1));
        let schedule = Schedule::new(assignment, worker_index, start_ns);
        let think = (workload.think_ns.0 > 0 && schedule.is_none()).then(|| ThinkTimer {
            think_ns: workload.think_ns.0,
            ready_ns: std::iter::repeat_n(start_ns, depth as usize).collect(),
        });
        let bytes = workload.max_bytes_per_s.map(|rate| Pace::new(rate as f64 / workers, start_ns));
        let ops = workload.max_ops_per_s.map(|rate| Pace::new(rate / workers, start_ns));
        let gated = bytes.is_some() || ops.is_some() || think.is_some() || schedule.is_some();
        Self { gated, bytes, ops, think, schedule }
    }

    /// Whether requests may have to wait for their start.
    #[inline]
    pub(super) fn are_gated(&self) -> bool {
        self.gated
    }

    /// Whether starts follow a schedule.
    #[inline]
    pub(super) fn are_scheduled(&self) -> bool {
        self.schedule.is_some()
    }

    /// When the next request may start in a free place; not after the present means at once.
    pub(super) fn next_ns(&self) -> u64 {
        let paced = [&self.bytes, &self.ops].into_iter().flatten().map(Pace::due_ns);
        let ready = self.think.as_ref().map(|think| think.ready_ns.front().copied().unwrap_or(u64::MAX));
        let due = self.schedule.as_ref().map(Schedule::due_ns);
        paced.chain(ready).chain(due).max().unwrap_or(0)
    }

    /// Counts a request of `bytes` that starts at `now_ns`; returns its scheduled start, the present in a closed loop.
    pub(super) fn started(&mut self, bytes: u64, now_ns: u64) -> u64 {
        if let Some(pace) = &mut self.bytes {
            pace.started(bytes, now_ns);
        }
        if let Some(pace) = &mut self.ops {
            pace.started(1, now_ns);
        }
        if let Some(think) = &mut self.think {
            think.ready_ns.pop_front();
        }
        let Some(schedule) = &mut self.schedule else { return now_ns };
        let due_ns = schedule.due_ns();
        schedule.advance();
        due_ns
    }

    /// Counts a completion at `now_ns`: its place is free.
    #[inline]
    pub(super) fn completed(&mut self, now_ns: u64) {
        if let Some(think) = &mut self.think {
            think.ready_ns.push_back(now_ns.saturating_add(think.think_ns));
        }
    }
}
