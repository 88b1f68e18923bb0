//! One worker: keeps its queue full until the window ends, counts what completes, drains.
//!
//! A closed loop refills a place when its request has completed; an open loop starts requests by a schedule, as soon
//! as a place is free; those that were due in the window are started after its end too, for a bounded time. With a batch of several, the worker waits for that many completions (fewer when fewer are in
//! flight), then refills all free places with one commit: fio's `iodepth_batch_complete_min` and `iodepth_batch` of
//! the same number. What is still in flight at the end is drained as it comes.
//!
//! Hot path: one clock read per commit and per reap batch (at depth 1 a completion's stamp serves as the next
//! submission's), no allocation, no lock, dispatch per batch. It measures; it evaluates nothing.

use crate::assignment::{Assignment, WorkerOutput};
use crate::recorder::Recorder;
use crate::verify::GenerationTable;
use crate::window::Window;
use narrows_engines::{Clock, Engine, EngineError};
use state::WorkerState;
use std::sync::Arc;
use verifier::Verifier;

mod blocks;
mod ending;
mod issue;
mod kinds;
mod objects;
mod random;
mod read_back;
mod schedule;
mod settle;
mod stamp;
mod start_control;
mod state;
#[cfg(test)]
mod tests;
mod verifier;
mod write_back;

pub(crate) use blocks::first_offset_bytes;
pub(crate) use objects::object_bytes;

/// Longest time that one reap waits: so soon is a stop request heeded.
const REAP_SLICE_NS: u64 = 50_000_000;
/// Wait for what is in flight when a window that time ends is over: enough for a device's own slow moments.
const DRAIN_NS: u64 = 500_000_000;
/// By how much a request may be slower than all before it until it is taken for lost: streams that share a link are that unequal
/// while they start, when the first of them have it alone.
const SLOWER_MAX: u64 = 30;
/// The least such wait over TCP. Five losses of one segment in a row, of which each is noticed after twice the time of the one
/// before, from 200 ms on, take 6.2 s (Linux, `TCP_RTO_MIN`): what many streams do to one of them on a slow link.
const SILENT_TCP_MIN_NS: u64 = 7_000_000_000;
/// The longest such wait: the trial itself ends 30 s after its window, and what other workers did shall be kept.
const SILENT_MAX_NS: u64 = 20_000_000_000;
/// Failures of one worker after which it gives up: the target is broken, and hammering it helps nobody.
const ERRORS_MAX: u64 = 1000;

/// Time between two looks at a stop request while requests complete: thousands of times what a look costs.
const LOOK_NS: u64 = 1_000_000;

/// What one worker works with.
pub(crate) struct Worker<'a, C: Clock + ?Sized> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) index: u32,
    pub(crate) clock: &'a C,
    pub(crate) window: &'a Window,
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) recorder: Recorder,
    /// The generations of the object's units, where its data is verified.
    pub(crate) table: Option<Arc<GenerationTable>>,
}

