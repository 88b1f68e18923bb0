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
        // One worker after the other: if all began at once, the first moment would move a request of each. Half a
        // request: a window of N requests' time has N of them, and at no moment is the cap exceeded by more than half.
        let place =
            f64::from(assignment.client_index) * f64::from(workload.workers.max(1)) + f64::from(worker_index);
        let requests_before = (place + 0.5) / workers;
        let bytes = workload.max_bytes_per_s.map(|rate| {
            let bytes_before = requests_before * workload.block_bytes.as_f64();
            Pace::new(rate as f64 / workers, start_ns, bytes_before)
        });
        let ops = workload.max_ops_per_s.map(|rate| Pace::new(rate / workers, start_ns, requests_before));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::tests::{assignment, device};
    use narrows_model::Bytes;

    /// Starts in the first ten seconds of all workers of all clients, each as soon as it may, on a path that takes no time.
    fn starts_ns(change: impl Fn(&mut Assignment)) -> Vec<u64> {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Vec::new();
        for (client_index, worker_index) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
            let mut assignment = assignment(&device(1, Vec::new()), &folder, 1);
            let workload = &mut assignment.cell.workload;
            (workload.workers, workload.clients, workload.block_bytes) = (3, 2, Bytes(1 << 20));
            change(&mut assignment);
            assignment.client_index = client_index;
            let mut control = StartControl::new(&assignment, worker_index, 4, 0);
            let mut now_ns = control.next_ns();
            while now_ns < 10_000_000_000 {
                all.push(now_ns);
                control.started(1 << 20, now_ns);
                now_ns = control.next_ns().max(now_ns);
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn a_cap_is_kept_at_every_moment_from_the_first_byte_on_by_all_workers_together() {
        let bytes = starts_ns(|assignment| assignment.cell.workload.max_bytes_per_s = Some(10 << 20));
        let ops = starts_ns(|assignment| assignment.cell.workload.max_ops_per_s = Some(10.0));
        for starts in [bytes, ops] {
            assert!(starts.len().abs_diff(100) <= 1, "{}", starts.len());
            for (index, at_ns) in starts.iter().enumerate() {
                let allowed_ns = index as u64 * 100_000_000 + 50_000_000;
                assert!(at_ns.abs_diff(allowed_ns) < 1000, "request {index} at {at_ns} ns");
            }
        }
    }
}
