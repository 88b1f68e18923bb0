//! One worker: keeps its queue full until the window ends, counts what completes, drains.
//!
//! Hot path: one clock read per commit and per reap batch (at depth 1 a completion's stamp serves as the next
//! submission's), no allocation, no lock, dispatch per batch. It measures; it judges nothing.

use crate::assignment::{Assignment, WorkerOutput};
use crate::recorder::Recorder;
use crate::window::Window;
use narrows_engines::{Clock, Completions, Engine, EngineError, ProtocolCounters, Request, Slot, Tick};
use narrows_model::counters::ProcessCpu;
use narrows_model::units::saturate_u32;
use narrows_model::workload::SyncPolicy;
use narrows_model::{Bytes, Nanos, Op};
use narrows_sys::process::{CpuScope, cpu_times};

mod blocks;
mod flight;
mod random;
mod stamp;
#[cfg(test)]
mod tests;

use flight::{Flight, Marks};
use stamp::stamp_block;

/// Longest time that one reap waits: so soon is a stop request heeded.
const REAP_SLICE_NS: u64 = 50_000_000;
/// Wait for what is in flight when a window that time ends is over: enough for a device's own slow moments.
const DRAIN_NS: u64 = 500_000_000;
/// Failures of one worker after which it gives up: the target is broken, and hammering it helps nobody.
const ERRORS_MAX: u64 = 1000;
/// What one worker works with.
pub(crate) struct Worker<'a, C: Clock + ?Sized> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) index: u32,
    pub(crate) clock: &'a C,
    pub(crate) window: &'a Window,
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) recorder: Recorder,
}

