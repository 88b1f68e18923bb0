//! The changing state of a running worker: what is in flight, what is free, what was noted.

use super::blocks::Blocks;
use super::kinds::OpMix;
use super::objects::ObjectLoad;
use super::start_control::StartControl;
use super::verifier::Verifier;
use super::write_back::{self, WriteBack};
use crate::assignment::Assignment;
use narrows_engines::{Completions, IoRequest};
use narrows_model::RpcCounters;
use narrows_model::counters::{ProcessCpu, TcpCounters};
use narrows_model::fault::{ErrorCount, merge_errors};
use narrows_model::trial::InFlightAtEnd;
use narrows_model::{Histogram, Nanos, Op};

/// The changing state of a running worker.
pub(super) struct WorkerState {
    /// What is in each place of the queue, by tag.
    pub(super) places: Vec<QueueSlot>,
    pub(super) free: Vec<u32>,
    /// Made and not yet taken by the engine.
    pub(super) batch: Vec<IoRequest>,
    pub(super) completions: Completions,
    pub(super) blocks: Blocks,
    pub(super) kinds: OpMix,
    pub(super) starts: StartControl,
    /// What a load that is verified adds.
    pub(super) verifier: Option<Box<Verifier>>,
    /// What a load that writes blocks back adds.
    pub(super) write_back: Option<WriteBack>,
    /// What a load of whole objects adds.
    pub(super) objects: Option<Box<ObjectLoad>>,
    /// Completions that are waited for together.
    pub(super) batch_min: usize,
    /// The object of all requests.
    pub(super) object: u32,
    pub(super) left: RemainingBudget,
    pub(super) stamp: u64,
    /// When a place of a full queue last became free.
    pub(super) freed_ns: u64,
    /// Completions until the queue has turned over once.
    pub(super) first_turn: usize,
    /// When something else than requests is due; at once at first.
    pub(super) next_event_ns: u64,
    pub(super) measuring: bool,

    /// When its first request of the window could start, with everything read that is read before; 0 before.
    pub(super) began_ns: u64,
    /// Nothing is left to start.
    pub(super) exhausted: bool,
    /// Nothing is started any more; what is in flight is drained.
    pub(super) ending: bool,
    pub(super) faults: WorkerFaults,
    pub(super) at_measure_start: Option<CounterReadings>,
    pub(super) at_measure_end: Option<CounterReadings>,
    /// When what was written was synced, where the load ends apart.
    pub(super) synced_ns: Option<u64>,
    /// When the window's end was noticed: a call that blocks returns late.
    pub(super) end_seen_ns: u64,
    /// The last completion before the window, 0 without one, and the last in it.
    pub(super) span_ns: (u64, u64),
    /// The last completion of all, 0 without one: what is drained completes after the window.
    pub(super) answered_ns: u64,
    /// The longest time that a request has taken, 0 without one.
    pub(super) longest_ns: u64,
    pub(super) arrivals: ArrivalCounts,
    pub(super) at_end: WindowEndInFlight,
}

/// One request of the queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QueueSlot {
    /// Where its response time starts: at its scheduled start, at its submission in a closed loop.
    pub(super) from_ns: u64,
    pub(super) submitted_ns: u64,
    pub(super) kind: u32,
}

/// What the window's end finds in flight.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WindowEndInFlight {
    pub(super) found: InFlightAtEnd,
    /// All of it was found.
    pub(super) is_noted: bool,
}

impl WindowEndInFlight {
    fn add(&mut self, place: QueueSlot, end_ns: u64) {
        if place.submitted_ns > end_ns {
            // Requests that start while the window is ending are not the window's.
            return;
        }
        self.found.add(&InFlightAtEnd {
            count: 1,
            longest_in_flight_ns: Nanos(end_ns - place.submitted_ns),
            longest_response_ns: Nanos(end_ns.saturating_sub(place.from_ns)),
        });
    }
}

/// How many arrivals of an open loop have their scheduled start in the window.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ArrivalCounts {
    pub(super) started: u64,
    /// Of these, those that were started after its end.
    pub(super) late: u64,
    /// Those that the worker itself started late, though a place was free when they were due.
    pub(super) delayed: u64,
    /// Those that were never started.
    pub(super) given_up: u64,
}

impl WorkerState {
    /// The state of worker `index` at `now_ns`, before its first request; load starts at `start_ns`.
    pub(super) fn new(assignment: &Assignment, index: u32, depth: u32, start_ns: u64, now_ns: u64) -> Self {
        let kinds = OpMix::new(assignment, index);
        let starts = StartControl::new(assignment, index, depth, start_ns);
        Self {
            places: vec![QueueSlot::default(); depth as usize],
            free: (0..depth).rev().collect(),
            batch: Vec::with_capacity(depth as usize),
            completions: Completions::with_capacity(depth as usize),
            blocks: Blocks::new(assignment, index),
            batch_min: if starts.are_scheduled() {
                // Nobody who comes by a schedule waits for the others' completions.
                1
            } else {
                assignment.cell.workload.batch.clamp(1, depth.max(1)) as usize
            },
            starts,
            verifier: None,
            write_back: WriteBack::new(assignment),
            objects: ObjectLoad::new(assignment, index).map(Box::new),
            object: assignment.object_index(),
            left: RemainingBudget::new(assignment, index, kinds.are_several()),
            kinds,
            stamp: now_ns,
            freed_ns: 0,
            first_turn: depth as usize,
            next_event_ns: 0,
            measuring: false,
            began_ns: 0,
            exhausted: false,
            ending: false,
            faults: WorkerFaults::default(),
            at_measure_start: None,
            at_measure_end: None,
            synced_ns: None,
            end_seen_ns: 0,
            span_ns: (0, 0),
            answered_ns: 0,
            longest_ns: 0,
            arrivals: ArrivalCounts::default(),
            at_end: WindowEndInFlight::default(),
        }
    }

