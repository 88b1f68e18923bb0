//! How far the rate of each cell varies, for who compares it with that of another run.
//!
//! Not here: the rates themselves, which are the summary's, and any ratio of two of them.

use super::Summarizer;
use super::quality::{self, MeanInterval, TRIALS_MIN};
use crate::collect::{CellData, SlotRate, TrialTotals};
use narrows_model::Summary;
use narrows_stats::interval::{Level, RatioTerm, ratio_interval};
use narrows_stats::student_t;
use std::collections::BTreeMap;

/// How far a rate varies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateSpread {
    /// Standard error over the rate.
    pub(crate) relative_error: f64,
    /// Degrees of freedom of it.
    pub(crate) degrees_of_freedom: f64,
}

impl Summarizer<'_> {
    /// The summary as [`Summarizer::finish`] makes it, and how far the rates of its cells vary.
    pub(crate) fn finish_with_spreads(mut self) -> (Summary, BTreeMap<String, RateSpread>) {
        self.collected.close();
        let spreads = self.rate_spreads();
        (self.finish(), spreads)
    }

    /// The spread of every cell that shows one, by the cell's name: over trials where there are enough, else over
    /// the windows.
    fn rate_spreads(&self) -> BTreeMap<String, RateSpread> {
        let seed = self.plan.seed;
        let measured = self.collected.cells.iter().filter(|data| data.measured());
        measured.filter_map(|data| Some((data.cell.id.0.clone(), spread(data, seed)?))).collect()
    }
}

fn spread(data: &CellData, seed: u64) -> Option<RateSpread> {
    let trials = || data.trials.values();
    let moves_bytes = trials().any(|trial| trial.bytes.0 > 0);
    if data.trials.len() >= TRIALS_MIN {
        let moved = |trial: &TrialTotals| {
            if moves_bytes { trial.bytes.as_f64() } else { trial.op_count as f64 }
        };
        let shares: Vec<RatioTerm> = trials()
            .map(|trial| RatioTerm { over: moved(trial), under: trial.last_done.as_secs_f64() })
            .collect();
        let interval = ratio_interval(&shares, Level::P95).ok()?;
        let degrees_of_freedom = data.trials.len() as f64 - 1.0;
        return of_interval(MeanInterval { interval, degrees_of_freedom });
    }
    let figure: fn(&SlotRate) -> f64 =
        if moves_bytes { |rate| rate.bytes_per_s } else { |rate| rate.op_count };
    of_interval(quality::over_windows(&quality::windows(data), figure, seed)?)
}

/// The standard error behind an interval, over its middle; `None` around 0.
fn of_interval(estimate: MeanInterval) -> Option<RateSpread> {
    let MeanInterval { interval, degrees_of_freedom } = estimate;
    let factor = -student_t::quantile(interval.level.upper_tail(), degrees_of_freedom).ok()?;
    Some(RateSpread { relative_error: interval.relative_half_width()? / factor, degrees_of_freedom })
}
