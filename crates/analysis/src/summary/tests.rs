//! Figures of cells, from events made by hand or by a declared machine.

use super::*;
use crate::facts::flags;
use crate::testing::{Grid, builtin, gridded, machine, plan};
use narrows_model::counters::{CgroupCpu, CounterSample, ProcessCpu, RingCpu};
use narrows_model::event::EndReason;
use narrows_model::plan::SkippedCell;
use narrows_model::summary::{CellSummary, CpuBasis, RoleCpu};
use narrows_model::trial::{CounterPair, IntervalSample, TrialOutput};
use narrows_model::{Bytes, CellId, Cut, Histogram, Nanos};

/// Summary of the events that a machine gives, after a change to them.
fn summary_of(name: &str, change: impl Fn(&mut Vec<Event>)) -> Summary {
    let profile = machine(name);
    let plan = plan(&profile, Grid::default());
    let mut events = narrows_sim::simulate(&profile, &plan).unwrap();
    change(&mut events);
    let inventory = narrows_sim::inventory(&profile);
    let manifest = RunFacts::default();
    summarize(&Input { manifest, plan: &plan, inventory: &inventory, events: &events })
}

fn trials(events: &mut [Event]) -> impl Iterator<Item = &mut TrialOutput> {
    events.iter_mut().filter_map(|event| match event {
        Event::TrialFinished(trial) => Some(trial.as_mut()),
        _ => None,
    })
}

fn cell<'s>(summary: &'s Summary, id: &str) -> &'s CellSummary {
    summary.cells.iter().find(|cell| cell.id == id).unwrap()
}

const BULK: &str = "path/write/1MiB/qd16/c1";

#[test]
fn a_rate_is_bytes_over_the_time_to_the_last_end() {
    let summary = summary_of("gigabit-nfs", |events| {
        for trial in trials(events) {
            (trial.bytes, trial.op_count, trial.last_done_ns) = (Bytes(3_000), 30, Nanos(1_500_000_000));
        }
    });
    let cell = cell(&summary, BULK);
    assert!((cell.rate_bytes_per_s.unwrap().0 - 2_000.0).abs() < 1e-9);
    assert!((cell.ops_per_s.unwrap().0 - 20.0).abs() < 1e-9);
}

#[test]
fn a_trial_without_its_end_is_rebuilt_from_its_samples_and_marked() {
    let whole = summary_of("gigabit-nfs", |_| {});
    let torn = summary_of("gigabit-nfs", |events| {
        events.retain(|event| !matches!(event, Event::TrialFinished(trial) if trial.cell.0 == BULK));
    });
    let (whole, rebuilt) = (cell(&whole, BULK), cell(&torn, BULK));
    let ratio = rebuilt.rate_bytes_per_s.unwrap().0 / whole.rate_bytes_per_s.unwrap().0;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    assert!(rebuilt.flags.iter().any(|flag| flag == flags::INCOMPLETE));
    assert!(!torn.complete && rebuilt.latency_ns.p50.is_some());
}

#[test]
fn a_run_cut_off_lists_the_cells_it_did_not_reach() {
    let summary = summary_of("gigabit-nfs", |events| events.truncate(events.len() / 2));
    assert!(!summary.complete && !summary.skipped.is_empty());
    assert!(summary.skipped.iter().all(|skip| !summary.cells.iter().any(|cell| cell.id == skip.cell.0)));
}

#[test]
fn cells_that_the_time_did_not_allow_are_listed_and_the_rest_is_whole() {
    let summary = summary_of("gigabit-nfs", |events| {
        events.retain(|event| !matches!(event, Event::TrialFinished(trial) if trial.cell.0 == BULK));
        events.retain(|event| !matches!(event, Event::Interval(sample) if sample.cell.0 == BULK));
        let skip = SkippedCell { cell: CellId(BULK.to_owned()), reason: "no time".to_owned() };
        let last = events.len() - 1;
        events.insert(last, Event::CellSkipped(skip));
        if let Some(Event::RunFinished { reason, .. }) = events.last_mut() {
            *reason = EndReason::BudgetSpent;
        }
    });
    assert!(summary.complete);
    assert_eq!(summary.skipped.iter().filter(|skip| skip.cell.0 == BULK).count(), 1);
}

#[test]
fn more_in_flight_than_asked_for_is_flagged() {
    let summary = summary_of("gigabit-nfs", |events| {
        for trial in trials(events) {
            trial.response_sum_ns = trial.last_done_ns.0 * 20;
        }
    });
    assert!(cell(&summary, BULK).flags.iter().any(|flag| flag == flags::LITTLE_LAW_VIOLATED));
    assert!(!cell(&builtin("gigabit-nfs"), BULK).flags.iter().any(|flag| flag == flags::LITTLE_LAW_VIOLATED));
}

