//! Measures cells once more that others disturbed, with what is left of the time.
//!
//! Not here: which cells are disturbed, and which of two measurements counts, which the analysis says.

use super::load::{Recording, RunExecutor, so_far};
use narrows_analysis::{disturbed, stays_disturbed};
use narrows_model::event::EndReason;
use narrows_model::{Cell, CellId, Event, Nanos, Plan, Sink, SinkError, Summary};
use narrows_run::{CellSite, RunOutput, execute};

/// After so many cells that others disturbed again, they are busy all the time, and no repeat is quieter.
const IN_VAIN_MAX: usize = 2;
/// Changes the seed of a repeat: the same requests once more would find their data in every cache on the way.
const SEED_CHANGE: u64 = 0x9e37_79b9_7f4a_7c15;
/// What is said of the first measurement.
const REASON: &str = "others disturbed its first measurement";

/// Cells that were measured again.
#[derive(Debug, Default)]
pub(super) struct RepeatedCells {
    made: Vec<CellId>,
}

impl RepeatedCells {
    /// The next cell of `cells` that others disturbed and that takes at most `remaining`; `None` where there is none, or
    /// repeats were in vain.
    fn next<'c>(&self, cells: &'c [Cell], summary: &Summary, remaining: Nanos) -> Option<&'c Cell> {
        let in_vain = self.made.iter().filter(|id| stays_disturbed(summary, &id.0)).count();
        if in_vain >= IN_VAIN_MAX {
            return None;
        }
        let known = disturbed(summary).into_iter().filter(|id| self.made.iter().all(|made| made.0 != **id));
        let mut known = known.filter_map(|id| cells.iter().find(|cell| cell.id.0 == id));
        known.find(|cell| cell.estimated_ns() <= remaining)
    }
}

impl RunExecutor<'_> {
    /// Measures the next disturbed cell of `cells` again; `None` where there is none that the time allows.
    pub(super) fn repeat_next(
        &mut self,
        cells: &[Cell],
        summary: &Summary,
        repeats: &mut RepeatedCells,
        site: &mut CellSite,
        recording: &mut Recording<'_>,
    ) -> Result<Option<RunOutput>, SinkError> {
        let plan = self.spec.plan;
        let remaining = plan.budget_ns.saturating_sub(self.watch.spent());
        let Some(cell) = repeats.next(cells, summary, remaining) else { return Ok(None) };
        repeats.made.push(cell.id.clone());
        recording.event(&Event::CellRepeated { cell: cell.id.clone(), reason: REASON.to_owned() })?;
        let part = Plan { cells: vec![cell.clone()], ..plan.clone() };
        let spent_ns = self.watch.spent();
        site.seed ^= SEED_CHANGE;
        let done = execute(&part, spent_ns, site, self.server(), recording);
        site.seed ^= SEED_CHANGE;
        done.map(Some)
    }

    /// Measures all disturbed cells of `cells` again that the time allows.
    ///
    /// Bounded: each cell once.
    pub(super) fn repeat_all(
        &mut self,
        cells: &[Cell],
        site: &mut CellSite,
        recording: &mut Recording<'_>,
        output: &mut RunOutput,
    ) -> Result<(), SinkError> {
        let mut repeats = RepeatedCells::default();
        while let Some(summary) = so_far(recording) {
            let Some(done) = self.repeat_next(cells, &summary, &mut repeats, site, recording)? else { break };
            if matches!(done.reason, EndReason::Failed | EndReason::Interrupted) {
                output.reason = done.reason;
                break;
            }
        }
        Ok(())
    }
}
