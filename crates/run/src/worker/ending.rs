//! How a worker ends: the final sync, what is left behind, its output.

use super::state::{CounterReadings, QueueSlot, WorkerState};
use super::{DRAIN_NS, ERRORS_MAX, SILENT_MAX_NS, SILENT_TCP_MIN_NS, SLOWER_MAX, Worker};
use crate::assignment::WorkerOutput;
use narrows_engines::{Clock, EngineError, ErrorKind, IoRequest, ProtocolCounters, Slot};
use narrows_model::counters::{Combine, ProcessCpu};
use narrows_model::trial::OpenLoopTotals;
use narrows_model::units::saturate_u32;
use narrows_model::workload::{Prefill, SyncPolicy};
use narrows_model::{Bytes, Nanos, Op};
use narrows_sys::process::{CpuScope, cpu_times, thread_cpu_wait_ns};

impl<C: Clock + ?Sized> Worker<'_, C> {
    /// Whether what is still in flight after the window is not waited for any more: its completions count only
    /// where something else than time ends the trial. Where none came in the whole window, one is waited for, which shows that the
    /// path is only slow.
    pub(super) fn drain_is_over(&self, flight: &WorkerState) -> bool {
        let timeout_ns = self.assignment.answer_timeout_ns.0;
        let drain_ns = if !self.ends_by_time() {
            timeout_ns
        } else if self.is_silent(flight) {
            let is_over_tcp = flight.at_measure_start.as_ref().is_some_and(|marks| marks.tcp.is_some());
            silent_wait_ns(flight.longest_ns, is_over_tcp, timeout_ns)
        } else {
            DRAIN_NS
        };
        self.window.is_cancelled() || flight.stamp > self.end_ns(flight).saturating_add(drain_ns)
    }

    /// Whether nothing has completed since the window began, though all that is in flight was submitted longer ago than the window
    /// is long. A deep queue on a slow path keeps requests waiting for longer than that while it answers others.
    fn is_silent(&self, flight: &WorkerState) -> bool {
        let from_ns = self.window.measure_from_ns();
        let window_ns = self.window.measure_until_ns().saturating_sub(from_ns);
        let is_old = |place: &QueueSlot| flight.stamp > place.submitted_ns + window_ns;
        flight.answered_ns < from_ns && flight.places.iter().all(is_old)
    }

    /// The window's end, or when it was noticed.
    fn end_ns(&self, flight: &WorkerState) -> u64 {
        self.window.measure_until_ns().max(flight.end_seen_ns)
    }

    /// Whether requests of an open loop that were due in the window are still to be started, and there is time for it:
    /// their waits are as much the window's as those of the others.
    pub(super) fn has_backlog(&self, flight: &WorkerState) -> bool {
        let until_ns = self.window.measure_until_ns();
        let is_due = flight.starts.schedule.as_ref().is_some_and(|schedule| schedule.due_ns() < until_ns);
        is_due && flight.stamp <= self.end_ns(flight).saturating_add(DRAIN_NS)
    }

    /// Leaves what is in flight behind; that nothing at all came in the window and after it is a failure.
    pub(super) fn give_up(&self, flight: &mut WorkerState, in_flight: usize) {
        if !self.window.is_cancelled() && (!self.ends_by_time() || self.is_silent(flight)) {
            let op = self.assignment.cell.workload.op;
            let message = format!("{in_flight} x {op} on {} did not complete", self.assignment.target());
            flight.faults.note(op, "NO_ANSWER", &message);
            flight.faults.unanswered = true;
        }
    }

    /// The final sync, inside the trial's time; not where requests were left behind, whose places it would take.
    pub(super) fn sync_at_end(&mut self, flight: &mut WorkerState) -> Result<(), EngineError> {
        let is_asked = self.assignment.cell.workload.sync == SyncPolicy::AtEnd;
        if !is_asked || self.window.is_cancelled() || flight.in_flight() > 0 {
            return Ok(());
        }
        self.final_sync(flight)?;
        self.check_final_sync(&flight.completions, &mut flight.faults);
        Ok(())
    }

    /// Syncs what was written outside of the load's time, and notes when that was over; not where requests were left
    /// behind. The client's owner learns first that the load has ended: a stone wall ends that of others.
    pub(super) fn end_apart(&mut self, flight: &mut WorkerState) -> Result<(), EngineError> {
        let workload = &self.assignment.cell.workload;
        if !workload.edges.ends_apart || self.window.is_cancelled() || flight.in_flight() > 0 {
            return Ok(());
        }
        let writes = workload.ops().iter().any(|share| share.op == Op::Write);
        let (syncs, stamp) = (writes && workload.sync == SyncPolicy::AfterEnd, flight.stamp);
        self.window.note_load_end(stamp);
        if flight.at_measure_end.is_none() {
            flight.at_measure_end = Some(self.marks());
        }
        if syncs {
            self.final_sync(flight)?;
            self.check_final_sync(&flight.completions, &mut flight.faults);
        }
        flight.synced_ns = Some(if syncs { flight.stamp } else { stamp });
        flight.stamp = stamp;
        Ok(())
    }

    /// Writes what the stone wall left of a file that the load makes, outside of its time: later loads find it whole.
    pub(super) fn complete_file(&mut self, flight: &mut WorkerState) -> Result<(), EngineError> {
        let workload = &self.assignment.cell.workload;
        let makes = workload.op == Op::Write && workload.prefill == Prefill::Nothing;
        if !(workload.edges.stone_wall && makes) || flight.in_flight() > 0 {
            return Ok(());
        }
        let (length_bytes, stamp) = (saturate_u32(workload.block_bytes.0), flight.stamp);
        if flight.at_measure_end.is_none() {
            flight.at_measure_end = Some(self.marks());
        }
        while !self.window.is_cancelled() && flight.left.take(length_bytes) {
            let offset_bytes = flight.blocks.next_offset_bytes(u64::from(length_bytes));
            let object = flight.object;
            let request =
                IoRequest { tag: 0, op: Op::Write, object, offset_bytes, length_bytes, slot: Slot(0) };
            self.perform_alone(request, flight)?;
            if let Some(Err(errno)) = flight.completions.as_slice().first().map(|done| done.result) {
                flight.faults.note(Op::Write, &errno.name(), "the rest of the file after the stonewall");
                break;
            }
        }
        flight.stamp = stamp;
        Ok(())
    }

    pub(super) fn marks(&mut self) -> CounterReadings {
        let mut protocol = ProtocolCounters::default();
        self.engine.counters(&mut protocol);
        // On a busy machine the border may be long past: the reading's own time counts.
        if let Some(tcp) = &mut protocol.tcp {
            tcp.at_ns = Nanos(self.clock.now().0);
        }
        CounterReadings {
            cpu: own_cpu(),
            waiting_ns: thread_cpu_wait_ns(),
            tcp: protocol.tcp,
            rpc: protocol.rpc,
            syncs: protocol.syncs,
        }
    }

    /// Counts the requests of an open loop that were due before the window's end, or before a stop, and have not
    /// completed: what they have waited by now is all that is known of their times.
    pub(super) fn give_up_backlog(&mut self, flight: &mut WorkerState) {
        let (from_ns, now_ns) = (self.window.measure_from_ns(), flight.stamp);
        let end_ns = now_ns.min(self.window.measure_until_ns());
        let WorkerState { places, free, starts, arrivals, exhausted, .. } = flight;
        let Some(schedule) = &mut starts.schedule else { return };
        let mut is_free = vec![false; places.len()];
        for tag in free.iter() {
            is_free[*tag as usize] = true;
        }
        for (place, _) in places.iter().zip(is_free).filter(|(_, is_free)| !is_free) {
            if (from_ns..end_ns).contains(&place.from_ns) {
                self.recorder.given_up(now_ns - place.from_ns, 1);
            }
        }
        if !*exhausted {
            schedule.pass_over(from_ns.min(end_ns), |_, _| ());
            let given_up = |due_ns: u64, count| self.recorder.given_up(now_ns.saturating_sub(due_ns), count);
            arrivals.given_up = schedule.pass_over(end_ns, given_up);
        }
    }

    /// Notes what is in flight where no border of the window has: a count, a sync, a stop or a failure ended it.
    fn note_at_end(&self, flight: &mut WorkerState) {
        if flight.at_end.is_noted {
            return;
        }
        let is_bounded = self.ends_by_time() && !flight.starts.are_scheduled();
        let until_ns = if is_bounded { self.window.measure_until_ns() } else { u64::MAX };
        flight.note_at_end(flight.stamp.min(until_ns));
    }

    pub(super) fn output(mut self, mut flight: WorkerState, orderly: bool) -> WorkerOutput {
        self.note_at_end(&mut flight);
        let mut end = flight.at_measure_end.take().unwrap_or_else(|| self.marks());
        let until_ns = self.window.measure_until_ns();
        let ends_by_time = self.ends_by_time();
        let complete = orderly
            && !self.window.is_cancelled()
            && flight.faults.count < ERRORS_MAX
            && !flight.faults.unanswered;
        let effective = self.engine.effective().clone();
        let (closing_ns, closing_cpu) = (self.clock.now().0, own_cpu());
        // That a stop was asked for is no fault of a request.
        if let Err(error) = self.engine.close()
            && orderly
            && error.kind != ErrorKind::Stopped
        {
            flight.faults.note(self.assignment.cell.workload.op, &error.errno(), &error.to_string());
        }
        let close_ns = self.clock.now().0.saturating_sub(closing_ns);
        let ended_at_ns = flight.synced_ns.map(|synced_ns| synced_ns.saturating_add(close_ns));
        if self.assignment.cell.workload.edges.times_close && !ends_by_time {
            flight.stamp += close_ns;
            end.cpu.add_interval(&own_cpu().since(&closing_cpu));
        }
        let timed_out = flight.stamp >= until_ns && ends_by_time;
        let done_at_ns = if timed_out { until_ns } else { flight.stamp };
        let start = flight.at_measure_start.take().unwrap_or_default();
        let arrived = flight.arrivals;
        let totals = self.recorder.end(flight.stamp);
        WorkerOutput {
            op_count: totals.op_count,
            bytes: Bytes(totals.bytes),
            response: totals.response,
            response_sum_ns: totals.response_sum_ns,
            by_kind: totals.by_kind,
            in_flight_at_end: flight.at_end.found,
            open_loop: totals.arrivals.map(|times| OpenLoopTotals {
                scheduled_count: arrived.started + arrived.given_up,
                unstarted_count: arrived.late + arrived.given_up,
                held_up_count: arrived.delayed,
                censored: times.censored,
                service: times.service,
                service_sum_ns: times.service_sum_ns,
            }),
            began_at_ns: flight.began_ns,
            done_at_ns,
            ended_at_ns,
            last_before_ns: flight.span_ns.0,
            last_within_ns: flight.span_ns.1,
            cpu: end.cpu.since(&start.cpu),
            waiting_ns: end.waiting_ns.map(|end| Nanos(end.saturating_sub(start.waiting_ns.unwrap_or(0)))),
            effective: Some(effective),
            errors: flight.faults.errors,
            verification: flight.verifier.map(|verifier| verifier.found),
            syncs: end.syncs.map(|end| match &start.syncs {
                Some(start) => end.since(start),
                None => end,
            }),
            rpc: end.rpc.map(|end| end.since(&start.rpc.unwrap_or_default())),
            tcp_before: start.tcp,
            tcp_after: end.tcp,
            complete,
        }
    }
}

