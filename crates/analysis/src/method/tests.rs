//! Ceilings and shares of a time on cells of simulated machines, at their thresholds.

use super::*;
use crate::facts::time_per_op_s;
use crate::testing::builtin;
use crate::text;
use crate::verdict::{Basis, Stance};
use crate::view::CutCeiling;
use narrows_model::counters::Role;

const SHOWN: EvidenceSource<'static> = EvidenceSource { counter: "a counter", command: "" };

fn single(summary: &narrows_model::Summary) -> &CellSummary {
    summary.cells.iter().find(|cell| cell.id == "path/read/4KiB/qd1/c1").expect("the grid has this cell")
}

#[test]
fn half_of_the_time_dominates_and_less_does_not() {
    let summary = builtin("wan-10ms");
    let cell = single(&summary);
    let whole_s = time_per_op_s(cell).unwrap();
    let evaluated = |part: f64| time_share(Segment::Device, cell, whole_s * part, "part", SHOWN);
    assert_eq!(evaluated(0.51).unwrap().stance, Stance::Limits);
    assert_eq!(evaluated(0.49).unwrap().stance, Stance::Clears);
}

#[test]
fn a_part_far_above_the_whole_evaluates_nothing() {
    let summary = builtin("wan-10ms");
    let cell = single(&summary);
    assert_eq!(time_share(Segment::Device, cell, 1.0, "part", SHOWN), None);
}

#[test]
fn a_cut_that_a_quota_slowed_blames_nothing_and_still_clears() {
    let summary = builtin("ten-gigabit-nfs");
    let mut cut = summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd16/c1").unwrap().clone();
    let elapsed_s = cut.elapsed_s.last_done;
    let convicted = |cut: &CellSummary, stance: Stance| {
        let ceiling = CutCeiling { cell: cut, bytes_per_s: 1.0, same_settings: true, raised: false };
        let verdict =
            SegmentVerdict::new(Segment::NetworkBandwidth, &cut.id, stance, Basis::Utilisation, 1.0);
        unless_cut_was_limited(verdict, ceiling).is_some()
    };
    let server = cut.cpu.get_mut(&Role::Server).unwrap();
    // Periods of 100 ms in a window of 0.8 s: what is full reads as 0.88.
    (server.busy_ratio, server.throttled_s, server.throttled_period_ratio) = (0.88, None, Some(0.4));
    assert!(convicted(&cut, Stance::Limits));
    cut.cpu.get_mut(&Role::Server).unwrap().throttled_s = Some(elapsed_s * 0.3);
    assert!(!convicted(&cut, Stance::Limits) && convicted(&cut, Stance::Clears));
    // In debt from before the window: little used, and the quota out from period to period.
    let server = cut.cpu.get_mut(&Role::Server).unwrap();
    (server.busy_ratio, server.throttled_s) = (0.10, Some(0.0));
    assert!(convicted(&cut, Stance::Limits));
    cut.cpu.get_mut(&Role::Server).unwrap().throttled_period_ratio = Some(0.5);
    assert!(!convicted(&cut, Stance::Limits));
}

#[test]
fn a_path_that_exceeds_its_cut_by_less_than_a_turn_of_their_queues_still_blames() {
    let summary = builtin("ten-gigabit-nfs");
    let mut cell = summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd16/c1").unwrap().clone();
    (cell.interval, cell.steadiness, cell.in_flight.measured) = (None, None, Some(8.0));
    cell.trials.truncate(1);
    let bytes_per_s = cell.rate_bytes_per_s.unwrap().0 / 1.08;
    let mut evaluated = |ops: f64| {
        cell.elapsed_s.last_done = ops / cell.ops_per_s.unwrap().0;
        let ceiling = CutCeiling { cell: &cell, bytes_per_s, same_settings: true, raised: false };
        evaluate_cell_rate(Segment::DeviceBandwidth, &cell, ceiling, text::storage_rate, SHOWN)
    };
    // Ten turns: sqrt(2) x 8 / 80 = 0.14; a thousand: 0.0014.
    assert_eq!(evaluated(80.0).unwrap().stance, Stance::Limits);
    assert_eq!(evaluated(8_000.0), None);
}

#[test]
fn a_cut_that_spread_more_than_the_path_exceeds_it_still_blames() {
    use narrows_model::summary::Steadiness;
    let summary = builtin("ten-gigabit-nfs");
    let mut cell = summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd16/c1").unwrap().clone();
    let mut cut = cell.clone();
    let bytes_per_s = cell.rate_bytes_per_s.unwrap().0 / 1.10;
    let mut evaluated = |range_ratio: f64| {
        let rounds = Steadiness { round_count: 5, of_trials: false, range_ratio, drift_ratio: 0.0 };
        (cell.interval, cut.interval, cut.steadiness) = (None, None, Some(rounds));
        cell.steadiness = Some(Steadiness { range_ratio: 0.02, ..rounds });
        let ceiling = CutCeiling { cell: &cut, bytes_per_s, same_settings: true, raised: false };
        evaluate_cell_rate(Segment::DeviceIops, &cell, ceiling, text::storage_rate, SHOWN)
    };
    assert_eq!(evaluated(0.21).unwrap().stance, Stance::Limits);
    assert_eq!(evaluated(0.05), None);
}

#[test]
fn an_open_loop_is_at_its_depth_only_with_nine_tenths_of_it_in_flight() {
    let summary = builtin("wan-10ms");
    let mut cell = single(&summary).clone();
    cell.offered_ops_per_s = cell.ops_per_s.map(|rate| narrows_model::OpsPerSec(rate.0 * 2.0));
    let mut at = |measured| {
        cell.in_flight.measured = measured;
        reached_depth(&cell)
    };
    assert_eq!(
        [at(Some(0.14)), at(Some(0.89)), at(Some(0.91)), at(None)],
        [Some(false), Some(false), Some(true), None]
    );
}

#[test]
fn a_trial_that_mostly_syncs_at_its_end_is_not_at_its_depth() {
    let summary = builtin("wan-10ms");
    let mut cell = single(&summary).clone();
    cell.requested.sync = SyncPolicy::AtEnd;
    let mut at = |measured| {
        cell.in_flight.measured = Some(measured);
        reached_depth(&cell)
    };
    assert_eq!([at(0.18), at(0.95)], [Some(false), Some(true)]);
}

#[test]
fn a_ceiling_far_below_the_path_evaluates_nothing() {
    let summary = builtin("ten-gigabit-nfs");
    let cell = summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd16/c1").unwrap();
    let ceiling = CutCeiling {
        cell,
        bytes_per_s: cell.rate_bytes_per_s.unwrap().0 / 2.0,
        same_settings: true,
        raised: false,
    };
    let evaluated = evaluate_cell_rate(Segment::DeviceBandwidth, cell, ceiling, text::storage_rate, SHOWN);
    assert_eq!(evaluated, None);
}
