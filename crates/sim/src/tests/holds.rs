//! What delays requests besides service: a connection's window, loss, worker threads, commits.

use super::*;
use narrows_model::workload::{Acknowledgement, SyncPolicy};

fn over(network: NetworkLaw) -> SimProfile {
    SimProfile { network: Some(network), ..machine(0.0) }
}

fn wire() -> NetworkLaw {
    machine(0.0).network.unwrap()
}

#[test]
fn a_window_transfers_its_bytes_once_a_round_trip_and_each_connection_has_its_own() {
    let slow = NetworkLaw {
        rtt_ns: Nanos(10_000_000),
        window_bytes: Some(Bytes(100_000)),
        bytes_per_s: BytesPerSec(1e9),
        ..wire()
    };
    let one = run(&over(slow.clone()), cell(Cut::Path, Op::Write, 100_000, 16));
    assert!(near(rate_per_s(&one), 100.0, 0.02), "{}", rate_per_s(&one));
    let tcp = |sample: &CounterSample| sample.tcp.as_ref().unwrap().receive_window_limited_ns.0;
    let client = pair(&one, Role::Client);
    let window = client.after.at_ns.0 - client.before.at_ns.0;
    assert!(near(grew(client, tcp) as f64, window as f64, 0.02));
    let mut two = cell(Cut::Path, Op::Write, 100_000, 16);
    two.workload.workers = 2;
    assert!(near(rate_per_s(&run(&over(slow), two)), 200.0, 0.02));
}

#[test]
fn lost_segments_are_counted_and_limit_a_connection_by_the_square_root_of_their_share() {
    let lossy =
        NetworkLaw { rtt_ns: Nanos(10_000_000), loss_ratio: 0.01, bytes_per_s: BytesPerSec(1e9), ..wire() };
    let output = run(&over(lossy), cell(Cut::Path, Op::Write, 100_000, 16));
    let expected = 1.22 * 1448.0 / (0.010 * 0.1) / 100_000.0;
    assert!(near(rate_per_s(&output), expected, 0.05), "{} of {expected}", rate_per_s(&output));
    let client = pair(&output, Role::Client);
    let lost = grew(client, |sample| sample.tcp.as_ref().unwrap().retransmit_count);
    let sent = grew(client, |sample| sample.tcp.as_ref().unwrap().segments_out_count);
    assert!(near(lost as f64, sent as f64 * 0.01, 0.05), "{lost} of {sent}");
}

#[test]
fn worker_threads_contain_a_request_each_and_the_others_wait() {
    let mut profile = SimProfile { server_cpus: 8.0, ..machine(0.0) };
    profile.device = StationLaw { parallel: 64, ..law(10_000_000, 0.0) };
    profile.server_cpu.threads = Some(2);
    let output = run(&profile, cell(Cut::Path, Op::Read, 4096, 8));
    assert!(near(rate_per_s(&output), 200.0, 0.02), "{}", rate_per_s(&output));
    let server = pair(&output, Role::Server);
    let window = (server.after.at_ns.0 - server.before.at_ns.0) as f64;
    let grown = |read: fn(&narrows_model::counters::WorkerCounters) -> u64| {
        grew(server, |sample| read(sample.workers.as_ref().unwrap())) as f64
    };
    assert!(near(grown(|workers| workers.busy_ns.0), 2.0 * window, 0.02));
    assert!(near(grown(|workers| workers.queued_ns.0), 6.0 * window, 0.05));
    assert!(near(rate_per_s(&run(&profile, cell(Cut::ServerStorage, Op::Read, 4096, 8))), 800.0, 0.05));
}

#[test]
fn a_durable_write_takes_the_flush_as_well_and_an_early_one_does_not() {
    let mut profile = machine(0.0);
    profile.device.flush_ns = Nanos(4_000_000);
    let device_ns = |cut: Cut, late: bool| {
        let mut cell = cell(cut, Op::Write, 4096, 1);
        cell.workload.acknowledgement = if late { Acknowledgement::Late } else { Acknowledgement::Early };
        cell.workload.sync = if cut == Cut::ServerStorage { SyncPolicy::Dsync } else { SyncPolicy::None };
        let output = run(&profile, cell);
        let server = pair(&output, Role::Server);
        let flushes = grew(server, |sample| sample.disks[0].flush_count);
        (grew(server, |sample| sample.disks[0].write_ns.0) as f64 / output.op_count as f64, flushes)
    };
    for (cut, late, expected) in [
        (Cut::Path, true, 4_080_000.0),
        (Cut::EarlyPath, false, 80_000.0),
        (Cut::ServerStorage, false, 4_080_000.0),
    ] {
        let (taken, flushes) = device_ns(cut, late);
        assert!(near(taken, expected, 0.02), "{cut:?}: {taken}");
        assert_eq!(flushes > 0, expected > 1e6, "{cut:?}");
    }
}
