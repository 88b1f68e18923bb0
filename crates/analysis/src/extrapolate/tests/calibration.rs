//! How often the rate of four times the measured clients is in its interval, over machines that are drawn.

use super::super::{ExtrapolationRequest, extrapolate};
use crate::testing::machine;
use crate::testing::scaled::{ScaledLoad, path_rate, scaled_anew};
use narrows_model::extrapolation::{ExtrapolationMethod, StageChange};
use narrows_model::sim_profile::{NetworkLaw, SimProfile, StationLaw};
use narrows_model::units::{BytesPerSec, round_to_u64};
use narrows_model::{Bytes, Nanos, Op};
use narrows_stats::resample::Resampler;

/// A drawn number between two others, all orders of magnitude alike.
fn between(draw: &mut Resampler, low: f64, high: f64) -> f64 {
    low * (high / low).powf(draw.uniform())
}

fn one_of<T: Copy>(draw: &mut Resampler, values: &[T]) -> T {
    values[draw.index_below(values.len()).unwrap()]
}

/// A file server whose stages differ by two orders of magnitude.
fn drawn(draw: &mut Resampler) -> SimProfile {
    let law = |draw: &mut Resampler, per_op_ns: (f64, f64), mb_per_s: (f64, f64)| StationLaw {
        per_op_ns: Nanos(round_to_u64(between(draw, per_op_ns.0, per_op_ns.1))),
        bytes_per_s: Some(BytesPerSec(between(draw, mb_per_s.0, mb_per_s.1) * 1e6)),
        variation: between(draw, 0.1, 1.0),
        ..StationLaw::default()
    };
    let network = NetworkLaw {
        rtt_ns: Nanos(round_to_u64(between(draw, 3e4, 2e7))),
        bytes_per_s: BytesPerSec(one_of(draw, &[1e9, 1e10, 2.5e10]) / 8.0 * 1448.0 / 1538.0),
        link_bits_per_s: None,
        window_bytes: None,
        loss_ratio: 0.0,
    };
    let server_cpu = law(draw, (5e3, 1e5), (800.0, 4e3));
    let device = law(draw, (2e4, 2e6), (100.0, 2e3));
    SimProfile {
        network: Some(network),
        client_cpus: 64.0,
        server_cpus: one_of(draw, &[1.0, 2.0, 8.0]),
        server_cpu,
        device: StationLaw { parallel: one_of(draw, &[1, 2, 4, 8]), ..device },
        ..machine("ten-gigabit-nfs")
    }
}

const CLIENTS: [&[u32]; 4] = [&[1, 2, 4, 8], &[1, 2, 4, 8, 16], &[1, 2, 3, 4, 6, 8], &[1, 2, 4, 8, 12, 16]];

/// What became of one machine.
struct Outcome {
    method: Option<ExtrapolationMethod>,
    is_inside: bool,
    half_width_ratio: f64,
}

fn outcome(seed: u64) -> Outcome {
    let mut draw = Resampler::new(seed);
    let profile = drawn(&mut draw);
    let load = ScaledLoad {
        clients: one_of(&mut draw, &CLIENTS),
        op: one_of(&mut draw, &[Op::Read, Op::Write]),
        block_bytes: one_of(&mut draw, &[4096, 65_536, 1 << 20]),
        depth: one_of(&mut draw, &[1, 4]),
        ops_max: 1_500,
        seed,
    };
    let most = load.clients.iter().copied().max().unwrap();
    let request = ExtrapolationRequest { clients: vec![4 * most], servers: vec![1], changes: Vec::new() };
    compared(&profile, &profile, load, &request)
}

/// The machine as another run with more clients finds it, as far as intervals allow for that: each stage repeats within 3 % in 95
/// of 100 runs, and each doubling changes what it sustains by up to 3 %.
fn in_another_run(profile: &SimProfile, doublings: f64, seed: u64) -> SimProfile {
    let mut draw = Resampler::new(seed);
    let mut times = || {
        // Not the constants of the method, which this shall test.
        let between_runs = 0.03 / 1.96 * draw.normal();
        let by_clients = 0.03 * doublings * (2.0 * draw.uniform() - 1.0);
        (between_runs + by_clients).exp()
    };
    let mut profile = profile.clone();
    if let Some(network) = &mut profile.network {
        network.bytes_per_s.0 *= times();
    }
    for stage in [&mut profile.server_cpu, &mut profile.device] {
        let times = times();
        stage.per_op_ns = Nanos(round_to_u64(stage.per_op_ns.0 as f64 / times));
        stage.bytes_per_s.iter_mut().for_each(|rate| rate.0 *= times);
    }
    profile
}

/// What becomes of `request` to the record of a machine, where `truth` is the one that it asks about.
fn compared(
    measured: &SimProfile,
    truth: &SimProfile,
    load: ScaledLoad<'_>,
    request: &ExtrapolationRequest,
) -> Outcome {
    let found = extrapolate(&scaled_anew(measured, load), request, "test").loads.remove(0);
    let Some(rate) = found.rates.first() else {
        return Outcome { method: None, is_inside: false, half_width_ratio: 0.0 };
    };
    let far = ScaledLoad { clients: &request.clients, ops_max: 12_000, seed: load.seed + 7_919, ..load };
    let most = load.clients.iter().copied().max().unwrap();
    let doublings = (f64::from(request.clients[0]) / f64::from(most)).log2();
    let truth = path_rate(&in_another_run(truth, doublings, far.seed), far);
    let is_inside = (rate.interval.low..=rate.interval.high).contains(&truth);
    let half_width_ratio = rate.interval.half_width_ratio(rate.rate).unwrap();
    Outcome { method: found.method, is_inside, half_width_ratio }
}

