//! CPU in windows of few clock ticks: what is reported, and how the rules use it.

use crate::testing::{Grid, cleared, found, machine, plan};
use crate::{Input, RunFacts, analyse};
use narrows_model::client_host::ClientHostFacts;
use narrows_model::counters::{CounterSample, ForeignCpu, ForeignProgram, HostCpu, ProcessCpu, Role};
use narrows_model::summary::CpuBasis;
use narrows_model::{Event, Nanos, Segment, Summary};

const TICK_NS: u64 = 10_000_000;

/// What happened to a short trial.
#[derive(Clone, Copy)]
struct Short {
    /// Measured nanoseconds of each trial.
    window_ns: u64,
    /// Ticks that the counters of processes went up by meanwhile.
    ticks: u64,
    /// Share of the window that the load's thread ran, by its own clock; `None` where that is not reported.
    ran_ratio: Option<f64>,
}

/// A machine whose trials of one thread were that short, its processes counted in ticks.
fn measured(name: &str, short: Short) -> Summary {
    measured_on(name, short, &[])
}

/// The same with clients on these hosts; none for this machine.
fn measured_on(name: &str, short: Short, hosts: &[ClientHostFacts]) -> Summary {
    let profile = machine(name);
    let plan = plan(&profile, Grid::default());
    let mut events = narrows_sim::simulate(&profile, &plan).unwrap();
    for event in &mut events {
        let Event::TrialFinished(trial) = event else { continue };
        trial.last_done_ns = Nanos(short.window_ns);
        trial.first_done_ns = Nanos(short.window_ns);
        for client in &mut trial.clients {
            client.elapsed_ns = Nanos(short.window_ns);
            client.user_ns = Nanos(0);
            client.system_ns =
                Nanos::from_secs_f64(short.window_ns as f64 * 1e-9 * short.ran_ratio.unwrap_or(0.0));
        }
        for pair in &mut trial.counters {
            pair.after.at_ns = Nanos(pair.before.at_ns.0 + short.window_ns + 100_000);
            counted(&mut pair.before, 0);
            counted(&mut pair.after, short.ticks);
            if pair.before.role == Role::Client && !hosts.is_empty() {
                (pair.before.process_cpu, pair.after.process_cpu) = (None, None);
            }
        }
    }
    let (manifest, mut inventory) = (RunFacts::default(), narrows_sim::inventory(&profile));
    inventory.client_hosts = hosts.to_vec();
    analyse(&Input { manifest, plan: &plan, inventory: &inventory, events: &events })
}

fn counted(sample: &mut CounterSample, ticks: u64) {
    (sample.host_cpu, sample.cgroup_cpu, sample.ring_cpu) = (None, None, None);
    sample.process_cpu = Some(ProcessCpu { user_ns: Nanos(0), system_ns: Nanos(ticks * TICK_NS) });
}

fn bases(summary: &Summary, role: Role) -> Vec<Option<CpuBasis>> {
    summary.cells.iter().map(|cell| cell.cpu.get(&role).map(|cpu| cpu.basis)).collect()
}

#[test]
fn in_a_window_under_a_tick_counters_in_ticks_neither_clear_nor_blame() {
    for ticks in [0, 1] {
        let summary = measured("strong-client", Short { window_ns: 30_000, ticks, ran_ratio: None });
        for (role, segment) in [(Role::Client, Segment::ClientCpu), (Role::Server, Segment::ServerCpu)] {
            assert!(bases(&summary, role).iter().all(Option::is_none), "{role:?} {ticks}");
            assert!(!cleared(&summary, segment), "{segment} {ticks}");
            assert!(
                summary.diagnosis.limiting.iter().all(|entry| entry.segment != segment),
                "{segment} {ticks}"
            );
        }
    }
}

#[test]
fn the_clock_of_a_thread_names_a_full_one_and_clears_an_idle_one_in_any_window() {
    for window_ns in [30_000, 399_000_000] {
        let at =
            |ran_ratio| measured("strong-client", Short { window_ns, ticks: 0, ran_ratio: Some(ran_ratio) });
        let ill = at(0.99);
        assert!(found(&ill, "client-cpu-full") && !cleared(&ill, Segment::ClientCpu), "{window_ns}");
        assert!(bases(&ill, Role::Client).contains(&Some(CpuBasis::Thread)));
        let healthy = at(0.02);
        assert!(!found(&healthy, "client-cpu-full") && cleared(&healthy, Segment::ClientCpu), "{window_ns}");
    }
}

#[test]
fn half_a_second_without_its_last_moment_is_enough_for_the_counters_of_processes() {
    let half_a_second_ns = 50 * TICK_NS;
    let window_ns = half_a_second_ns - 5_000_000;
    let summary = measured("strong-client", Short { window_ns, ticks: 1, ran_ratio: None });
    assert!(bases(&summary, Role::Client).contains(&Some(CpuBasis::Process)));
    assert!(cleared(&summary, Segment::ClientCpu));
}

#[test]
fn a_thread_that_ran_longer_than_its_window_is_not_reported() {
    let summary = measured("strong-client", Short { window_ns: 30_000, ticks: 1, ran_ratio: Some(7.0) });
    assert!(bases(&summary, Role::Client).iter().flatten().next().is_none());
}

