//! Rates of more clients against simulated machines whose stages are declared. Not here: how often they are right, which
//! `calibration` counts.

use super::{ExtrapolationRequest, extrapolate};
use crate::testing::machine;
use crate::testing::scaled::{ScaledLoad, scaled};
use narrows_model::extrapolation::{ExtrapolationMethod, LoadExtrapolation, StageChange};
use narrows_model::sim_profile::SimProfile;
use narrows_model::units::BytesPerSec;
use narrows_model::{Cut, Nanos, Segment};

fn request(clients: &[u32]) -> ExtrapolationRequest {
    ExtrapolationRequest { clients: clients.to_vec(), servers: vec![1], changes: Vec::new() }
}

fn asked(profile: &SimProfile, load: ScaledLoad<'_>, request: &ExtrapolationRequest) -> LoadExtrapolation {
    extrapolate(&scaled(profile, load), request, "test").loads.remove(0)
}

#[test]
fn past_the_knee_six_points_give_a_law_and_fewer_a_level() {
    let server = machine("ten-gigabit-nfs");
    let six = asked(&server, ScaledLoad::default(), &request(&[128]));
    assert_eq!((six.method, six.measured_clients_max), (Some(ExtrapolationMethod::Law), 32), "{six:#?}");
    let four = ScaledLoad { clients: &[1, 8, 16, 32], ..ScaledLoad::default() };
    let four = asked(&server, four, &request(&[2, 8, 128]));
    assert_eq!(four.method, Some(ExtrapolationMethod::Plateau), "{four:#?}");
    let device = 4.0 * 1_048_576.0 / (80e-6 + 1_048_576.0 / 200e6);
    for rate in [&six.rates[0], &four.rates[2]] {
        assert!(rate.interval.low < device && rate.interval.high > device, "{rate:?} {device}");
        assert!(rate.interval.half_width_ratio(rate.rate).unwrap() < 0.25, "{rate:?}");
    }
    assert!(four.rates[0].rate < four.rates[1].rate && four.rates[1].measured.is_some());
}

/// The file server on 1 Gbit/s, 10 ms away.
fn far_away() -> SimProfile {
    let mut profile = machine("gigabit-nfs");
    profile.network.as_mut().unwrap().rtt_ns = Nanos(10_000_000);
    profile
}

#[test]
fn before_the_knee_the_ceilings_end_the_growth() {
    let load = ScaledLoad { clients: &[1, 2, 4, 8, 16], block_bytes: 65_536, ..ScaledLoad::default() };
    let found = asked(&far_away(), load, &request(&[8, 128]));
    assert_eq!(found.method, Some(ExtrapolationMethod::Network), "{found:#?}");
    let wire = far_away().network.unwrap().bytes_per_s.0;
    let far = &found.rates[1];
    assert!(found.rates[0].rate < 0.5 * wire, "{found:#?}");
    assert!(far.interval.low < wire && far.interval.high > wire * 0.97, "{far:?} {wire}");
    assert_eq!(far.full, Some(Segment::NetworkBandwidth));
}

#[test]
fn a_growing_curve_without_a_ceiling_that_binds_is_refused_with_what_to_measure() {
    let load = ScaledLoad { block_bytes: 4096, clients: &[1, 2, 4], ..ScaledLoad::default() };
    let found = asked(&machine("wan-10ms"), load, &request(&[64]));
    let refusal = found.refusal.unwrap();
    assert!(found.rates.is_empty() && found.method.is_none());
    assert!(refusal.hint.contains("more clients"), "{refusal:?}");
}

