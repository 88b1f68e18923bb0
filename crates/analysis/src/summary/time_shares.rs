//! What the time of a cell's load was spent on, from its other figures.
//!
//! A thread is on a CPU, ready to run, or blocked. What the blocked part was blocked on follows from the device's busy time and
//! the connections' round trip, each of which can be no more than that part. Not here: what a share means for a segment.

use super::{DEVICE_FLUSH_S, Machines, bytes};
use crate::collect::CellData;
use crate::facts::{TravelTime, time_per_op_s};
use narrows_model::counters::{BlockTrace, Role};
use narrows_model::summary::{CellSummary, RoleCpu, TimeShares};
use narrows_model::units::ratio;
use narrows_model::{Nanos, Site, Target};

/// The shares; `None` where the load ran elsewhere, or the client's CPU time is not known.
pub(super) fn of_cell(cell: &CellSummary) -> Option<TimeShares> {
    let cpu = cell.cpu.get(&Role::Client).filter(|_| cell.site == Site::Client)?;
    let (on_cpu, waiting) = cpu_shares(cpu);
    let user = ratio(cpu.user_s, cpu.user_s + cpu.system_s).unwrap_or(0.0) * on_cpu;
    let mut blocked = (1.0 - on_cpu - waiting.unwrap_or(0.0)).max(0.0);
    let mut take = |share: Option<f64>| {
        let taken = share.map(|share| share.clamp(0.0, blocked));
        blocked -= taken.unwrap_or(0.0);
        taken
    };
    let window_s = cell.elapsed_s.last_done;
    let throttled_ratio = take(cpu.throttled_s.and_then(|throttled_s| ratio(throttled_s, window_s)));
    let device_ratio = take(cell.device_busy_ratio.filter(|_| is_local(&cell.target)));
    let travel = TravelTime::of_cell(cell);
    let travel_s = travel.map(|travel| travel.whole_s() * crossed_ratio(cell));
    let network_ratio = take(travel_s.and_then(|travel_s| ratio(travel_s, time_per_op_s(cell)?)));
    let flush_s = cell.metrics.iter().find(|metric| metric.id == DEVICE_FLUSH_S).map(|metric| metric.value);
    let flushing = flush_s.and_then(|flush_s| ratio(flush_s, window_s));
    let queued = cell.block_trace.as_ref().and_then(BlockTrace::queue_share_ratio);
    Some(TimeShares {
        cpu_user_ratio: user,
        cpu_kernel_ratio: on_cpu - user,
        cpu_wait_ratio: waiting,
        throttled_ratio,
        device_ratio,
        flush_ratio: flushing.zip(device_ratio).map(|(flushing, device)| flushing.min(device)),
        queue_ratio: queued.zip(device_ratio).map(|(queued, device)| queued * device),
        network_ratio,
        other_ratio: blocked,
    })
}

/// The shares of the time in which the server's workers served requests; `None` where they are not known.
///
/// The CPU time is that of all threads of the server, so that what its connections use counts as its workers'. Where the
/// kernel works on requests in the background, a device has more of them in flight than workers wait for.
pub(super) fn of_server(data: &CellData, machines: &Machines<'_>) -> Option<TimeShares> {
    let delta = data.deltas.iter().find(|delta| delta.role == Role::Server)?;
    let workers = delta.workers.filter(|workers| workers.served_count > 0 && workers.busy_ns.0 > 0)?;
    let process = delta.process?;
    let mut left = 1.0;
    let mut take = |time: Nanos| {
        let share = ratio(time.as_secs_f64(), workers.busy_ns.as_secs_f64()).unwrap_or(0.0).clamp(0.0, left);
        left -= share;
        share
    };
    let on_cpu = take(delta.threads.map_or(process.total_ns(), |threads| threads.running_ns));
    let cpu_wait_ratio = delta.threads.map(|threads| take(threads.waiting_ns));
    let disk = bytes::disk(data, machines).filter(|(at, _)| at.role == Role::Server);
    let device_ratio = disk.as_ref().map(|(_, disk)| take(disk.queue_ns));
    let flushing =
        disk.and_then(|(_, disk)| ratio(disk.flush_ns.as_secs_f64(), workers.busy_ns.as_secs_f64()));
    let user = ratio(process.user_ns.as_secs_f64(), process.total_ns().as_secs_f64()).unwrap_or(0.0) * on_cpu;
    Some(TimeShares {
        cpu_user_ratio: user,
        cpu_kernel_ratio: on_cpu - user,
        cpu_wait_ratio,
        throttled_ratio: None,
        device_ratio,
        flush_ratio: flushing.zip(device_ratio).map(|(flushing, device)| flushing.min(device)),
        queue_ratio: None,
        network_ratio: None,
        other_ratio: left,
    })
}

