//! One cell whose events are made by hand: loads, repetitions, warm-ups, mixtures.

use super::*;
use crate::facts::flags;
use crate::testing::{Grid, machine, plan};
use narrows_model::plan::StudySource;
use narrows_model::summary::{CellSummary, MixedFigure};
use narrows_model::trial::{InFlightAtEnd, IntervalSample, OpTotals, OpenLoopTotals, TrialOutput};
use narrows_model::workload::{Arrivals, OpShare};
use narrows_model::{Bytes, Cell, Cut, Histogram, Nanos, Op, Repeat};
use narrows_stats::resample::Resampler;

const SECOND: u64 = 1_000_000_000;
const BLOCK: u64 = 4096;

fn a_cell() -> Cell {
    let mut cells = plan(&machine("local-ssd"), Grid::default()).cells;
    cells.retain(|cell| cell.cut == Cut::Path && cell.workload.queue_depth == 16);
    let mut cell = cells.swap_remove(0);
    cell.workload.block_bytes = Bytes(BLOCK);
    cell.trials = 1;
    cell
}

/// A trial of ten seconds with `op_count` operations of a millisecond each.
fn trial(cell: &Cell, index: u32, op_count: u64) -> TrialOutput {
    let mut response = Histogram::new();
    response.record_n(1_000_000, op_count);
    TrialOutput {
        trial: index,
        first_done_ns: Nanos(10 * SECOND),
        last_done_ns: Nanos(10 * SECOND),
        op_count,
        bytes: Bytes(op_count * BLOCK),
        response,
        response_sum_ns: op_count * 1_000_000,
        file_bytes: Bytes(1 << 20),
        ..crate::testing::empty_trial(&cell.id)
    }
}

/// Samples of a tenth of a second with these numbers of operations.
fn samples(cell: &Cell, op_counts: impl IntoIterator<Item = u64>) -> Vec<Event> {
    let sample = |(index, op_count): (u64, u64)| {
        Event::Interval(Box::new(IntervalSample {
            cell: cell.id.clone(),
            trial: 0,
            measured: true,
            client_index: 0,
            worker_index: 0,
            start_ns: Nanos(index * SECOND / 10),
            end_ns: Nanos((index + 1) * SECOND / 10),
            op_count,
            bytes: Bytes(op_count * BLOCK),
            error_count: 0,
            response: Histogram::new(),
        }))
    };
    (0..).zip(op_counts).map(sample).collect()
}

fn summary_of(cell: &Cell, trials: Vec<TrialOutput>, samples: Vec<Event>) -> CellSummary {
    let profile = machine("local-ssd");
    let mut plan = plan(&profile, Grid::default());
    plan.cells = vec![cell.clone()];
    // Counts are asked for by studies, and are only bounds in a check.
    plan.study = Some(StudySource {
        name: "study.toml".to_owned(),
        title: None,
        text: String::new(),
        factors: Vec::new(),
    });
    let mut events = samples;
    events.extend(trials.into_iter().map(|trial| Event::TrialFinished(Box::new(trial))));
    let inventory = narrows_sim::inventory(&profile);
    let manifest = RunFacts::default();
    let summary = summarize(&Input { manifest, plan: &plan, inventory: &inventory, events: &events });
    summary.cells.into_iter().next().unwrap()
}

fn flagged(cell: &CellSummary, flag: &str) -> bool {
    cell.flags.iter().any(|known| known == flag)
}

/// Numbers of operations around a mean, a hundredth of it up or down.
fn noisy(mean: f64, draw: &mut Resampler) -> u64 {
    narrows_model::units::round_to_u64(mean * (1.0 + 0.01 * draw.normal()))
}

