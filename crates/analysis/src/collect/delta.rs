//! What happened between two readings of a role's counters, summed over a cell's trials.
//!
//! Differences only; what they mean for a CPU or a path is decided in `summary`.

use narrows_model::counters::{
    CgroupCpu, DiskCounters, HostCpu, NicCounters, ProcessCpu, RingCpu, TcpCounters, WorkerCounters,
};
use narrows_model::trial::CounterPair;
use narrows_model::{Bytes, Nanos, Role};

/// CPU time of a machine in the interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct HostDelta {
    pub online_cpus: u32,
    pub user: Nanos,
    pub system: Nanos,
    pub softirq: Nanos,
    pub steal: Nanos,
    pub total: Nanos,
}

/// CPU time of a control group in the interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CgroupDelta {
    pub usage: Nanos,
    pub throttled: Nanos,
    pub throttled_count: u64,
    pub period_count: u64,
    pub quota_cpus: Option<f64>,
}

/// What one block device did in the interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DiskDelta {
    pub name: String,
    pub read_bytes: Bytes,
    pub write_bytes: Bytes,
    pub busy: Nanos,
    pub read_count: u64,
    pub write_count: u64,
    pub flush_count: u64,
    pub flush: Nanos,
}

/// What the load's connections carried in the interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TcpDelta {
    /// Time between the two readings of the connections; 0 where it is not known.
    pub elapsed: Nanos,
    pub acked_bytes: Bytes,
    pub received_bytes: Bytes,
    /// Of both, those that no network carried.
    pub loopback_bytes: Bytes,
    pub retransmit_count: u64,
    pub segments_out_count: u64,
    pub rtt_min: Nanos,
    pub busy: Nanos,
    pub receive_window_limited: Nanos,
    pub send_buffer_limited: Nanos,
}

/// What the interfaces of a machine but loopback carried in the interval, headers and others' traffic included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct NicDelta {
    pub receive_bytes: Bytes,
    pub send_bytes: Bytes,
}

/// What the worker threads of a server did in the interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct WorkerDelta {
    /// Requests that could be served at once, the most that was read.
    pub worker_count: u32,
    pub served_count: u64,
    pub busy: Nanos,
    pub queued: Nanos,
}

/// What one role's counters say of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoleDelta {
    pub role: Role,
    pub elapsed: Nanos,
    pub host: Option<HostDelta>,
    pub process: Option<ProcessCpu>,
    /// The part of it that the kernel's threads for rings used.
    pub ring: Option<RingCpu>,
    pub cgroup: Option<CgroupDelta>,
    /// The control group's path below its hierarchy.
    pub group_path: Option<String>,
    pub disks: Vec<DiskDelta>,
    pub tcp: Option<TcpDelta>,
    pub nics: Option<NicDelta>,
    pub workers: Option<WorkerDelta>,
}

impl RoleDelta {
    /// The differences between the two readings of `pair`.
    pub(crate) fn of(pair: &CounterPair) -> Self {
        let (before, after) = (&pair.before, &pair.after);
        Self {
            role: after.role,
            elapsed: after.at_ns.saturating_sub(before.at_ns),
            host: before.host_cpu.zip(after.host_cpu).map(|(before, after)| host(before, after)),
            process: before.process_cpu.zip(after.process_cpu).map(|(before, after)| ProcessCpu {
                user_ns: after.user_ns.saturating_sub(before.user_ns),
                system_ns: after.system_ns.saturating_sub(before.system_ns),
            }),
            // Rings that are opened after the first reading count from zero.
            ring: after.ring_cpu.map(|after| ring(before.ring_cpu.unwrap_or_default(), after)),
            cgroup: before.cgroup_cpu.as_ref().zip(after.cgroup_cpu.as_ref()).map(|(b, a)| cgroup(b, a)),
            group_path: after.cgroup_cpu.as_ref().map(|group| group.path.clone()),
            disks: after.disks.iter().filter_map(|after| disk(&before.disks, after)).collect(),
            tcp: after.tcp.as_ref().map(|after| tcp(before.tcp.as_ref(), after)),
            nics: nics(&before.nics, &after.nics),
            workers: after.workers.map(|after| workers(before.workers.unwrap_or_default(), after)),
        }
    }

