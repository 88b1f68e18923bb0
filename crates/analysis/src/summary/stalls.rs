//! Waits for memory on the machines of the path, and the process that serves its file system.

use super::ticks::{TICK_NS, TICKS_MIN};
use crate::collect::{CellData, RoleDelta};
use narrows_model::counters::{PressureTimes, Role};
use narrows_model::summary::{CpuWaiting, DaemonLoad, MemoryStall};
use narrows_model::units::ratio;

/// Below this share of the time tasks of any busy machine wait for memory now and then.
const STALLED_MIN_RATIO: f64 = 0.10;

/// The machines of the path on which tasks waited for memory for long.
pub(super) fn memory(data: &CellData) -> Vec<MemoryStall> {
    data.deltas.iter().filter(|delta| !is_short(delta)).filter_map(stall).collect()
}

fn stall(delta: &RoleDelta) -> Option<MemoryStall> {
    let share = |time: narrows_model::Nanos| ratio(time.as_secs_f64(), delta.elapsed.as_secs_f64());
    let PressureTimes { some_ns, full_ns } = delta.memory_pressure?;
    let some_ratio = share(some_ns).filter(|share| *share >= STALLED_MIN_RATIO)?.min(1.0);
    Some(MemoryStall {
        role: delta.role,
        some_ratio,
        full_ratio: share(full_ns)?.min(1.0),
        own_ratio: delta.group_memory_pressure.and_then(|own| share(own.some_ns)).map(|own| own.min(1.0)),
        programs: delta.foreign.iter().flat_map(|foreign| foreign.memory_programs.clone()).collect(),
    })
}

/// The daemon of the file system on the client.
pub(super) fn daemon(data: &CellData) -> Option<DaemonLoad> {
    let delta = data.deltas.iter().find(|delta| delta.role == Role::Client && !is_short(delta))?;
    let daemon = delta.daemon.as_ref()?;
    let share = |time: narrows_model::Nanos| ratio(time.as_secs_f64(), delta.elapsed.as_secs_f64());
    let running = share(daemon.threads.busiest_running_ns)?.min(1.0);
    // Kernels differ in whether a thread that a quota stopped counts as waiting for a CPU.
    let stopped = share(daemon.threads.busiest_waiting_ns)?.max(share(daemon.throttled_ns)?);
    let waiting_ratio = stopped.min(1.0 - running);
    Some(DaemonLoad {
        name: daemon.name.clone(),
        pid: daemon.pid,
        used_cpus: share(daemon.threads.running_ns)?,
        busiest: CpuWaiting { waiting_ratio, runnable_ratio: running + waiting_ratio },
    })
}

/// Whether a window is too short: readings lag behind each other.
fn is_short(delta: &RoleDelta) -> bool {
    delta.elapsed.0 < TICKS_MIN * TICK_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;
    use narrows_model::counters::{CounterSample, DaemonCounters, ThreadTimes};
    use narrows_model::trial::CounterPair;

    /// A second in which this was counted.
    fn second(change: impl FnOnce(&mut CounterSample)) -> RoleDelta {
        let before = CounterSample {
            memory_pressure: Some(PressureTimes::default()),
            group_memory_pressure: Some(PressureTimes::default()),
            daemon: Some(DaemonCounters { name: "fsd".to_owned(), pid: 7, ..DaemonCounters::default() }),
            ..CounterSample::unread(Role::Client, Nanos(0))
        };
        let mut after = CounterSample { at_ns: Nanos(1_000_000_000), ..before.clone() };
        change(&mut after);
        RoleDelta::new(&CounterPair { before, after })
    }

    fn waited(machine_ms: u64, own_ms: u64) -> Option<MemoryStall> {
        stall(&second(|after| {
            let times = |ms: u64| PressureTimes { some_ns: Nanos(ms * 1_000_000), full_ns: Nanos(0) };
            after.memory_pressure = Some(times(machine_ms));
            after.group_memory_pressure = Some(times(own_ms));
        }))
    }

    #[test]
    fn waits_for_memory_count_from_a_tenth_of_the_time_on_beside_those_of_the_own_group() {
        let found = waited(250, 50).unwrap();
        assert!((found.some_ratio - 0.25).abs() < 1e-9 && (found.own_ratio.unwrap() - 0.05).abs() < 1e-9);
        assert!(waited(90, 90).is_none());
        assert!(stall(&second(|after| after.memory_pressure = None)).is_none());
    }

    fn with_quota(throttled_ms: u64) -> DaemonLoad {
        let delta = second(|after| {
            let daemon = after.daemon.as_mut().unwrap();
            daemon.throttled_ns = Nanos(throttled_ms * 1_000_000);
            daemon.threads = ThreadTimes {
                running_ns: Nanos(700_000_000),
                waiting_ns: Nanos(400_000_000),
                busiest_running_ns: Nanos(500_000_000),
                busiest_waiting_ns: Nanos(300_000_000),
            };
        });
        let mut data = crate::collect::CellData::nothing_yet();
        data.deltas.push(delta);
        daemon(&data).unwrap()
    }

    #[test]
    fn a_daemon_is_its_threads_of_which_the_busiest_counts_by_itself() {
        let found = with_quota(0);
        assert!((found.used_cpus - 0.7).abs() < 1e-9, "{found:?}");
        assert!((found.busiest.runnable_ratio - 0.8).abs() < 1e-9, "{found:?}");
        assert!((found.busiest.waiting_ratio - 0.3).abs() < 1e-9, "{found:?}");
        // What a quota stopped is waiting, once, and no more than all of the time.
        assert!((with_quota(450).busiest.runnable_ratio - 0.95).abs() < 1e-9);
        assert!((with_quota(900).busiest.runnable_ratio - 1.0).abs() < 1e-9);
    }
}