/// Shares of the time on a CPU and ready to run: of the load's threads by their own clocks, else the role's use of the CPUs
/// that it may use. A thread that has ended while another one waits for the sync at the end counts as blocked like that one.
fn cpu_shares(cpu: &RoleCpu) -> (f64, Option<f64>) {
    match cpu.waiting {
        Some(waiting) => {
            let on_cpu = (waiting.runnable_ratio - waiting.waiting_ratio).clamp(0.0, 1.0);
            (on_cpu, Some(waiting.waiting_ratio.clamp(0.0, 1.0 - on_cpu)))
        }
        None => (cpu.busy_ratio.clamp(0.0, 1.0), None),
    }
}

/// The share of a cell's requests that crossed the network: all of a load with connections of its own; of files those that no
/// cache of this machine served, by the bytes that the connections of the mount or its daemon moved.
fn crossed_ratio(cell: &CellSummary) -> f64 {
    if !is_local(&cell.target) {
        return 1.0;
    }
    let crossed = cell.bytes.wire.and_then(|wire| ratio(wire.as_f64(), cell.bytes.application.as_f64()));
    crossed.map_or(0.0, |share| share.min(1.0))
}

/// Whether the device under a target is this machine's, so that the load's threads wait for it.
fn is_local(target: &Target) -> bool {
    target
        .members()
        .iter()
        .all(|member| matches!(member, Target::File { .. } | Target::Block(_) | Target::Sim { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::Nanos;
    use narrows_model::summary::{CpuWaiting, Metric};

    fn cell() -> CellSummary {
        let mut cell =
            builtin("local-ssd").cells.into_iter().find(|cell| cell.id == "path/read/4KiB/qd1/c1").unwrap();
        cell.target = "/data".parse().unwrap();
        cell.elapsed_s.last_done = 2.0;
        cell.device_busy_ratio = Some(0.6);
        cell.rtt_min_ns = None;
        cell.metrics.clear();
        let cpu = cell.cpu.get_mut(&Role::Client).unwrap();
        (cpu.user_s, cpu.system_s, cpu.busy_ratio, cpu.throttled_s) = (0.1, 0.3, 0.2, None);
        cpu.waiting = Some(CpuWaiting { waiting_ratio: 0.1, runnable_ratio: 0.3 });
        cell
    }

    fn sum(shares: &TimeShares) -> f64 {
        let parts =
            [shares.cpu_wait_ratio, shares.throttled_ratio, shares.device_ratio, shares.network_ratio];
        shares.on_cpu_ratio() + parts.into_iter().flatten().sum::<f64>() + shares.other_ratio
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_thread_is_on_a_cpu_ready_or_blocked_and_the_device_is_of_the_blocked_time() {
        let shares = of_cell(&cell()).unwrap();
        assert!(near(shares.cpu_user_ratio, 0.05) && near(shares.cpu_kernel_ratio, 0.15), "{shares:?}");
        assert!(near(shares.cpu_wait_ratio.unwrap(), 0.1) && near(shares.device_ratio.unwrap(), 0.6));
        assert!(near(shares.other_ratio, 0.1) && near(sum(&shares), 1.0), "{shares:?}");
    }

    #[test]
    fn behind_a_mount_a_request_waits_for_a_round_trip_as_far_as_the_mount_moved_its_bytes() {
        let share = |wire: Option<u64>| {
            let mut cell = CellSummary { device_busy_ratio: None, rtt_min_ns: Some(Nanos(1)), ..cell() };
            let request_s = time_per_op_s(&cell).unwrap();
            cell.rtt_min_ns = Some(Nanos::from_secs_f64(request_s * 0.5));
            cell.bytes.wire =
                wire.map(|percent| narrows_model::Bytes(cell.bytes.application.0 / 100 * percent));
            of_cell(&cell).unwrap().network_ratio.unwrap()
        };
        assert!(
            (share(Some(100)) - 0.5).abs() < 1e-3 && (share(Some(40)) - 0.2).abs() < 1e-3,
            "{}",
            share(Some(40))
        );
        assert!(near(share(None), 0.0), "no connection moved its bytes");
        assert!(share(Some(300)) <= 0.5 + 1e-6, "headers and read-ahead are no more requests");
    }

    #[test]
    fn a_device_that_works_ahead_while_the_load_runs_is_no_more_than_the_blocked_time() {
        let shares = of_cell(&CellSummary { device_busy_ratio: Some(1.0), ..cell() }).unwrap();
        assert!(near(shares.device_ratio.unwrap(), 0.7) && near(shares.other_ratio, 0.0), "{shares:?}");
    }

    #[test]
    fn the_servers_workers_are_on_a_cpu_ready_or_wait_for_their_device_and_the_rest_is_not_known() {
        use narrows_model::counters::{CounterSample, ProcessCpu, ThreadTimes, WorkerCounters};
        use narrows_model::trial::CounterPair;
        let ms = |ms: u64| Nanos(ms * 1_000_000);
        let shares = |worker: Option<WorkerCounters>| {
            let before = CounterSample {
                process_cpu: Some(ProcessCpu::default()),
                threads: Some(ThreadTimes::default()),
                workers: Some(WorkerCounters::default()),
                ..CounterSample::unread(Role::Server, Nanos(0))
            };
            let after = CounterSample {
                at_ns: ms(1000),
                process_cpu: Some(ProcessCpu { user_ns: ms(60), system_ns: ms(140) }),
                threads: Some(ThreadTimes {
                    running_ns: ms(200),
                    waiting_ns: ms(100),
                    ..ThreadTimes::default()
                }),
                workers: worker,
                ..before.clone()
            };
            let mut data = CellData::nothing_yet();
            data.deltas.push(crate::collect::RoleDelta::new(&CounterPair { before, after }));
            let inventory = narrows_sim::inventory(&crate::testing::machine("local-ssd"));
            let plan =
                crate::testing::plan(&crate::testing::machine("local-ssd"), crate::testing::Grid::default());
            of_server(&data, &Machines::new(&inventory, &crate::collect::RunData::new(&plan)))
        };
        let served =
            WorkerCounters { worker_count: 2, served_count: 10, busy_ns: ms(1000), queued_ns: ms(5) };
        let found = shares(Some(served)).unwrap();
        assert!(near(found.cpu_user_ratio, 0.06) && near(found.cpu_kernel_ratio, 0.14), "{found:?}");
        assert!(near(found.cpu_wait_ratio.unwrap(), 0.1) && near(found.other_ratio, 0.7), "{found:?}");
        assert!(near(sum(&found), 1.0) && found.device_ratio.is_none());
        // More CPU time than the workers were busy is that of connections.
        let short = shares(Some(WorkerCounters { busy_ns: ms(150), ..served })).unwrap();
        assert!(near(short.on_cpu_ratio(), 1.0) && near(sum(&short), 1.0), "{short:?}");
        assert!(
            shares(None).is_none() && shares(Some(WorkerCounters { served_count: 0, ..served })).is_none()
        );
    }

    #[test]
    fn a_quota_comes_before_the_device_and_flushes_are_a_part_of_it() {
        let mut cell = cell();
        cell.cpu.get_mut(&Role::Client).unwrap().throttled_s = Some(0.4);
        cell.metrics.push(Metric {
            id: DEVICE_FLUSH_S.to_owned(),
            value: 0.5,
            unit: "s".to_owned(),
            interval: None,
        });
        let shares = of_cell(&cell).unwrap();
        assert!(near(shares.throttled_ratio.unwrap(), 0.2) && near(shares.device_ratio.unwrap(), 0.5));
        assert!(near(shares.flush_ratio.unwrap(), 0.25) && near(sum(&shares), 1.0), "{shares:?}");
    }

    #[test]
    fn where_the_waits_of_threads_are_not_known_the_cpus_that_the_role_used_count() {
        let mut cell = cell();
        cell.cpu.get_mut(&Role::Client).unwrap().waiting = None;
        let shares = of_cell(&cell).unwrap();
        assert!(
            shares.cpu_wait_ratio.is_none() && near(shares.on_cpu_ratio(), 0.2) && near(sum(&shares), 1.0)
        );
    }

    #[test]
    fn the_device_of_a_server_is_not_what_the_clients_threads_are_charged_with() {
        let mut cell = CellSummary { rtt_min_ns: Some(Nanos(1)), ..cell() };
        cell.target = "tcp://storage:7300/disk".parse().unwrap();
        let shares = of_cell(&cell).unwrap();
        assert!(shares.device_ratio.is_none() && shares.network_ratio.is_some());
    }
}