#[test]
fn kinds_of_a_mix_have_figures_of_their_own_that_add_up() {
    let mut cell = a_cell();
    let share = |op: Op, weight: f64| OpShare { op, weight };
    cell.workload.op_mix = vec![share(Op::Read, 3.0), share(Op::Write, 1.0)];
    let kind = |op: Op, op_count: u64, latency_ns: u64| {
        let mut response = Histogram::new();
        response.record_n(latency_ns, op_count);
        OpTotals { op, block_bytes: Bytes(BLOCK), op_count, bytes: Bytes(op_count * BLOCK), response }
    };
    let mixed = |index: u32| TrialOutput {
        by_kind: vec![kind(Op::Read, 75_000, 500_000), kind(Op::Write, 25_000, 9_000_000)],
        ..trial(&cell, index, 100_000)
    };
    let found = summary_of(&cell, vec![mixed(0), mixed(1)], Vec::new());
    let ops: Vec<f64> = found.kinds.iter().map(|kind| kind.ops_per_s.unwrap().0).collect();
    assert_eq!((ops, found.ops_per_s.unwrap().0), (vec![7_500.0, 2_500.0], 10_000.0));
    assert_eq!(found.kinds[0].op_count, 150_000);
    let medians: Vec<u64> = found.kinds.iter().map(|kind| kind.latency_ns.p50.unwrap()).collect();
    assert!(medians[0] < 510_000 && medians[1] > 8_900_000, "{medians:?}");
    assert!(found.mixtures.is_empty(), "what is mixed on purpose is no finding");
}

/// Counters around a trial in which the machine's device read so much.
fn read_by_device(bytes: u64) -> narrows_model::trial::CounterPair {
    let profile = machine("local-ssd");
    let events = narrows_sim::simulate(&profile, &plan(&profile, Grid::default())).unwrap();
    let mut pairs = events.into_iter().filter_map(|event| match event {
        Event::TrialFinished(trial) => trial.counters.into_iter().find(|pair| !pair.after.disks.is_empty()),
        _ => None,
    });
    let mut pair = pairs.next().unwrap();
    pair.before.disks[0].read_bytes = Bytes(0);
    pair.after.disks[0].read_bytes = Bytes(bytes);
    pair
}

#[test]
fn a_cold_load_that_the_device_did_not_transfer_is_flagged() {
    use narrows_model::workload::CacheState;
    let flagged = |cache: CacheState, share: f64| {
        let mut cell = a_cell();
        cell.workload.cache = cache;
        let bytes = BLOCK as f64 * 100_000.0 * share;
        let pair = read_by_device(narrows_model::units::round_to_u64(bytes));
        let trial = TrialOutput { counters: vec![pair], ..trial(&cell, 0, 100_000) };
        flagged(&summary_of(&cell, vec![trial], Vec::new()), flags::NOT_COLD)
    };
    assert!(flagged(CacheState::Cold, 0.5) && !flagged(CacheState::Cold, 0.95));
    assert!(!flagged(CacheState::Cold, 1.5), "reading ahead adds to them");
    assert!(!flagged(CacheState::AsFound, 0.5));
}

#[test]
fn an_open_loop_reports_offer_backlog_and_service_beside_response() {
    let mut cell = a_cell();
    cell.workload.arrivals = Arrivals::Poisson { ops_per_s: 20_000.0 };
    let mut service = Histogram::new();
    service.record_n(100_000, 100_000);
    let totals = OpenLoopTotals {
        scheduled_count: 200_000,
        unstarted_count: 99_000,
        held_up_count: 0,
        censored: Histogram::new(),
        service,
        service_sum_ns: 100_000 * 100_000,
    };
    let behind = TrialOutput { open_loop: Some(totals.clone()), ..trial(&cell, 0, 100_000) };
    let found = summary_of(&cell, vec![behind], Vec::new());
    assert_eq!(found.offered_ops_per_s, Some(narrows_model::OpsPerSec(20_000.0)));
    let open_loop = found.open_loop.unwrap();
    assert_eq!(
        (open_loop.scheduled_count, open_loop.unstarted_count, open_loop.achieved_ratio),
        (200_000, 99_000, Some(0.5))
    );
    assert!(flagged(&found, flags::BEHIND_SCHEDULE) && flagged(&found, flags::BACKLOG_AT_END));
    assert!(found.service_ns.unwrap().p50.unwrap() < found.latency_ns.p50.unwrap());
    // 10 000 a second x 0.1 ms: one in flight; the millisecond of response is mostly waiting for the start.
    assert!((found.in_flight.measured.unwrap() - 1.0).abs() < 1e-9);
    assert!(!flagged(&found, flags::IN_FLIGHT_BELOW), "an open loop promises no number in flight");

    cell.workload.arrivals = Arrivals::Constant { ops_per_s: 10_000.0 };
    for (unstarted_count, is_backlog) in [(0, false), (100, false), (101, true)] {
        let kept = OpenLoopTotals { scheduled_count: 100_000, unstarted_count, ..totals.clone() };
        let kept = OpenLoopTotals { held_up_count: unstarted_count, ..kept };
        let kept = TrialOutput { open_loop: Some(kept), ..trial(&cell, 0, 100_000) };
        let kept = summary_of(&cell, vec![kept], Vec::new());
        assert!(!flagged(&kept, flags::BEHIND_SCHEDULE));
        assert_eq!(flagged(&kept, flags::BACKLOG_AT_END), is_backlog, "{unstarted_count} of 100 000");
        assert_eq!(flagged(&kept, flags::GENERATOR_LATE), is_backlog, "{unstarted_count} held up of 100 000");
    }
}