#[test]
fn one_long_request_a_slot_that_began_before_its_window_breaks_no_law() {
    let summary = |longest_ns: u64| {
        summary_of("gigabit-nfs", |events| {
            for trial in trials(events) {
                trial.response_sum_ns = trial.last_done_ns.0 * 20;
                trial.response.record(longest_ns);
            }
        })
    };
    let flagged =
        |summary: &Summary| cell(summary, BULK).flags.iter().any(|flag| flag == flags::LITTLE_LAW_VIOLATED);
    // 20 of 16 in flight: a quarter of the window of each slot was before it, if one request took that long.
    let window_ns = narrows_model::units::round_to_u64(cell(&summary(1), BULK).trials[0].elapsed_s * 1e9);
    assert!(flagged(&summary(window_ns / 5)));
    assert!(!flagged(&summary(window_ns * 3 / 10)));
}

#[test]
fn fewer_in_flight_than_asked_for_is_flagged_and_evaluates_no_concurrency() {
    let summary = summary_of("wan-10ms", |events| {
        for trial in trials(events) {
            trial.response_sum_ns = trial.response_sum_ns / 100 * 85;
        }
    });
    assert!(cell(&summary, BULK).flags.iter().any(|flag| flag == flags::IN_FLIGHT_BELOW));
    assert!(!cell(&builtin("wan-10ms"), BULK).flags.iter().any(|flag| flag == flags::IN_FLIGHT_BELOW));
    let diagnosis = crate::diagnose(&summary);
    let concurrency = Segment::WorkloadConcurrency;
    assert!(!diagnosis.limiting.iter().any(|entry| entry.segment == concurrency));
    assert!(!diagnosis.exonerated.iter().any(|entry| entry.segment == concurrency));
}

#[test]
fn the_interval_of_a_stream_is_around_the_rate_of_its_wire() {
    let summary = summary_of("gigabit-nfs", |events| {
        for event in events.iter_mut() {
            match event {
                Event::TrialFinished(trial) => trial.bytes = Bytes(trial.bytes.0 * 3),
                Event::Interval(sample) => sample.bytes = Bytes(sample.bytes.0 * 3),
                _ => {}
            }
        }
    });
    let streams = summary.cells.iter().filter(|cell| cell.cut == Cut::NetworkStream);
    let with_interval: Vec<_> =
        streams.filter_map(|cell| cell.interval.clone().zip(cell.rate_bytes_per_s)).collect();
    assert!(!with_interval.is_empty());
    for (interval, rate) in with_interval {
        assert!(
            interval.low <= rate.0 * 1.1 && rate.0 * 0.9 <= interval.high,
            "{interval:?} around {rate:?}"
        );
    }
}

#[test]
fn a_raw_stream_counts_what_the_wire_transferred_not_what_the_socket_took() {
    let summary = summary_of("gigabit-nfs", |events| {
        for trial in trials(events) {
            trial.bytes = Bytes(trial.bytes.0 * 3);
        }
    });
    let stream =
        summary.cells.iter().find(|cell| cell.cut == Cut::NetworkStream && cell.queue_depth == 16).unwrap();
    let wire = machine("gigabit-nfs").network.unwrap().bytes_per_s.0;
    assert!((stream.rate_bytes_per_s.unwrap().0 / wire - 1.0).abs() < 0.05);
}

#[test]
fn a_disk_that_the_path_is_not_on_is_not_its_device() {
    let other = |sample: &mut CounterSample| {
        for disk in &mut sample.disks {
            disk.name = "nvme9n1".to_owned();
        }
    };
    let summary = summary_of("local-ssd", |events| {
        for pair in trials(events).flat_map(|trial| &mut trial.counters) {
            other(&mut pair.before);
            other(&mut pair.after);
        }
    });
    let bulk = cell(&summary, BULK);
    assert_eq!((bulk.bytes.device, bulk.device_busy_ratio), (None, None));
    assert!(cell(&gridded("local-ssd"), BULK).bytes.device.is_some());
}