#[test]
fn a_faster_link_moves_the_limit_to_the_next_stage_and_no_further() {
    let wire =
        |bits_per_s: f64| vec![StageChange::Link(BytesPerSec(bits_per_s / 8.0 * crate::PAYLOAD_RATIO))];
    let load = ScaledLoad { clients: &[1, 2, 4, 8], block_bytes: 1 << 20, depth: 4, ..ScaledLoad::default() };
    let with = |changes: Vec<StageChange>| {
        let request = ExtrapolationRequest { changes, ..request(&[32]) };
        asked(&machine("gigabit-nfs"), load, &request)
    };
    let (same, ten) = (with(wire(1e9)), with(wire(1e10)));
    let device = 4.0 * 1_048_576.0 / (80e-6 + 1_048_576.0 / 200e6);
    assert_eq!(ten.rates[0].full, Some(Segment::DeviceBandwidth), "{ten:#?}");
    assert!(ten.rates[0].interval.low < device && ten.rates[0].interval.high > device * 0.97);
    assert!(ten.rates[0].rate > 4.0 * same.rates[0].rate);
}

#[test]
fn more_servers_have_more_of_what_each_has_and_not_of_the_network() {
    let load = ScaledLoad { clients: &[1, 2, 4, 8], depth: 8, ..ScaledLoad::default() };
    let servers = ExtrapolationRequest { servers: vec![1, 2, 64], ..request(&[16]) };
    let found = asked(&machine("ten-gigabit-nfs"), load, &servers);
    let rates: Vec<f64> = found.rates.iter().map(|rate| rate.rate).collect();
    assert!(rates[1] > rates[0] * 1.3 && rates[2] < 1.25e9 * 1.05, "{found:#?}");
    assert_eq!(found.rates[2].full, Some(Segment::NetworkBandwidth));
}

#[test]
fn changes_of_stages_that_are_not_known_are_refused() {
    let load = ScaledLoad { clients: &[1, 2, 4, 8], depth: 8, ..ScaledLoad::default() };
    let changes = vec![StageChange::ServerCpu(2.0)];
    let found = asked(&machine("local-ssd"), load, &ExtrapolationRequest { changes, ..request(&[16]) });
    assert!(found.refusal.unwrap().reason.starts_with("server-cpu"));
}

#[test]
fn a_change_behind_the_knee_needs_what_was_measured_by_itself_and_says_so() {
    let load = ScaledLoad { clients: &[1, 2, 4, 8, 16, 32], ..ScaledLoad::default() };
    let server = machine("ten-gigabit-nfs");
    let refused = |cut: &dyn Fn(&mut narrows_model::Summary)| {
        let mut summary = scaled(&server, load);
        cut(&mut summary);
        let changes = vec![StageChange::Disks(2.0)];
        let found = extrapolate(&summary, &ExtrapolationRequest { changes, ..request(&[64]) }, "test");
        found.loads[0].refusal.clone().unwrap()
    };
    let whole = refused(&|summary| summary.cells.retain(|cell| cell.cut != Cut::ServerStorage));
    assert!(whole.reason.starts_with("what the device sustains was not measured by itself"), "{whole:?}");
    let few = refused(&|summary| {
        let most =
            |cell: &narrows_model::summary::CellSummary| cell.cut != Cut::ServerStorage || cell.clients == 1;
        let storage = summary.cells.iter().position(|cell| cell.cut == Cut::ServerStorage).unwrap();
        let kept = summary.cells[storage].id.clone();
        summary.cells.retain(|cell| cell.cut != Cut::ServerStorage || (cell.id == kept && most(cell)));
    });
    assert!(few.reason.contains("nothing shows that the cut server-storage stops to grow"), "{few:?}");
}

#[test]
fn a_load_that_a_cap_limits_has_no_curve_and_the_reason_names_it() {
    let mut summary = scaled(&machine("ten-gigabit-nfs"), ScaledLoad::default());
    for cell in &mut summary.cells {
        cell.requested.max_bytes_per_s = Some(20 << 20);
    }
    assert!(extrapolate(&summary, &request(&[64]), "test").loads.is_empty());
    assert!(super::why_no_curve(&summary).starts_with("a cap, a schedule or think time"));
    summary.sweeps.clear();
    assert!(super::why_no_curve(&summary).starts_with("no load of this record"));
}

mod calibration;
mod features;
mod growth;
