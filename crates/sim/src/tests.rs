//! The simulator against queueing theory, and its counters against its operations.

use crate::law::{Fate, Machine};
use crate::{BUILTIN, builtin, simulate};
use narrows_model::counters::{CounterSample, Role};
use narrows_model::event::{EndReason, Phase};
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, Topology};
use narrows_model::sim_profile::{CacheLaw, Fault, NetworkLaw, SimProfile, StationLaw};
use narrows_model::trial::{CounterPair, TrialOutput};
use narrows_model::workload::Access;
use narrows_model::{
    Bytes, BytesPerSec, Cell, CellId, Cut, Event, Nanos, Op, OpsPerSec, Plan, Site, Target, Workload,
};
use std::collections::BinaryHeap;

const CUTS: [Cut; 8] = [
    Cut::Generator,
    Cut::MemoryCopy,
    Cut::PageCache,
    Cut::NetworkStream,
    Cut::ServerMemory,
    Cut::ServerStorage,
    Cut::LocalDevice,
    Cut::Path,
];

fn law(per_op_ns: u64, variation: f64) -> StationLaw {
    StationLaw { per_op_ns: Nanos(per_op_ns), bytes_per_s: None, parallel: 1, variation }
}

/// A machine of round numbers whose stations all serve one at a time.
fn machine(variation: f64) -> SimProfile {
    SimProfile {
        name: "test".to_owned(),
        client_cpus: 1.0,
        generator: law(0, 0.0),
        client_cpu: law(20_000, variation),
        network: Some(NetworkLaw {
            rtt_ns: Nanos(100_000),
            bytes_per_s: BytesPerSec(100e6),
            link_bits_per_s: None,
        }),
        server_cpus: 1.0,
        server_cpu: law(50_000, variation),
        device: law(80_000, variation),
        device_ops_per_s: None,
        cache: CacheLaw::default(),
        shared_machine: false,
        machine_cpus: 1,
        faults: Vec::new(),
        file_bytes: Bytes(1 << 30),
    }
}

fn local(profile: SimProfile) -> SimProfile {
    SimProfile { network: None, ..profile }
}

fn cell(cut: Cut, op: Op, block_bytes: u64, queue_depth: u32) -> Cell {
    let workload = Workload {
        op,
        block_bytes: Bytes(block_bytes),
        queue_depth,
        access: Access::Direct,
        ..Workload::default()
    };
    Cell {
        id: Cell::name(cut, &workload),
        cut,
        site: if cut == Cut::ServerStorage { Site::Server } else { Site::Client },
        target: Target::Sim { profile: "test".to_owned() },
        workload,
        stop: narrows_model::Stop {
            warm_up_ns: Nanos::from_millis(300),
            measure_ns: Nanos::from_millis(3_000),
            bytes_max: None,
            ops_max: None,
        },
        trials: 1,
        read_only: false,
    }
}

fn plan(cells: Vec<Cell>) -> Plan {
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: 11,
        target: Target::Sim { profile: "test".to_owned() },
        topology: Topology::ClientServer,
        segments: Vec::new(),
        cells,
        skipped: Vec::new(),
        load: LoadStatement {
            planned_ns: Nanos(0),
            file_bytes_max: Bytes(0),
            write_bytes_max: None,
            touches: Vec::new(),
            in_flight_max: 1,
            max_bytes_per_s: None,
        },
        budget_ns: Nanos::from_millis(3_600_000),
        interval_ns: Nanos::from_millis(100),
    }
}

fn events(profile: &SimProfile, cells: Vec<Cell>) -> Vec<Event> {
    simulate(profile, &plan(cells)).unwrap()
}

fn trials(events: &[Event]) -> Vec<&TrialOutput> {
    let trial = |event: &'_ Event| matches!(event, Event::TrialFinished(_));
    let all = events.iter().filter(|event| trial(event));
    all.filter_map(|event| if let Event::TrialFinished(output) = event { Some(&**output) } else { None })
        .collect()
}