    /// Requests that the engine has taken and not completed.
    pub(super) fn in_flight(&self) -> usize {
        self.places.len() - self.free.len() - self.batch.len()
    }

    /// Notes what is in flight when the window ends at `end_ns`, once.
    #[cold]
    pub(super) fn note_at_end(&mut self, end_ns: u64) {
        let mut is_idle = vec![false; self.places.len()];
        for tag in self.free.iter().copied().chain(self.batch.iter().map(|request| request.tag)) {
            is_idle[tag as usize] = true;
        }
        for (place, _) in self.places.iter().zip(is_idle).filter(|(_, is_idle)| !is_idle) {
            self.at_end.add(*place, end_ns);
        }
        self.at_end.is_noted = true;
    }

    /// Notes what completed together after the window's end at `end_ns`, before that end itself was noticed: a call
    /// that blocks returns late.
    #[cold]
    pub(super) fn note_late(&mut self, end_ns: u64) {
        for done in self.completions.as_slice() {
            self.at_end.add(self.places[done.tag as usize], end_ns);
        }
    }

    /// Gives back what the requests that completed before the window took of the bounds.
    #[cold]
    pub(super) fn give_back(&mut self) {
        for done in self.completions.as_slice() {
            let kind = self.places[done.tag as usize].kind;
            if !write_back::is_uncounted(self.write_back.as_ref(), kind) {
                self.left.give_back(self.kinds.get(kind).length_bytes);
            }
        }
    }

    /// Takes back the requests that were made and that the engine has not taken.
    #[cold]
    pub(super) fn withdraw_batch(&mut self) {
        for request in self.batch.drain(..) {
            self.free.push(request.tag);
            self.left.give_back(request.length_bytes);
        }
    }

    /// Notes that completions were counted at the present stamp.
    pub(super) fn note_span(&mut self) {
        let (before, within) = &mut self.span_ns;
        *(if self.measuring { within } else { before }) = self.stamp;
    }
}

/// What went wrong.
#[derive(Debug, Default)]
pub(super) struct WorkerFaults {
    /// Requests that failed.
    pub(super) count: u64,
    pub(super) errors: Vec<ErrorCount>,
    /// Nothing at all came in the window.
    pub(super) unanswered: bool,
}

impl WorkerFaults {
    /// Notes one failure.
    pub(super) fn note(&mut self, op: Op, errno: &str, message: &str) {
        let error = ErrorCount { op, errno: errno.to_owned(), first_message: message.to_owned(), count: 1 };
        merge_errors(&mut self.errors, &[error]);
    }
}

/// Cumulative readings at one moment.
#[derive(Default)]
pub(super) struct CounterReadings {
    pub(super) cpu: ProcessCpu,
    pub(super) waiting_ns: Option<u64>,
    pub(super) tcp: Option<TcpCounters>,
    pub(super) rpc: Option<RpcCounters>,
    pub(super) syncs: Option<Histogram>,
}

/// What a worker may still start: its share of the cell's bounds.
///
/// The bounds are those of the measured window: what completes before it gives back what it took, so that a warm-up has
/// no more in flight than the window may have and uses nothing up.
#[derive(Debug, Clone, Copy)]
pub(super) struct RemainingBudget {
    ops: u64,
    /// Counted for requests of different sizes alone; bytes of equal ones are operations.
    bytes: Option<u64>,
}

impl RemainingBudget {
    /// The share of worker `index`. The shares add up to the bounds: the first clients, and of each the first workers,
    /// have one request more where they do not divide, as they have of the blocks of an object; where there are more
    /// workers than requests the last have none.
    fn new(assignment: &Assignment, index: u32, several: bool) -> Self {
        let (workload, stop) = (&assignment.cell.workload, &assignment.cell.stop);
        let workers = u64::from(workload.workers.max(1));
        let (client, worker) = (u64::from(assignment.client_index), u64::from(index));
        let part = |bound: u64, of: u64, place: u64| bound / of + u64::from(place < bound % of);
        let share = |bound| part(part(bound, u64::from(workload.clients.max(1)), client), workers, worker);
        let block_bytes = workload.block_bytes.0.max(1);
        let bytes = stop.bytes_max.map(|bytes| bytes.0);
        // A bound below one block is one request.
        let by_bytes = bytes.filter(|_| !several).map(|bytes| share((bytes / block_bytes).max(1)));
        let by_ops = stop.ops_max.map(share);
        let rest = |bytes: u64| if client + worker == 0 { bytes % block_bytes } else { 0 };
        let of_several = |bytes: u64| share(bytes / block_bytes) * block_bytes + rest(bytes);
        Self {
            ops: by_bytes.into_iter().chain(by_ops).min().unwrap_or(u64::MAX),
            bytes: bytes.filter(|_| several).map(|bytes| of_several(bytes.max(block_bytes))),
        }
    }

    /// Takes one request of `length_bytes`; false when nothing is left for it.
    #[inline]
    pub(super) fn take(&mut self, length_bytes: u32) -> bool {
        if self.ops == 0 {
            return false;
        }
        if let Some(bytes) = &mut self.bytes {
            let Some(rest) = bytes.checked_sub(u64::from(length_bytes)) else { return false };
            *bytes = rest;
        }
        self.ops -= 1;
        true
    }

    /// Gives back what a request of `length_bytes` took.
    fn give_back(&mut self, length_bytes: u32) {
        self.ops = self.ops.saturating_add(1);
        if let Some(bytes) = &mut self.bytes {
            *bytes = bytes.saturating_add(u64::from(length_bytes));
        }
    }
}
