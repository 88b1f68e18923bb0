//! Rates of a cell with their interval, and whether they held steady.

use crate::collect::{CellData, Rate};
use narrows_model::summary::{Elapsed, Interval, TrialSummary};
use narrows_model::units::ratio;
use narrows_model::{BytesPerSec, Nanos, OpsPerSec};
use narrows_stats::interval::{Level, batch_means, student_interval};
use narrows_stats::steady::{WINDOW_ROUNDS, assess_window};
use narrows_stats::student_t;

/// Fewest repetitions whose spread says more than the spread inside them.
const TRIALS_MIN: usize = 3;
/// Batches asked of an interval series: ten lose little against more (Schmeiser 1982).
const BATCHES: usize = 10;
/// Fewest slots for an interval by batch means: two a batch, five batches.
const SLOTS_MIN: usize = 10;
/// Fewest operations in a round of the steadiness test: below, the grain of whole operations alone can break it.
const ROUND_OPS_MIN: f64 = 20.0;

/// Rates over all trials.
#[derive(Debug, Clone, Default)]
pub(super) struct Rates {
    pub elapsed: Elapsed,
    pub bytes_per_s: Option<f64>,
    pub ops_per_s: Option<f64>,
    pub in_flight: Option<f64>,
    pub trials: Vec<TrialSummary>,
}

/// The rates of all trials together: what they moved over the time to their last end.
pub(super) fn rates(data: &CellData) -> Rates {
    let seconds = |pick: fn(&crate::collect::TrialTotals) -> Nanos| -> f64 {
        data.trials.values().map(|trial| pick(trial).as_secs_f64()).sum()
    };
    let elapsed = Elapsed { first_done: seconds(|t| t.first_done), last_done: seconds(|t| t.last_done) };
    let bytes: f64 = data.trials.values().map(|trial| trial.bytes.as_f64()).sum();
    let ops: f64 = data.trials.values().map(|trial| trial.op_count as f64).sum();
    let response: f64 = data.trials.values().map(|trial| trial.response_sum_ns).sum();
    let completed = |value: f64| ratio(value, elapsed.last_done).filter(|_| ops > 0.0);
    Rates {
        bytes_per_s: completed(bytes),
        ops_per_s: completed(ops),
        in_flight: completed(response / 1e9),
        elapsed,
        trials: data.trials.values().filter_map(trial_rates).collect(),
    }
}

fn trial_rates(trial: &crate::collect::TrialTotals) -> Option<TrialSummary> {
    Some(TrialSummary {
        elapsed_s: trial.last_done.as_secs_f64(),
        rate_bytes_per_s: BytesPerSec::over(trial.bytes, trial.last_done)?,
        ops_per_s: OpsPerSec::over(trial.op_count, trial.last_done)?,
    })
}

/// The interval of the rate in bytes at 95 %: over trials where there are enough, else over one trial's series.
pub(super) fn interval(trials: &[TrialSummary], series: &[Rate]) -> Option<Interval> {
    let made = if trials.len() >= TRIALS_MIN {
        let rates: Vec<f64> = trials.iter().map(|trial| trial.rate_bytes_per_s.0).collect();
        student_interval(&rates, Level::P95).ok()
    } else if series.len() >= SLOTS_MIN {
        let rates: Vec<f64> = series.iter().map(|rate| rate.bytes_per_s).collect();
        batch_means(&rates, BATCHES.min(rates.len() / 2), Level::P95).ok().map(|means| means.interval)
    } else {
        None
    }?;
    let told = told(made);
    Some(Interval { low: told.low.max(0.0), ..told })
}

/// An interval as summaries hold it.
pub(super) fn told(made: narrows_stats::Interval) -> Interval {
    Interval {
        low: made.low,
        high: made.high,
        level: made.level.ratio(),
        method: made.method.name().to_owned(),
    }
}

/// The standard error that an interval stands for, over its middle, as if it were a normal one: too large for intervals of
/// few trials, which are wider. `None` without an interval.
pub(super) fn relative_error(interval: Option<&Interval>) -> Option<f64> {
    const NORMAL_DEGREES: f64 = 1e8;
    let interval = interval?;
    let factor = student_t::quantile(f64::midpoint(1.0, interval.level), NORMAL_DEGREES).ok()?;
    let half_width = (interval.high - interval.low) / 2.0;
    ratio(half_width / factor, f64::midpoint(interval.low, interval.high))
}

/// Whether the rate held steady over the window, cut into the rounds of the SNIA rule; `None` with too few samples
/// or rounds of too few operations.
pub(super) fn steady(series: &[Rate]) -> Option<bool> {
    let length = series.len() / WINDOW_ROUNDS;
    if length == 0 {
        return None;
    }
    let rounds = series.get(series.len() - length * WINDOW_ROUNDS..)?.chunks_exact(length);
    if rounds.clone().any(|round| round.iter().map(|rate| rate.op_count).sum::<f64>() < ROUND_OPS_MIN) {
        return None;
    }
    let mean = |round: &[Rate]| round.iter().map(|rate| rate.bytes_per_s).sum::<f64>() / length as f64;
    let means: Vec<f64> = rounds.map(mean).collect();
    assess_window(&means).ok().map(|steadiness| steadiness.is_steady())
}