fn run(profile: &SimProfile, cell: Cell) -> TrialOutput {
    let events = events(profile, vec![cell]);
    trials(&events)[0].clone()
}

fn rate_per_s(output: &TrialOutput) -> f64 {
    OpsPerSec::over(output.op_count, output.last_done_ns).unwrap().0
}

fn pair(output: &TrialOutput, role: Role) -> &CounterPair {
    output.counters.iter().find(|pair| pair.before.role == role).unwrap()
}

fn grew(pair: &CounterPair, read: impl Fn(&CounterSample) -> u64) -> u64 {
    read(&pair.after) - read(&pair.before)
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value / expected - 1.0).abs() <= tolerance
}

/// Exact mean value analysis of single exponential servers and a delay (Reiser and Lavenberg 1980).
fn mva_rate_per_s(demands_s: &[f64], delay_s: f64, in_flight: u32) -> f64 {
    let mut queues = vec![0.0; demands_s.len()];
    let mut rate = 0.0;
    for count in 1..=in_flight {
        let stays: Vec<f64> =
            demands_s.iter().zip(&queues).map(|(demand, queue)| demand * (1.0 + queue)).collect();
        rate = f64::from(count) / (delay_s + stays.iter().sum::<f64>());
        queues = stays.iter().map(|stay| rate * stay).collect();
    }
    rate
}

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
fn a_saturated_path_carries_what_its_narrowest_station_carries() {
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
fn exponential_stations_give_the_rate_of_mean_value_analysis() {
    // The wire is left out: its service is constant, outside the theorem.
    let profile = machine(1.0);
    let demands_s = [20e-6, 50e-6, 80e-6];
    for depth in [1, 2, 4, 8, 16] {
        let rate = rate_per_s(&run(&profile, cell(Cut::Path, Op::Read, 0, depth)));
        let expected = mva_rate_per_s(&demands_s, 100e-6, depth);
        assert!(near(rate, expected, 0.03), "depth {depth}: {rate} for {expected}");
        let bound = (f64::from(depth) / 250e-6).min(1.0 / 80e-6);
        assert!(rate <= bound * 1.02, "depth {depth}: {rate} above {bound}");
    }
}

#[test]
fn bytes_of_wire_and_device_are_those_of_the_operations() {
    for op in [Op::Read, Op::Write] {
        let output = run(&machine(0.3), cell(Cut::Path, op, 65_536, 8));
        assert_eq!(output.bytes.0, output.op_count * 65_536);
        let (client, server) = (pair(&output, Role::Client), pair(&output, Role::Server));
        let disk = |read: fn(&narrows_model::counters::DiskCounters) -> u64| {
            grew(server, |sample| read(&sample.disks[0]))
        };
        let tcp = |read: fn(&narrows_model::counters::TcpCounters) -> u64| {
            grew(client, |sample| read(sample.tcp.as_ref().unwrap()))
        };
        let (moved, counted) = if op == Op::Read {
            (disk(|disk| disk.read_bytes.0), tcp(|tcp| tcp.received_bytes.0))
        } else {
            (disk(|disk| disk.write_bytes.0), tcp(|tcp| tcp.acked_bytes.0))
        };
        assert_eq!((moved, counted), (output.bytes.0, output.bytes.0), "{op}");
        assert_eq!(disk(|disk| disk.read_count + disk.write_count), output.op_count);
        assert!(client.after.disks.is_empty());
        let nic = |sample: &CounterSample| sample.nics[0].receive_bytes.0 + sample.nics[0].send_bytes.0;
        let overhead = grew(client, nic) as f64 / output.bytes.as_f64() - 1.0;
        assert!((0.045..0.08).contains(&overhead), "{overhead}");
    }
}

#[test]
fn clients_and_intervals_add_up_to_the_trial() {
    let mut two = cell(Cut::Path, Op::Read, 4096, 4);
    two.workload.clients = 2;
    two.workload.workers = 2;
    let events = events(&machine(0.5), vec![two]);
    let output = trials(&events)[0].clone();
    let clients: u64 = output.clients.iter().map(|client| client.op_count).sum();
    let intervals = events.iter().filter_map(|event| match event {
        Event::Interval(sample) if sample.measured => Some(sample),
        _ => None,
    });
    let (ops, responses) = intervals.fold((0, 0), |(ops, responses), sample| {
        (ops + sample.op_count, responses + sample.response.count())
    });
    assert_eq!((clients, ops, responses), (output.op_count, output.op_count, output.op_count));
    assert_eq!((output.clients.len(), output.response.count()), (2, output.op_count));
    assert!(output.first_done_ns <= output.last_done_ns);
}

#[test]
fn cpu_counters_show_the_declared_demands() {
    let output = run(&machine(0.0), cell(Cut::Path, Op::Read, 4096, 16));
    for (role, demand_ns) in [(Role::Client, 20_000), (Role::Server, 50_000)] {
        let pair = pair(&output, role);
        let used = grew(pair, |sample| {
            let cpu = sample.process_cpu.unwrap();
            cpu.user_ns.0 + cpu.system_ns.0
        });
        assert!(near(used as f64, (output.op_count * demand_ns) as f64, 0.01), "{role:?} {used}");
        let host = |sample: &CounterSample| sample.host_cpu.unwrap();
        let elapsed = pair.after.at_ns.0 - pair.before.at_ns.0;
        let all = grew(pair, |sample| {
            let cpu = host(sample);
            cpu.user_ns.0 + cpu.system_ns.0 + cpu.idle_ns.0
        });
        assert!(all.abs_diff(elapsed) <= 4, "busy and idle fill the window: {all} of {elapsed}");
    }
}

#[test]
fn a_quota_below_one_cpu_is_used_up_and_throttled() {
    let profile = SimProfile { server_cpus: 0.3, ..machine(0.2) };
    let output = run(&profile, cell(Cut::Path, Op::Read, 4096, 32));
    let server = pair(&output, Role::Server);
    let elapsed = grew(server, |sample| sample.at_ns.0) as f64;
    let group = |sample: &CounterSample| sample.cgroup_cpu.clone().unwrap();
    let usage = grew(server, |sample| group(sample).usage_ns.0) as f64;
    let throttled = grew(server, |sample| group(sample).throttled_ns.0) as f64;
    assert!(near(usage / elapsed, 0.3, 0.01), "{}", usage / elapsed);
    assert!(near(throttled / elapsed, 0.7, 0.01), "{}", throttled / elapsed);
    assert!(grew(server, |sample| group(sample).throttled_count) > 0);
    assert!(pair(&output, Role::Client).after.cgroup_cpu.is_none());
}

#[test]
fn the_narrow_device_is_busy_all_the_time_and_the_wide_one_is_not() {
    for (device_ns, expected) in [(400_000, 1.0), (10_000, 0.2)] {
        let profile = SimProfile { device: law(device_ns, 0.0), ..machine(0.0) };
        let output = run(&profile, cell(Cut::Path, Op::Read, 0, 16));
        let server = pair(&output, Role::Server);
        let busy = grew(server, |sample| sample.disks[0].busy_ns.0) as f64;
        let ratio = busy / grew(server, |sample| sample.at_ns.0) as f64;
        assert!((ratio - expected).abs() < 0.01, "{ratio}");
    }
}

#[test]
fn cached_reads_do_not_reach_the_wire() {
    let cached = builtin("cached-client").unwrap();
    let mut buffered = cell(Cut::Path, Op::Read, 65_536, 4);
    buffered.workload.access = Access::Buffered;
    let output = run(&cached, buffered.clone());
    let received = |output: &TrialOutput| {
        grew(pair(output, Role::Client), |sample| sample.tcp.as_ref().unwrap().received_bytes.0) as f64
    };
    assert!((received(&output) / output.bytes.as_f64() - 0.03).abs() < 0.01);
    assert_eq!(output.resident_ratio, Some(0.97));
    buffered.workload.access = Access::Direct;
    let direct = run(&cached, buffered);
    assert!(near(received(&direct), direct.bytes.as_f64(), 1e-9));
}

#[test]
fn sharing_a_machine_shows_one_boot_and_one_host_cpu() {
    let shared = builtin("shared-laptop").unwrap();
    let events = events(&shared, vec![cell(Cut::Path, Op::Read, 65_536, 16)]);
    let Event::ServerConnected { server, inventory } = &events[1] else { panic!("{:?}", events[1]) };
    let client = crate::inventory(&shared);
    assert_eq!(client.host.boot_id.as_deref(), Some(server.boot_id.as_str()));
    assert_eq!((inventory.host.online_cpus, server.shares_machine), (2, true));
    let output = trials(&events)[0];
    assert_eq!(
        pair(output, Role::Client).after.host_cpu.unwrap(),
        pair(output, Role::Server).after.host_cpu.unwrap()
    );
    let apart = crate::inventory(&builtin("two-laptops").unwrap());
    assert_ne!(
        apart.host.boot_id,
        crate::facts::server_inventory(&builtin("two-laptops").unwrap()).host.boot_id
    );
}

#[test]
fn events_come_in_the_order_of_a_run() {
    let events = events(&machine(0.5), vec![cell(Cut::Path, Op::Read, 4096, 2)]);
    let mut names: Vec<String> = events
        .iter()
        .map(|event| match event {
            Event::RunStarted { .. } => "started".to_owned(),
            Event::ServerConnected { .. } => "server".to_owned(),
            Event::PhaseStarted { phase, .. } => format!("{phase:?}"),
            Event::Interval(sample) => format!("interval {}", sample.measured),
            Event::TrialFinished(_) => "trial".to_owned(),
            Event::RunFinished { reason, .. } => format!("{reason:?}"),
            other => format!("{other:?}"),
        })
        .collect();
    names.dedup();
    let expected = [
        "started",
        "server",
        "Prepare",
        "WarmUp",
        "interval false",
        "Measure",
        "interval true",
        "CoolDown",
        "trial",
        "Finished",
    ];
    assert_eq!(names, expected);
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_one_others() {
    let profile = machine(0.7);
    let mut plan = plan(CUTS.map(|cut| cell(cut, Op::Read, 4096, 3)).to_vec());
    let first = simulate(&profile, &plan).unwrap();
    assert_eq!(first, simulate(&profile, &plan).unwrap());
    plan.seed += 1;
    assert_ne!(first, simulate(&profile, &plan).unwrap());
}

#[test]
fn an_operation_limit_is_exact_and_keeps_the_rate() {
    let mut limited = cell(Cut::Path, Op::Write, 4096, 2);
    limited.stop.warm_up_ns = Nanos(0);
    limited.stop.bytes_max = Some(Bytes(4096 * 500));
    let output = run(&machine(0.0), limited);
    assert_eq!((output.op_count, output.complete), (500, true));
}

#[test]
fn a_capped_load_runs_at_its_cap() {
    let mut capped = cell(Cut::Path, Op::Read, 4096, 4);
    capped.workload.max_bytes_per_s = Some(4096 * 1_000);
    let output = run(&machine(0.5), capped);
    assert!(near(rate_per_s(&output), 1_000.0, 0.01), "{}", rate_per_s(&output));
}

#[test]
fn declared_errors_appear_as_often_as_declared_and_move_nothing() {
    let faults = vec![Fault::Error { every: 10, errno: "EIO".to_owned() }];
    let output = run(&SimProfile { faults, ..machine(0.2) }, cell(Cut::Path, Op::Write, 4096, 4));
    let failed = output.errors.iter().find(|error| error.errno == "EIO").unwrap().count;
    assert!(near(failed as f64, output.op_count as f64 / 9.0, 0.01), "{failed} of {}", output.op_count);
    let written = grew(pair(&output, Role::Server), |sample| sample.disks[0].write_bytes.0);
    assert_eq!(written, output.op_count * 4096);
}

#[test]
fn declared_stalls_lengthen_one_response_in_so_many() {
    let faults = vec![Fault::Stall { every: 100, extra_ns: Nanos::from_millis(5) }];
    let output = run(&SimProfile { faults, ..machine(0.0) }, cell(Cut::Path, Op::Read, 4096, 1));
    assert!(output.response.quantile_ns(0.98).unwrap() < 1_000_000);
    assert!(output.response.max_ns().unwrap() > 5_000_000);
    let output = run(&SimProfile { faults: Vec::new(), ..machine(0.0) }, cell(Cut::Path, Op::Read, 4096, 1));
    assert!(output.response.max_ns().unwrap() < 1_000_000);
}

#[test]
fn a_declared_hang_leaves_the_trial_incomplete_and_the_run_failed() {
    let faults = vec![Fault::Hang { after: 4_000 }];
    let mut repeated = cell(Cut::Path, Op::Read, 4096, 4);
    repeated.trials = 3;
    let events = events(&SimProfile { faults, ..machine(0.0) }, vec![repeated]);
    let outputs = trials(&events);
    assert_eq!(outputs.len(), 1);
    assert!(!outputs[0].complete);
    assert_eq!(
        outputs[0].errors.iter().map(|error| (error.errno.as_str(), error.count)).collect::<Vec<_>>(),
        [("ETIMEDOUT", 4)]
    );
    assert!(events.iter().any(|event| matches!(event, Event::CellFailed { .. })));
    assert!(matches!(events.last(), Some(Event::RunFinished { reason: EndReason::Failed, .. })));
}

#[test]
fn a_cut_that_the_machine_lacks_is_skipped_with_a_reason() {
    for (profile, cut) in [(local(machine(0.0)), Cut::ServerMemory), (machine(0.0), Cut::LocalDevice)] {
        let events = events(&profile, vec![cell(cut, Op::Read, 4096, 1)]);
        assert!(
            events.iter().any(|event| matches!(event, Event::CellSkipped(skip) if !skip.reason.is_empty()))
        );
        assert!(trials(&events).is_empty());
    }
}

#[test]
fn cells_past_the_budget_are_skipped() {
    let mut plan = plan(vec![cell(Cut::Path, Op::Read, 4096, 1), cell(Cut::Path, Op::Write, 4096, 1)]);
    plan.budget_ns = Nanos::from_millis(100);
    let events = simulate(&machine(0.0), &plan).unwrap();
    let skipped = CellId("path/write/4KiB/qd1/c1".to_owned());
    assert!(events.iter().any(|event| matches!(event, Event::CellSkipped(skip) if skip.cell == skipped)));
    assert!(matches!(events.last(), Some(Event::RunFinished { reason: EndReason::BudgetSpent, .. })));
}

#[test]
fn impossible_profiles_and_cells_are_refused_by_name() {
    let base = machine(0.0);
    let cases = [
        (SimProfile { client_cpus: 0.0, ..base.clone() }, "client_cpus is 0"),
        (SimProfile { server_cpus: f64::NAN, ..base.clone() }, "server_cpus is NaN"),
        (SimProfile { shared_machine: true, machine_cpus: 0, ..base.clone() }, "machine_cpus is 0"),
        (SimProfile { device_ops_per_s: Some(OpsPerSec(0.0)), ..base.clone() }, "device_ops_per_s"),
        (
            SimProfile { device: StationLaw { parallel: 0, ..law(1, 0.0) }, ..base.clone() },
            "device.parallel is 0",
        ),
        (SimProfile { generator: law(1, -1.0), ..base.clone() }, "generator.variation is -1"),
        (
            SimProfile { cache: CacheLaw { client_hit_ratio: 1.5, ..CacheLaw::default() }, ..base.clone() },
            "1.5",
        ),
        (
            SimProfile { faults: vec![Fault::Stall { every: 0, extra_ns: Nanos(1) }], ..base },
            "faults[0].every",
        ),
    ];
    for (profile, part) in cases {
        let message = simulate(&profile, &plan(Vec::new())).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let message =
        simulate(&machine(0.0), &plan(vec![cell(Cut::Path, Op::Read, 1, 0)])).unwrap_err().to_string();
    assert!(message.contains("queue_depth is 0"), "{message}");
}

/// Runs a closed loop on [`Machine::submit`] as an engine does: the next request goes out when one completes.
fn engine_rate_per_s(profile: &SimProfile, op: Op, bytes: u64, depth: u32) -> f64 {
    const REQUESTS: u32 = 8_000;
    let mut machine = Machine::new(profile.clone(), 5).unwrap().with_access(Access::Direct);
    let mut due = BinaryHeap::new();
    let mut submit = |now_ns| {
        let outcome = machine.submit(op, bytes, Cut::Path, now_ns);
        assert_eq!(outcome.fate, Fate::Done);
        std::cmp::Reverse(outcome.due_ns)
    };
    due.extend((0..depth).map(|_| submit(0)));
    let mut warm_ns = 0;
    let mut now_ns = 0;
    for index in 0..REQUESTS {
        now_ns = due.pop().unwrap().0;
        if index == REQUESTS / 4 {
            warm_ns = now_ns;
        }
        due.push(submit(now_ns));
    }
    f64::from(REQUESTS - 1 - REQUESTS / 4) / ((now_ns - warm_ns) as f64 / 1e9)
}

#[test]
fn the_machine_of_an_engine_carries_what_the_simulator_says() {
    for machine in BUILTIN {
        let mut profile = machine.profile();
        // Rare misses at a slow disk would need many more requests to show their rate.
        profile.cache.server_hit_ratio = profile.cache.server_hit_ratio.min(0.5);
        for (bytes, depth) in [(4096, 1), (4096, 16), (1 << 20, 8)] {
            for op in [Op::Read, Op::Write] {
                let simulated = rate_per_s(&run(&profile, cell(Cut::Path, op, bytes, depth)));
                let engine = engine_rate_per_s(&profile, op, bytes, depth);
                assert!(
                    near(engine, simulated, 0.05),
                    "{} {op} {bytes} at {depth}: engine {engine}, simulator {simulated}",
                    machine.id
                );
            }
        }
    }
}

#[test]
fn a_machine_tells_errors_by_name_and_hangs() {
    let faults = vec![Fault::Error { every: 2, errno: "ENOSPC".to_owned() }, Fault::Hang { after: 3 }];
    let mut machine = Machine::new(SimProfile { faults, ..machine(0.0) }, 1).unwrap();
    let fates: Vec<Fate> =
        (0..4).map(|index| machine.submit(Op::Write, 4096, Cut::Path, index).fate).collect();
    assert_eq!(fates, [Fate::Done, Fate::Failed("ENOSPC".to_owned()), Fate::Done, Fate::Never]);
    assert_eq!(machine.submit(Op::Write, 4096, Cut::Path, 9).due_ns, u64::MAX);
    assert_eq!(machine.submit(Op::Write, 4096, Cut::ServerMemory, 9).fate, Fate::Done);
}

#[test]
fn warm_up_is_not_measured() {
    let events = events(&machine(0.0), vec![cell(Cut::Path, Op::Read, 4096, 1)]);
    let at = |wanted: Phase| {
        events.iter().find_map(|event| match event {
            Event::PhaseStarted { phase, at_ns, .. } if *phase == wanted => Some(at_ns.0),
            _ => None,
        })
    };
    let warm_ns = at(Phase::Measure).unwrap() - at(Phase::WarmUp).unwrap();
    assert!((300_000_000..301_000_000).contains(&warm_ns), "{warm_ns}");
    assert_eq!(trials(&events)[0].start_ns.0, at(Phase::Measure).unwrap());
}
