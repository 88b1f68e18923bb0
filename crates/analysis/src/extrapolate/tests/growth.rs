//! Curves whose knee and stages are both unknown, and paths where software is full.

use super::super::{ExtrapolationRequest, extrapolate};
use super::features::set_rate;
use super::request;
use crate::testing::machine;
use crate::testing::scaled::{ScaledLoad, scaled};
use narrows_model::extrapolation::{ExtrapolationMethod, LoadExtrapolation, StageChange};
use narrows_model::summary::Interval;
use narrows_model::{Cut, Segment, Summary};

/// 1, 2 and 4 clients with these rates, each to within `side`, with the cut `kept` alone, which is as uncertain.
fn measured(rates: [f64; 3], side: f64, kept: Option<Cut>) -> Summary {
    let load = ScaledLoad { clients: &[1, 2, 4], depth: 4, ..ScaledLoad::default() };
    let mut summary = scaled(&machine("ten-gigabit-nfs"), load);
    summary.cells.retain(|cell| cell.cut == Cut::Path || Some(cell.cut) == kept);
    for cell in &mut summary.cells {
        let rate = rates[cell.clients.ilog2() as usize];
        set_rate(cell, rate);
        cell.interval = Some(Interval {
            low: rate * (1.0 - side),
            high: rate * (1.0 + side),
            level: 0.95,
            method: "test".to_owned(),
        });
        cell.limiting = None;
        cell.cpu.clear();
    }
    summary
}

fn found(summary: &Summary, request: &ExtrapolationRequest) -> LoadExtrapolation {
    extrapolate(summary, request, "test").loads.remove(0)
}

/// Marks the path of `summary` as limited by this at every number of clients.
fn limited_by(mut summary: Summary, segment: Segment) -> Summary {
    summary.cells.iter_mut().for_each(|cell| cell.limiting = Some(segment));
    summary
}

#[test]
fn level_points_that_are_too_uncertain_for_a_knee_bound_the_rate_of_more_clients() {
    let noisy = measured([1.00e8, 1.02e8, 1.01e8], 0.08, Some(Cut::ServerStorage));
    let full = found(&limited_by(noisy.clone(), Segment::DeviceBandwidth), &request(&[3, 4, 16]));
    assert_eq!(full.method, Some(ExtrapolationMethod::Growth), "{full:#?}");
    let far = &full.rates[2];
    assert!(far.interval.low > 0.80e8 && far.interval.low < 1e8, "{far:?}");
    assert!(far.interval.high > 1.02e8 && far.interval.high < 1.35e8, "{far:?}");
    assert_eq!(full.rates[1].measured, Some(1.01e8));
    assert!((full.rates[1].rate / 1.01e8 - 1.0).abs() < 1e-9, "{full:#?}");
    assert!(full.rates[0].rate > 1e8 && full.rates[0].rate < 1.03e8, "{full:#?}");
    // What is not known to be a link or a device may fall with its clients.
    let unknown = found(&noisy, &request(&[16]));
    assert!(unknown.rates.is_empty() || unknown.rates[0].interval.low < far.interval.low, "{unknown:#?}");
}

#[test]
fn points_that_grow_leave_the_rate_open_and_the_refusal_names_the_clients_that_they_bound() {
    let grows = measured([1.0e8, 2.0e8, 4.0e8], 0.01, None);
    let refusal = found(&grows, &request(&[16])).refusal.unwrap();
    assert!(refusal.hint.contains("more clients") && !refusal.hint.contains("or ask"), "{refusal:?}");
    let slow = measured([1.0e8, 1.15e8, 1.25e8], 0.01, None);
    let slow = limited_by(slow, Segment::NetworkBandwidth);
    let bound = found(&slow, &request(&[8]));
    assert_eq!(bound.method, Some(ExtrapolationMethod::Growth), "{bound:#?}");
    assert!(bound.rates[0].interval.low < 1.25e8 && bound.rates[0].interval.high > 1.35e8, "{bound:#?}");
    let refusal = found(&slow, &request(&[8, 1024])).refusal.unwrap();
    assert!(refusal.hint.ends_with("up to 8 clients, which the points bound"), "{refusal:?}");
}

#[test]
fn growth_says_nothing_of_a_path_that_is_changed() {
    let noisy = limited_by(measured([1.00e8, 1.02e8, 1.01e8], 0.08, None), Segment::NetworkBandwidth);
    let changed = ExtrapolationRequest { changes: vec![StageChange::Disks(2.0)], ..request(&[16]) };
    assert!(found(&noisy, &changed).refusal.is_some() && found(&noisy, &request(&[16])).refusal.is_none());
}

#[test]
fn where_software_is_full_a_rate_that_fell_with_its_clients_falls_further() {
    let falls = measured([1.00e8, 0.97e8, 0.93e8], 0.01, None);
    let software = found(&limited_by(falls.clone(), Segment::ServerCpu), &request(&[16]));
    let link = found(&limited_by(falls, Segment::NetworkBandwidth), &request(&[16]));
    for load in [&software, &link] {
        assert_eq!(load.method, Some(ExtrapolationMethod::Plateau), "{load:#?}");
    }
    // Each doubling takes 3.6 %, and the mean is that of 2 clients: three more.
    let by_line = 1e8 * (1.0 * 0.97 * 0.93_f64).cbrt() * 0.93_f64.powf(1.5);
    let rate = &software.rates[0];
    assert!(rate.interval.low < by_line && rate.interval.high > by_line, "{rate:?} {by_line}");
    assert!(rate.rate < 0.95 * link.rates[0].rate, "{rate:?} {:?}", link.rates[0]);
    assert!(software.assumptions.iter().any(|text| text.contains("a doubling of the clients may lower")));
}

#[test]
fn software_whose_points_scatter_is_refused_with_what_to_measure() {
    let scatters = limited_by(measured([0.80e8, 1.08e8, 0.70e8], 0.01, None), Segment::ServerCpu);
    let refusal = found(&scatters, &request(&[16])).refusal.unwrap();
    assert!(refusal.reason.contains("to each side") && refusal.hint.contains("--trials"), "{refusal:?}");
}

#[test]
fn a_ceiling_that_binds_and_that_the_last_point_reached_ends_the_growth() {
    let full = |reached: f64| {
        let mut summary = measured([reached / 4.0, reached / 2.0, reached], 0.01, Some(Cut::NetworkStream));
        let of_wire = summary.cells.iter_mut().filter(|cell| cell.cut == Cut::NetworkStream);
        for cell in of_wire {
            set_rate(cell, 1e8);
            cell.interval =
                Some(Interval { low: 0.995e8, high: 1.005e8, level: 0.95, method: "test".to_owned() });
        }
        found(&summary, &request(&[16]))
    };
    let known = full(0.99e8);
    assert_eq!(known.method, Some(ExtrapolationMethod::Growth), "{known:#?}");
    let interval = &known.rates[0].interval;
    assert!(interval.low < 0.99e8 && interval.high > 1e8 && interval.high < 1.1e8, "{known:#?}");
    assert!(full(0.4e8).refusal.is_some(), "the wire has room, and what else limits is not known");
}
