//! Differences and sums of counters, field by field, once for all that count.
//!
//! A field of a counter grows while work is done, or is a level that is read as it is now, or is a fact of the one thing
//! that is counted. Which is which is in the table below; a field that is missing there does not compile.

use super::{
    BlockTimes, BlockTrace, CgroupCpu, DaemonCounters, DiskCounters, ForeignCpu, HostCpu, MemoryCounters,
    NicCounters, PressureTimes, ProcessCpu, RequestTimes, RingCpu, TcpCounters, ThreadTimes, WorkerCounters,
};
use crate::{Bytes, Nanos};

/// Counters whose readings can be subtracted and added.
pub trait Combine {
    /// What was counted from the reading `before` to this one; of a level the higher of both.
    #[must_use]
    fn since(&self, before: &Self) -> Self;

    /// Adds what was counted of the same thing in another interval; of a level the higher of both counts.
    fn add_interval(&mut self, more: &Self);

    /// Adds what was counted of another thing at the same time; levels add up.
    fn add_beside(&mut self, more: &Self);
}

/// The arithmetic of a type from the list of its fields by kind. A function after `facts` combines facts that are more
/// than those of the first; it is called before anything else is added.
macro_rules! combine {
    (
        $type:ident:
        grows [$($grows:ident),*], levels [$($level:ident),*], facts [$($fact:ident),*]
        $(, since $since:path)? $(, interval $interval:path)? $(, beside $beside:path)?
    ) => {
        impl Combine for $type {
            fn since(&self, before: &Self) -> Self {
                // Names every field, so that one without a kind does not compile.
                let Self { $($grows,)* $($level,)* $($fact,)* } = self.clone();
                #[allow(unused_mut, reason = "only facts that combine change afterwards")]
                let mut difference = Self {
                    $($grows: $grows.saturating_sub(before.$grows),)*
                    $($level: $level.max(before.$level),)*
                    $($fact,)*
                };
                $($since(&mut difference, before);)?
                difference
            }

            fn add_interval(&mut self, more: &Self) {
                $($interval(self, more);)?
                $(self.$grows = self.$grows.saturating_add(more.$grows);)*
                $(self.$level = self.$level.max(more.$level);)*
            }

            fn add_beside(&mut self, more: &Self) {
                $($beside(self, more);)?
                $(self.$grows = self.$grows.saturating_add(more.$grows);)*
                $(self.$level = self.$level.saturating_add(more.$level);)*
            }
        }
    };
}

combine!(WorkerCounters: grows [served_count, busy_ns, queued_ns], levels [worker_count], facts []);
combine!(
    HostCpu:
    grows [user_ns, system_ns, irq_ns, softirq_ns, steal_ns, idle_ns, iowait_ns],
    levels [online_cpus],
    facts []
);
combine!(ProcessCpu: grows [user_ns, system_ns], levels [], facts []);
combine!(
    RingCpu:
    grows [polling_ns, worker_ns],
    levels [polling_thread_count, worker_thread_count],
    facts []
);
combine!(
    CgroupCpu:
    grows [usage_ns, throttled_ns, throttled_count, period_count],
    levels [],
    facts [path, quota_cpus],
    interval known_quota
);
combine!(
    DiskCounters:
    grows [
        read_count, read_bytes, read_ns, write_count, write_bytes, write_ns, flush_count, flush_ns, busy_ns, queue_ns
    ],
    levels [],
    facts [name]
);
combine!(
    NicCounters:
    grows [
        receive_bytes, receive_packet_count, receive_drop_count, send_bytes, send_packet_count, send_drop_count
    ],
    levels [],
    facts [name]
);
combine!(
    MemoryCounters:
    grows [],
    levels [available_bytes, cached_bytes, dirty_bytes, writeback_bytes],
    facts []
);
combine!(
    TcpCounters:
    grows [
        acked_bytes, received_bytes, loopback_bytes, segments_out_count, segments_in_count, retransmit_count, busy_ns,
        receive_window_limited_ns, send_buffer_limited_ns
    ],
    levels [connection_count],
    facts [at_ns, rtt_min_ns, rtt_ns, congestion_window_bytes],
    since least_round_trip,
    interval least_round_trip,
    beside mean_of_connections
);

combine!(
    ThreadTimes:
    grows [running_ns, waiting_ns],
    levels [],
    facts [busiest_running_ns, busiest_waiting_ns],
    interval busiest_of_each,
    beside busiest_of_all
);
combine!(
    ForeignCpu: grows [used_ns], levels [], facts [programs, device_programs, memory_programs],
    interval add_programs,
    beside add_programs
);
combine!(PressureTimes: grows [some_ns, full_ns], levels [], facts []);
combine!(
    DaemonCounters: grows [throttled_ns], levels [], facts [name, pid, threads],
    since daemon_since,
    interval daemon_interval,
    beside daemon_beside
);