    /// Adds another trial's differences of the same role.
    pub(crate) fn add(&mut self, more: &RoleDelta) {
        self.elapsed = self.elapsed.saturating_add(more.elapsed);
        self.host = sum(self.host, more.host, |a, b| HostDelta {
            online_cpus: a.online_cpus.max(b.online_cpus),
            user: a.user.saturating_add(b.user),
            system: a.system.saturating_add(b.system),
            softirq: a.softirq.saturating_add(b.softirq),
            steal: a.steal.saturating_add(b.steal),
            total: a.total.saturating_add(b.total),
        });
        self.process = sum(self.process, more.process, |a, b| ProcessCpu {
            user_ns: a.user_ns.saturating_add(b.user_ns),
            system_ns: a.system_ns.saturating_add(b.system_ns),
        });
        self.ring = sum(self.ring, more.ring, |a, b| RingCpu {
            polling_thread_count: a.polling_thread_count.max(b.polling_thread_count),
            polling_ns: a.polling_ns.saturating_add(b.polling_ns),
            worker_thread_count: a.worker_thread_count.max(b.worker_thread_count),
            worker_ns: a.worker_ns.saturating_add(b.worker_ns),
        });
        self.cgroup = sum(self.cgroup, more.cgroup, |a, b| CgroupDelta {
            usage: a.usage.saturating_add(b.usage),
            throttled: a.throttled.saturating_add(b.throttled),
            throttled_count: a.throttled_count.saturating_add(b.throttled_count),
            period_count: a.period_count.saturating_add(b.period_count),
            quota_cpus: a.quota_cpus.or(b.quota_cpus),
        });
        self.tcp = sum(self.tcp, more.tcp, |a, b| TcpDelta {
            elapsed: a.elapsed.saturating_add(b.elapsed),
            acked_bytes: a.acked_bytes.saturating_add(b.acked_bytes),
            received_bytes: a.received_bytes.saturating_add(b.received_bytes),
            loopback_bytes: a.loopback_bytes.saturating_add(b.loopback_bytes),
            retransmit_count: a.retransmit_count.saturating_add(b.retransmit_count),
            segments_out_count: a.segments_out_count.saturating_add(b.segments_out_count),
            busy: a.busy.saturating_add(b.busy),
            receive_window_limited: a.receive_window_limited.saturating_add(b.receive_window_limited),
            send_buffer_limited: a.send_buffer_limited.saturating_add(b.send_buffer_limited),
            rtt_min: smallest_known(a.rtt_min, b.rtt_min),
        });
        self.nics = sum(self.nics, more.nics, |a, b| NicDelta {
            receive_bytes: a.receive_bytes.saturating_add(b.receive_bytes),
            send_bytes: a.send_bytes.saturating_add(b.send_bytes),
        });
        self.workers = sum(self.workers, more.workers, |a, b| WorkerDelta {
            worker_count: a.worker_count.max(b.worker_count),
            served_count: a.served_count.saturating_add(b.served_count),
            busy: a.busy.saturating_add(b.busy),
            queued: a.queued.saturating_add(b.queued),
        });
        self.add_disks(&more.disks);
    }

    fn add_disks(&mut self, more: &[DiskDelta]) {
        for disk in more {
            match self.disks.iter_mut().find(|known| known.name == disk.name) {
                Some(known) => {
                    known.read_bytes = known.read_bytes.saturating_add(disk.read_bytes);
                    known.write_bytes = known.write_bytes.saturating_add(disk.write_bytes);
                    known.busy = known.busy.saturating_add(disk.busy);
                    known.read_count = known.read_count.saturating_add(disk.read_count);
                    known.write_count = known.write_count.saturating_add(disk.write_count);
                    known.flush_count = known.flush_count.saturating_add(disk.flush_count);
                    known.flush = known.flush.saturating_add(disk.flush);
                }
                None => self.disks.push(disk.clone()),
            }
        }
    }
}

/// The sum where both are known, else the known one: a counter that one trial lost does not erase the others.
fn sum<T>(a: Option<T>, b: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (a, b) => a.or(b),
    }
}

/// The smaller of two round-trip times, where zero means that none was seen.
fn smallest_known(a: Nanos, b: Nanos) -> Nanos {
    match (a.0, b.0) {
        (0, _) => b,
        (_, 0) => a,
        _ => a.min(b),
    }
}

