//! The trials of the buffer experiment, by point, and which of them are results.

mod whole;

pub(crate) use whole::{problem, roles};

use narrows_model::CellId;
use narrows_model::plan::SkippedCell;
use narrows_model::relay::{RelayCell, RelayPlan, RelayTrial};
use std::collections::BTreeMap;

/// The trials of a run, by point.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RelayTrials {
    by_cell: BTreeMap<CellId, Vec<RelayTrial>>,
}

impl RelayTrials {
    /// Sorts in one trial.
    pub(crate) fn add(&mut self, trial: &RelayTrial) {
        self.by_cell.entry(trial.cell.clone()).or_default().push(trial.clone());
    }

    /// The trials of one point.
    pub(crate) fn of_point(&self, cell: &CellId) -> &[RelayTrial] {
        self.by_cell.get(cell).map_or(&[], Vec::as_slice)
    }

    /// Points of `plan` of which no trial is whole though some were made, with the first problem.
    pub(crate) fn failed(&self, plan: &RelayPlan) -> Vec<SkippedCell> {
        let failed = |cell: &RelayCell| {
            let problems: Option<Vec<String>> =
                self.of_point(&cell.id).iter().map(|trial| problem(trial, cell, plan)).collect();
            let reason = problems?.into_iter().next()?;
            Some(SkippedCell { cell: cell.id.clone(), reason })
        };
        plan.cells.iter().filter_map(failed).collect()
    }

    /// Points of `plan` of which no trial was made, without those in `known`.
    pub(crate) fn missed(&self, plan: &RelayPlan, known: &[SkippedCell]) -> Vec<SkippedCell> {
        let is_known = |cell: &CellId| known.iter().any(|skipped| skipped.cell == *cell);
        let missed =
            plan.cells.iter().filter(|cell| self.of_point(&cell.id).is_empty() && !is_known(&cell.id));
        let skipped = |cell: &RelayCell| SkippedCell {
            cell: cell.id.clone(),
            reason: "the run ended before this trial".to_owned(),
        };
        missed.map(skipped).collect()
    }

    /// Whether every trial of `plan` was made and is whole.
    pub(crate) fn complete(&self, plan: &RelayPlan) -> bool {
        plan.cells.iter().all(|cell| {
            let trials = self.of_point(&cell.id);
            trials.len() >= cell.trials as usize
                && trials.iter().all(|trial| problem(trial, cell, plan).is_none())
        })
    }
}