combine!(RequestTimes: grows [served_count, device_ns, queued_count, queue_ns], levels [], facts []);
combine!(
    BlockTimes: grows [flush_request_count, unpaired_count], levels [], facts [name, read, write, flush],
    since requests_since,
    interval more_requests,
    beside more_requests
);

fn requests_since(difference: &mut BlockTimes, before: &BlockTimes) {
    difference.read = difference.read.since(&before.read);
    difference.write = difference.write.since(&before.write);
    difference.flush = difference.flush.since(&before.flush);
}

fn more_requests(sum: &mut BlockTimes, more: &BlockTimes) {
    sum.read.add_interval(&more.read);
    sum.write.add_interval(&more.write);
    sum.flush.add_interval(&more.flush);
}

fn daemon_since(difference: &mut DaemonCounters, before: &DaemonCounters) {
    difference.threads = difference.threads.since(&before.threads);
}

fn daemon_interval(sum: &mut DaemonCounters, more: &DaemonCounters) {
    sum.threads.add_interval(&more.threads);
}

fn daemon_beside(sum: &mut DaemonCounters, more: &DaemonCounters) {
    sum.threads.add_beside(&more.threads);
}

/// The busiest threads of two intervals, which need not be the same.
fn busiest_of_each(sum: &mut ThreadTimes, more: &ThreadTimes) {
    sum.busiest_running_ns = sum.busiest_running_ns.saturating_add(more.busiest_running_ns);
    sum.busiest_waiting_ns = sum.busiest_waiting_ns.saturating_add(more.busiest_waiting_ns);
}

/// The busier one of two threads.
fn busiest_of_all(sum: &mut ThreadTimes, more: &ThreadTimes) {
    let time = |times: &ThreadTimes| times.busiest_running_ns.saturating_add(times.busiest_waiting_ns);
    if time(more) > time(sum) {
        (sum.busiest_running_ns, sum.busiest_waiting_ns) = (more.busiest_running_ns, more.busiest_waiting_ns);
    }
}

/// The programs of both, the busiest first.
fn add_programs(sum: &mut ForeignCpu, more: &ForeignCpu) {
    for program in &more.programs {
        let same = |known: &&mut super::ForeignProgram| {
            (known.pid, known.name.as_str()) == (program.pid, program.name.as_str())
        };
        match sum.programs.iter_mut().find(same) {
            Some(known) => known.used_ns = known.used_ns.saturating_add(program.used_ns),
            None => sum.programs.push(program.clone()),
        }
    }
    sum.programs.sort_by_key(|program| std::cmp::Reverse(program.used_ns));
    for program in &more.device_programs {
        let same = |known: &&mut super::ForeignDeviceProgram| {
            (known.pid, known.name.as_str()) == (program.pid, program.name.as_str())
        };
        match sum.device_programs.iter_mut().find(same) {
            Some(known) => {
                known.device_bytes = known.device_bytes.saturating_add(program.device_bytes);
            }
            None => sum.device_programs.push(program.clone()),
        }
    }
    sum.device_programs.sort_by_key(|program| std::cmp::Reverse(program.device_bytes));
    for program in &more.memory_programs {
        let same = |known: &&mut super::ForeignMemoryProgram| {
            (known.pid, known.name.as_str()) == (program.pid, program.name.as_str())
        };
        match sum.memory_programs.iter_mut().find(same) {
            Some(known) => known.resident_bytes = known.resident_bytes.max(program.resident_bytes),
            None => sum.memory_programs.push(program.clone()),
        }
    }
    sum.memory_programs.sort_by_key(|program| std::cmp::Reverse(program.resident_bytes));
}

/// A quota that one interval did not see is that of the other.
fn known_quota(sum: &mut CgroupCpu, more: &CgroupCpu) {
    sum.quota_cpus = sum.quota_cpus.or(more.quota_cpus);
}

/// The smaller round trip, where zero means that none was seen.
fn least_round_trip(sum: &mut TcpCounters, more: &TcpCounters) {
    sum.rtt_min_ns = match (sum.rtt_min_ns.0, more.rtt_min_ns.0) {
        (0, other) | (other, 0) => Nanos(other),
        (a, b) => Nanos(a.min(b)),
    };
}

