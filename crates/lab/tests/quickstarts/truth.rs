//! Which segments limit a load, by what the kernel counted while it ran.
//!
//! A thread is on a CPU, or waits for the device: so the one of both that was used for the most of the time is right, and the
//! other one beside it where it was used nearly as much. Nothing of narrows' rules and shares of time is used.

use crate::folders::BehindFolder;
use crate::readings::Used;
use narrows_model::Segment;

/// What was used for less of the time than this, others were used for more: twice as fast it would gain a sixth at most.
const PART_MIN_RATIO: f64 = 0.3;
/// Two parts this near to each other are alike: a device's busy time counts milliseconds that it is idle between requests,
/// and CPU time comes in ticks of 10 ms.
const ALIKE_RATIO: f64 = 0.15;
/// From this share on all CPUs are busy, kernel threads (loop devices, write-back, checksums) included.
const CPUS_FULL_RATIO: f64 = 0.9;
/// From this share of the machine on others than the check used a large part of it.
const OTHERS_MIN_RATIO: f64 = 0.25;
/// From this share of the most that the device did in any load on, it did what it can.
const DEVICE_FULL_RATIO: f64 = 0.7;
/// From this on a load with more requests in flight did clearly more.
const DEEPER_GAIN_RATIO: f64 = 1.1;
/// Below this share of a load's bytes at the device most of them came from a cache.
const CACHED_RATIO: f64 = 0.5;
/// Blocks from here on are copied for longer than they are asked for: 64 KiB take some 10 us, a system call 1 us.
const COPIED_BLOCK_BYTES: u64 = 64 << 10;

/// A load, and what was used while it ran.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadLoad {
    pub block_bytes: u64,
    pub in_flight: u64,
    pub workers: u32,
    pub is_read: bool,
    pub is_direct: bool,
    pub ops_per_s: f64,
    /// Bytes that the load asked for in the time of its readings.
    pub asked_bytes: f64,
    pub used: Used,
}

/// The most that the device did in any load of a check, by direction: reads, writes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DeviceBest {
    bytes_per_s: [f64; 2],
    ops_per_s: [f64; 2],
}

impl DeviceBest {
    /// Over these loads.
    pub(crate) fn over(loads: &[ReadLoad]) -> Self {
        let mut best = Self::default();
        for used in loads.iter().map(|load| load.used).filter(|used| used.seconds > 0.0) {
            for direction in [0, 1] {
                let bytes = used.device_bytes[direction] as f64 / used.seconds;
                let ops = used.device_ops[direction] as f64 / used.seconds;
                best.bytes_per_s[direction] = best.bytes_per_s[direction].max(bytes);
                best.ops_per_s[direction] = best.ops_per_s[direction].max(ops);
            }
        }
        best
    }
}

/// The segments that limit `load`, of which one must be named first.
pub(crate) fn limiting(
    behind: BehindFolder,
    load: &ReadLoad,
    all: &[ReadLoad],
    cpu_count: f64,
) -> Vec<Segment> {
    if behind == BehindFolder::SlowDaemon {
        // It lets 2 MiB/s pass, by its own clock: a fiftieth of what any device here does, and asleep for the rest.
        return vec![Segment::ClientDaemon];
    }
    let cpu_ratio = load.used.process_cpus / f64::from(load.workers.max(1)).min(cpu_count);
    let device_ratio = load.used.device_ratio.unwrap_or(0.0);
    let most = cpu_ratio.max(device_ratio);
    let is_large = |share: f64| share >= PART_MIN_RATIO && share >= most - ALIKE_RATIO;
    let mut right = Vec::new();
    if is_large(device_ratio) {
        right.extend(of_device(load, DeviceBest::over(all)));
    }
    if is_large(cpu_ratio) {
        right.extend(of_cpu(load));
    }
    if load.used.machine_cpus >= cpu_count * CPUS_FULL_RATIO
        && load.used.machine_cpus - load.used.process_cpus >= cpu_count * OTHERS_MIN_RATIO
    {
        // Other programs, or kernel threads that work for nobody in particular.
        right.push(Segment::HostCpu);
    }
    if behind == BehindFolder::Device && is_cached(load) {
        right.push(Segment::ClientCache);
    }
    // Of one request at a time, which is what was asked for, the parts of its time are what there is to know.
    if load.in_flight > 1 && all.iter().any(|deeper| is_deeper(deeper, load)) {
        right.push(Segment::WorkloadConcurrency);
    }
    right
}

/// The device as a whole, and its part that the readings show: the bytes or the operations that it did are near to the most
/// that it did in this check, or one request after the other waited for it.
fn of_device(load: &ReadLoad, best: DeviceBest) -> Vec<Segment> {
    let direction = usize::from(!load.is_read);
    let near = |done: u64, best: f64| done as f64 / load.used.seconds >= best * DEVICE_FULL_RATIO && done > 0;
    let mut right = vec![Segment::Device];
    let moves_the_most = near(load.used.device_bytes[direction], best.bytes_per_s[direction]);
    let does_the_most = near(load.used.device_ops[direction], best.ops_per_s[direction]);
    if moves_the_most {
        right.push(Segment::DeviceBandwidth);
    }
    // Requests that a page cache merges are as many as their bytes make them.
    if does_the_most && load.is_direct {
        right.push(Segment::DeviceIops);
    }
    if load.in_flight == 1 || !(moves_the_most || does_the_most) {
        right.push(Segment::DeviceLatency);
    }
    right
}

