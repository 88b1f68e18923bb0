//! Curves, laws and shared stages of simulated machines. Not here: the fits by themselves, which are tested in `stats`.

use super::Curve;
use crate::testing::scaled::{ScaledLoad, scaled};
use crate::testing::{builtin, machine};
use narrows_model::summary::{SaturationState, Scaling, SharedStage, SharedStageState};
use narrows_model::{Bytes, BytesPerSec, Segment};

fn scaling(name: &str, load: ScaledLoad<'_>) -> Scaling {
    scaled(&machine(name), load).scaling.unwrap()
}

#[test]
fn a_wire_that_one_client_fills_is_full_with_one_client() {
    let load =
        ScaledLoad { clients: &[1, 2, 3, 4, 6, 8], depth: 4, block_bytes: 65_536, ..ScaledLoad::default() };
    let found = scaling("hundred-megabit", load);
    assert_eq!(found.shared_stage.state, SharedStageState::FullWithOneClient, "{found:#?}");
    assert_eq!(found.shared_stage.full[0].segment, Segment::NetworkBandwidth);
    assert!((found.gain_ratio.unwrap() - 1.0).abs() < 0.03);
    let ceiling = machine("hundred-megabit").network.unwrap().bytes_per_s.0;
    let highest = found.highest_rate_interval.as_ref().unwrap();
    assert!(highest.low < ceiling * 1.01 && highest.high > ceiling * 0.99, "{highest:?} {ceiling}");
}

/// The verdict on two clients of this machine, were the errors of the points to leave open whether the last doubling adds 3 %.
fn undecided_with_two(name: &str) -> SharedStage {
    let load = ScaledLoad { clients: &[1, 2], depth: 4, block_bytes: 65_536, ..ScaledLoad::default() };
    let summary = scaled(&machine(name), load);
    let mut saturation = summary.scaling.as_ref().unwrap().saturation.clone().unwrap();
    (saturation.state, saturation.knee_in_flight) = (SaturationState::Undecided, None);
    let curves = Curve::all(&summary);
    super::stage::shared_stage(&summary, &curves[0], Some(&saturation))
}

#[test]
fn a_stage_that_one_client_uses_up_needs_no_points_that_show_it() {
    let wire = undecided_with_two("hundred-megabit");
    assert_eq!(wire.state, SharedStageState::FullWithOneClient, "{wire:#?}");
    assert_eq!((wire.full[0].segment, wire.full[0].clients), (Segment::NetworkBandwidth, 1));
    assert!(
        wire.evidence.contains(&"one client leaves less than 3 % of what all share to others".to_owned())
    );
    let other = undecided_with_two("ten-gigabit-nfs");
    assert_eq!(other.state, SharedStageState::Undecided, "{other:#?}");
    assert!(other.evidence.iter().any(|text| text.contains("within the errors of the points")), "{other:#?}");
}

#[test]
fn a_device_that_serves_four_at_once_is_full_with_many() {
    let found = scaling("ten-gigabit-nfs", ScaledLoad::default());
    assert_eq!(found.shared_stage.state, SharedStageState::SaturatedWithMany, "{found:#?}");
    assert_eq!(found.shared_stage.full[0].segment, Segment::DeviceBandwidth);
    let knee = found.saturation.as_ref().unwrap().knee_in_flight.unwrap();
    assert!((4.0..=8.0).contains(&knee), "{knee}");
    // Four at once, each 80 us and 1 MiB at 200 MB/s.
    let device = 4.0 * 1_048_576.0 / (80e-6 + 1_048_576.0 / 200e6);
    assert!((found.points.last().unwrap().rate / device - 1.0).abs() < 0.03);
    assert!((found.highest_rate.unwrap() / device - 1.0).abs() < 0.1, "{:?}", found.highest_rate);
}

#[test]
fn a_round_trip_that_limits_every_client_alone_is_not_saturated() {
    let found = scaling("wan-10ms", ScaledLoad { block_bytes: 4096, ..ScaledLoad::default() });
    assert_eq!(found.shared_stage.state, SharedStageState::NotReached, "{found:#?}");
    assert!(found.shared_stage.full.is_empty());
    assert!(found.points.iter().all(|point| (point.efficiency_ratio.unwrap() - 1.0).abs() < 0.05));
    assert!((found.parameters["gamma"] / found.points[0].rate - 1.0).abs() < 0.05);
}

#[test]
fn clients_that_are_served_alike_share_fairly_and_figures_are_of_the_cells() {
    let summary = scaled(&machine("ten-gigabit-nfs"), ScaledLoad::default());
    let found = summary.scaling.as_ref().unwrap();
    assert_eq!(found.points.iter().map(|point| point.clients).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
    for point in &found.points {
        let cell = summary.cells.iter().find(|cell| cell.id == point.cell).unwrap();
        assert_eq!(Some(BytesPerSec(point.rate)), cell.rate_bytes_per_s);
        assert_eq!(point.fairness_ratio.is_some(), point.clients > 1);
        assert!(point.fairness_ratio.is_none_or(|ratio| ratio > 0.95), "{point:?}");
        assert!((point.client_rate_mean * f64::from(point.clients) / point.rate - 1.0).abs() < 1e-9);
        assert_eq!(point.bracket, None);
    }
    assert_eq!((found.block_bytes, found.queue_depth, found.unit.as_str()), (Bytes(1 << 20), 1, "B/s"));
}

#[test]
fn clients_that_end_apart_have_a_bracket_between_all_bytes_over_the_longest_time_and_the_sum_of_rates() {
    let mut summary = scaled(&machine("ten-gigabit-nfs"), ScaledLoad::default());
    let cell = summary.cells.iter_mut().find(|cell| cell.clients == 2 && !cell.factors.is_empty()).unwrap();
    for (client, elapsed_s) in cell.per_client.iter_mut().zip([1.0, 2.0]) {
        (client.bytes, client.elapsed_s) = (Bytes(100), elapsed_s);
    }
    let found = super::scalings(&summary);
    let bracket = found[0].points[1].bracket.unwrap();
    assert_eq!((bracket.low, bracket.high), (100.0, 150.0));
}

#[test]
fn four_points_show_a_knee_and_no_law() {
    let found = scaling("ten-gigabit-nfs", ScaledLoad { clients: &[1, 4, 8, 16], ..ScaledLoad::default() });
    assert_eq!((found.model, found.points.len()), (None, 4));
    assert_eq!(found.shared_stage.state, SharedStageState::SaturatedWithMany);
}

#[test]
fn loads_that_are_paced_or_of_one_number_of_clients_have_no_scaling() {
    assert_eq!(builtin("local-ssd").scaling, None);
    let mut summary = scaled(&machine("ten-gigabit-nfs"), ScaledLoad::default());
    for cell in &mut summary.cells {
        cell.requested.max_bytes_per_s = Some(1 << 30);
    }
    assert!(super::scalings(&summary).is_empty());
}
