//! The figures of the buffer experiment: of each point over its whole trials.

use super::rates::summary_interval;
use crate::collect::relay::{self, RelayTrials};
use narrows_model::counters::Role;
use narrows_model::relay::{CallSizes, RelayCell, RelayPlan, RelayRoleOutput, RelaySegments, RelayTrial};
use narrows_model::summary::{Interval, RelayPointSummary, RelayRoleSummary, RelaySummary};
use narrows_model::units::ratio;
use narrows_model::{Bytes, BytesPerSec};
use narrows_stats::interval::{Level, RatioTerm, ratio_interval, student_interval};
use narrows_stats::moments::mean;

/// The figures of `plan`'s points.
pub(crate) fn summary(plan: &RelayPlan, trials: &RelayTrials) -> RelaySummary {
    RelaySummary {
        total: plan.total,
        sockets: plan.sockets,
        forward: plan.forward,
        verify: plan.verify,
        points: plan.cells.iter().map(|cell| point(plan, cell, trials.of_point(&cell.id))).collect(),
    }
}

/// The figures of `cell` from all its trials.
fn point(plan: &RelayPlan, cell: &RelayCell, trials: &[RelayTrial]) -> RelayPointSummary {
    let checked: Vec<(&RelayTrial, Option<String>)> =
        trials.iter().map(|trial| (trial, relay::problem(trial, cell, plan))).collect();
    let wholes: Vec<&RelayTrial> =
        checked.iter().filter(|(_, problem)| problem.is_none()).map(|(trial, _)| *trial).collect();
    let elapsed: Vec<f64> = wholes.iter().map(|trial| trial.elapsed_ns.as_secs_f64()).collect();
    let rates: Vec<f64> = elapsed.iter().map(|elapsed_s| plan.total.as_f64() / elapsed_s).collect();
    let roles: Vec<RelayRoleSummary> =
        relay::roles(cell).iter().filter_map(|role| role_summary(*role, &wholes)).collect();
    RelayPointSummary {
        cell: cell.id.clone(),
        sweep: cell.sweep,
        shrunk: cell.shrunk,
        buffers: cell.buffers,
        trial_count: wholes.len() as u64,
        problems: checked.iter().filter_map(|(trial, problem)| numbered(trial, problem.as_ref())).collect(),
        elapsed_s: mean(&elapsed),
        rate_mean: mean(&rates).map(BytesPerSec),
        rate_of_totals: ratio(plan.total.as_f64() * wholes.len() as f64, elapsed.iter().sum())
            .map(BytesPerSec),
        rate_of_totals_interval: totals_interval(plan, &elapsed),
        interval: student_interval(&rates, Level::P95).ok().map(summary_interval),
        coalescing_ratio: coalescing(&roles),
        roles,
    }
}

/// The interval of all bytes over all time: each trial moves as many.
fn totals_interval(plan: &RelayPlan, elapsed: &[f64]) -> Option<Interval> {
    let shares: Vec<RatioTerm> =
        elapsed.iter().map(|elapsed_s| RatioTerm { over: plan.total.as_f64(), under: *elapsed_s }).collect();
    ratio_interval(&shares, Level::P95).ok().map(summary_interval)
}

fn numbered(trial: &RelayTrial, problem: Option<&String>) -> Option<String> {
    problem.map(|problem| format!("trial {}: {problem}", trial.trial + 1))
}

/// The client's writes over the server's reads.
fn coalescing(roles: &[RelayRoleSummary]) -> Option<f64> {
    let of = |role: Role| roles.iter().find(|summary| summary.role == role);
    ratio(of(Role::Client)?.write_count, of(Role::Server)?.read_count)
}

/// What `role` did; `None` without a whole trial.
fn role_summary(role: Role, wholes: &[&RelayTrial]) -> Option<RelayRoleSummary> {
    let outputs: Vec<(&RelayTrial, &RelayRoleOutput)> =
        wholes.iter().filter_map(|trial| Some((*trial, trial.role(role)?))).collect();
    let (_, first) = outputs.first()?;
    let mean_of = |figure: fn(&RelayRoleOutput) -> f64| {
        mean(&outputs.iter().map(|(_, output)| figure(output)).collect::<Vec<f64>>())
    };
    let least = |granted: fn(&RelayRoleOutput) -> Option<Bytes>| {
        outputs.iter().filter_map(|(_, output)| granted(output)).min()
    };
    let busy: Vec<f64> = outputs.iter().filter_map(|(trial, output)| busy_ratio(trial, output)).collect();
    Some(RelayRoleSummary {
        role,
        host: first.host.clone(),
        machine: first.machine.clone(),
        elapsed_s: mean_of(|output| output.elapsed_ns.as_secs_f64())?,
        user_s: mean_of(|output| output.user_ns.as_secs_f64())?,
        system_s: mean_of(|output| output.system_ns.as_secs_f64())?,
        busy_ratio: mean(&busy)?,
        read_count: mean_of(|output| output.reads.call_count() as f64)?,
        write_count: mean_of(|output| output.writes.call_count() as f64)?,
        reads: merge_sizes(outputs.iter().map(|(_, output)| &output.reads)),
        writes: merge_sizes(outputs.iter().map(|(_, output)| &output.writes)),
        segments: segments(outputs.iter().map(|(_, output)| output.segments)),
        granted_send_buffer: least(|output| output.granted_send_buffer),
        granted_receive_buffer: least(|output| output.granted_receive_buffer),
    })
}

/// CPU time over the trial's elapsed time: what the published tables compare.
fn busy_ratio(trial: &RelayTrial, output: &RelayRoleOutput) -> Option<f64> {
    let cpu_s = output.user_ns.as_secs_f64() + output.system_ns.as_secs_f64();
    ratio(cpu_s, trial.elapsed_ns.as_secs_f64())
}

fn merge_sizes<'t>(sizes: impl Iterator<Item = &'t CallSizes>) -> CallSizes {
    let mut sum = CallSizes::default();
    for (bytes, count) in sizes.flat_map(|sizes| &sizes.by_bytes) {
        let known = sum.by_bytes.entry(*bytes).or_insert(0);
        *known = known.saturating_add(*count);
    }
    sum
}

/// Segments of all trials; `None` where one of them does not know.
fn segments(mut all: impl Iterator<Item = Option<RelaySegments>>) -> Option<RelaySegments> {
    all.try_fold(RelaySegments::default(), |sum, one| {
        let one = one?;
        Some(RelaySegments {
            data_out_count: sum.data_out_count.saturating_add(one.data_out_count),
            data_in_count: sum.data_in_count.saturating_add(one.data_in_count),
            retransmitted_count: sum.retransmitted_count.saturating_add(one.retransmitted_count),
        })
    })
}
