//! The rounds of a cell that is repeated until it is steady: once it is, its figures are those of the steady window alone,
//! and what came before is kept beside them.
//!
//! SNIA reports the measurement window: the rounds before show how the target got there, and a mean with them is that of
//! a change.
//!
//! Bounded memory: the trials of one window, of the cell that is being read; later what they add up to.

use super::{CellData, TrialTotals};
use narrows_model::units::saturate_usize;
use narrows_model::{BytesPerSec, Repeat, TrialOutput};
use narrows_stats::steady::assess_window;
use std::collections::VecDeque;

/// What is kept until it is known whether a cell became steady.
#[derive(Debug, Clone, Default)]
pub(super) struct Rounds {
    /// The last whole trials, at most as many as a window has.
    last: VecDeque<TrialOutput>,
    /// What they add up to where they were steady.
    window: Option<Box<CellData>>,
}

impl TrialTotals {
    /// Its rate in bytes where it ran to its end: what repetitions are evaluated by.
    pub(crate) fn whole_rate(&self) -> Option<f64> {
        BytesPerSec::over(self.bytes, self.last_done).map(|rate| rate.0).filter(|_| self.complete)
    }
}

impl CellData {
    fn window_trials(&self) -> Option<usize> {
        match self.cell.repeat {
            Repeat::UntilSteady { window_trials } => Some(saturate_usize(u64::from(window_trials))),
            Repeat::Fixed | Repeat::UntilInterval { .. } => None,
        }
    }

    /// Keeps a trial that may be one of the steady window.
    pub(super) fn note_round(&mut self, trial: &TrialOutput) {
        let Some(window_trials) = self.window_trials() else { return };
        self.rounds.window = None;
        let is_whole = self.trials.get(&trial.trial).is_some_and(|totals| totals.whole_rate().is_some());
        if is_whole {
            self.rounds.last.push_back(trial.clone());
        }
        if self.rounds.last.len() > window_trials {
            self.rounds.last.pop_front();
        }
    }

    /// Adds up the rounds of the window where they are steady.
    pub(super) fn end_rounds(&mut self) {
        let rounds = std::mem::take(&mut self.rounds.last);
        let last_rates = self.trials.values().filter_map(TrialTotals::whole_rate).rev();
        let Some(window_trials) = self.window_trials().filter(|count| *count == rounds.len()) else { return };
        let mut rates: Vec<f64> = last_rates.take(window_trials).collect();
        rates.reverse();
        if !assess_window(&rates).is_ok_and(|found| found.is_steady()) {
            return;
        }
        let mut window = CellData::new(self.cell.clone());
        for trial in &rounds {
            window.finished(trial);
        }
        // The window's own rounds are all that it has.
        window.rounds = Rounds::default();
        window.pack();
        self.rounds.window = Some(Box::new(window));
    }

    /// Makes the figures those of the steady window, where there is one.
    ///
    /// Failures and mismatches of all rounds stay: what once went wrong went wrong.
    pub(super) fn keep_steady_window(&mut self) {
        self.end_rounds();
        let Some(mut window) = self.rounds.window.take() else { return };
        let is_before = |index: &u32| !window.trials.contains_key(index);
        let all = std::mem::take(&mut self.trials);
        window.before = all.into_iter().filter(|(index, _)| is_before(index)).collect();
        let mut series = std::mem::take(&mut self.series);
        series.retain(|index, _| window.trials.contains_key(index));
        window.series = series;
        window.errors = std::mem::take(&mut self.errors);
        window.verification = self.verification.take();
        window.rpc = self.rpc.take();
        window.syncs = std::mem::take(&mut self.syncs);
        window.failure = self.failure.take();
        window.effective = self.effective.take();
        window.file_bytes = self.file_bytes;
        *self = *window;
    }
}