#[test]
fn a_streams_rate_is_taken_over_the_time_between_the_readings_of_its_connections() {
    let summary = summary_of("gigabit-nfs", |events| {
        for pair in trials(events).flat_map(|trial| &mut trial.counters) {
            // The machine's readings lag; the connections' do not.
            pair.after.at_ns.0 += 400_000_000;
        }
    });
    let stream = summary.cells.iter().find(|cell| cell.cut == Cut::NetworkStream && cell.queue_depth == 16);
    let wire = machine("gigabit-nfs").network.unwrap().bytes_per_s.0;
    assert!((stream.unwrap().rate_bytes_per_s.unwrap().0 / wire - 1.0).abs() < 0.05);
}

#[test]
fn a_quota_is_the_capacity_of_its_group() {
    let summary = builtin("slow-server-cpu");
    let server = &cell(&summary, BULK).cpu[&Role::Server];
    assert!((server.capacity_cpus - 0.3).abs() < 1e-9);
    assert!(server.busy_ratio > 0.95 && server.throttled_s.is_some());
}

#[test]
fn a_group_that_used_a_little_more_than_its_quota_had_no_more_than_that() {
    let summary = summary_of("slow-server-cpu", |events| {
        for pair in trials(events).flat_map(|trial| &mut trial.counters) {
            for group in [&mut pair.before.cgroup_cpu, &mut pair.after.cgroup_cpu].into_iter().flatten() {
                group.usage_ns.0 += group.usage_ns.0 / 10;
            }
        }
    });
    let server = &cell(&summary, BULK).cpu[&Role::Server];
    assert!((server.capacity_cpus - 0.3).abs() < 1e-9 && server.busy_ratio > 1.05, "{server:?}");
}

#[test]
fn roles_on_one_machine_are_charged_by_process() {
    let summary = builtin("shared-laptop");
    assert_eq!(cell(&summary, BULK).cpu[&Role::Client].basis, CpuBasis::Process);
}

#[test]
fn a_quota_whose_groups_time_is_not_accounted_is_compared_with_that_of_the_processes() {
    let summary = summary_of("ten-gigabit-nfs", |events| {
        for pair in trials(events).flat_map(|trial| &mut trial.counters) {
            for sample in
                [&mut pair.before, &mut pair.after].into_iter().filter(|one| one.role == Role::Client)
            {
                sample.cgroup_cpu = Some(CgroupCpu {
                    path: "/own".into(),
                    usage_ns: Nanos(0),
                    throttled_ns: Nanos(0),
                    throttled_count: 0,
                    period_count: 0,
                    quota_cpus: Some(0.5),
                });
            }
        }
    });
    let client = &cell(&summary, BULK).cpu[&Role::Client];
    assert_eq!((client.basis, client.throttled_s), (CpuBasis::Process, Some(0.0)));
    assert!((client.capacity_cpus - 0.5).abs() < 1e-9);
}

/// Two machines that turn out to be one, both roles in one control group of half a CPU.
fn in_one_group(events: &mut [Event]) {
    for event in events.iter_mut() {
        if let Event::ServerConnected { server, .. } = event {
            (server.shares_machine, server.quota_cpus) = (true, Some(0.5));
        }
    }
    for pair in trials(events).flat_map(|trial| &mut trial.counters) {
        for (sample, usage_ns) in [(&mut pair.before, 0), (&mut pair.after, 500_000_000)] {
            sample.cgroup_cpu = Some(CgroupCpu {
                path: "/both".into(),
                usage_ns: Nanos(usage_ns),
                throttled_ns: Nanos(0),
                throttled_count: 0,
                period_count: 0,
                quota_cpus: Some(0.5),
            });
        }
    }
}

#[test]
fn roles_in_one_group_are_one_station_however_small_its_quota() {
    let summary = summary_of("gigabit-nfs", |events| in_one_group(events));
    let view = crate::view::SummaryView::new(&summary);
    assert!(view.sharing.one_station() && (view.sharing.capacity_cpus - 0.5).abs() < 1e-9);
    assert_eq!(cell(&summary, BULK).cpu[&Role::Client].basis, CpuBasis::Process);
}

#[test]
fn disjoint_cpu_sets_and_the_union_of_both() {
    let summary = summary_of("shared-laptop", |_| {});
    let mut client = summary.hosts[0].inventory.clone();
    let mut server = summary.hosts[1].server.clone().unwrap();
    (client.host.online_cpus, client.host.affinity_cpus, server.affinity_cpus) = (8, vec![0], vec![0, 1]);
    let sharing = Sharing::new(&client, Some(&server), false);
    assert!(sharing.one_station() && (sharing.capacity_cpus - 2.0).abs() < 1e-9);
    server.affinity_cpus = vec![1];
    assert!(!Sharing::new(&client, Some(&server), false).one_station());
}