#[test]
fn waits_that_never_ended_bound_the_quantiles_that_they_reach_and_no_others() {
    let mut cell = a_cell();
    cell.workload.arrivals = Arrivals::Constant { ops_per_s: 10_000.0 };
    let (mut response, mut censored) = (Histogram::new(), Histogram::new());
    response.record_n(1_000_000, 9_850);
    response.record_n(900_000_000, 50);
    censored.record_n(500_000_000, 100);
    let open_loop = OpenLoopTotals {
        scheduled_count: 10_000,
        unstarted_count: 100,
        held_up_count: 0,
        censored,
        service: Histogram::new(),
        service_sum_ns: 0,
    };
    let trial = TrialOutput { open_loop: Some(open_loop), response, ..trial(&cell, 0, 9_900) };
    let found = summary_of(&cell, vec![trial], Vec::new());
    let open_loop = found.open_loop.unwrap();
    assert_eq!(open_loop.censored_count, 100);
    // The 9900th of ten thousand is among the hundred, that one and all after it are at least what is known of them.
    let near =
        |found: Option<u64>, known: u64| found.is_some_and(|found| found.abs_diff(known) <= known / 100);
    let latency = found.latency_ns;
    assert!(
        near(latency.p90, 1_000_000) && near(latency.p99, 500_000_000) && near(latency.p999, 900_000_000)
    );
    let bounds =
        [latency.p50, latency.p90, latency.p99, latency.p999].map(|at| found.is_at_least(at.unwrap()));
    assert_eq!(bounds, [false, false, true, true]);
    assert!(near(found.response_ns_at_least(), 900_000_000), "one of the hundred may have taken longer");
}

/// In flight at a window's end: how many, for how long, and since the scheduled start.
fn at_end(count: u64, in_flight_ns: u64, response_ns: u64) -> InFlightAtEnd {
    let (longest_in_flight_ns, longest_response_ns) = (Nanos(in_flight_ns), Nanos(response_ns));
    InFlightAtEnd { count, longest_in_flight_ns, longest_response_ns }
}

#[test]
fn a_request_in_flight_for_longer_than_any_that_completed_is_flagged_and_bounds_the_largest() {
    let cell = a_cell();
    let with = |in_flight_at_end| TrialOutput { in_flight_at_end, ..trial(&cell, 0, 100_000) };
    let found = |trials| summary_of(&cell, trials, Vec::new());
    let stuck = found(vec![with(Some(at_end(16, 2_300_000_000, 2_300_000_000)))]);
    assert!(flagged(&stuck, flags::STUCK_REQUESTS));
    assert_eq!(stuck.response_ns_at_least(), Some(2_300_000_000));
    assert_eq!(stuck.in_flight.at_end, Some(at_end(16, 2_300_000_000, 2_300_000_000)));
    assert!(stuck.latency_ns.max.unwrap() < 1_010_000, "what was measured stays what was measured");
    // As old as completed requests take, none in flight, or a record without the figure.
    for young in [Some(at_end(16, 990_000, 990_000)), Some(at_end(0, 0, 0)), None] {
        let healthy = found(vec![with(young)]);
        assert!(!flagged(&healthy, flags::STUCK_REQUESTS), "{young:?}");
        assert_eq!(healthy.response_ns_at_least(), None);
    }
    let later = TrialOutput { trial: 1, ..with(Some(at_end(2, 40_000_000, 40_000_000))) };
    let both = found(vec![with(Some(at_end(1, 900_000, 900_000))), later]);
    assert_eq!(both.in_flight.at_end, Some(at_end(3, 40_000_000, 40_000_000)));
}

