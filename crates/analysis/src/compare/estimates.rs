//! The figures of one cell or point that are compared, each with how far it varies.

use super::MeasuredRun;
use super::repeats::{QUANTILES, TrialRepeat};
use crate::summary::{TRIALS_MIN, laws};
use narrows_model::comparison::FigureId;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, CpuBasis, RelayPointSummary};
use narrows_model::units::ratio;
use narrows_stats::interval::{Estimate, Level, RatioTerm, ratio_interval, sectioned};
use narrows_stats::student_t;

/// A figure with how far it varies, or why that is not known.
#[derive(Debug, Clone)]
pub(super) struct EstimatedFigure {
    pub(super) id: FigureId,
    pub(super) role: Option<Role>,
    pub(super) value: f64,
    pub(super) estimate: Result<Estimate, &'static str>,
}

/// Response times beyond a quantile that make it one: a hundred (METHODS: p99 needs 100/(1 - 0.99) of them).
const BEYOND_MIN: f64 = 100.0;
/// Standard error of a response time that is anywhere in a bucket of 1 % of it.
const BUCKET_ERROR_RATIO: f64 = 0.01 / 3.464;
/// Seconds per tick of the CPU time that Linux reports for machines and processes (`USER_HZ`).
const TICK_S: f64 = 0.01;

const SHORT: &str = "too short, and fewer than three repetitions: the run does not show how much it varies";
const FEW_RESPONSES: &str = "too few requests for this quantile: at least a hundred must be beyond it";
const FEW_TRIALS: &str = "fewer than three repetitions, which do not show how much CPU time varies";
const FEW_TRIALS_OF_A_POINT: &str = "a single repetition does not show how much the rate varies";

/// The figures of a cell: the rate, the response times, the CPU of each role.
pub(super) fn of_cell(cell: &CellSummary, run: &MeasuredRun) -> Vec<EstimatedFigure> {
    let all = run.repeats.trials(&cell.id);
    // Of a load that was repeated until it was steady, the rounds before are not part of its figures.
    let trials = all.get(cell.repeat.trials_before.len()..).unwrap_or_default();
    let mut figures: Vec<EstimatedFigure> = rate(cell, run).into_iter().collect();
    let quantiles =
        [(FigureId::LatencyNsP50, cell.latency_ns.p50), (FigureId::LatencyNsP99, cell.latency_ns.p99)];
    for (index, (id, quantile)) in quantiles.into_iter().enumerate() {
        // What is only known to be at least so long is no figure.
        let Some(ns) = quantile.filter(|ns| *ns > 0 && !cell.is_at_least(*ns)) else { continue };
        let estimate = latency(index, ns as f64, trials);
        figures.push(EstimatedFigure { id, role: None, value: ns as f64, estimate });
    }
    figures.extend(cpu(cell, trials));
    figures
}

/// Whether the load moves bytes, so that its rate is reported in bytes.
fn moves_bytes(cell: &CellSummary) -> bool {
    cell.rate_bytes_per_s.is_some_and(|rate| rate.0 > 0.0)
}

fn rate(cell: &CellSummary, run: &MeasuredRun) -> Option<EstimatedFigure> {
    let (id, value) = if moves_bytes(cell) {
        (FigureId::RateBytesPerS, cell.rate_bytes_per_s?.0)
    } else {
        (FigureId::OpsPerS, cell.ops_per_s?.0)
    };
    let spread = run.rates.get(&cell.id).ok_or(SHORT);
    let estimate = spread.map(|spread| {
        Estimate {
            value,
            relative_error: spread.relative_error,
            degrees_of_freedom: spread.degrees_of_freedom,
        }
        .at_least(laws::turn_error(cell))
    });
    (value > 0.0).then_some(EstimatedFigure { id, role: None, value, estimate })
}

/// A quantile of the response time over trials where there are enough, else over the parts of the windows.
fn latency(index: usize, whole_ns: f64, trials: &[&TrialRepeat]) -> Result<Estimate, &'static str> {
    let count: u64 = trials.iter().map(|trial| trial.response_count).sum();
    let beyond = QUANTILES.get(index).map_or(0.0, |q| count as f64 * (1.0 - q));
    // 10 000 response times leave 99.999... beyond a p99.
    if beyond < BEYOND_MIN - 1e-6 {
        return Err(FEW_RESPONSES);
    }
    let of_trials = trials.iter().filter_map(|trial| trial.quantiles_ns.get(index).copied());
    let of_parts = trials.iter().flat_map(|trial| &trial.parts).filter_map(|part| part.get(index).copied());
    let parts: Vec<f64> = if trials.len() >= TRIALS_MIN { of_trials.collect() } else { of_parts.collect() };
    if parts.len() < TRIALS_MIN {
        return Err(SHORT);
    }
    let found = sectioned(whole_ns, &parts).map_err(|_| SHORT)?;
    Ok(found.at_least(BUCKET_ERROR_RATIO))
}

