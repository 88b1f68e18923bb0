//! The published experiment's numbers as trials.

use super::diagnose_relay as diagnose;
use crate::collect::relay::RelayTrials;
use crate::summary::relay::summary;
use narrows_model::counters::Role;
use narrows_model::relay::{
    CallSizes, ForwardMode, RelayCell, RelayMachine, RelayPlan, RelayRoleOutput, RelaySockets, RelaySweep,
    RelayTransport, RelayTrial,
};
use narrows_model::summary::RelaySummary;
use narrows_model::{Bytes, CellId, Nanos};

/// The bytes that the published experiment moved.
const PUBLISHED_TOTAL: Bytes = Bytes(48 << 20);

fn plan(sweep: RelaySweep, shrunk: u64, trials: u32) -> RelayPlan {
    let cell = RelayCell {
        id: CellId(format!("relay/{}/{shrunk}", sweep.name())),
        sweep,
        shrunk: Bytes(shrunk),
        buffers: sweep.buffers(Bytes(shrunk), Bytes(4096)),
        trials,
    };
    RelayPlan {
        total: PUBLISHED_TOTAL,
        sockets: RelaySockets {
            transport: RelayTransport::Tcp,
            no_delay: false,
            send_buffer: None,
            receive_buffer: None,
            wait_all: false,
        },
        forward: ForwardMode::Copy,
        verify: false,
        cells: vec![cell],
    }
}

fn even(bytes: u64) -> CallSizes {
    CallSizes { by_bytes: [(bytes, PUBLISHED_TOTAL.0 / bytes)].into() }
}

fn output(role: Role, reads: CallSizes, writes: CallSizes, cpu_s: f64) -> RelayRoleOutput {
    RelayRoleOutput {
        role,
        host: "node".to_owned(),
        machine: None,
        reads,
        writes,
        elapsed_ns: Nanos(1),
        user_ns: Nanos::from_secs_f64(cpu_s * 0.25),
        system_ns: Nanos::from_secs_f64(cpu_s * 0.75),
        segments: None,
        granted_send_buffer: None,
        granted_receive_buffer: None,
    }
}

/// The client shrunk to 2048 bytes, two nodes, with the published reads of the server.
fn shrunk_client(plan: &RelayPlan, trial: u32, elapsed_s: f64) -> RelayTrial {
    let reads = CallSizes { by_bytes: [(2048, 8124), (4096, 8226)].into() };
    RelayTrial {
        cell: plan.cells[0].id.clone(),
        trial,
        elapsed_ns: Nanos::from_secs_f64(elapsed_s),
        received: plan.total,
        whole: true,
        problem: None,
        roles: vec![
            output(Role::Client, CallSizes::default(), even(2048), elapsed_s * 0.5),
            output(Role::Server, reads, CallSizes::default(), elapsed_s * 0.1),
        ],
    }
}

fn summarised(plan: &RelayPlan, all: &[RelayTrial]) -> (RelaySummary, bool) {
    let mut trials = RelayTrials::default();
    for trial in all {
        trials.add(trial);
    }
    (summary(plan, &trials), trials.complete(plan))
}

#[test]
fn rates_calls_and_coalescing_are_those_published() {
    let plan = plan(RelaySweep::Client, 2048, 1);
    let (figures, complete) = summarised(&plan, &[shrunk_client(&plan, 0, 2.296_014)]);
    let point = &figures.points[0];
    assert!(complete && point.problems.is_empty());
    // 48 MiB in 2.296014 s; the published 21504.70 KiB/s is a mean over runs of which only the mean time is printed.
    assert!((point.rate_mean.unwrap().0 / 1024.0 - 21_407.5).abs() < 0.1, "{point:?}");
    assert!((point.coalescing_ratio.unwrap() - 24_576.0 / 16_350.0).abs() < 1e-12);
    let server = point.roles.iter().find(|role| role.role == Role::Server).unwrap();
    assert!((server.read_count - 16_350.0).abs() < f64::EPSILON && server.write_count == 0.0);
    assert!((server.busy_ratio - 0.1).abs() < 1e-6);
    assert_eq!(point.interval, None);
}

