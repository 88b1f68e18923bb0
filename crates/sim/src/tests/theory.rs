//! The simulator's rates against queueing theory.

use super::*;
use narrows_stats::mva::{Network, QueueStation, StationKind};
use narrows_testkit::statistics::bounds::AsymptoticBounds;
use proptest::prelude::*;

#[test]
fn littles_law_holds_on_every_cell_of_every_named_machine() {
    for machine in BUILTIN {
        let cells = CUTS.iter().flat_map(|cut| {
            [(4096, 1), (65_536, 16), (1 << 20, 4)].map(|(block, depth)| cell(*cut, Op::Read, block, depth))
        });
        for output in trials(&events(&machine.profile(), cells.collect())) {
            let depth: f64 = output.effective.as_ref().unwrap().queue_depth.into();
            let in_flight = output.response_sum_ns as f64 / output.last_done_ns.as_f64();
            assert!(near(in_flight, depth, 0.05), "{} {}: {in_flight}", machine.id, output.cell);
        }
    }
}

#[test]
fn one_request_at_a_time_takes_the_sum_of_the_service_times() {
    let wire_s = 65_536.0 / 100e6;
    for (cut, expected_s) in [
        (Cut::PageCache, 20e-6),
        (Cut::NetworkStream, 20e-6 + wire_s),
        (Cut::ServerMemory, 170e-6 + wire_s),
        (Cut::ServerStorage, 130e-6),
        (Cut::Path, 250e-6 + wire_s),
    ] {
        for op in [Op::Read, Op::Write] {
            let output = run(&machine(0.0), cell(cut, op, 65_536, 1));
            assert!(near(rate_per_s(&output), 1.0 / expected_s, 0.01), "{cut:?} {}", rate_per_s(&output));
        }
    }
    let output = run(&local(machine(0.0)), cell(Cut::LocalDevice, Op::Read, 65_536, 1));
    assert!(near(rate_per_s(&output), 1.0 / 100e-6, 0.01));
}

#[test]
fn a_saturated_path_transfers_what_its_narrowest_station_transfers() {
    let base = machine(0.5);
    let cases = [
        (SimProfile { device: StationLaw { parallel: 4, ..law(400_000, 0.5) }, ..base.clone() }, 10_000.0),
        (SimProfile { device_ops_per_s: Some(OpsPerSec(5_000.0)), ..base.clone() }, 5_000.0),
        (SimProfile { server_cpus: 0.25, ..base.clone() }, 5_000.0),
        (SimProfile { client_cpus: 2.5, client_cpu: law(1_000_000, 0.5), ..base.clone() }, 2_500.0),
        (SimProfile { generator: law(180_000, 0.5), ..base.clone() }, 5_000.0),
        (SimProfile { shared_machine: true, machine_cpus: 1, device: law(1_000, 0.5), ..base }, 1.0 / 70e-6),
    ];
    for (profile, expected_per_s) in cases {
        let output = run(&profile, cell(Cut::Path, Op::Write, 512, 64));
        assert!(
            near(rate_per_s(&output), expected_per_s, 0.02),
            "{} for {expected_per_s}",
            rate_per_s(&output)
        );
    }
    let output = run(&machine(0.5), cell(Cut::Path, Op::Read, 1 << 20, 16));
    assert!(near(rate_per_s(&output) * f64::from(1 << 20), 100e6, 0.02));
}

#[test]
fn think_time_obeys_the_interactive_response_time_law() {
    // X = N / (R + Z): one user alone waits the sum of the service times, many wait for the device of 80 us.
    let think_s = 1e-3;
    for (users, expected_per_s) in
        [(1, 1.0 / (250e-6 + think_s)), (4, 4.0 / (250e-6 + think_s)), (64, 12_500.0)]
    {
        let mut thinking = cell(Cut::Path, Op::Read, 0, users);
        thinking.workload.think_ns = Nanos(1_000_000);
        let output = run(&machine(0.0), thinking);
        let rate = rate_per_s(&output);
        assert!(near(rate, expected_per_s, 0.02), "{users} users: {rate} for {expected_per_s}");
        let response_s = output.response_sum_ns as f64 / output.op_count as f64 / 1e9;
        assert!(near(rate * (response_s + think_s), f64::from(users), 0.05), "{users} users: {response_s} s");
    }
}

