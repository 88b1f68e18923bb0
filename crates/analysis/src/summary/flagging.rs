//! Which flags the data of a cell raise: what must be known to read its figures.

use super::Machines;
use super::ticks::TICKS_MIN;
use crate::collect::{CellData, TrialTotals};
use crate::facts::flags::{
    BACKLOG_AT_END, BEHIND_SCHEDULE, CEILING_EXCEEDED, COUNT_NOT_REACHED, DATA_MISMATCH, ERRORS,
    FEW_OPERATIONS, FOREIGN_LOAD, GENERATOR_LATE, IN_FLIGHT_BELOW, IN_FLIGHT_MIN_RATIO, INCOMPLETE,
    INTERVAL_NOT_REACHED, LITTLE_LAW_VIOLATED, MIXTURE, NOT_COLD, ONE_GROUP, SHORT_RUN, STEADY_NOT_REACHED,
    STEAL, STUCK_REQUESTS, UNSTEADY, VERIFIED, WARM_UP_IN_WINDOW, WINDOW_TOO_SHORT,
};
use crate::facts::network::{passing_bytes_per_s, sustained_bytes_per_s};
use crate::facts::{CEILING_CUTS, CellSettings, ceiling_cut_of_path, foreign, offered_load, reads};
use crate::thresholds::{DELIVERED_RATIO, RAISED_RATIO};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::workload::CacheState;
use narrows_model::workload::SyncPolicy;
use narrows_model::{Cut, Nanos, Repeat};
use std::collections::HashMap;

/// Half a second, of which the time between the first completion and the last may miss a fiftieth.
const SHORT_WINDOW: Nanos = Nanos(490_000_000);
const OPERATIONS_MIN: u64 = 50;
/// A warm-up that moves the mean by less is within what steady cells repeat to.
const WARM_UP_MAX: f64 = 0.03;
const STEAL_MAX: f64 = 0.01;
/// Little's law may be exceeded by this much through rounding of times alone.
const LITTLE_TOLERANCE: f64 = 1.02;
/// From this share of a cold load's bytes at the device the load was cold: reading ahead only adds to them.
const COLD_MIN_RATIO: f64 = 0.9;
/// Above this share of its requests, a backlog reaches p99.9.
const BACKLOG_MAX_RATIO: f64 = 0.001;

/// The flags that a cell's own data raise.
pub(super) fn of_cell(data: &CellData, cell: &CellSummary, machines: &Machines<'_>) -> Vec<String> {
    let resolution = machines.client.host.clock_resolution_ns.unwrap_or(Nanos(0)).0;
    let shortest = data.trials.values().map(|trial| trial.last_done).min();
    let few_ticks = |window: Nanos| window.0 < resolution.saturating_mul(TICKS_MIN);
    let ops: u64 = data.trials.values().map(|trial| trial.op_count).sum();
    let missing = data.missing_trials();
    let whole = data.failure.is_none()
        && !missing
        && data.trials.values().chain(data.before.values()).all(|trial| trial.complete);
    let steal = super::cpu::steal_ratio(&data.deltas).is_some_and(|ratio| ratio > STEAL_MAX);
    let (little, below) = littles_law_deviation(cell);
    let rule = |rule: fn(Repeat) -> bool| rule(cell.repeat.rule) && cell.repeat.reached == Some(false);
    [
        (SHORT_RUN, shortest.is_some_and(|window| window < SHORT_WINDOW || few_ticks(window))),
        (FEW_OPERATIONS, ops < OPERATIONS_MIN),
        (ERRORS, !cell.errors.is_empty()),
        (DATA_MISMATCH, cell.verification.as_ref().is_some_and(|found| found.mismatch_count > 0)),
        (VERIFIED, cell.verification.is_some()),
        (INCOMPLETE, !whole),
        (STEAL, steal),
        (FOREIGN_LOAD, foreign::is_disturbed(cell)),
        (UNSTEADY, cell.steady == Some(false)),
        (LITTLE_LAW_VIOLATED, little),
        (IN_FLIGHT_BELOW, below),
        (ONE_GROUP, machines.sharing.one_group),
        (INTERVAL_NOT_REACHED, rule(|rule| matches!(rule, Repeat::UntilInterval { .. }))),
        (STEADY_NOT_REACHED, rule(|rule| matches!(rule, Repeat::UntilSteady { .. }))),
        (COUNT_NOT_REACHED, is_cut_short(data, cell)),
        (BEHIND_SCHEDULE, behind_schedule(cell)),
        (BACKLOG_AT_END, backlog_at_end(cell)),
        (GENERATOR_LATE, generator_late(cell)),
        (WINDOW_TOO_SHORT, cell.warm_up.is_some_and(|cut| !cut.settled)),
        (WARM_UP_IN_WINDOW, cell.warm_up.is_some_and(|cut| cut.rate_change_ratio.abs() > WARM_UP_MAX)),
        (MIXTURE, !cell.mixtures.is_empty()),
        (NOT_COLD, !is_cold(cell)),
        (STUCK_REQUESTS, stuck(cell, shortest.unwrap_or_default())),
    ]
    .into_iter()
    .filter(|(_, raised)| *raised)
    .map(|(code, _)| code.to_owned())
    .collect()
}