/// Means, weighted by the connections behind them, and the smaller round trip.
fn mean_of_connections(sum: &mut TcpCounters, more: &TcpCounters) {
    let (have, add) = (u64::from(sum.connection_count), u64::from(more.connection_count));
    let mean = |a: u64, b: u64| {
        let weighted = u128::from(a) * u128::from(have) + u128::from(b) * u128::from(add);
        u64::try_from(weighted / u128::from((have + add).max(1))).unwrap_or(u64::MAX)
    };
    sum.at_ns = Nanos(mean(sum.at_ns.0, more.at_ns.0));
    sum.rtt_ns = Nanos(mean(sum.rtt_ns.0, more.rtt_ns.0));
    sum.congestion_window_bytes = Bytes(mean(sum.congestion_window_bytes.0, more.congestion_window_bytes.0));
    least_round_trip(sum, more);
}

/// Applies `combine` to each pair of devices with one name; devices that only one side has stay as they are.
fn each_device(sum: &mut BlockTrace, more: &BlockTrace, combine: fn(&mut BlockTimes, &BlockTimes)) {
    for one in &more.devices {
        match sum.devices.iter_mut().find(|known| known.name == one.name) {
            Some(known) => combine(known, one),
            None => sum.devices.push(one.clone()),
        }
    }
    sum.lost_count = sum.lost_count.saturating_add(more.lost_count);
    sum.missing_reason = sum.missing_reason.take().or_else(|| more.missing_reason.clone());
}

impl Combine for BlockTrace {
    fn since(&self, before: &Self) -> Self {
        let since = |after: &BlockTimes| {
            let known = before.devices.iter().find(|known| known.name == after.name);
            known.map_or_else(|| after.clone(), |known| after.since(known))
        };
        Self {
            devices: self.devices.iter().map(since).collect(),
            lost_count: self.lost_count.saturating_sub(before.lost_count),
            missing_reason: self.missing_reason.clone(),
        }
    }

    fn add_interval(&mut self, more: &Self) {
        each_device(self, more, BlockTimes::add_interval);
    }

    fn add_beside(&mut self, more: &Self) {
        each_device(self, more, BlockTimes::add_beside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_subtracted_and_of_a_level_the_higher_reading_counts() {
        let at =
            |worker_count, served_count| WorkerCounters { worker_count, served_count, ..Default::default() };
        assert_eq!(at(4, 70).since(&at(8, 20)), at(8, 50));
        assert_eq!(at(4, 10).since(&at(4, 20)), at(4, 0), "a counter that went back counts nothing");
    }

    #[test]
    fn intervals_of_one_thing_keep_its_levels_and_things_beside_each_other_add_them() {
        let counted =
            |online_cpus, user_ns| HostCpu { online_cpus, user_ns: Nanos(user_ns), ..Default::default() };
        let (mut over_time, mut beside) = (counted(4, 10), counted(4, 10));
        over_time.add_interval(&counted(2, 5));
        beside.add_beside(&counted(2, 5));
        assert_eq!((over_time, beside), (counted(4, 15), counted(6, 15)));
    }

    #[test]
    fn means_over_connections_are_weighted_and_an_unseen_round_trip_is_none() {
        let of = |connection_count, rtt_ns, rtt_min_ns| TcpCounters {
            connection_count,
            rtt_ns: Nanos(rtt_ns),
            rtt_min_ns: Nanos(rtt_min_ns),
            ..TcpCounters::default()
        };
        let mut sum = of(1, 100, 0);
        sum.add_beside(&of(3, 20, 7));
        assert_eq!(sum, of(4, 40, 7));
    }

    fn times(served_count: u64, device_ns: u64) -> RequestTimes {
        RequestTimes { served_count, device_ns: Nanos(device_ns), ..RequestTimes::default() }
    }

    fn traced(name: &str, served_count: u64, device_ns: u64) -> BlockTrace {
        let device = BlockTimes { read: times(served_count, device_ns), ..BlockTimes::of_device(name) };
        BlockTrace { devices: vec![device], lost_count: served_count, missing_reason: None }
    }

    #[test]
    fn readings_are_subtracted_and_intervals_added_device_by_device() {
        let mut sum = traced("sda", 7, 700).since(&traced("sda", 3, 100));
        assert_eq!(sum, traced("sda", 4, 600));
        assert_eq!(sum.devices[0].read.device_mean_ns(), Some(Nanos(150)));
        assert_eq!(sum.devices[0].read.queue_mean_ns(), None);
        sum.add_interval(&traced("sda", 1, 50));
        assert_eq!((sum.devices[0].read, sum.lost_count), (times(5, 650), 5));
        sum.add_interval(&traced("sdb", 2, 9));
        assert_eq!(sum.devices.len(), 2);
        assert_eq!(sum.devices[1].served_count(), 2);
    }

    #[test]
    fn the_reason_of_one_interval_is_kept() {
        let mut sum = traced("sda", 1, 1);
        sum.add_interval(&BlockTrace::missing("no right"));
        assert_eq!(sum.missing_reason.as_deref(), Some("no right"));
    }
}