impl<C: Clock + ?Sized> Worker<'_, C> {
    /// Runs from now to the end of the window.
    pub(crate) fn run(mut self) -> WorkerOutput {
        let mut flight = self.flight();
        let outcome = self.load(&mut flight);
        self.give_up_backlog(&mut flight);
        let outcome = outcome.and_then(|()| self.sync_at_end(&mut flight));
        let outcome = outcome.and_then(|()| self.end_apart(&mut flight));
        let outcome = outcome.and_then(|()| self.complete_file(&mut flight));
        if let Err(error) = &outcome {
            self.window.cancel();
            flight.faults.note(self.assignment.cell.workload.op, &error.errno(), &error.to_string());
        }
        if flight.verifier.is_some() {
            self.verify_the_rest(&mut flight, outcome.is_ok());
        }
        self.output(flight, outcome.is_ok())
    }

    fn flight(&mut self) -> WorkerState {
        let now_ns = self.clock.now().0;
        let depth = self.engine.effective().queue_depth;
        let mut flight = WorkerState::new(self.assignment, self.index, depth, self.window.start_ns(), now_ns);
        if let Some(table) = self.table.take() {
            flight.verifier = Some(Box::new(Verifier::new(self.assignment, table, depth)));
        }
        if flight.kinds.are_several() {
            self.recorder.count_kinds(&flight.kinds.labels());
        }
        if flight.starts.are_scheduled() {
            self.recorder.count_arrivals();
        }
        if flight.starts.are_gated() {
            // How long a turn takes is then a matter of the starts, not of the path.
            flight.first_turn = 0;
            self.window.note_turn();
            // Where the kernel refuses, requests start late, which response and service times show.
            drop(narrows_sys::process::wake_on_time());
        }
        self.recorder.begin(now_ns, self.window.measure_from_ns() <= now_ns);
        flight
    }

    /// The loop: fill the queue, commit, reap, or have requests executed one by one, until time or counts end it and
    /// nothing is in flight.
    fn load(&mut self, flight: &mut WorkerState) -> Result<(), EngineError> {
        loop {
            if flight.stamp >= flight.next_event_ns {
                self.pass_events(flight);
            }
            if flight.objects.is_some() && !flight.ending && self.perform_objects(flight) {
                continue;
            }
            let in_flight = if flight.ending { flight.in_flight() } else { self.submit(flight)? };
            if in_flight == 0 {
                if flight.ending {
                    return Ok(());
                }
                self.wait_for_start(flight);
                continue;
            }
            if flight.ending && self.drain_is_over(flight) {
                self.give_up(flight, in_flight);
                return Ok(());
            }
            self.reap(flight)?;
        }
    }

    /// Does what is due at the present stamp besides requests: crosses the window's borders, ends an interval, looks
    /// whether the load ends. All of it has a time, so that the loop compares one.
    #[cold]
    fn pass_events(&mut self, flight: &mut WorkerState) {
        if self.cross_into_window(flight) {
            // The readings took time that no request has.
            flight.stamp = self.clock.now().0;
            flight.began_ns = flight.stamp;
        }
        self.cross_out_of_window(flight);
        self.recorder.tick(flight.stamp);
        let is_over = flight.stamp >= self.window.measure_until_ns();
        if is_over && flight.end_seen_ns == 0 {
            flight.end_seen_ns = flight.stamp;
        }
        flight.ending = flight.exhausted
            || (is_over && !self.has_backlog(flight))
            || flight.faults.count >= ERRORS_MAX
            || self.window.is_cancelled();
        let look_ns = flight.stamp.saturating_add(LOOK_NS);
        flight.next_event_ns = self.next_border_ns(flight).min(self.recorder.interval_end_ns()).min(look_ns);
    }

    /// Whether the present stamp is the first in the window.
    fn cross_into_window(&mut self, flight: &mut WorkerState) -> bool {
        if flight.measuring || flight.stamp < self.window.measure_from_ns() {
            return false;
        }
        flight.measuring = true;
        self.recorder.cut(flight.stamp, true);
        flight.at_measure_start = Some(self.marks());
        true
    }

    /// Reads the counters and ends the last measured interval when time ends the window: what completes afterwards is
    /// not in the window's rate.
    fn cross_out_of_window(&mut self, flight: &mut WorkerState) {
        let ended = flight.measuring && flight.stamp >= self.window.measure_until_ns();
        if ended && flight.at_measure_end.is_none() && self.ends_by_time() {
            flight.at_measure_end = Some(self.marks());
            if !flight.starts.are_scheduled() {
                flight.note_at_end(self.window.measure_until_ns());
            }
            self.recorder.cut(flight.stamp, false);
        }
    }

    /// The window's next border: a wait that crossed it would read the counters late.
    fn next_border_ns(&self, flight: &WorkerState) -> u64 {
        let borders = [self.window.measure_from_ns(), self.window.measure_until_ns()];
        borders.into_iter().find(|border| *border > flight.stamp).unwrap_or(u64::MAX)
    }

    /// Whether time alone ends the trial; else its last completion, or the final sync, ends the window.
    fn ends_by_time(&self) -> bool {
        self.assignment.cell.ends_by_time()
    }
}