/// How long one completion is waited for where none came in the whole window, the longest request before it took `longest_ns` (0
/// where there was none), and an answer is waited for `timeout_ns` at the most.
fn silent_wait_ns(longest_ns: u64, is_over_tcp: bool, timeout_ns: u64) -> u64 {
    let most_ns = timeout_ns.min(SILENT_MAX_NS);
    let least_ns = if is_over_tcp { SILENT_TCP_MIN_NS } else { DRAIN_NS };
    match longest_ns {
        0 => most_ns,
        longest_ns => DRAIN_NS.max(longest_ns.saturating_mul(SLOWER_MAX).max(least_ns).min(most_ns)),
    }
}

/// CPU time of the calling thread so far.
fn own_cpu() -> ProcessCpu {
    let cpu = cpu_times(CpuScope::Thread);
    ProcessCpu { user_ns: Nanos(cpu.user_ns), system_ns: Nanos(cpu.system_ns) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_stream_is_waited_for_as_long_as_tcp_takes_to_repair_it() {
        let ms = 1_000_000;
        let wait = |longest_ms, is_over_tcp| silent_wait_ns(longest_ms * ms, is_over_tcp, 30_000 * ms) / ms;
        assert_eq!([wait(10, false), wait(100, false), wait(5000, false)], [500, 3000, 20_000]);
        assert_eq!([wait(10, true), wait(100, true), wait(300, true)], [7000, 7000, 9000]);
        assert_eq!([wait(0, false), wait(0, true)], [20_000, 20_000]);
        assert_eq!(silent_wait_ns(10 * ms, true, 2000 * ms), 2000 * ms, "no longer than any answer");
    }
}