#[test]
fn a_shared_machine_has_its_cpus_among_the_segments_whoever_started_the_server() {
    let profile = machine("shared-laptop");
    let mut plan = plan(&profile, Grid::default());
    plan.segments.retain(|segment| *segment != Segment::HostCpu);
    let events = narrows_sim::simulate(&profile, &plan).unwrap();
    let inventory = narrows_sim::inventory(&profile);
    let manifest = RunFacts::default();
    let summary = summarize(&Input { manifest, plan: &plan, inventory: &inventory, events: &events });
    assert!(summary.segments.iter().any(|segment| segment.id == Segment::HostCpu && segment.measured));
}

/// What a client's processes and the kernel's threads in them used, in seconds.
#[derive(Default)]
struct Used {
    group: f64,
    process: f64,
    polling: f64,
    worker: f64,
}

fn client_sample(at_s: u64, used: &Used) -> CounterSample {
    CounterSample {
        process_cpu: Some(ProcessCpu { user_ns: Nanos(0), system_ns: Nanos::from_secs_f64(used.process) }),
        ring_cpu: Some(RingCpu {
            polling_thread_count: 1,
            polling_ns: Nanos::from_secs_f64(used.polling),
            worker_thread_count: 4,
            worker_ns: Nanos::from_secs_f64(used.worker),
        }),
        cgroup_cpu: Some(CgroupCpu {
            path: "/".into(),
            usage_ns: Nanos::from_secs_f64(used.group),
            throttled_ns: Nanos(0),
            throttled_count: 0,
            period_count: 0,
            quota_cpus: None,
        }),
        ..CounterSample::unread(Role::Client, Nanos(at_s * 1_000_000_000))
    }
}

/// CPU of the client in cells of one thread that used so much in a second.
fn client_cpu(used: &Used) -> RoleCpu {
    let summary = summary_of("local-ssd", |events| {
        for trial in trials(events) {
            let (before, after) = (client_sample(0, &Used::default()), client_sample(1, used));
            trial.last_done_ns = Nanos(1_000_000_000);
            trial.counters = vec![CounterPair { before, after }];
        }
    });
    cell(&summary, BULK).cpu[&Role::Client].clone()
}

#[test]
fn a_group_without_a_quota_does_not_stand_for_its_role() {
    let client = client_cpu(&Used { group: 8.0, process: 0.5, ..Used::default() });
    assert_eq!(client.basis, CpuBasis::Process);
    assert!((client.system_s - 0.5).abs() < 1e-9);
}

#[test]
fn a_thread_that_polls_for_submissions_costs_no_request_and_fills_no_worker() {
    let client = client_cpu(&Used { process: 1.3, polling: 0.98, ..Used::default() });
    assert!((client.system_s - 0.32).abs() < 1e-9 && client.polling_s == Some(0.98), "{client:?}");
    assert!((client.capacity_cpus - 1.0).abs() < 1e-9 && (client.busy_ratio - 0.32).abs() < 1e-9);
}

#[test]
fn what_the_kernels_workers_do_for_a_ring_is_the_loads_and_fills_no_thread_of_it() {
    let client = client_cpu(&Used { process: 2.4, worker: 2.0, ..Used::default() });
    assert!((client.system_s - 2.4).abs() < 1e-9 && client.polling_s.is_none(), "{client:?}");
    assert!(client.busy_ratio < 0.95, "{client:?}");
}

#[test]
fn trials_give_an_interval_by_student_and_a_series_by_batch_means() {
    let one = gridded("local-ssd");
    let by_series = cell(&one, BULK).interval.as_ref().unwrap();
    assert_eq!(by_series.method, "batch_means");
    let many = summary_of("local-ssd", |events| {
        let copies: Vec<Event> = events.clone();
        for event in &copies {
            let Event::TrialFinished(trial) = event else { continue };
            for index in 1..3 {
                let bytes = Bytes(trial.bytes.0 + u64::from(index));
                let copy = TrialOutput { trial: index, bytes, ..trial.as_ref().clone() };
                events.push(Event::TrialFinished(Box::new(copy)));
            }
        }
    });
    assert_eq!(cell(&many, BULK).interval.as_ref().unwrap().method, "student_t");
    assert_eq!(cell(&many, BULK).trials.len(), 3);
}

#[test]
fn a_cell_whose_rate_halves_in_its_window_is_not_steady() {
    let summary = summary_of("local-ssd", |events| {
        for (index, event) in events.iter_mut().enumerate() {
            let Event::Interval(sample) = event else { continue };
            let IntervalSample { bytes, op_count, .. } = sample.as_mut();
            *op_count = 100;
            *bytes = Bytes(1_000_000 / (1 + index as u64 % 7));
        }
    });
    let cell = cell(&summary, BULK);
    assert_eq!(cell.steady, Some(false));
    assert!(cell.flags.iter().any(|flag| flag == flags::UNSTEADY));
}