#[test]
fn the_mean_of_rates_is_above_the_rate_of_totals_where_trials_differ() {
    let plan = plan(RelaySweep::Client, 2048, 2);
    let (figures, complete) =
        summarised(&plan, &[shrunk_client(&plan, 0, 1.0), shrunk_client(&plan, 1, 3.0)]);
    let point = &figures.points[0];
    let (bytes, mean) = (plan.total.as_f64(), point.rate_mean.unwrap().0);
    assert!(complete);
    assert!((mean - bytes * (1.0 + 1.0 / 3.0) / 2.0).abs() < 1.0);
    assert!((point.rate_of_totals.unwrap().0 - bytes * 2.0 / 4.0).abs() < 1.0);
    assert!(point.interval.as_ref().is_some_and(|interval| interval.low < mean && mean < interval.high));
    // SciPy: t.interval(0.95, 1, loc=24, scale=12) in units of a trial's bytes over 48 s (known_answers/generate.py, ratio).
    let totals = point.rate_of_totals_interval.as_ref().unwrap();
    assert_eq!(totals.method, "delta");
    let (low, high) = (totals.low / bytes * 48.0, totals.high / bytes * 48.0);
    assert!((low + 128.474_456_841).abs() < 1e-6 && (high - 176.474_456_841).abs() < 1e-6, "{low} {high}");
}

#[test]
fn a_role_reports_the_least_socket_buffers_that_it_had_in_any_trial() {
    let plan = plan(RelaySweep::Client, 2048, 2);
    let mut trials = [shrunk_client(&plan, 0, 1.0), shrunk_client(&plan, 1, 1.0)];
    for (trial, kib) in trials.iter_mut().zip([128, 64]) {
        trial.roles[0].granted_send_buffer = Some(Bytes(kib << 10));
        trial.roles[1].granted_receive_buffer = Some(Bytes((2 * kib) << 10));
    }
    let (figures, _) = summarised(&plan, &trials);
    let [client, server] = &figures.points[0].roles[..] else { panic!("{figures:?}") };
    assert_eq!((client.granted_send_buffer, client.granted_receive_buffer), (Some(Bytes(64 << 10)), None));
    assert_eq!((server.granted_send_buffer, server.granted_receive_buffer), (None, Some(Bytes(128 << 10))));
}

#[test]
fn trials_that_cannot_be_are_no_results() {
    let plan = plan(RelaySweep::Client, 2048, 1);
    let good = || shrunk_client(&plan, 0, 2.0);
    let mut lost = good();
    lost.roles[1].reads.by_bytes.insert(2048, 8123);
    let mut beyond = good();
    beyond.roles[1].reads = even(8192);
    let mut short = good();
    short.received = Bytes(1);
    let mut silent = good();
    silent.roles.pop();
    let mut broken = good();
    (broken.whole, broken.problem) = (false, Some("the server was killed".to_owned()));
    let cases = [
        (lost, "the server counted reads of"),
        (beyond, "reports a read of 8KiB with a buffer of 4KiB"),
        (short, "arrived"),
        (silent, "the server sent no report"),
        (broken, "the server was killed"),
    ];
    for (trial, message) in cases {
        let (figures, complete) = summarised(&plan, &[trial]);
        let point = &figures.points[0];
        assert!(!complete && point.trial_count == 0 && point.rate_mean.is_none(), "{message}");
        assert!(
            point.problems[0].starts_with("trial 1: ") && point.problems[0].contains(message),
            "{point:?}"
        );
    }
    assert!(!summarised(&plan, &[]).1);
}

