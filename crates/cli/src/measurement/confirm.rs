//! Changes what a verdict blames and measures the path once more: `check --confirm`.
//!
//! Not here: what can be changed of a segment, which the planner decides, and what the path had to do then, which the
//! analysis predicts.

use super::load::{Recording, RunExecutor, so_far};
use narrows_analysis::outlook;
use narrows_model::change::PathChange;
use narrows_model::event::EndReason;
use narrows_model::plan::SkippedCell;
use narrows_model::{Cell, Event, Plan, Segment, Sink, SinkError, Summary};
use narrows_run::{CellSite, RunOutput, execute};
use narrows_study::{BlamedLoad, confirming_cell};
use narrows_sys::process::{affinity, set_affinity};

impl RunExecutor<'_> {
    /// Measures each load with what its verdict blames changed, as far as the time lets it.
    ///
    /// Bounded: one cell for each load.
    pub(super) fn confirm(
        &mut self,
        site: &mut CellSite,
        recording: &mut Recording<'_>,
        output: &mut RunOutput,
    ) -> Result<(), SinkError> {
        let Some(summary) = so_far(recording) else { return Ok(()) };
        let plan = self.spec.plan;
        // Where the CPUs cannot be read, none is taken.
        let cpus = affinity().unwrap_or_default();
        for cell in confirming_cells(plan, &summary, cpus.len()) {
            let remaining = plan.budget_ns.saturating_sub(self.watch.spent());
            if cell.estimated_ns() > remaining {
                let used_for = site.time_used_for();
                let reason =
                    format!("no time was left to confirm the verdict{used_for}; give more with --seconds");
                let skipped = vec![SkippedCell { cell: cell.id, reason }];
                recording.event(&Event::PlanExtended { cells: Vec::new(), skipped })?;
                output.reason = EndReason::BudgetSpent;
                continue;
            }
            let cells = vec![cell.clone()];
            recording.event(&Event::PlanExtended { cells: cells.clone(), skipped: Vec::new() })?;
            let is_fewer = cell.confirms.as_ref().is_some_and(|own| own.change == PathChange::OneCpuLess);
            let _fewer = match FewerCpus::take(is_fewer, &cpus) {
                Ok(fewer) => fewer,
                Err(error) => {
                    recording.event(&Event::CellFailed { cell: cell.id, message: error.to_string() })?;
                    continue;
                }
            };
            let part = Plan { cells, ..plan.clone() };
            let spent_ns = self.watch.spent();
            let done = execute(&part, spent_ns, site, self.server(), recording)?;
            output.done_count += done.done_count;
            output.failed.extend(done.failed);
            if done.reason != EndReason::Finished {
                output.reason = done.reason;
            }
            if matches!(done.reason, EndReason::Failed | EndReason::Interrupted) {
                break;
            }
        }
        Ok(())
    }
}

/// The cells that change what is blamed, of the load that matters most first.
fn confirming_cells(plan: &Plan, summary: &Summary, cpu_count: usize) -> Vec<Cell> {
    let loads = outlook(summary, &[]).loads;
    let named = loads.into_iter().filter(|load| load.segment != Segment::Unknown);
    let cell = |load: narrows_analysis::LoadStanding| {
        let path = summary.cells.iter().find(|cell| cell.id == load.cell)?;
        let blamed = BlamedLoad {
            cell: narrows_model::CellId(load.cell),
            segment: load.segment,
            rate_bytes_per_s: path.rate_bytes_per_s?,
        };
        confirming_cell(plan, &blamed, cpu_count)
    };
    named.filter_map(cell).collect()
}

/// While it lives, this thread and those that it starts have one CPU less.
struct FewerCpus<'c> {
    all: &'c [usize],
}

impl<'c> FewerCpus<'c> {
    /// Takes one of `all`, if `is_asked`.
    fn take(is_asked: bool, all: &'c [usize]) -> Result<Option<Self>, narrows_sys::Error> {
        let Some((_, others)) = all.split_last().filter(|_| is_asked) else { return Ok(None) };
        set_affinity(others)?;
        Ok(Some(Self { all }))
    }
}

impl Drop for FewerCpus<'_> {
    fn drop(&mut self) {
        // What was allowed before is allowed again; a CPU that is gone since then is left out by the kernel.
        drop(set_affinity(self.all));
    }
}