#[test]
fn a_queue_that_grows_in_front_of_an_open_loop_is_no_stuck_request() {
    let mut cell = a_cell();
    cell.workload.arrivals = Arrivals::Constant { ops_per_s: 20_000.0 };
    let mut service = Histogram::new();
    service.record_n(100_000, 100_000);
    let open_loop = OpenLoopTotals {
        scheduled_count: 200_000,
        unstarted_count: 99_000,
        held_up_count: 0,
        censored: Histogram::new(),
        service,
        service_sum_ns: 1,
    };
    let with = |in_flight_ns, response_ns| {
        let in_flight_at_end = Some(at_end(1, in_flight_ns, response_ns));
        let open_loop = Some(open_loop.clone());
        let trial = TrialOutput { open_loop, in_flight_at_end, ..trial(&cell, 0, 100_000) };
        summary_of(&cell, vec![trial], Vec::new())
    };
    // The next in the queue waited a little longer than the last that completed; its own time is as short as theirs.
    let growing = with(90_000, 1_100_000);
    assert!(!flagged(&growing, flags::STUCK_REQUESTS));
    assert_eq!(growing.response_ns_at_least(), Some(1_100_000));
    assert!(flagged(&with(700_000_000, 701_000_000), flags::STUCK_REQUESTS));
}

#[test]
fn a_window_in_which_nothing_completed_is_stuck_if_it_lasted_and_not_if_it_never_began() {
    let cell = a_cell();
    let with = |last_done_ns, left: InFlightAtEnd| {
        let trial = TrialOutput {
            last_done_ns: Nanos(last_done_ns),
            ended_ns: None,
            complete: false,
            in_flight_at_end: Some(left),
            ..trial(&cell, 0, 0)
        };
        flagged(&summary_of(&cell, vec![trial], Vec::new()), flags::STUCK_REQUESTS)
    };
    assert!(with(SECOND, at_end(1, 1_300_000_000, 1_300_000_000)));
    assert!(!with(0, at_end(1, 80_000, 80_000)), "stopped in its warm-up");
}

#[test]
fn what_thinks_is_not_missing_in_flight() {
    let mut cell = a_cell();
    // 16 places, 1 ms of response: with 1 ms of thought half of them are in flight, 8 000 a second.
    let with = |cell: &Cell| summary_of(cell, vec![trial(cell, 0, 80_000)], Vec::new());
    assert!(flagged(&with(&cell), flags::IN_FLIGHT_BELOW));
    cell.workload.think_ns = Nanos(1_000_000);
    let found = with(&cell);
    assert!(!flagged(&found, flags::IN_FLIGHT_BELOW), "{:?}", found.in_flight);
    let sum = found.in_flight.measured.unwrap() + found.in_flight.thinking.unwrap();
    assert!((sum - 16.0).abs() < 1e-6, "N = X (R + Z): {sum}");
}

#[test]
fn what_was_in_flight_at_the_end_of_a_short_window_is_not_missing_in_it() {
    let cell = a_cell();
    // 14 of 16 places were in flight for all of ten seconds by what completed.
    let with = |left| {
        let trial = TrialOutput { in_flight_at_end: Some(left), ..trial(&cell, 0, 140_000) };
        flagged(&summary_of(&cell, vec![trial], Vec::new()), flags::IN_FLIGHT_BELOW)
    };
    assert!(with(at_end(0, 0, 0)) && with(at_end(16, 100_000_000, 100_000_000)));
    assert!(!with(at_end(2, 5_000_000_000, 5_000_000_000)), "one more for all of the time");
}

