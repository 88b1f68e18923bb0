//! The buffer experiment in figures: which trials are whole, what the roles did in these, and what limits each sweep.
//!
//! Deliberately absent: rules; a sweep is told as observations and judged as these are.

mod figures;
mod observed;
mod station;
mod verdict;
mod whole;

#[cfg(test)]
mod tests;

use narrows_model::CellId;
use narrows_model::plan::SkippedCell;
use narrows_model::relay::{RelayCell, RelayPlan, RelayTrial};
use narrows_model::summary::RelaySummary;
use std::collections::BTreeMap;

pub(crate) use verdict::diagnose;

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

    fn of(&self, cell: &CellId) -> &[RelayTrial] {
        self.by_cell.get(cell).map_or(&[], Vec::as_slice)
    }

    /// Points of `plan` of which no trial is whole though some were made, with the first problem.
    pub(crate) fn failed(&self, plan: &RelayPlan) -> Vec<SkippedCell> {
        let failed = |cell: &RelayCell| {
            let problems: Option<Vec<String>> =
                self.of(&cell.id).iter().map(|trial| whole::problem(trial, cell, plan)).collect();
            let reason = problems?.into_iter().next()?;
            Some(SkippedCell { cell: cell.id.clone(), reason })
        };
        plan.cells.iter().filter_map(failed).collect()
    }

    /// Points of `plan` of which no trial was made, without those in `known`.
    pub(crate) fn missed(&self, plan: &RelayPlan, known: &[SkippedCell]) -> Vec<SkippedCell> {
        let is_known = |cell: &CellId| known.iter().any(|skipped| skipped.cell == *cell);
        let missed = plan.cells.iter().filter(|cell| self.of(&cell.id).is_empty() && !is_known(&cell.id));
        let told = |cell: &RelayCell| SkippedCell {
            cell: cell.id.clone(),
            reason: "the run ended before it".to_owned(),
        };
        missed.map(told).collect()
    }

    /// Whether every trial of `plan` was made and is whole.
    pub(crate) fn complete(&self, plan: &RelayPlan) -> bool {
        plan.cells.iter().all(|cell| {
            let trials = self.of(&cell.id);
            trials.len() >= cell.trials as usize
                && trials.iter().all(|trial| whole::problem(trial, cell, plan).is_none())
        })
    }
}

/// The figures of `plan`'s points.
pub(crate) fn summary(plan: &RelayPlan, trials: &RelayTrials) -> RelaySummary {
    RelaySummary {
        total: plan.total,
        sockets: plan.sockets,
        forward: plan.forward,
        verify: plan.verify,
        points: plan.cells.iter().map(|cell| figures::point(plan, cell, trials.of(&cell.id))).collect(),
    }
}