#[test]
fn a_proxy_belongs_to_three_nodes_and_its_reads_to_its_buffer() {
    let plan = plan(RelaySweep::Proxy, 32, 1);
    let mut trial = shrunk_client(&plan, 0, 2.0);
    trial.roles[0].writes = even(4096);
    assert!(!summarised(&plan, std::slice::from_ref(&trial)).1, "no proxy told of itself");
    trial.roles.insert(1, output(Role::Proxy, even(32), even(32), 2.0));
    let (figures, complete) = summarised(&plan, &[trial]);
    assert!(complete);
    assert!((figures.points[0].roles[1].busy_ratio - 1.0).abs() < 1e-6);
}

/// A sweep of three nodes whose time is the proxy's calls, at the published 65.3 us each.
fn proxy_sweep() -> (RelayPlan, Vec<RelayTrial>) {
    let sizes = [4096, 1024, 256, 64];
    let mut whole = plan(RelaySweep::Proxy, sizes[0], 1);
    whole.cells = sizes.iter().flat_map(|size| plan(RelaySweep::Proxy, *size, 1).cells).collect();
    let trials = whole.cells.iter().map(|cell| {
        let size = cell.shrunk.0;
        let elapsed_s = 0.5 + 65.3e-6 * (PUBLISHED_TOTAL.0 / size) as f64;
        let mut trial = shrunk_client(&whole, 0, elapsed_s);
        trial.cell = cell.id.clone();
        trial.roles = vec![
            output(Role::Client, CallSizes::default(), even(4096), elapsed_s * 0.1),
            output(Role::Proxy, even(size), even(size), elapsed_s * 0.99),
            output(Role::Server, even(size), CallSizes::default(), elapsed_s * 0.2),
        ];
        trial
    });
    let trials = trials.collect();
    (whole, trials)
}

#[test]
fn a_run_whose_proxy_is_busy_all_the_time_is_limited_by_it_as_the_published_one_is() {
    let (plan, trials) = proxy_sweep();
    let (mut figures, complete) = summarised(&plan, &trials);
    assert!(complete);
    let shared = diagnose(&figures);
    assert!(shared.preface.is_some(), "all roles told of one host");
    let first = &shared.limiting[0];
    assert_eq!(first.segment, narrows_model::Segment::ProxyCpu, "{shared:?}");
    assert!(first.confidence <= 0.6 && first.regime.starts_with("sweep proxy: "), "{first:?}");
    for (index, role) in figures.points.iter_mut().flat_map(|point| &mut point.roles).enumerate() {
        role.host = format!("host-{}", index % 3);
    }
    assert_eq!(diagnose(&figures).preface, None);
}

/// The sweep's figures with the roles' busy shares, client first, and the CPUs on which each may run on one machine.
fn on_cpus(busy: [f64; 3], cpus: [&[u32]; 3]) -> RelaySummary {
    let (plan, trials) = proxy_sweep();
    let (mut figures, _) = summarised(&plan, &trials);
    for point in &mut figures.points {
        let elapsed_s = point.elapsed_s.unwrap();
        for (part, role) in point.roles.iter_mut().enumerate() {
            role.host = format!("container-{part}");
            role.busy_ratio = busy[part];
            (role.user_s, role.system_s) = (0.0, role.busy_ratio * elapsed_s);
            role.machine =
                Some(RelayMachine { boot_id: Some("b".to_owned()), affinity_cpus: cpus[part].to_vec() });
        }
    }
    figures
}

fn limiting(figures: &RelaySummary) -> Vec<narrows_model::Segment> {
    diagnose(figures).limiting.iter().map(|entry| entry.segment).collect()
}

#[test]
fn roles_that_fill_the_cpus_that_they_share_are_limited_by_these_with_the_demand_of_each() {
    let shared = diagnose(&on_cpus([0.2, 0.5, 0.28], [&[0], &[0], &[0]]));
    assert!(shared.preface.is_some(), "one boot id, whatever the containers are called");
    let first = &shared.limiting[0];
    assert!(shared.limiting.iter().all(|entry| entry.segment == narrows_model::Segment::HostCpu));
    assert!(first.confidence <= 0.6 && first.codes == ["host-cpu-full"], "{first:?}");
    let message = &first.evidence[0].text;
    assert!(
        message.contains("client 0.20 CPUs, proxy 0.50 CPUs, server 0.28 CPUs of 1.00 CPUs"),
        "{message}"
    );
    assert!(first.evidence.iter().any(|one| one.text.starts_with("T = ")), "{first:?}");
    let cleared = &shared.exonerated;
    assert!(cleared.iter().all(|entry| entry.segment != narrows_model::Segment::ProxyCpu), "{cleared:?}");
}