#[test]
fn a_sync_at_the_end_is_time_in_which_no_requests_are_missing() {
    let mut cell = a_cell();
    let with = |cell: &Cell| summary_of(cell, vec![trial(cell, 0, 80_000)], Vec::new());
    assert!(flagged(&with(&cell), flags::IN_FLIGHT_BELOW));
    cell.workload.sync = narrows_model::workload::SyncPolicy::AtEnd;
    assert!(!flagged(&with(&cell), flags::IN_FLIGHT_BELOW));
}

#[test]
fn few_in_flight_of_many_that_think_are_no_figure() {
    let mut cell = a_cell();
    // 16 places, 1 ms of response and 30 ms of thought: 5 161 turns in ten seconds, fewer for each start a little late.
    cell.workload.think_ns = Nanos(30_000_000);
    let with = |op_count| summary_of(&cell, vec![trial(&cell, 0, op_count)], Vec::new());
    assert!(!flagged(&with(5_000), flags::IN_FLIGHT_BELOW), "{:?}", with(5_000).in_flight);
    assert!(flagged(&with(4_000), flags::IN_FLIGHT_BELOW), "places that neither think nor are in flight");
}

#[test]
fn a_cap_that_limits_the_rate_leaves_few_in_flight_as_was_meant() {
    let mut cell = a_cell();
    cell.workload.max_ops_per_s = Some(100.0);
    let with = |op_count| summary_of(&cell, vec![trial(&cell, 0, op_count)], Vec::new());
    assert!(!flagged(&with(1_000), flags::IN_FLIGHT_BELOW), "{:?}", with(1_000).in_flight);
    assert!(flagged(&with(500), flags::IN_FLIGHT_BELOW), "neither the cap nor the depth was reached");
}

#[test]
fn a_window_of_half_a_second_is_not_short_for_its_last_completion() {
    let cell = a_cell();
    let lasting = |last_done_ns| {
        let whole = TrialOutput { last_done_ns: Nanos(last_done_ns), ..trial(&cell, 0, 1000) };
        flagged(&summary_of(&cell, vec![whole], Vec::new()), flags::SHORT_RUN)
    };
    assert!(!lasting(499_900_000));
    assert!(lasting(400_000_000));
}

#[test]
fn repetitions_that_miss_their_aim_are_flagged_and_those_that_reach_it_are_whole() {
    let mut cell = a_cell();
    cell.trials = 10;
    let rule = |half_width_ratio: f64| Repeat::UntilInterval { half_width_ratio, level: 0.95, trials_min: 3 };
    let trials = |cell: &Cell, counts: &[u64]| -> Vec<TrialOutput> {
        (0..).zip(counts).map(|(index, count)| trial(cell, index, *count)).collect()
    };
    let close = [160_000, 160_500, 159_500, 160_200];
    cell.repeat = rule(0.01);
    let reached = summary_of(&cell, trials(&cell, &close), Vec::new());
    assert_eq!((reached.repeat.reached, reached.repeat.trial_count), (Some(true), 4));
    assert!(!flagged(&reached, flags::INTERVAL_NOT_REACHED) && !flagged(&reached, flags::INCOMPLETE));
    cell.repeat = rule(0.001);
    let missed = summary_of(&cell, trials(&cell, &close), Vec::new());
    assert!(flagged(&missed, flags::INTERVAL_NOT_REACHED));
    // SciPy: t(0.975, 3) * std / sqrt(4) / mean.
    assert!((missed.repeat.half_width_ratio.unwrap() - 0.004_178_811).abs() < 1e-8, "{:?}", missed.repeat);

    cell.repeat = Repeat::UntilSteady { window_trials: 5 };
    let rising = [100_000, 110_000, 120_000, 130_000, 140_000, 150_000];
    let drifting = summary_of(&cell, trials(&cell, &rising), Vec::new());
    assert!(flagged(&drifting, flags::STEADY_NOT_REACHED) && drifting.steady == Some(false));
    let level = [100_000, 150_000, 160_000, 161_000, 159_000, 160_500, 160_000];
    let steady = summary_of(&cell, trials(&cell, &level), Vec::new());
    assert_eq!((steady.repeat.reached, steady.steady), (Some(true), Some(true)));
    assert!(steady.steadiness.is_some_and(|found| found.of_trials && found.round_count == 5));
}