/// Prints what the machines by each method came to.
#[allow(clippy::print_stdout, reason = "the shares are what the campaign is run for")]
fn print_by_method(all: &[Outcome]) {
    for method in all.iter().map(|one| one.method).collect::<std::collections::BTreeSet<_>>() {
        let own = || all.iter().filter(|one| one.method == method);
        let inside = own().filter(|one| one.is_inside).count();
        let narrow = own().filter(|one| one.half_width_ratio <= 0.25).count();
        println!("{method:?}: {} machines, {inside} inside, {narrow} within 25 %", own().count());
    }
}

/// Fails unless of the machines that are not refused the share whose rate is in its interval is what is stated.
fn check(machines: u64, share: std::ops::RangeInclusive<f64>) {
    let all: Vec<Outcome> = (0..machines).map(outcome).collect();
    print_by_method(&all);
    let answered: Vec<&Outcome> = all.iter().filter(|one| one.method.is_some()).collect();
    let inside = answered.iter().filter(|one| one.is_inside).count() as f64 / answered.len() as f64;
    let narrow =
        answered.iter().filter(|one| one.half_width_ratio <= 0.25).count() as f64 / answered.len() as f64;
    assert!(answered.len() as f64 >= 0.4 * machines as f64, "{} of {machines} answered", answered.len());
    assert!(share.contains(&inside), "{inside} inside");
    for method in [ExtrapolationMethod::Law, ExtrapolationMethod::Plateau, ExtrapolationMethod::Network] {
        let of_method = answered.iter().filter(|one| one.method == Some(method));
        assert!(of_method.count() * 20 >= answered.len(), "hardly any by {method:?}");
    }
    assert!(narrow >= 1.0, "{narrow} within 25 %");
}

/// A server whose connections fill a window before a gigabit, asked about four times the link with twice the clients.
fn windowed_outcome(seed: u64) -> Outcome {
    let mut draw = Resampler::new(seed);
    let mut profile = drawn(&mut draw);
    let wire = 1e9 / 8.0 * 1448.0 / 1538.0;
    profile.network = Some(NetworkLaw {
        rtt_ns: Nanos(round_to_u64(between(&mut draw, 1e6, 5e6))),
        bytes_per_s: BytesPerSec(wire),
        link_bits_per_s: None,
        window_bytes: Some(Bytes(one_of(&mut draw, &[64 << 10, 128 << 10, 256 << 10]))),
        loss_ratio: 0.0,
    });
    let load = ScaledLoad {
        clients: one_of(&mut draw, &CLIENTS),
        op: one_of(&mut draw, &[Op::Read, Op::Write]),
        block_bytes: one_of(&mut draw, &[64 << 10, 128 << 10]),
        depth: 8,
        ops_max: 1_500,
        seed,
    };
    let mut faster = profile.clone();
    faster.network.as_mut().unwrap().bytes_per_s = BytesPerSec(4.0 * wire);
    let most = load.clients.iter().copied().max().unwrap();
    let changes = vec![StageChange::Link(BytesPerSec(4.0 * wire))];
    let request = ExtrapolationRequest { clients: vec![2 * most], servers: vec![1], changes };
    compared(&profile, &faster, load, &request)
}

/// Fails unless of the machines that are simulated the share whose rate is in its interval is what is stated.
fn check_windowed(machines: u64, share: std::ops::RangeInclusive<f64>) {
    let all: Vec<Outcome> = (0..machines).map(windowed_outcome).collect();
    let simulated: Vec<&Outcome> =
        all.iter().filter(|one| one.method == Some(ExtrapolationMethod::Simulation)).collect();
    let inside = simulated.iter().filter(|one| one.is_inside).count() as f64 / simulated.len() as f64;
    assert!(simulated.len() as f64 >= 0.2 * machines as f64, "{} of {machines} simulated", simulated.len());
    assert!(share.contains(&inside), "{inside} of {} inside", simulated.len());
}

#[test]
fn windows_behind_a_faster_link_are_in_their_interval_as_often_as_stated() {
    check_windowed(10, 0.85..=1.0);
}

#[test]
#[ignore = "campaign: two hundred machines, for the share to a percent"]
fn windows_behind_a_faster_link_are_in_90_percent_of_their_intervals_or_more() {
    check_windowed(200, 0.90..=1.0);
}

#[test]
fn the_rate_of_four_times_the_clients_is_in_its_interval_as_often_as_stated() {
    check(20, 0.85..=1.0);
}

#[test]
#[ignore = "campaign: two hundred machines, for the share to a percent"]
fn the_share_inside_is_between_90_and_99_percent_over_many_machines() {
    check(200, 0.90..=0.99);
}