fn host(before: HostCpu, after: HostCpu) -> HostDelta {
    let system = [
        after.system_ns.saturating_sub(before.system_ns),
        after.irq_ns.saturating_sub(before.irq_ns),
        after.softirq_ns.saturating_sub(before.softirq_ns),
    ];
    let user = after.user_ns.saturating_sub(before.user_ns);
    let steal = after.steal_ns.saturating_sub(before.steal_ns);
    let idle = after
        .idle_ns
        .saturating_sub(before.idle_ns)
        .saturating_add(after.iowait_ns.saturating_sub(before.iowait_ns));
    let system_total = system.iter().fold(Nanos(0), |sum, part| sum.saturating_add(*part));
    HostDelta {
        online_cpus: after.online_cpus,
        user,
        system: system_total,
        softirq: system[2],
        steal,
        total: user.saturating_add(system_total).saturating_add(steal).saturating_add(idle),
    }
}

fn ring(before: RingCpu, after: RingCpu) -> RingCpu {
    RingCpu {
        polling_ns: after.polling_ns.saturating_sub(before.polling_ns),
        worker_ns: after.worker_ns.saturating_sub(before.worker_ns),
        ..after
    }
}

fn cgroup(before: &CgroupCpu, after: &CgroupCpu) -> CgroupDelta {
    CgroupDelta {
        usage: after.usage_ns.saturating_sub(before.usage_ns),
        throttled: after.throttled_ns.saturating_sub(before.throttled_ns),
        throttled_count: after.throttled_count.saturating_sub(before.throttled_count),
        period_count: after.period_count.saturating_sub(before.period_count),
        quota_cpus: after.quota_cpus,
    }
}

fn disk(before: &[DiskCounters], after: &DiskCounters) -> Option<DiskDelta> {
    let before = before.iter().find(|known| known.name == after.name)?;
    Some(DiskDelta {
        name: after.name.clone(),
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        write_bytes: after.write_bytes.saturating_sub(before.write_bytes),
        busy: after.busy_ns.saturating_sub(before.busy_ns),
        read_count: after.read_count.saturating_sub(before.read_count),
        write_count: after.write_count.saturating_sub(before.write_count),
        flush_count: after.flush_count.saturating_sub(before.flush_count),
        flush: after.flush_ns.saturating_sub(before.flush_ns),
    })
}

fn workers(before: WorkerCounters, after: WorkerCounters) -> WorkerDelta {
    WorkerDelta {
        worker_count: before.worker_count.max(after.worker_count),
        served_count: after.served_count.saturating_sub(before.served_count),
        busy: after.busy_ns.saturating_sub(before.busy_ns),
        queued: after.queued_ns.saturating_sub(before.queued_ns),
    }
}

/// The sum over the interfaces that both readings have; `None` without one besides loopback.
fn nics(before: &[NicCounters], after: &[NicCounters]) -> Option<NicDelta> {
    let both = after.iter().filter(|after| after.name != "lo").filter_map(|after| {
        let before = before.iter().find(|known| known.name == after.name)?;
        Some(NicDelta {
            receive_bytes: after.receive_bytes.saturating_sub(before.receive_bytes),
            send_bytes: after.send_bytes.saturating_sub(before.send_bytes),
        })
    });
    both.reduce(|a, b| NicDelta {
        receive_bytes: a.receive_bytes.saturating_add(b.receive_bytes),
        send_bytes: a.send_bytes.saturating_add(b.send_bytes),
    })
}

/// A first reading without connections means that they were opened after it and counted from zero.
fn tcp(before: Option<&TcpCounters>, after: &TcpCounters) -> TcpDelta {
    let none = TcpCounters::default();
    let before = before.unwrap_or(&none);
    let timed = before.at_ns.0 > 0;
    TcpDelta {
        elapsed: if timed { after.at_ns.saturating_sub(before.at_ns) } else { Nanos(0) },
        acked_bytes: after.acked_bytes.saturating_sub(before.acked_bytes),
        received_bytes: after.received_bytes.saturating_sub(before.received_bytes),
        loopback_bytes: after.loopback_bytes.saturating_sub(before.loopback_bytes),
        retransmit_count: after.retransmit_count.saturating_sub(before.retransmit_count),
        segments_out_count: after.segments_out_count.saturating_sub(before.segments_out_count),
        busy: after.busy_ns.saturating_sub(before.busy_ns),
        receive_window_limited: after
            .receive_window_limited_ns
            .saturating_sub(before.receive_window_limited_ns),
        send_buffer_limited: after.send_buffer_limited_ns.saturating_sub(before.send_buffer_limited_ns),
        rtt_min: smallest_known(after.rtt_min_ns, before.rtt_min_ns),
    }
}