/// Exact mean value analysis of single exponential servers and a delay.
fn network(demands_s: &[f64], delay_s: f64) -> Network {
    let queue = |demand_s: &f64| QueueStation { demand_s: *demand_s, kind: StationKind::Queue };
    Network::new(demands_s.iter().map(queue).collect(), delay_s).unwrap()
}

#[test]
fn exponential_stations_give_the_rate_of_mean_value_analysis() {
    // Without payload the wire, whose service is constant and thus outside the theorem, takes no part.
    let network = network(&[20e-6, 50e-6, 80e-6], 100e-6);
    for load in network.solve(16).into_iter().filter(|load| load.in_flight.is_power_of_two()) {
        let rate = rate_per_s(&run(&machine(1.0), cell(Cut::Path, Op::Read, 0, load.in_flight)));
        assert!(
            near(rate, load.rate_per_s, 0.03),
            "depth {}: {rate} for {}",
            load.in_flight,
            load.rate_per_s
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_machine_exceeds_its_asymptotic_bounds(
        client_ns in 1_000_u64..100_000,
        server_ns in 1_000_u64..100_000,
        device_ns in 1_000_u64..100_000,
        rtt_ns in 0_u64..1_000_000,
        variation in 0.0_f64..1.2,
        depth in 1_u32..40,
    ) {
        let mut profile = SimProfile {
            client_cpu: law(client_ns, variation),
            server_cpu: law(server_ns, variation),
            device: law(device_ns, variation),
            ..machine(0.0)
        };
        profile.network.as_mut().unwrap().rtt_ns = Nanos(rtt_ns);
        let demands_s = [client_ns, server_ns, device_ns].map(|service_ns| service_ns as f64 / 1e9);
        let bounds = AsymptoticBounds::new(&network(&demands_s, rtt_ns as f64 / 1e9));
        let output = run(&profile, cell(Cut::Path, Op::Read, 0, depth));
        // A mean of some 18 000 draws strays by under 4 % at this spread.
        prop_assert!(rate_per_s(&output) <= bounds.rate_high_per_s(depth) * 1.04);
        let in_flight = output.response_sum_ns as f64 / output.last_done_ns.as_f64();
        prop_assert!(near(in_flight, f64::from(depth), 0.05), "{} in flight", in_flight);
    }
}

#[test]
fn every_ill_machine_differs_from_its_healthy_counterpart_in_the_rate() {
    for machine in BUILTIN {
        let Some(healthy) = machine.healthy else { continue };
        // A round-trip time shows with one small request, a limit of operations with many small ones, the cost of
        // durability with durable writes, all else with many large ones.
        let (op, bytes, depth) = match machine.id {
            "wan-10ms" => (Op::Read, 4096, 1),
            "capped-iops" => (Op::Read, 4096, 16),
            "slow-commit" => (Op::Write, 1 << 20, 16),
            _ => (Op::Read, 1 << 20, 16),
        };
        let mut load = cell(Cut::Path, op, bytes, depth);
        load.workload.acknowledgement = narrows_model::workload::Acknowledgement::Late;
        load.workload.access = Access::Buffered;
        if machine.id == "shared-bus" {
            load.workload.clients = 2;
            load.more_targets = vec![load.target.clone()];
        }
        let ill = rate_per_s(&run(&machine.profile(), load.clone()));
        let well = rate_per_s(&run(&builtin(healthy).unwrap(), load));
        // A cache hides the storage: it is the one illness that makes a path faster.
        let (slower, faster) = if machine.id.starts_with("cached-") { (well, ill) } else { (ill, well) };
        assert!(slower < 0.8 * faster, "{}: {ill} against {well}", machine.id);
    }
}
