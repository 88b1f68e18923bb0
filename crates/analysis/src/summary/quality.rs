//! How far a cell's rate can be relied on: its warm-up, its steadiness, its interval.

use super::rates::summary_interval;
use super::repeat;
use crate::collect::{CellData, Series, SlotRate, TrialTotals};
use narrows_model::Repeat;
use narrows_model::summary::{Interval, Steadiness, WarmUpCut};
use narrows_stats::interval::{
    IntervalMethod, Level, RatioTerm, batch_means, block_bootstrap, optimal_block_len, ratio_interval,
    uncorrelated_batch_means,
};
use narrows_stats::mser::{WarmUpVerdict, mser5};
use narrows_stats::resample::BootstrapPlan;
use narrows_stats::steady::{self, WINDOW_ROUNDS, assess_window};

/// Fewest repetitions whose spread says more than the spread inside them.
pub(crate) const TRIALS_MIN: usize = 3;
/// Fewest slots for an interval over one window.
const SLOTS_MIN: usize = 10;
/// Fewest operations in a round of the steadiness test, on average: below, the grain of whole operations alone can break
/// it. A round without any among busy ones is a target that stalled.
const ROUND_OPS_MIN: f64 = 20.0;
/// Resamples of an interval: 500 know its ends to about a twentieth of its width, in time for ten thousand cells.
const RESAMPLES: usize = 500;

/// The rates over time of one trial, and what of them is settled.
#[derive(Debug, Clone)]
pub(super) struct RateWindow {
    rates: Vec<SlotRate>,
    slot_s: f64,
    dropped_count: usize,
    verdict: WarmUpVerdict,
}

impl RateWindow {
    fn new(series: &Series) -> Self {
        let rates = series.rates();
        let bytes: Vec<f64> = rates.iter().map(|rate| rate.bytes_per_s).collect();
        let cut = mser5(&bytes).ok();
        let settled = cut.as_ref().map_or(rates.len(), |cut| cut.settled(&bytes).len());
        Self {
            dropped_count: rates.len() - settled,
            verdict: cut.map_or(WarmUpVerdict::TooFewBatches, |cut| cut.verdict),
            slot_s: series.slot_s(),
            rates,
        }
    }

    /// The rates after the warm-up.
    pub(super) fn settled(&self) -> &[SlotRate] {
        self.rates.get(self.dropped_count..).unwrap_or(&[])
    }
}

/// The windows of all trials of a cell, in their order.
pub(super) fn windows(data: &CellData) -> Vec<RateWindow> {
    data.series.values().map(RateWindow::new).collect()
}

/// What was cut off the windows; `None` where all are too short to decide.
pub(super) fn warm_up(windows: &[RateWindow]) -> Option<WarmUpCut> {
    let usable: Vec<&RateWindow> =
        windows.iter().filter(|window| window.verdict != WarmUpVerdict::TooFewBatches).collect();
    let seconds = |count: fn(&RateWindow) -> usize| -> f64 {
        usable.iter().map(|window| count(window) as f64 * window.slot_s).sum()
    };
    let all = mean(usable.iter().flat_map(|window| &window.rates))?;
    let kept = mean(usable.iter().flat_map(|window| window.settled()))?;
    Some(WarmUpCut {
        dropped_s: seconds(|window| window.dropped_count),
        kept_s: seconds(|window| window.settled().len()),
        rate_change_ratio: narrows_model::units::ratio(kept - all, all)?,
        settled: usable.iter().all(|window| window.verdict == WarmUpVerdict::Settled),
    })
}

fn mean<'r>(rates: impl Iterator<Item = &'r SlotRate>) -> Option<f64> {
    let (count, sum) = rates.fold((0_u32, 0.0), |(count, sum), rate| (count + 1, sum + rate.bytes_per_s));
    narrows_model::units::ratio(sum, f64::from(count))
}

/// How steady the rate was by the SNIA rule: over the last trials where there are as many as it asks for, else over the
/// windows, of which the least steady counts; `None` with too few samples or rounds of too few operations.
///
/// # Source
/// SNIA SSS-PTS 2.0.2, 2.1.24, both conditions; see [`assess_window`].
pub(super) fn steadiness(data: &CellData, windows: &[RateWindow]) -> Option<Steadiness> {
    let rounds = match data.cell.repeat {
        Repeat::UntilSteady { window_trials } => window_trials,
        Repeat::Fixed | Repeat::UntilInterval { .. } => u32::try_from(WINDOW_ROUNDS).unwrap_or(u32::MAX),
    };
    if let Some(found) = repeat::last_rounds(&repeat::whole_rates(data), rounds) {
        return Some(of_rounds(&found, u64::from(rounds), true));
    }
    let strain = |found: &steady::WindowSteadiness| {
        (found.range_ratio / steady::RANGE_LIMIT_RATIO).max(found.drift_ratio / steady::DRIFT_LIMIT_RATIO)
    };
    let found: Option<Vec<_>> = windows.iter().map(of_window).collect();
    let worst = found?.into_iter().max_by(|a, b| strain(a).total_cmp(&strain(b)))?;
    Some(of_rounds(&worst, WINDOW_ROUNDS as u64, false))
}

