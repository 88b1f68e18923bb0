//! The changing state of a running worker: what is in flight, what is free, what was noted.

use super::blocks::Blocks;
use crate::assignment::Assignment;
use crate::pace::Pace;
use narrows_engines::{Completions, Request};
use narrows_model::Op;
use narrows_model::counters::{ProcessCpu, TcpCounters};
use narrows_model::fault::{ErrorCount, merge_errors};

/// The changing state of a running worker.
pub(super) struct Flight {
    pub(super) submitted_ns: Vec<u64>,
    pub(super) free: Vec<u32>,
    pub(super) batch: Vec<Request>,
    pub(super) completions: Completions,
    pub(super) blocks: Blocks,
    pub(super) pace: Option<Pace>,
    /// Operations that this worker may still start.
    pub(super) ops_left: u64,
    pub(super) stamp: u64,
    pub(super) measuring: bool,
    pub(super) exhausted: bool,
    pub(super) error_count: u64,
    pub(super) errors: Vec<ErrorCount>,
    pub(super) unanswered: bool,
    pub(super) at_measure_start: Option<Marks>,
    pub(super) at_measure_end: Option<Marks>,
    /// The last completion before the window, 0 without one, and the last in it.
    pub(super) span_ns: (u64, u64),
}

impl Flight {
    /// The state of worker `index` at `now_ns`, before its first request.
    pub(super) fn new(assignment: &Assignment, index: u32, depth: u32, now_ns: u64) -> Self {
        let workload = &assignment.cell.workload;
        let workers = u64::from(workload.workers.max(1)) * u64::from(workload.clients.max(1));
        Self {
            submitted_ns: vec![0; depth as usize],
            free: (0..depth).rev().collect(),
            batch: Vec::with_capacity(depth as usize),
            completions: Completions::with_capacity(depth as usize),
            blocks: Blocks::new(assignment, index),
            pace: workload.max_bytes_per_s.map(|rate| Pace::new(rate as f64 / workers as f64, now_ns)),
            ops_left: ops_bound(assignment),
            stamp: now_ns,
            measuring: false,
            exhausted: false,
            error_count: 0,
            errors: Vec::new(),
            unanswered: false,
            at_measure_start: None,
            at_measure_end: None,
            span_ns: (0, 0),
        }
    }

    /// Counts one failure.
    pub(super) fn note_error(&mut self, op: Op, errno: &str, message: &str) {
        let error = ErrorCount { op, errno: errno.to_owned(), first_message: message.to_owned(), count: 1 };
        merge_errors(&mut self.errors, &[error]);
    }

    /// Notes that completions were counted at the present stamp.
    pub(super) fn note_span(&mut self) {
        let (before, within) = &mut self.span_ns;
        *(if self.measuring { within } else { before }) = self.stamp;
    }
}

/// Cumulative readings at one moment.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) cpu: ProcessCpu,
    pub(super) tcp: Option<TcpCounters>,
}

/// Operations that one worker may do: its share of the cell's bounds, at least one.
fn ops_bound(assignment: &Assignment) -> u64 {
    let (workload, stop) = (&assignment.cell.workload, &assignment.cell.stop);
    let workers = u64::from(workload.workers.max(1)) * u64::from(workload.clients.max(1));
    let by_bytes = stop.bytes_max.map(|bytes| bytes.0 / workload.block_bytes.0.max(1));
    let bounds = [by_bytes, stop.ops_max].into_iter().flatten();
    bounds.map(|ops| (ops / workers).max(1)).min().unwrap_or(u64::MAX)
}