/// Whether time ended a trial before its counts did, other than because a cap on the rate asked for no more.
fn is_cut_short(data: &CellData, cell: &CellSummary) -> bool {
    !offered_load::is_delivered(cell) && data.trials.values().any(|trial| ended_before_count(data, trial))
}

/// Whether a trial ran for its whole time and did less than the count that was to end it.
fn ended_before_count(data: &CellData, trial: &TrialTotals) -> bool {
    let stop = &data.cell.stop;
    let block = data.cell.workload.blocks().iter().map(|share| share.block_bytes.0).max().unwrap_or(0);
    let ops = stop.ops_max.is_some_and(|most| trial.op_count < most);
    let bytes = stop.bytes_max.is_some_and(|most| trial.bytes.0.saturating_add(block) <= most.0);
    // The first of two counts ends the trial.
    let is_short =
        if stop.ops_max.is_some() && stop.bytes_max.is_some() { ops && bytes } else { ops || bytes };
    is_short && trial.complete && trial.last_done >= stop.measure_ns
}

/// Whether more, or fewer, requests were in flight than the load asked for.
///
/// Users who think are not in flight, but both together are what was asked for: where many think, the few in flight are
/// a remainder, no figure. An open loop promises no number, only a most, as does a cap that limited the rate.
fn littles_law_deviation(cell: &CellSummary) -> (bool, bool) {
    let Some(measured) = cell.in_flight.measured else { return (false, false) };
    let configured = cell.in_flight.configured as f64;
    let busy = measured + cell.in_flight.thinking.unwrap_or(0.0) + unended(cell);
    let above = measured > configured * (LITTLE_TOLERANCE + begun_before(cell));
    let is_paced = cell.offered_ops_per_s.is_some() || offered_load::is_delivered(cell);
    // The sync at a trial's end is inside its time, and nothing else is in flight then.
    let is_synced = cell.requested.sync == SyncPolicy::AtEnd;
    let below = !is_paced && !is_synced && busy < configured * IN_FLIGHT_MIN_RATIO;
    (above, below)
}

/// The most, as a share of what was asked for, by which requests that were in flight when a window began raise the mean
/// number in flight: each slot has one in a trial, whose time counts whole, and it is no longer than the longest.
fn begun_before(cell: &CellSummary) -> f64 {
    let longest =
        cell.service_ns.unwrap_or(cell.latency_ns).max.map_or(0.0, |longest| Nanos(longest).as_secs_f64());
    ratio(longest * cell.trials.len() as f64, cell.elapsed_s.last_done).unwrap_or(0.0)
}

/// The most by which requests that were in flight at the windows' ends raise the mean number in flight: without a warm-up
/// before it, a window has none at its start in exchange whose time counts though it began before.
fn unended(cell: &CellSummary) -> f64 {
    let at_end = cell.in_flight.at_end.unwrap_or_default();
    let waited_s = at_end.count as f64 * at_end.longest_in_flight_ns.as_secs_f64();
    narrows_model::units::ratio(waited_s, cell.elapsed_s.last_done).unwrap_or(0.0)
}

/// Whether a request had been in flight for longer when its window ended than any that completed, or for all of the
/// `shortest` window in which none did.
///
/// An open loop that falls behind has responses that last longer and longer: there the time from the submission is
/// compared.
fn stuck(cell: &CellSummary, shortest: Nanos) -> bool {
    let Some(at_end) = cell.in_flight.at_end.filter(|at_end| at_end.count > 0) else { return false };
    let longest = cell.service_ns.unwrap_or(cell.latency_ns).max;
    match longest {
        Some(longest) => at_end.longest_in_flight_ns.0 > longest,
        None => shortest > Nanos(0) && at_end.longest_in_flight_ns >= shortest,
    }
}

/// Whether what was to be read cold came from the device, as far as its bytes are known.
fn is_cold(cell: &CellSummary) -> bool {
    let asked = cell.requested.cache == CacheState::Cold && reads(cell.op) && !cell.requested.is_mixed();
    let carried = cell.bytes.device.filter(|_| asked);
    let share = carried.and_then(|device| ratio(device.as_f64(), cell.bytes.application.as_f64()));
    share.is_none_or(|share| share >= COLD_MIN_RATIO)
}