/// The client's CPU time as a whole, and what it is spent on: past the page cache nothing is copied, and of small blocks the
/// calls take more than the copies.
fn of_cpu(load: &ReadLoad) -> Vec<Segment> {
    let mut right = vec![Segment::Client, Segment::ClientCpu, Segment::ClientFilesystem];
    if !load.is_direct && load.block_bytes >= COPIED_BLOCK_BYTES {
        right.push(Segment::ClientMemory);
    }
    right
}

fn is_cached(load: &ReadLoad) -> bool {
    let moved = load.used.device_bytes[usize::from(!load.is_read)];
    (moved as f64) < load.asked_bytes * CACHED_RATIO
}

/// Whether a load is as another one with more requests in flight, and did clearly more.
fn is_deeper(deeper: &ReadLoad, load: &ReadLoad) -> bool {
    (deeper.block_bytes, deeper.is_read, deeper.is_direct) == (load.block_bytes, load.is_read, load.is_direct)
        && deeper.in_flight > load.in_flight
        && deeper.ops_per_s >= load.ops_per_s * DEEPER_GAIN_RATIO
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random reads past the page cache of a device that is always busy.
    fn load() -> ReadLoad {
        let used = Used {
            device_ratio: Some(1.0),
            device_bytes: [40 << 20, 0],
            device_ops: [10_240, 0],
            seconds: 1.0,
            process_cpus: 0.4,
            machine_cpus: 0.5,
        };
        ReadLoad {
            block_bytes: 4096,
            in_flight: 16,
            workers: 1,
            is_read: true,
            is_direct: true,
            ops_per_s: 10_240.0,
            asked_bytes: f64::from(40 << 20),
            used,
        }
    }

    fn bulk() -> ReadLoad {
        let used = Used { device_bytes: [400 << 20, 0], device_ops: [1600, 0], ..load().used };
        ReadLoad { block_bytes: 1 << 20, ops_per_s: 400.0, asked_bytes: f64::from(400 << 20), used, ..load() }
    }

    fn right(load: &ReadLoad, others: &[ReadLoad]) -> Vec<Segment> {
        limiting(BehindFolder::Device, load, &[others, &[*load]].concat(), 2.0)
    }

    #[test]
    fn a_busy_device_is_right_with_the_part_of_it_that_was_used_and_no_other() {
        let found = right(&load(), &[bulk()]);
        assert_eq!(found, [Segment::Device, Segment::DeviceIops]);
        let found = right(&bulk(), &[load()]);
        assert_eq!(found, [Segment::Device, Segment::DeviceBandwidth]);
    }

    #[test]
    fn cpu_time_is_right_where_it_takes_most_of_the_time_and_memory_only_where_large_blocks_are_copied() {
        let used = Used { process_cpus: 0.95, device_ratio: Some(0.2), ..load().used };
        let small = ReadLoad { used, is_direct: false, ..load() };
        let found = right(&small, &[]);
        assert_eq!(found, [Segment::Client, Segment::ClientCpu, Segment::ClientFilesystem]);
        let large = ReadLoad { block_bytes: 1 << 20, ..small };
        assert!(right(&large, &[]).contains(&Segment::ClientMemory));
    }

    #[test]
    fn nothing_is_right_where_nothing_was_used() {
        let used = Used { process_cpus: 0.1, device_ratio: Some(0.2), ..load().used };
        assert_eq!(right(&ReadLoad { used, ..load() }, &[]), []);
    }

    #[test]
    fn a_slow_daemon_alone_is_right_and_more_in_flight_only_where_it_was_seen_to_gain() {
        let found = limiting(BehindFolder::SlowDaemon, &load(), &[load()], 2.0);
        assert_eq!(found, [Segment::ClientDaemon]);
        let deeper = |gain: f64| ReadLoad { in_flight: 64, ops_per_s: load().ops_per_s * gain, ..load() };
        assert!(right(&load(), &[deeper(1.2)]).contains(&Segment::WorkloadConcurrency));
        assert!(!right(&load(), &[deeper(1.05)]).contains(&Segment::WorkloadConcurrency));
        let single = ReadLoad { in_flight: 1, ..load() };
        assert!(!right(&single, &[deeper(9.0)]).contains(&Segment::WorkloadConcurrency));
    }

    #[test]
    fn a_cache_is_right_where_the_device_moved_less_than_half_of_what_was_asked_for() {
        let used =
            Used { device_bytes: [1 << 20, 0], process_cpus: 0.9, device_ratio: Some(0.0), ..load().used };
        assert!(right(&ReadLoad { used, ..load() }, &[]).contains(&Segment::ClientCache));
        assert!(!right(&load(), &[]).contains(&Segment::ClientCache));
    }
}
