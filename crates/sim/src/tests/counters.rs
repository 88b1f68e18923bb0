//! The counters of a simulated run against its operations and the declared machine.

use super::*;

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
    let periods = grew(server, |sample| group(sample).period_count);
    assert!(periods >= 5, "{periods}");
    assert!(grew(server, |sample| group(sample).throttled_count).abs_diff(periods) <= 1);
    assert!(pair(&output, Role::Client).after.cgroup_cpu.is_none());
}

#[test]
fn a_quota_of_which_a_part_is_used_evenly_runs_out_in_no_period() {
    // One request at a time uses 50 us of the server's CPU in 20 + 100 + 50/0.5 + 80 us: 0.17 of 0.5 CPUs.
    let profile = SimProfile { server_cpus: 0.5, ..machine(0.0) };
    let output = run(&profile, cell(Cut::Path, Op::Read, 0, 1));
    let server = pair(&output, Role::Server);
    let group = |sample: &CounterSample| sample.cgroup_cpu.clone().unwrap();
    let elapsed = grew(server, |sample| sample.at_ns.0) as f64;
    let usage = grew(server, |sample| group(sample).usage_ns.0) as f64;
    assert!(near(usage / elapsed, 50.0 / 300.0, 0.01), "{}", usage / elapsed);
    assert!(grew(server, |sample| group(sample).period_count) >= 5);
    assert_eq!(grew(server, |sample| group(sample).throttled_count), 0);
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