#[test]
fn a_warm_up_in_the_window_is_cut_off_the_interval_and_reported() {
    let cell = a_cell();
    let mut draw = Resampler::new(5);
    let counts: Vec<u64> =
        (0..200).map(|index| noisy(if index < 30 { 800.0 } else { 1_600.0 }, &mut draw)).collect();
    let found = summary_of(&cell, vec![trial(&cell, 0, counts.iter().sum())], samples(&cell, counts));
    let cut = found.warm_up.unwrap();
    // Never less than the warm-up; noise may put the least score later.
    assert!((3.0..8.0).contains(&cut.dropped_s) && cut.settled, "{cut:?}");
    assert!((cut.rate_change_ratio - 0.08).abs() < 0.02, "{cut:?}");
    assert!(flagged(&found, flags::WARM_UP_IN_WINDOW) && !flagged(&found, flags::WINDOW_TOO_SHORT));
    let settled = cut.kept_s + cut.dropped_s;
    assert!((settled - 20.0).abs() < 0.11 && found.steady == Some(true));
}

#[test]
fn a_target_that_stands_still_in_the_window_is_not_steady() {
    let cell = a_cell();
    let op_counts = || (0..40).map(|slot| if slot < 10 { 100 } else { 0 });
    let summary = summary_of(&cell, vec![trial(&cell, 0, 1000)], samples(&cell, op_counts()));
    assert_eq!(summary.steady, Some(false));
    assert!(flagged(&summary, flags::UNSTEADY), "{:?}", summary.flags);
    let few = samples(&cell, op_counts().map(|count| count / 20));
    assert_eq!(summary_of(&cell, vec![trial(&cell, 0, 50)], few).steady, None, "the grain of 50 operations");
}

#[test]
fn a_window_that_only_rises_is_too_short_and_an_even_one_is_not() {
    let cell = a_cell();
    let mut draw = Resampler::new(6);
    let rising: Vec<u64> = (0..150).map(|index| noisy(500.0 + 10.0 * f64::from(index), &mut draw)).collect();
    let found = summary_of(&cell, vec![trial(&cell, 0, rising.iter().sum())], samples(&cell, rising));
    assert!(flagged(&found, flags::WINDOW_TOO_SHORT) && found.steady == Some(false));
    let even: Vec<u64> = (0..150).map(|_| noisy(1_600.0, &mut draw)).collect();
    let found = summary_of(&cell, vec![trial(&cell, 0, even.iter().sum())], samples(&cell, even));
    assert!(!flagged(&found, flags::WINDOW_TOO_SHORT) && !flagged(&found, flags::MIXTURE));
    // The trial is one of ten seconds, whatever its samples cover.
    let (interval, rate) = (found.interval.unwrap(), 24_000.0 * 4096.0);
    assert!((interval.high / rate - 1.0).abs() < 0.01, "{interval:?}");
    assert!((interval.high - interval.low) / rate < 0.02, "{interval:?}");
}

#[test]
fn a_rate_of_two_levels_is_a_mixture_with_both_of_them() {
    let cell = a_cell();
    let mut draw = Resampler::new(7);
    let counts: Vec<u64> =
        (0..100).map(|index| noisy(if index / 10 % 2 == 0 { 1_600.0 } else { 1_000.0 }, &mut draw)).collect();
    let found = summary_of(&cell, vec![trial(&cell, 0, counts.iter().sum())], samples(&cell, counts));
    assert!(flagged(&found, flags::MIXTURE));
    let mixture = found.mixtures.iter().find(|m| m.figure == MixedFigure::RateBytesPerS).unwrap();
    let centres: Vec<f64> = mixture.modes.iter().map(|mode| mode.centre / BLOCK as f64).collect();
    assert!(centres.len() == 2 && (centres[0] / 10_000.0 - 1.0).abs() < 0.03, "{centres:?}");
    assert!((centres[1] / 16_000.0 - 1.0).abs() < 0.03 && mixture.p_value <= 0.01, "{mixture:?}");
}

mod commits;
mod means;
mod rounds;