/// CPU of a client alone on a machine of two CPUs, of which it may use `affinity`, in cells in which its process used 0.3
/// CPUs, interrupts 0.1, and others 1.55 of them; `counted` is whether others were counted.
fn beside_others(affinity: &[u32], counted: bool) -> Summary {
    let profile = machine("two-laptops");
    let plan = plan(&profile, Grid::default());
    let mut events = narrows_sim::simulate(&profile, &plan).unwrap();
    let sample = |sample: &mut CounterSample, s: f64| {
        let time = |cpus: f64| Nanos::from_secs_f64(cpus * s);
        sample.at_ns = Nanos::from_secs_f64(s);
        sample.process_cpu = Some(ProcessCpu { user_ns: Nanos(0), system_ns: time(0.3) });
        sample.cgroup_cpu = None;
        sample.host_cpu = Some(HostCpu {
            online_cpus: 2,
            user_ns: time(1.55),
            system_ns: time(0.3),
            softirq_ns: time(0.1),
            idle_ns: time(0.05),
            ..HostCpu::default()
        });
        let programs = vec![ForeignProgram { name: "burn".into(), pid: 7, used_ns: time(1.55) }];
        sample.foreign_cpu =
            counted.then(|| ForeignCpu { used_ns: time(1.55), programs, ..ForeignCpu::default() });
    };
    for event in &mut events {
        let Event::TrialFinished(trial) = event else { continue };
        trial.last_done_ns = Nanos::from_secs_f64(1.0);
        for pair in trial.counters.iter_mut().filter(|pair| pair.after.role == Role::Client) {
            sample(&mut pair.before, 0.0);
            sample(&mut pair.after, 1.0);
        }
    }
    let (manifest, mut inventory) = (RunFacts::default(), narrows_sim::inventory(&profile));
    inventory.host.affinity_cpus = affinity.to_vec();
    inventory.host.online_cpus = 2;
    inventory.host.quota_cpus = None;
    analyse(&Input { manifest, plan: &plan, inventory: &inventory, events: &events })
}

#[test]
fn what_other_programs_burn_is_charged_to_no_role_and_no_role_uses_more_than_it_has() {
    for (affinity, counted, used_cpus) in [
        (&[0][..], true, 0.4),
        (&[0, 1][..], true, 0.4),
        // Without a count only the processes are known to be the role's where it may use a part of the machine.
        (&[0][..], false, 0.3),
    ] {
        let summary = beside_others(affinity, counted);
        let path = summary.cells.iter().filter(|cell| cell.cut == narrows_model::Cut::Path);
        for cell in path {
            let client = &cell.cpu[&Role::Client];
            let threads = f64::from(cell.requested.workers) * f64::from(cell.clients);
            assert!(client.busy_ratio <= 1.0, "{affinity:?} {client:?}");
            let used = client.user_s + client.system_s;
            let of_threads =
                (client.capacity_cpus - threads).abs() < 1e-9 && client.basis == CpuBasis::Process;
            let expected = if of_threads { 0.3 } else { used_cpus };
            let seconds = cell.trials.len() as f64;
            assert!((used / seconds - expected).abs() < 0.01, "{affinity:?} {counted}: {client:?}");
            if counted {
                let [load] = &cell.foreign_cpu[..] else { panic!("{:?}", cell.foreign_cpu) };
                assert!((load.used_cpus - 1.55).abs() < 0.01 && load.programs[0].pid == 7, "{load:?}");
            }
        }
        assert!(!found(&summary, "client-cpu-full"), "{affinity:?} {counted}");
    }
}

fn client_host(name: &str, boot_id: &str, cpus: u32) -> ClientHostFacts {
    ClientHostFacts {
        name: name.to_owned(),
        hostname: name.to_owned(),
        boot_id: Some(boot_id.to_owned()),
        shares_machine: false,
        kernel_release: None,
        affinity_cpus: (0..cpus).collect(),
        memory_bytes: None,
        clock_offset_ns: 0,
        clock_uncertainty_ns: Nanos(1000),
    }
}

#[test]
fn clients_on_other_machines_are_charged_by_their_threads_in_any_window() {
    // The second is another name of the first machine.
    let hosts = [client_host("a", "one", 4), client_host("b", "one", 4)];
    for window_ns in [300_000_000, 1_000_000_000, 5_000_000_000] {
        let short = Short { window_ns, ticks: 90, ran_ratio: Some(0.4) };
        let summary = measured_on("strong-client", short, &hosts);
        let bases = bases(&summary, Role::Client);
        assert!(bases.iter().flatten().all(|basis| *basis == CpuBasis::Thread), "{window_ns}: {bases:?}");
        assert!(bases.iter().any(Option::is_some), "{window_ns}");
        let path = summary.cells.iter().filter(|cell| cell.cut == narrows_model::Cut::Path);
        for client in path.filter_map(|cell| cell.cpu.get(&Role::Client)) {
            assert!((client.busy_ratio * client.capacity_cpus - 0.4).abs() < 0.2, "{client:?}");
            assert!(client.capacity_cpus <= 4.0, "{client:?}");
        }
    }
}
