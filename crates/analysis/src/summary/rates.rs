//! Rates of a cell over all of its trials, and intervals as summaries store them.

use crate::collect::CellData;
use narrows_model::summary::{CellSummary, Elapsed, Interval, TrialSummary};
use narrows_model::units::ratio;
use narrows_model::{BytesPerSec, Nanos, OpsPerSec};
use narrows_stats::normal;

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

pub(super) fn trial_rates(trial: &crate::collect::TrialTotals) -> Option<TrialSummary> {
    Some(TrialSummary {
        elapsed_s: trial.last_done.as_secs_f64(),
        rate_bytes_per_s: BytesPerSec::over(trial.bytes, trial.last_done)?,
        ops_per_s: OpsPerSec::over(trial.op_count, trial.last_done)?,
        ended_s: trial.ended.map(Nanos::as_secs_f64),
    })
}

/// An interval as summaries store it.
pub(crate) fn summary_interval(estimate: narrows_stats::ConfidenceInterval) -> Interval {
    Interval {
        low: estimate.low,
        high: estimate.high,
        level: estimate.level.ratio(),
        method: estimate.method.name().to_owned(),
    }
}

/// The standard error that the interval of a cell's rate means, over the rate, as if it were a normal one: too large
/// for intervals of few trials, which are wider. `None` without an interval.
pub(super) fn relative_error(cell: &CellSummary) -> Option<f64> {
    let interval = cell.interval.as_ref()?;
    let factor = normal::quantile(f64::midpoint(1.0, interval.level)).ok()?;
    Some(interval.half_width_ratio(cell.rate_bytes_per_s?.0)? / factor)
}

/// Standard error of a cell's rate over the rate: that of its interval; where it was too short for one, half the range of
/// its rounds as two of them; and never less than that of the turns of its queue.
pub(crate) fn standard_error(cell: &CellSummary) -> f64 {
    let of_rounds = || cell.steadiness.map_or(0.0, |seen| seen.range_ratio / 4.0);
    relative_error(cell).unwrap_or_else(of_rounds).max(turn_error(cell))
}

/// The part of [`standard_error`] that comes from counting whole turns of a queue.
///
/// What is in flight may complete together, turn after turn. A window of x turns then counts the whole number below or
/// above x, as chance has it; the standard deviation of that is sqrt(f (1 - f)) of a turn, f the fraction of x, and half a
/// turn at most. A turn is as many operations as are in flight: depth / (2 operations), of several windows sqrt(windows)
/// times that. Without operations 0.
pub(crate) fn turn_error(cell: &CellSummary) -> f64 {
    let in_flight = cell.in_flight.measured.unwrap_or(cell.in_flight.configured as f64);
    let ops = cell.ops_per_s.map_or(0.0, |rate| rate.0 * cell.elapsed_s.last_done);
    let windows = cell.trials.len().max(1) as f64;
    ratio(in_flight * windows.sqrt() / 2.0, ops).unwrap_or(0.0)
}
