//! When a cell has been repeated often enough.
//!
//! It decides from the rates of the trials alone, as the analysis of the record does again: what was not reached when
//! the trials or the time ended shows there.

use narrows_model::event::Event;
use narrows_model::units::saturate_usize;
use narrows_model::{BytesPerSec, Cell, Repeat, Sink, SinkError, TrialOutput};
use narrows_stats::Level;
use narrows_stats::interval::student_interval;
use narrows_stats::steady::assess_window;

/// Decides after each trial whether the cell needs another.
#[derive(Debug)]
pub(crate) struct Repetition {
    repeat: Repeat,
    trials_min: u32,
    trials_max: u32,
    trial_ns: u64,
    /// Rates of the trials made so far.
    rates: Vec<f64>,
    made: u32,
}

impl Repetition {
    /// For the repetitions of `cell`, of which none has been made.
    pub(crate) fn new(cell: &Cell) -> Self {
        let trials_max = cell.trials.max(1);
        Self {
            repeat: cell.repeat,
            trials_min: cell.repeat.trials_min(trials_max),
            trials_max,
            trial_ns: cell.trial_ns().0,
            rates: Vec::new(),
            made: 0,
        }
    }

    /// The number of the next trial; `None` when there have been enough, or when `left_ns` is too short for one more
    /// than the fewest.
    pub(crate) fn next_trial(&self, left_ns: u64) -> Option<u32> {
        let must = self.made < self.trials_min;
        let may = self.made < self.trials_max && !self.is_reached() && self.trial_ns <= left_ns;
        (must || may).then_some(self.made)
    }

    /// Makes the next trial one that must be made.
    pub(crate) fn allow_one_more(&mut self) {
        self.trials_min = self.trials_min.max(self.made.saturating_add(1));
    }

    /// When the load of the next trial has to start for it, and for what must follow it, to end before `until_ns`.
    pub(crate) fn start_by_ns(&self, until_ns: u64) -> u64 {
        let must = u64::from(self.trials_min.saturating_sub(self.made).max(1));
        until_ns.saturating_sub(self.trial_ns.saturating_mul(must))
    }

    /// The most trials that can be made in `left_ns`, at least the fewest: for cells that are repeated elsewhere.
    pub(crate) fn trials_within(&self, left_ns: u64) -> u32 {
        let fit = left_ns / self.trial_ns.max(1);
        u32::try_from(fit).unwrap_or(u32::MAX).clamp(self.trials_min, self.trials_max)
    }

    /// Counts a trial that was made.
    pub(crate) fn count_trial(&mut self, rate: Option<f64>) {
        self.made += 1;
        self.rates.extend(rate);
    }

    fn is_reached(&self) -> bool {
        match self.repeat {
            Repeat::Fixed => false,
            Repeat::UntilInterval { half_width_ratio, level, .. } => {
                let interval = Level::new(level).and_then(|level| student_interval(&self.rates, level));
                interval
                    .ok()
                    .and_then(|interval| interval.relative_half_width())
                    .is_some_and(|ratio| ratio <= half_width_ratio)
            }
            Repeat::UntilSteady { window_trials } => {
                let window = saturate_usize(u64::from(window_trials));
                let Some(first) = self.rates.len().checked_sub(window) else { return false };
                assess_window(&self.rates[first..]).is_ok_and(|steadiness| steadiness.is_steady())
            }
        }
    }
}

/// Bytes per second of a whole trial over the time that its clients took, as the analysis evaluates it; `None` where
/// nothing was done.
fn rate(trial: &TrialOutput) -> Option<f64> {
    let rate = BytesPerSec::over(trial.bytes, trial.last_done_ns)?;
    (trial.op_count > 0 && trial.complete).then_some(rate.0)
}

/// Passes events on and keeps the rates of the trials among them.
pub(crate) struct RateWatch<'a> {
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) rate: Option<f64>,
}