#[test]
fn a_device_that_got_more_through_than_its_cut_has_its_ceiling_raised() {
    let device = |summary: &Summary| {
        let found = summary.segments.iter().find(|segment| segment.id == Segment::DeviceBandwidth).unwrap();
        (found.ceiling_bytes_per_s.unwrap().0, found.source.clone().unwrap())
    };
    let (plain, source) = device(&builtin("local-ssd"));
    assert!(!source.contains("raised"), "{source}");
    // The cuts of the device ran at half of its speed: its path, counted at the device, is no cache.
    let summary = summary_of("local-ssd", |events| {
        for trial in trials(events).filter(|trial| trial.cell.0.starts_with("local-device/")) {
            trial.last_done_ns = Nanos(trial.last_done_ns.0 * 2);
        }
        for trial in trials(events).filter(|trial| trial.cell.0.starts_with("path/")) {
            // The window of a simulated cell is shorter than what may raise a ceiling.
            let factor = 1 + 2_000_000_000 / trial.last_done_ns.0.max(1);
            trial.last_done_ns = Nanos(trial.last_done_ns.0 * factor);
            trial.bytes = Bytes(trial.bytes.0 * factor);
            for pair in &mut trial.counters {
                for disk in &mut pair.after.disks {
                    let before = pair.before.disks.iter().find(|known| known.name == disk.name).unwrap();
                    disk.read_bytes =
                        Bytes(before.read_bytes.0 + (disk.read_bytes.0 - before.read_bytes.0) * factor);
                    disk.write_bytes =
                        Bytes(before.write_bytes.0 + (disk.write_bytes.0 - before.write_bytes.0) * factor);
                }
            }
        }
    });
    let (raised, source) = device(&summary);
    assert!(source.contains("raised to the rate that path/"), "{source}");
    assert!((0.6..=1.1).contains(&(raised / plain)), "{raised} {plain}");
}

#[test]
fn what_others_move_at_a_device_raises_no_ceiling() {
    let summary = summary_of("local-ssd", |events| {
        for trial in trials(events).filter(|trial| trial.cell.0.starts_with("path/")) {
            let factor = 1 + 2_000_000_000 / trial.last_done_ns.0.max(1);
            trial.last_done_ns = Nanos(trial.last_done_ns.0 * factor);
            trial.bytes = Bytes(trial.bytes.0 * factor);
            // A hundred times as much as the application moves.
            for disk in trial.counters.iter_mut().flat_map(|pair| &mut pair.after.disks) {
                disk.read_bytes = Bytes(disk.read_bytes.0 + trial.bytes.0 * 100);
                disk.write_bytes = Bytes(disk.write_bytes.0 + trial.bytes.0 * 100);
            }
        }
    });
    let found = summary.segments.iter().find(|segment| segment.id == Segment::DeviceBandwidth).unwrap();
    let source = found.source.as_deref().unwrap();
    assert!(!source.contains("raised"), "{source}");
}

#[test]
fn ten_thousand_cells_are_summarised_with_their_latencies() {
    let profile = machine("local-ssd");
    let mut plan = plan(&profile, Grid::default());
    let inventory = narrows_sim::inventory(&profile);
    let first = plan.cells[0].clone();
    let mut response = Histogram::new();
    response.record_n(1_000, 50);
    let ids = (0..10_000).map(|index| narrows_model::CellId(format!("path/read/{index}")));
    plan.cells = ids.map(|id| narrows_model::Cell { id, cut: Cut::Path, ..first.clone() }).collect();
    let mut summarizer = Summarizer::new(RunFacts::default(), &plan, &inventory);
    for cell in &plan.cells {
        let trial = TrialOutput {
            first_done_ns: Nanos(1_000_000_000),
            last_done_ns: Nanos(1_000_000_000),
            op_count: 50,
            bytes: Bytes(50 * 4096),
            response: response.clone(),
            response_sum_ns: 50_000,
            file_bytes: Bytes(1 << 20),
            ..crate::testing::empty_trial(&cell.id)
        };
        summarizer.event(&Event::TrialFinished(Box::new(trial)));
    }
    let summary = summarizer.finish();
    assert_eq!(summary.cells.len(), 10_000);
    assert!(summary.cells.iter().all(|cell| cell.latency_ns.p99.is_some()));
}