fn cpu(cell: &CellSummary, trials: &[&TrialRepeat]) -> Vec<EstimatedFigure> {
    let (id, moved) = if moves_bytes(cell) {
        (FigureId::CpuSPerByte, cell.rate_bytes_per_s.map(|rate| rate.0))
    } else {
        (FigureId::CpuSPerOp, cell.ops_per_s.map(|rate| rate.0))
    };
    let moved = moved.map_or(0.0, |rate| rate * cell.elapsed_s.last_done);
    let figure = |(role, cpu): (&Role, &narrows_model::summary::RoleCpu)| {
        let used_s = cpu.user_s + cpu.system_s;
        // The kernel counts CPU time in ticks: none of them is less than one, and not nothing.
        let value = ratio(used_s, moved).filter(|value| *value > 0.0)?;
        let ticks = if cpu.basis == CpuBasis::Thread { 0.0 } else { TICK_S / used_s };
        let estimate = cpu_estimate(value, (*role, cpu.basis), id, trials);
        Some(EstimatedFigure {
            id,
            role: Some(*role),
            value,
            estimate: estimate.map(|found| found.at_least(ticks)),
        })
    };
    cell.cpu.iter().filter_map(figure).collect()
}

/// CPU time over what was moved, from the trials' own.
fn cpu_estimate(
    value: f64,
    (role, basis): (Role, CpuBasis),
    id: FigureId,
    trials: &[&TrialRepeat],
) -> Result<Estimate, &'static str> {
    let share = |trial: &&TrialRepeat| {
        let over = trial.cpu.get(&role)?.on(basis)?;
        let under = if id == FigureId::CpuSPerByte { trial.bytes } else { trial.ops };
        (under > 0.0).then_some(RatioTerm { over, under })
    };
    let shares: Option<Vec<RatioTerm>> = trials.iter().map(share).collect();
    let shares = shares.filter(|shares| shares.len() >= TRIALS_MIN).ok_or(FEW_TRIALS)?;
    of_shares(value, &shares).ok_or(FEW_TRIALS)
}

/// The estimate `value` with the relative error that the shares of its trials show.
fn of_shares(value: f64, shares: &[RatioTerm]) -> Option<Estimate> {
    let interval = ratio_interval(shares, Level::P95).ok()?;
    let degrees_of_freedom = shares.len() as f64 - 1.0;
    let factor = -student_t::quantile(Level::P95.upper_tail(), degrees_of_freedom).ok()?;
    let relative_error = interval.relative_half_width()? / factor;
    Some(Estimate { value, relative_error, degrees_of_freedom })
}

/// The figures of a point of the buffer experiment: the rate of totals, the CPU of each role.
pub(super) fn of_point(point: &RelayPointSummary, run: &MeasuredRun) -> Vec<EstimatedFigure> {
    let trials = run.repeats.trials(&point.cell.0);
    let mut figures: Vec<EstimatedFigure> = point_rate(point).into_iter().collect();
    let bytes = trials.first().map_or(0.0, |trial| trial.bytes);
    for role in &point.roles {
        let Some(value) = ratio(role.user_s + role.system_s, bytes).filter(|value| *value > 0.0) else {
            continue;
        };
        let whole = trials.len() as u64 == point.trial_count;
        let on = (role.role, CpuBasis::Process);
        let estimate = cpu_estimate(value, on, FigureId::CpuSPerByte, if whole { &trials } else { &[] });
        figures.push(EstimatedFigure { id: FigureId::CpuSPerByte, role: Some(role.role), value, estimate });
    }
    figures
}

fn point_rate(point: &RelayPointSummary) -> Option<EstimatedFigure> {
    let value = point.rate_of_totals.map(|rate| rate.0).filter(|rate| *rate > 0.0)?;
    let estimate = || -> Option<Estimate> {
        let interval = point.rate_of_totals_interval.as_ref()?;
        let degrees_of_freedom = point.trial_count as f64 - 1.0;
        let tail = (1.0 - interval.level) / 2.0;
        let factor = -student_t::quantile(tail, degrees_of_freedom).ok()?;
        let half_width = (interval.high - interval.low) / 2.0;
        Some(Estimate { value, relative_error: half_width / factor / value, degrees_of_freedom })
    };
    let estimate = estimate().ok_or(FEW_TRIALS_OF_A_POINT);
    Some(EstimatedFigure { id: FigureId::RateBytesPerS, role: None, value, estimate })
}
