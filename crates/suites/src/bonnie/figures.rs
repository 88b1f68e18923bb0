//! The figures of a run: one for each phase of each process, with its CPU share and its longest operation.

use super::request::Request;
use super::{BonniePhase, KIB, PHASES, PhaseAction, SHORT_S};
use narrows_model::summary::{CellSummary, ClientSummary};
use narrows_model::units::ratio;
use narrows_model::{Cut, Op, Summary};

/// What one process did in one phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BonnieMeasurement {
    /// KiB that count, or operations.
    pub(super) amount: f64,
    pub(super) elapsed_s: f64,
    /// Of the processor, user and system.
    pub(super) cpu_s: f64,
    /// The longest operation; `None` where it is not known for this process alone.
    pub(super) latency_ns: Option<u64>,
    /// Not all of it was done.
    pub(super) cut_short: bool,
}

impl BonnieMeasurement {
    /// The rate; `None` where the phase was too short for one.
    pub(super) fn rate(&self) -> Option<f64> {
        ratio(self.amount, self.elapsed_s).filter(|_| !self.is_short())
    }

    /// The CPU share in percent; `None` where the phase was too short for one.
    pub(super) fn cpu_percent(&self) -> Option<f64> {
        ratio(100.0 * self.cpu_s, self.elapsed_s).filter(|_| !self.is_short())
    }

    /// Whether its time is too short for a reliable rate.
    pub(super) fn is_short(&self) -> bool {
        self.elapsed_s < SHORT_S
    }
}

/// The figures of one process in one run, in the order of the phases; `None` for those that were not run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BonnieRow {
    /// The run and the process, both from 1.
    pub(super) run: u64,
    pub(super) process: u64,
    pub(super) phases: [Option<BonnieMeasurement>; PHASES.len()],
}

impl BonnieRow {
    /// The figure of the phase of this name.
    pub(super) fn phase(&self, name: &str) -> Option<&BonnieMeasurement> {
        let index = PHASES.iter().position(|phase| phase.name == name)?;
        self.phases[index].as_ref()
    }
}

/// The rows of a summary: the runs after each other, in each the processes.
pub(super) fn rows(summary: &Summary, request: &Request) -> Vec<BonnieRow> {
    let cell = |run: u64, phase: &BonniePhase| {
        summary.cells.iter().find(|cell| {
            let is_of_run = cell.test.as_deref() == Some(format!("run{run}").as_str());
            cell.cut == Cut::Path && is_of_run && cell.phase.as_deref() == Some(phase.name)
        })
    };
    let row = |run: u64, process: u64| BonnieRow {
        run,
        process,
        phases: PHASES.map(|phase| measured(cell(run, &phase)?, &phase, process, request)),
    };
    let processes = 1..=u64::from(request.processes);
    let all =
        (1..=u64::from(request.runs)).flat_map(|run| processes.clone().map(move |process| (run, process)));
    let rows = all.map(|(run, process)| row(run, process));
    rows.filter(|row| row.run == 1 && row.process == 1 || row.phases.iter().any(Option::is_some)).collect()
}

fn measured(
    cell: &CellSummary,
    phase: &BonniePhase,
    process: u64,
    request: &Request,
) -> Option<BonnieMeasurement> {
    let client = cell.per_client.iter().find(|client| u64::from(client.client_index) + 1 == process)?;
    let planned = planned(cell, phase, request);
    let visited = visited(cell, client, phase, planned);
    (visited > 0).then(|| BonnieMeasurement {
        amount: visited as f64
            * if phase.action.moves_data() { cell.block_bytes.as_f64() / KIB } else { 1.0 },
        elapsed_s: client.elapsed_s,
        cpu_s: client.user_s + client.system_s,
        latency_ns: cell.latency_ns.max.filter(|_| cell.clients == 1),
        cut_short: planned.is_some_and(|planned| visited < planned),
    })
}

/// Requests of each process in a phase, those that write back not counted; `None` where that is not known.
fn planned(cell: &CellSummary, phase: &BonniePhase, request: &Request) -> Option<u64> {
    match phase.action {
        PhaseAction::Files(..) => cell.requested.objects.map(|objects| objects.count),
        PhaseAction::Seeks => Some(request.seeks),
        _ => {
            ratio(cell.file_bytes.as_f64(), cell.block_bytes.as_f64()).map(narrows_model::units::round_to_u64)
        }
    }
}

/// Requests of one process, those that write back not counted.
fn visited(cell: &CellSummary, client: &ClientSummary, phase: &BonniePhase, planned: Option<u64>) -> u64 {
    let Some(every) = phase.action.write_back_every().map(u64::from) else { return client.ops };
    if cell.clients == 1 {
        // One trial of one process: what it read is known by itself.
        let reads = cell.kinds.iter().find(|kind| kind.op == Op::Read);
        return reads.map_or(0, |reads| reads.op_count);
    }
    let of_all = client.ops.saturating_mul(every).div_ceil(every + 1);
    // Processes that seek each round down what they write back, so that the sum may be off by a few.
    planned.map_or(of_all, |planned| {
        let writes = planned / every;
        let written_least = writes.saturating_sub(u64::from(cell.requested.workers));
        if client.ops >= planned + written_least { planned } else { of_all.min(planned) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(amount: f64, elapsed_s: f64, cpu_s: f64) -> BonnieMeasurement {
        BonnieMeasurement { amount, elapsed_s, cpu_s, latency_ns: None, cut_short: false }
    }

    #[test]
    fn a_rate_is_the_amount_over_the_time_and_the_cpu_share_is_of_the_same_time() {
        let one = measured(49_354.0 * 4.0, 4.0, 0.56);
        assert_eq!(one.rate(), Some(49_354.0));
        assert!((one.cpu_percent().unwrap() - 14.0).abs() < 1e-9);
    }

    #[test]
    fn half_a_second_is_enough_and_less_is_not() {
        assert!(measured(1.0, 0.5, 0.1).rate().is_some());
        let short = measured(1.0, 0.499, 0.1);
        assert_eq!((short.rate(), short.cpu_percent()), (None, None));
    }
}