/// Whether an open loop's completions fell behind its schedule; without a backlog they did not.
fn behind_schedule(cell: &CellSummary) -> bool {
    let achieved = cell.open_loop.and_then(|open_loop| open_loop.achieved_ratio);
    achieved.is_some_and(|ratio| ratio < DELIVERED_RATIO)
        && cell.open_loop.is_some_and(|open_loop| open_loop.unstarted_count > 0)
}

/// Whether the load's own lateness is in enough response times to distort a reported quantile.
fn generator_late(cell: &CellSummary) -> bool {
    cell.open_loop.is_some_and(|open_loop| bends_a_quantile(open_loop.held_up_count, open_loop))
}

/// Whether the backlog at the windows' ends is large enough to distort a reported quantile.
fn backlog_at_end(cell: &CellSummary) -> bool {
    cell.open_loop.is_some_and(|open_loop| bends_a_quantile(open_loop.unstarted_count, open_loop))
}

/// Whether so many of an open loop's requests reach p99.9.
fn bends_a_quantile(count: u64, open_loop: narrows_model::summary::OpenLoopSummary) -> bool {
    count as f64 > open_loop.scheduled_count as f64 * BACKLOG_MAX_RATIO
}

/// Marks cells of the path that were faster than a cut of theirs at the same settings. The rate of a cut that was
/// limited by its cap is no ceiling.
pub(super) fn mark_exceeded_ceilings(cells: &mut [CellSummary]) {
    let is_ceiling = |cell: &&CellSummary| {
        ceiling_cut_of_path(cell.cut)
            && !offered_load::is_delivered(cell)
            && cell.rate_bytes_per_s.is_some_and(|rate| rate.0 > 0.0)
    };
    let mut cuts: HashMap<(Cut, CellSettings), Vec<usize>> = HashMap::new();
    for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| is_ceiling(cell)) {
        cuts.entry((cell.cut, CellSettings::from_cell(cell))).or_default().push(index);
    }
    let exceeds = |cell: &CellSummary| {
        let settings = CellSettings::from_cell(cell);
        let at_settings = CEILING_CUTS.iter().filter_map(|cut| cuts.get(&(*cut, settings.at(*cut))));
        at_settings
            .flatten()
            .map(|index| &cells[*index])
            .any(|cut| passing_bytes_per_s(cell, cut.cut) > sustained_bytes_per_s(cut, cell) * RAISED_RATIO)
    };
    let is_exceeding: Vec<bool> = cells.iter().map(|cell| cell.cut == Cut::Path && exceeds(cell)).collect();
    for (cell, _) in cells.iter_mut().zip(is_exceeding).filter(|(_, exceeds)| *exceeds) {
        cell.flags.push(CEILING_EXCEEDED.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, make_mix};
    use narrows_model::summary::Metric;
    use narrows_model::workload::BlockShare;
    use narrows_model::{Bytes, BytesPerSec, Op};

    #[test]
    fn a_mix_exceeds_a_stream_by_what_it_moves_in_one_direction() {
        let exceeds = |change: &dyn Fn(&mut CellSummary, f64)| {
            let mut cells = builtin("gigabit-nfs").cells;
            cells.retain(|cell| cell.id == "path/read/1MiB/qd1/c1" || cell.cut == Cut::NetworkStream);
            let of_stream = |cell: &&CellSummary| {
                cell.cut == Cut::NetworkStream && reads(cell.op) && cell.block_bytes == Bytes(1 << 20)
            };
            let stream = cells.iter().find(of_stream).unwrap().rate_bytes_per_s.unwrap().0;
            let path = cells.iter_mut().find(|cell| cell.cut == Cut::Path).unwrap();
            path.flags.clear();
            path.rate_bytes_per_s = Some(BytesPerSec(1.2 * stream));
            change(path, stream);
            mark_exceeded_ceilings(&mut cells);
            cells.iter().any(|cell| cell.flags.iter().any(|flag| flag == CEILING_EXCEEDED))
        };
        assert!(exceeds(&|_, _| {}));
        let mix_blocks = |cell: &mut CellSummary, _: f64| {
            let share = |bytes| BlockShare { block_bytes: Bytes(bytes), weight: 1.0 };
            cell.requested.block_mix = vec![share(4096), share(1 << 20)];
        };
        assert!(exceeds(&mix_blocks));
        let mix_ops = |cell: &mut CellSummary, stream: f64| {
            make_mix(cell, [(Op::Read, 0.6 * stream), (Op::Write, 0.6 * stream)]);
        };
        assert!(!exceeds(&mix_ops));
        // Half of what each of two clients moves stays on a host, where it has a server.
        let on_host = |cell: &mut CellSummary, stream: f64| {
            let stayed =
                Metric { id: "tcp_loopback_ratio".into(), value: 0.5, unit: String::new(), interval: None };
            cell.metrics.push(stayed);
            cell.rate_bytes_per_s = Some(BytesPerSec(1.9 * stream));
        };
        assert!(!exceeds(&on_host));
    }
}