impl<C: Clock + ?Sized> Worker<'_, C> {
    /// Runs from now to the end of the window.
    pub(crate) fn run(mut self) -> WorkerOutput {
        let mut flight = self.flight();
        let outcome = self.load(&mut flight).and_then(|()| self.sync_at_end(&mut flight));
        if let Err(error) = &outcome {
            self.window.cancel();
            flight.note_error(self.assignment.cell.workload.op, &error.errno(), &error.to_string());
        }
        self.output(flight, outcome.is_ok())
    }

    fn flight(&mut self) -> Flight {
        let now_ns = self.clock.now().0;
        self.recorder.begin(now_ns, self.window.measure_from_ns() <= now_ns);
        Flight::new(self.assignment, self.index, self.engine.effective().queue_depth, now_ns)
    }

    /// The loop: fill the queue, commit, reap, until time or counts end it and nothing is in flight.
    fn load(&mut self, flight: &mut Flight) -> Result<(), EngineError> {
        let depth = flight.submitted_ns.len();
        loop {
            self.cross_into_window(flight);
            self.cross_out_of_window(flight);
            let may_submit = !flight.exhausted
                && flight.stamp < self.window.measure_until_ns()
                && flight.error_count < ERRORS_MAX
                && !self.window.is_cancelled();
            let in_flight = if may_submit { self.submit(flight)? } else { depth - flight.free.len() };
            if in_flight == 0 {
                if !may_submit || flight.exhausted {
                    return Ok(());
                }
                self.wait_for_pace(flight);
                continue;
            }
            if !may_submit && self.patience_is_over(flight) {
                self.give_up(flight, in_flight);
                return Ok(());
            }
            self.reap(flight)?;
        }
    }

    fn cross_into_window(&mut self, flight: &mut Flight) {
        if flight.measuring || flight.stamp < self.window.measure_from_ns() {
            return;
        }
        flight.measuring = true;
        self.recorder.cut(flight.stamp, true);
        flight.at_measure_start = Some(self.marks());
    }

    /// Reads the counters and ends the last measured interval when time ends the window: what drains afterwards is
    /// not the window's.
    fn cross_out_of_window(&mut self, flight: &mut Flight) {
        let ended = flight.measuring && flight.stamp >= self.window.measure_until_ns();
        if ended && flight.at_measure_end.is_none() && !self.ends_by_count() {
            flight.at_measure_end = Some(self.marks());
            self.recorder.cut(flight.stamp, false);
        }
    }

    /// The window's next border: a wait that crossed it would read the counters late.
    fn next_border_ns(&self, flight: &Flight) -> u64 {
        let borders = [self.window.measure_from_ns(), self.window.measure_until_ns()];
        borders.into_iter().find(|border| *border > flight.stamp).unwrap_or(u64::MAX)
    }

    /// Submits as much as there is room for; returns how much is in flight then.
    fn submit(&mut self, flight: &mut Flight) -> Result<usize, EngineError> {
        let depth = flight.submitted_ns.len();
        flight.batch.clear();
        self.fill_batch(flight);
        if !flight.batch.is_empty() {
            if depth > 1 {
                flight.stamp = self.clock.now().0;
            }
            for request in &flight.batch {
                flight.submitted_ns[request.tag as usize] = flight.stamp;
            }
            let taken = self.engine.queue(&flight.batch)?;
            // What was not taken is free again; its place in the order of blocks is given up.
            for request in flight.batch[taken..].iter().rev() {
                flight.free.push(request.tag);
            }
            self.engine.commit()?;
        }
        Ok(depth - flight.free.len())
    }

    fn fill_batch(&mut self, flight: &mut Flight) {
        let workload = &self.assignment.cell.workload;
        let length_bytes = saturate_u32(workload.block_bytes.0);
        while let Some(tag) = flight.free.last().copied() {
            if flight.pace.is_some_and(|pace| pace.due_ns() > flight.stamp) {
                break;
            }
            if flight.ops_left == 0 {
                flight.exhausted = true;
                break;
            }
            flight.ops_left -= 1;
            flight.free.pop();
            let offset_bytes = flight.blocks.next_offset_bytes(u64::from(length_bytes).max(1));
            let object = self.assignment.object_index();
            if workload.op.moves_towards_device() {
                stamp_block(self.engine.buffer(Slot(tag)), offset_bytes, flight.stamp);
            }
            flight.batch.push(Request {
                tag,
                op: workload.op,
                object,
                offset_bytes,
                length_bytes,
                slot: Slot(tag),
            });
            if let Some(pace) = &mut flight.pace {
                pace.started(u64::from(length_bytes), flight.stamp);
            }
        }
    }

    fn wait_for_pace(&mut self, flight: &mut Flight) {
        let due_ns = flight.pace.map_or(flight.stamp, |pace| pace.due_ns());
        let until_ns = due_ns.min(self.window.measure_until_ns()).min(flight.stamp + REAP_SLICE_NS);
        self.clock.wait_until(Tick(until_ns));
        flight.stamp = self.clock.now().0;
    }

    fn reap(&mut self, flight: &mut Flight) -> Result<(), EngineError> {
        let mut until_ns = (flight.stamp + REAP_SLICE_NS).min(self.next_border_ns(flight));
        if let Some(pace) = &flight.pace
            && !flight.free.is_empty()
        {
            until_ns = until_ns.min(pace.due_ns().max(flight.stamp));
        }
        flight.completions.clear();
        self.engine.reap(1, Tick(until_ns), &mut flight.completions)?;
        flight.stamp = self.clock.now().0;
        // An engine that blocks hands over the window's first completion after its start: it counts.
        self.cross_into_window(flight);
        // A completion that arrives after the window belongs to no interval of it.
        let counts = flight.stamp <= self.window.measure_until_ns() || self.ends_by_count();
        let completions = std::mem::replace(&mut flight.completions, Completions::with_capacity(0));
        if counts && !completions.is_empty() {
            flight.note_span();
        }
        for done in completions.as_slice() {
            flight.free.push(done.tag);
            let response_ns = flight.stamp.saturating_sub(flight.submitted_ns[done.tag as usize]);
            self.count(flight, done.result, response_ns, counts);
        }
        flight.completions = completions;
        self.recorder.tick(flight.stamp);
        Ok(())
    }

    fn count(
        &mut self,
        flight: &mut Flight,
        result: Result<u32, narrows_engines::request::Errno>,
        response_ns: u64,
        counts: bool,
    ) {
        let workload = &self.assignment.cell.workload;
        match result {
            Ok(moved) if u64::from(moved) == workload.block_bytes.0 => {
                if counts {
                    self.recorder.completed(u64::from(moved), response_ns);
                }
            }
            Ok(moved) => {
                let message = format!("{} moved {moved} of {} bytes", workload.op, workload.block_bytes.0);
                self.fail(flight, workload.op, "SHORT", &message);
            }
            Err(errno) => self.fail(flight, workload.op, &errno.name(), &format!("{} failed", workload.op)),
        }
    }

    fn fail(&mut self, flight: &mut Flight, op: Op, errno: &str, message: &str) {
        flight.error_count += 1;
        self.recorder.failed();
        flight.note_error(op, errno, &format!("{message} on {}", self.assignment.cell.target));
    }

    /// Whether the trial ends by a count, so that its last completion ends the window.
    fn ends_by_count(&self) -> bool {
        let stop = &self.assignment.cell.stop;
        stop.bytes_max.is_some() || stop.ops_max.is_some()
    }

    /// Whether what is still in flight after the window is not waited for any more: its completions count only
    /// where a count ends the trial.
    fn patience_is_over(&self, flight: &Flight) -> bool {
        let patience_ns = if self.ends_by_count() { self.assignment.answer_timeout_ns.0 } else { DRAIN_NS };
        self.window.is_cancelled()
            || flight.stamp > self.window.measure_until_ns().saturating_add(patience_ns)
    }

    /// Leaves what is in flight behind; that nothing at all came in the whole window is a failure.
    fn give_up(&self, flight: &mut Flight, in_flight: usize) {
        let window_ns = self.window.measure_until_ns().saturating_sub(self.window.measure_from_ns());
        // A deep queue on a slow path holds requests for longer than the window while it answers others.
        let answered = flight.span_ns.1 > 0;
        let silent =
            !answered && flight.submitted_ns.iter().all(|submitted| flight.stamp > submitted + window_ns);
        if !self.window.is_cancelled() && (self.ends_by_count() || silent) {
            let workload = &self.assignment.cell.workload;
            let message =
                format!("{in_flight} x {} on {} had no answer", workload.op, self.assignment.cell.target);
            flight.note_error(workload.op, "NO_ANSWER", &message);
            flight.unanswered = true;
        }
    }

    /// The final sync, inside the timed window.
    fn sync_at_end(&mut self, flight: &mut Flight) -> Result<(), EngineError> {
        if self.assignment.cell.workload.sync != SyncPolicy::AtEnd || self.window.is_cancelled() {
            return Ok(());
        }
        let object = self.assignment.object_index();
        let request =
            Request { tag: 0, op: Op::Sync, object, offset_bytes: 0, length_bytes: 0, slot: Slot(0) };
        self.engine.queue(&[request])?;
        self.engine.commit()?;
        flight.completions.clear();
        while flight.completions.is_empty() && !self.window.is_cancelled() {
            self.engine.reap(1, Tick(self.clock.now().0 + REAP_SLICE_NS), &mut flight.completions)?;
        }
        flight.stamp = self.clock.now().0;
        if let Some(Err(errno)) = flight.completions.as_slice().first().map(|done| done.result) {
            self.fail(flight, Op::Sync, &errno.name(), "the final sync failed");
        }
        Ok(())
    }

    fn marks(&mut self) -> Marks {
        let mut protocol = ProtocolCounters::default();
        self.engine.counters(&mut protocol);
        // On a busy machine the border may be long past: the reading's own time counts.
        if let Some(tcp) = &mut protocol.tcp {
            tcp.at_ns = Nanos(self.clock.now().0);
        }
        let cpu = cpu_times(CpuScope::Thread);
        Marks {
            cpu: ProcessCpu { user_ns: Nanos(cpu.user_ns), system_ns: Nanos(cpu.system_ns) },
            tcp: protocol.tcp,
        }
    }

    fn output(mut self, mut flight: Flight, orderly: bool) -> WorkerOutput {
        let end = match flight.at_measure_end.take() {
            Some(marks) => marks,
            None => self.marks(),
        };
        let until_ns = self.window.measure_until_ns();
        let timed_out = flight.stamp >= until_ns && !self.ends_by_count();
        let done_at_ns = if timed_out { until_ns } else { flight.stamp };
        let complete =
            orderly && !self.window.is_cancelled() && flight.error_count < ERRORS_MAX && !flight.unanswered;
        let effective = self.engine.effective().clone();
        if let Err(error) = self.engine.close()
            && orderly
        {
            flight.note_error(self.assignment.cell.workload.op, &error.errno(), &error.to_string());
        }
        let start = flight.at_measure_start.take().unwrap_or_default();
        let totals = self.recorder.end(flight.stamp);
        WorkerOutput {
            op_count: totals.op_count,
            bytes: Bytes(totals.bytes),
            response: totals.response,
            response_sum_ns: totals.response_sum_ns,
            done_at_ns,
            last_before_ns: flight.span_ns.0,
            last_within_ns: flight.span_ns.1,
            cpu: ProcessCpu {
                user_ns: end.cpu.user_ns.saturating_sub(start.cpu.user_ns),
                system_ns: end.cpu.system_ns.saturating_sub(start.cpu.system_ns),
            },
            effective: Some(effective),
            errors: flight.errors,
            tcp_before: start.tcp,
            tcp_after: end.tcp,
            complete,
        }
    }
}