impl Sink for RateWatch<'_> {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        if let Event::TrialFinished(trial) = event {
            self.rate = rate(trial);
        }
        self.sink.event(event)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::assignment::WindowTimes;
    use narrows_model::{CellId, Cut, Nanos, Stop, Workload};

    const SECOND: u64 = 1_000_000_000;

    fn repetition(repeat: Repeat, trials: u32) -> Repetition {
        Repetition::new(&a_cell(repeat, trials))
    }

    /// A cell of `null:` with a window of a second and no warm-up.
    pub(crate) fn a_cell(repeat: Repeat, trials: u32) -> Cell {
        Cell {
            id: CellId("cell".to_owned()),
            trials,
            repeat,
            read_only: true,
            ..Cell::new(
                Cut::Path,
                "null:".parse().unwrap(),
                Workload::default(),
                Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(SECOND), bytes_max: None, ops_max: None },
            )
        }
    }

    /// How many trials are made of a cell whose trials have these rates.
    fn made(repeat: Repeat, trials: u32, left_ns: u64, rates: &[f64]) -> u32 {
        let mut repetition = repetition(repeat, trials);
        let mut left_ns = left_ns;
        while let Some(trial) = repetition.next_trial(left_ns) {
            repetition.count_trial(rates.get(trial as usize).copied());
            left_ns = left_ns.saturating_sub(SECOND);
        }
        repetition.made
    }

    const NARROW: Repeat = Repeat::UntilInterval { half_width_ratio: 0.05, level: 0.95, trials_min: 3 };
    const STEADY: Repeat = Repeat::UntilSteady { window_trials: 5 };

    #[test]
    fn a_fixed_number_is_made_whatever_the_rates_and_the_time() {
        assert_eq!(made(Repeat::Fixed, 4, 0, &[1.0, 100.0]), 4);
    }

    #[test]
    fn equal_rates_need_the_fewest_trials() {
        assert_eq!(made(NARROW, 20, 100 * SECOND, &[100.0; 20]), 3);
        assert_eq!(made(STEADY, 25, 100 * SECOND, &[100.0; 25]), 5);
    }

    #[test]
    fn an_interval_is_closed_by_as_many_trials_as_it_takes() {
        // t(2, 0.975) = 4.303: three of 95, 100, 105 have half a width of 12 %. With alternating rates of +-5 % the
        // interval is within 5 % from seven trials on (t(6, 0.975) = 2.447, s = 5.3, sqrt(7) = 2.65: 4.9 %).
        let rates: Vec<f64> = (0..20).map(|trial| if trial % 2 == 0 { 105.0 } else { 95.0 }).collect();
        assert_eq!(made(NARROW, 20, 100 * SECOND, &rates), 7);
    }

    #[test]
    fn an_interval_that_never_closes_ends_with_the_most_trials() {
        let rates: Vec<f64> = (0..10).map(|trial| f64::from(1 + trial % 2 * 9)).collect();
        assert_eq!(made(NARROW, 10, 100 * SECOND, &rates), 10);
    }

    #[test]
    fn the_time_ends_repetitions_but_not_before_the_fewest() {
        let rates: Vec<f64> = (0..10).map(|trial| f64::from(1 + trial % 2 * 9)).collect();
        assert_eq!(made(NARROW, 10, 6 * SECOND, &rates), 6);
        assert_eq!(made(NARROW, 10, 0, &rates), 3);
    }

    #[test]
    fn rounds_end_with_the_first_steady_window() {
        // As in SNIA's example the device slows down from fresh to steady.
        let rates = [400.0, 300.0, 200.0, 150.0, 120.0, 101.0, 100.0, 99.0, 100.0, 101.0, 100.0];
        assert_eq!(made(STEADY, 25, 100 * SECOND, &rates), 10);
    }

    #[test]
    fn trials_are_evaluated_by_their_bytes_as_the_analysis_evaluates_them() {
        let times = WindowTimes { start_ns: 0, measure_from_ns: 0, measure_until_ns: SECOND };
        let cell = a_cell(NARROW, 20);
        let mut trial = crate::gather::trial_output(&cell, 0, times, &[], "host");
        trial.last_done_ns = Nanos(2 * SECOND);
        (trial.op_count, trial.bytes) = (10, narrows_model::Bytes(5000));
        assert_eq!(rate(&trial), Some(2500.0), "a mixture of sizes: 5 operations a second say nothing of it");
        trial.complete = false;
        assert_eq!(rate(&trial), None);
    }

    #[test]
    fn trials_that_did_nothing_close_no_interval() {
        assert_eq!(made(NARROW, 6, 100 * SECOND, &[]), 6);
    }

    #[test]
    fn elsewhere_as_many_trials_are_made_as_fit() {
        assert_eq!(repetition(NARROW, 10).trials_within(6 * SECOND), 6);
        assert_eq!(repetition(NARROW, 10).trials_within(0), 3);
        assert_eq!(repetition(STEADY, 10).trials_within(u64::MAX), 10);
    }
}