#[test]
fn roles_none_of_which_is_busy_for_half_of_the_time_fill_the_cpus_that_they_share() {
    let shared = diagnose(&on_cpus([0.33, 0.36, 0.28], [&[0], &[0], &[0]]));
    assert!(
        shared.limiting.iter().all(|entry| entry.segment == narrows_model::Segment::HostCpu),
        "{shared:?}"
    );
    assert!(shared.limiting[0].evidence.iter().any(|one| one.text.starts_with("T = ")), "{shared:?}");
    let apart = diagnose(&on_cpus([0.05, 0.1, 0.05], [&[0], &[1], &[2]]));
    assert_eq!(apart.limiting[0].segment, narrows_model::Segment::Unknown, "{apart:?}");
    assert!(apart.limiting[0].evidence.iter().any(|one| one.text.contains("the calls wait")), "{apart:?}");
}

#[test]
fn cpus_apart_room_left_or_one_full_thread_leave_the_verdict_to_the_roles() {
    use narrows_model::Segment::HostCpu;
    let busy = [0.2, 0.5, 0.28];
    assert!(!limiting(&on_cpus(busy, [&[0], &[1], &[2]])).contains(&HostCpu));
    assert!(!limiting(&on_cpus(busy, [&[0, 1], &[0, 1], &[0, 1]])).contains(&HostCpu));
    assert_eq!(limiting(&on_cpus([0.02, 0.97, 0.01], [&[0]; 3])), [narrows_model::Segment::ProxyCpu]);
    // Three roles on two CPUs, none of which is a full thread.
    assert!(limiting(&on_cpus([0.6, 0.7, 0.6], [&[0, 1]; 3])).contains(&HostCpu));
    assert!(!limiting(&on_cpus([0.6, 0.7, 0.6], [&[0, 1], &[0, 1], &[2]])).contains(&HostCpu));
}

#[test]
fn hosts_of_one_name_are_two_machines_where_their_boot_ids_differ() {
    let mut figures = on_cpus([0.2, 0.5, 0.28], [&[0]; 3]);
    for (index, role) in figures.points.iter_mut().flat_map(|point| &mut point.roles).enumerate() {
        role.host = "localhost".to_owned();
        role.machine.as_mut().unwrap().boot_id = Some(format!("boot-{}", index % 3));
    }
    assert_eq!(diagnose(&figures).preface, None);
    assert!(!limiting(&figures).contains(&narrows_model::Segment::HostCpu));
}

#[test]
fn a_verdict_on_verified_trials_says_that_the_check_costs_cpu_too() {
    let (mut plan, trials) = proxy_sweep();
    assert!(!diagnose(&summarised(&plan, &trials).0).preface.unwrap().contains("verified"));
    plan.verify = true;
    let preface = diagnose(&summarised(&plan, &trials).0).preface.unwrap();
    assert!(
        preface.contains("share this machine") && preface.contains("Every byte was verified"),
        "{preface}"
    );
}

#[test]
fn a_verdict_names_points_from_the_largest_buffers_down_whatever_ran_first() {
    let (plan, trials) = proxy_sweep();
    let (mut figures, _) = summarised(&plan, &trials);
    let in_order = diagnose(&figures);
    figures.points.reverse();
    figures.points.swap(0, 2);
    assert_eq!(diagnose(&figures), in_order);
    let unmeasured = &in_order.not_measured;
    assert!(
        !unmeasured.is_empty() && unmeasured.iter().all(|entry| !entry.why.contains("file")),
        "{unmeasured:?}"
    );
}