fn of_rounds(found: &steady::WindowSteadiness, round_count: u64, of_trials: bool) -> Steadiness {
    Steadiness { round_count, of_trials, range_ratio: found.range_ratio, drift_ratio: found.drift_ratio }
}

/// Whether both conditions of the rule are met.
pub(super) fn is_steady(found: &Steadiness) -> bool {
    steady::WindowSteadiness { range_ratio: found.range_ratio, drift_ratio: found.drift_ratio }.is_steady()
}

/// The settled part of a window cut into the rounds of the rule.
fn of_window(window: &RateWindow) -> Option<steady::WindowSteadiness> {
    let series = window.settled();
    let length = series.len() / WINDOW_ROUNDS;
    if length == 0 {
        return None;
    }
    let rounds = series.get(series.len() - length * WINDOW_ROUNDS..)?.chunks_exact(length);
    let op_count: f64 = rounds.clone().flatten().map(|rate| rate.op_count).sum();
    if op_count < ROUND_OPS_MIN * WINDOW_ROUNDS as f64 {
        return None;
    }
    let mean = |round: &[SlotRate]| round.iter().map(|rate| rate.bytes_per_s).sum::<f64>() / length as f64;
    assess_window(&rounds.map(mean).collect::<Vec<f64>>()).ok()
}

/// The interval at 95 % around `rate`, the cell's rate in bytes: over trials where there are enough, else over the whole
/// windows, of two ways to make it the wider.
///
/// It comes from the same data as the rate, and is around it: slots show how much a rate varies, not what it is, since
/// the torn ends of a window are no slots.
pub(super) fn interval(data: &CellData, rate: f64, windows: &[RateWindow], seed: u64) -> Option<Interval> {
    let estimate = if data.trials.len() >= TRIALS_MIN {
        let shares = data.trials.values().map(TrialTotals::share).filter(|share| share.under > 0.0);
        let shares: Vec<RatioTerm> = shares.collect();
        // Trials as long as one another give the mean of their rates, and Student's own interval of it.
        ratio_interval(&shares, Level::P95).ok().map(|estimate| narrows_stats::ConfidenceInterval {
            method: IntervalMethod::StudentT,
            ..estimate
        })
    } else {
        over_windows(windows, |rate| rate.bytes_per_s, seed).map(|estimate| estimate.interval)
    }?;
    let half_width = estimate.relative_half_width()? * rate;
    Some(Interval {
        low: (rate - half_width).max(0.0),
        high: rate + half_width,
        ..summary_interval(estimate)
    })
}

/// An interval of a mean, and the degrees of freedom by which it is as wide as it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeanInterval {
    pub(super) interval: narrows_stats::ConfidenceInterval,
    pub(super) degrees_of_freedom: f64,
}

/// The interval of the mean of `figure` over the whole windows.
pub(super) fn over_windows(
    windows: &[RateWindow],
    figure: fn(&SlotRate) -> f64,
    seed: u64,
) -> Option<MeanInterval> {
    let all = windows.iter().flat_map(|window| &window.rates);
    over_series(&all.map(figure).collect::<Vec<f64>>(), seed)
}

/// Batch means where a number of batches is uncorrelated, and resampled blocks: the wider, because both are too narrow
/// for a series that is short against its correlation, and seldom both by the same chance.
fn over_series(series: &[f64], seed: u64) -> Option<MeanInterval> {
    if series.len() < SLOTS_MIN {
        return None;
    }
    let batches = match uncorrelated_batch_means(series, Level::P95) {
        Ok(found) => found,
        // Too few for ten batches of two: as many batches of two as there are.
        Err(_) => batch_means(series, series.len() / 2, Level::P95).ok(),
    };
    let batches = batches.map(|means| MeanInterval {
        interval: means.interval,
        degrees_of_freedom: means.batch_count as f64 - 1.0,
    });
    let plan = BootstrapPlan { resample_count: RESAMPLES, ..BootstrapPlan::with_seed(seed) };
    let blocks = block_bootstrap(series, plan).ok().map(|interval| {
        let block_len = optimal_block_len(series).map_or(1.0, f64::ceil);
        MeanInterval { interval, degrees_of_freedom: (series.len() as f64 / block_len - 1.0).max(1.0) }
    });
    let half_width = |estimate: &MeanInterval| estimate.interval.half_width();
    [batches, blocks].into_iter().flatten().max_by(|a, b| half_width(a).total_cmp(&half_width(b)))
}
