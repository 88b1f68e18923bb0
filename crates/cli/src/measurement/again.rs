//! Measures cells once more that others disturbed, or on which a verdict rests, with what is left of the time.
//!
//! Not here: which cells these are, and which of two measurements counts, which the analysis says.

use super::load::{Recording, RunExecutor, so_far};
use narrows_analysis::{RepeatReason, repeats, stays_disturbed};
use narrows_model::event::EndReason;
use narrows_model::{Cell, CellId, Event, Nanos, Plan, Sink, SinkError, Summary};
use narrows_run::{CellSite, RunOutput, execute};

/// After so many cells that others disturbed again, they are busy all the time, and no repeat is quieter.
const IN_VAIN_MAX: usize = 2;
/// Changes the seed of a repeat: the same requests once more would find their data in every cache on the way.
const SEED_CHANGE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Cells that were measured again.
#[derive(Debug, Default)]
pub(super) struct RepeatedCells {
    made: Vec<CellId>,
}

impl RepeatedCells {
    /// The next cell of `cells` that is worth a repeat and takes at most `remaining`, and why; `None` where there is none.
    /// Disturbed ones are not repeated where that was in vain.
    fn next<'c>(
        &self,
        cells: &'c [Cell],
        summary: &Summary,
        remaining: Nanos,
    ) -> Option<(&'c Cell, RepeatReason)> {
        let in_vain = self.made.iter().filter(|id| stays_disturbed(summary, &id.0)).count();
        let is_of_use = |reason| reason != RepeatReason::Disturbed || in_vain < IN_VAIN_MAX;
        let worth = repeats(summary).into_iter().filter(|(_, reason)| is_of_use(*reason));
        let worth = worth.filter(|(id, _)| self.made.iter().all(|made| made.0 != *id));
        let mut worth =
            worth.filter_map(|(id, reason)| Some((cells.iter().find(|cell| cell.id.0 == id)?, reason)));
        worth.find(|(cell, _)| cell.estimated_ns() <= remaining)
    }
}

impl RunExecutor<'_> {
    /// Measures the next cell of `cells` again that is worth it; `None` where there is none that the time allows.
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
        let Some((cell, reason)) = repeats.next(cells, summary, remaining) else { return Ok(None) };
        repeats.made.push(cell.id.clone());
        let reason = reason.text().to_owned();
        recording.event(&Event::CellRepeated { cell: cell.id.clone(), reason })?;
        let part = Plan { cells: vec![cell.clone()], ..plan.clone() };
        let spent_ns = self.watch.spent();
        site.seed ^= SEED_CHANGE;
        let done = execute(&part, spent_ns, site, self.server(), recording);
        site.seed ^= SEED_CHANGE;
        done.map(Some)
    }

    /// Measures all cells of `cells` again that are worth it, as far as the time allows.
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
