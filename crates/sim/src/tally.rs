//! What the workers of one trial have completed: by interval, and over the measured window.

use crate::flight::SimCompletion;
use crate::machine::RequestOutcome;
use crate::route::CpuCharge;
use narrows_model::fault::{ErrorCount, merge_errors};
use narrows_model::trial::{ClientTotals, IntervalSample};
use narrows_model::units::{round_to_u64, saturate_u32};
use narrows_model::{Bytes, Cell, Cut, Event, Histogram, Nanos};

#[derive(Debug, Clone, Default)]
struct WorkerTally {
    interval_op_count: u64,
    interval_error_count: u64,
    interval_response: Histogram,
    op_count: u64,
    /// Last completion of the window; `None` before the first.
    last_ns: Option<u64>,
    cpu: CpuCharge,
}

/// The counts of one trial.
#[derive(Debug)]
pub(crate) struct TrialTally<'a> {
    cell: &'a Cell,
    trial: u32,
    workers: Vec<WorkerTally>,
    interval_start_ns: u64,
    /// Whether completions count now.
    pub(crate) measuring: bool,
    /// Response times of the window.
    pub(crate) response: Histogram,
    /// Their exact sum.
    pub(crate) response_sum_ns: u64,
    /// Failures of the window.
    pub(crate) errors: Vec<ErrorCount>,
}

impl<'a> TrialTally<'a> {
    /// Counts that begin at `start_ns`.
    pub(crate) fn new(cell: &'a Cell, trial: u32, start_ns: u64) -> Self {
        let workers = usize::try_from(u64::from(cell.workload.clients) * u64::from(cell.workload.workers));
        Self {
            cell,
            trial,
            workers: vec![WorkerTally::default(); workers.unwrap_or(usize::MAX)],
            interval_start_ns: start_ns,
            measuring: false,
            response: Histogram::new(),
            response_sum_ns: 0,
            errors: Vec::new(),
        }
    }

    /// Counts a finished request.
    pub(crate) fn count(&mut self, completion: &SimCompletion) {
        let depth = self.cell.workload.queue_depth as usize;
        let worker = &mut self.workers[completion.slot / depth];
        if self.measuring {
            worker.cpu.add(&completion.cpu, 1.0);
        }
        if let RequestOutcome::Failed(errno) = &completion.outcome {
            worker.interval_error_count += 1;
            if self.measuring {
                self.error(errno, "the declared fault");
            }
            return;
        }
        worker.interval_op_count += 1;
        worker.interval_response.record(completion.response_ns);
        if self.measuring {
            worker.op_count += 1;
            worker.last_ns = Some(completion.at_ns);
            self.response.record(completion.response_ns);
            self.response_sum_ns = self.response_sum_ns.saturating_add(completion.response_ns);
        }
    }

    /// Counts a failure.
    pub(crate) fn error(&mut self, errno: &str, cause: &str) {
        let op = self.cell.workload.op;
        let first_message = format!("{op} on the simulated target failed with {errno}: {cause}");
        merge_errors(
            &mut self.errors,
            &[ErrorCount { op, errno: errno.to_owned(), first_message, count: 1 }],
        );
    }

    /// Ends the interval of every worker at `end_ns` and begins the next.
    pub(crate) fn end_interval(&mut self, end_ns: u64, events: &mut Vec<Event>) {
        let start_ns = std::mem::replace(&mut self.interval_start_ns, end_ns);
        if end_ns <= start_ns {
            return;
        }
        let per_client = self.cell.workload.workers as usize;
        for (index, worker) in self.workers.iter_mut().enumerate() {
            events.push(Event::Interval(Box::new(IntervalSample {
                cell: self.cell.id.clone(),
                trial: self.trial,
                measured: self.measuring,
                client_index: saturate_u32((index / per_client) as u64),
                worker_index: saturate_u32((index % per_client) as u64),
                start_ns: Nanos(start_ns),
                end_ns: Nanos(end_ns),
                op_count: worker.interval_op_count,
                bytes: Bytes(worker.interval_op_count * self.cell.workload.block_bytes.0),
                error_count: worker.interval_error_count,
                response: std::mem::take(&mut worker.interval_response),
            })));
            worker.interval_op_count = 0;
            worker.interval_error_count = 0;
        }
    }

    /// Operations of the window.
    pub(crate) fn op_count(&self) -> u64 {
        self.workers.iter().map(|worker| worker.op_count).sum()
    }

    /// When the first and the last worker completed their last operation of the window; `None` without any.
    pub(crate) fn done_ns(&self) -> Option<(u64, u64)> {
        let last = || self.workers.iter().filter_map(|worker| worker.last_ns);
        last().min().zip(last().max())
    }

    /// The totals of every client over a window that began at `start_ns`.
    pub(crate) fn clients(&self, host: &str, start_ns: u64) -> Vec<ClientTotals> {
        let per_client = self.cell.workload.workers as usize;
        // At this cut the load's process is the server's.
        let on_server = if self.cell.cut == Cut::ServerStorage { 1.0 } else { 0.0 };
        let totals = |(client_index, workers): (usize, &[WorkerTally])| {
            let op_count: u64 = workers.iter().map(|worker| worker.op_count).sum();
            let last_ns = workers.iter().filter_map(|worker| worker.last_ns).max();
            let mut cpu = CpuCharge::default();
            for worker in workers {
                cpu.add(&worker.cpu, 1.0);
            }
            ClientTotals {
                client_index: saturate_u32(client_index as u64),
                host: host.to_owned(),
                op_count,
                bytes: Bytes(op_count * self.cell.workload.block_bytes.0),
                elapsed_ns: Nanos(last_ns.map_or(0, |last_ns| last_ns - start_ns)),
                user_ns: Nanos(round_to_u64(cpu.generator_ns)),
                system_ns: Nanos(round_to_u64(cpu.client_ns + on_server * cpu.server_ns)),
                waiting_ns: None,
            }
        };
        self.workers.chunks(per_client).enumerate().map(totals).collect()
    }
}
