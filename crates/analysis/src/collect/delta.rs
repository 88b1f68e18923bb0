//! What happened between two readings of a role's counters, summed over a cell's trials.
//!
//! Differences only; what they mean for a CPU or a path is decided in `summary`, how fields combine in `model`.

use narrows_model::counters::{
    BlockTrace, CgroupCpu, Combine, CounterOrigin, DaemonCounters, DiskCounters, ForeignCpu, HostCpu,
    NicCounters, PressureTimes, ProcessCpu, RingCpu, TcpCounters, ThreadTimes, WorkerCounters,
};
use narrows_model::nfs_mount::NfsMountCounters;
use narrows_model::trial::CounterPair;
use narrows_model::{Nanos, Role};

/// What the load's connections transferred in the interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TcpDelta {
    /// Time between the two readings of the connections; 0 where it is not known.
    pub elapsed: Nanos,
    pub counted: TcpCounters,
}

/// What one role's counters say of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoleDelta {
    pub role: Role,
    /// Who read them.
    pub origin: CounterOrigin,
    pub elapsed: Nanos,
    pub host: Option<HostCpu>,
    pub process: Option<ProcessCpu>,
    /// The part of it that the kernel's threads for rings used.
    pub ring: Option<RingCpu>,
    pub cgroup: Option<CgroupCpu>,
    /// The control group's path below its hierarchy.
    pub group_path: Option<String>,
    pub disks: Vec<DiskCounters>,
    /// How long requests were in the queues of devices and at the devices.
    pub block_trace: Option<BlockTrace>,
    pub tcp: Option<TcpDelta>,
    /// What each interface of the machine but loopback transferred, headers and others' traffic included.
    pub nics: Vec<NicCounters>,
    pub workers: Option<WorkerCounters>,
    pub threads: Option<ThreadTimes>,
    /// What programs on the role's machine used that are no part of the path.
    pub foreign: Option<ForeignCpu>,
    /// What the kernel's client did at NFS mounts under the path.
    pub nfs_mounts: Vec<NfsMountCounters>,
    /// How long tasks of the role's machine waited for memory.
    pub memory_pressure: Option<PressureTimes>,
    /// How long those of the role's control group did.
    pub group_memory_pressure: Option<PressureTimes>,
    /// The process that serves a file system of the path.
    pub daemon: Option<DaemonCounters>,
}

impl RoleDelta {
    /// The differences between the two readings of `pair`.
    pub(crate) fn new(pair: &CounterPair) -> Self {
        let (before, after) = (&pair.before, &pair.after);
        Self {
            role: after.role,
            origin: after.origin,
            elapsed: after.at_ns.saturating_sub(before.at_ns),
            host: difference(before.host_cpu.as_ref(), after.host_cpu.as_ref()),
            process: difference(before.process_cpu.as_ref(), after.process_cpu.as_ref()),
            // Rings that are opened after the first reading count from zero.
            ring: after.ring_cpu.map(|after| after.since(&before.ring_cpu.unwrap_or_default())),
            cgroup: difference(before.cgroup_cpu.as_ref(), after.cgroup_cpu.as_ref()),
            group_path: after.cgroup_cpu.as_ref().map(|group| group.path.clone()),
            disks: after.disks.iter().filter_map(|after| disk(&before.disks, after)).collect(),
            block_trace: difference(before.block_trace.as_ref(), after.block_trace.as_ref()),
            tcp: after.tcp.as_ref().map(|after| tcp(before.tcp.as_ref(), after)),
            nics: nics(&before.nics, &after.nics),
            workers: after.workers.map(|after| after.since(&before.workers.unwrap_or_default())),
            threads: difference(before.threads.as_ref(), after.threads.as_ref()),
            foreign: difference(before.foreign_cpu.as_ref(), after.foreign_cpu.as_ref()),
            nfs_mounts: after
                .nfs_mounts
                .iter()
                .filter_map(|after| mount(&before.nfs_mounts, after))
                .collect(),
            memory_pressure: difference(before.memory_pressure.as_ref(), after.memory_pressure.as_ref()),
            group_memory_pressure: difference(
                before.group_memory_pressure.as_ref(),
                after.group_memory_pressure.as_ref(),
            ),
            daemon: difference(before.daemon.as_ref(), after.daemon.as_ref()),
        }
    }

    /// Adds another trial's differences of the same role.
    pub(crate) fn add(&mut self, more: &RoleDelta) {
        self.elapsed = self.elapsed.saturating_add(more.elapsed);
        add(&mut self.host, more.host.as_ref());
        add(&mut self.process, more.process.as_ref());
        add(&mut self.ring, more.ring.as_ref());
        add(&mut self.cgroup, more.cgroup.as_ref());
        add(&mut self.workers, more.workers.as_ref());
        add(&mut self.threads, more.threads.as_ref());
        add(&mut self.foreign, more.foreign.as_ref());
        add(&mut self.memory_pressure, more.memory_pressure.as_ref());
        add(&mut self.group_memory_pressure, more.group_memory_pressure.as_ref());
        add(&mut self.daemon, more.daemon.as_ref());
        add(&mut self.block_trace, more.block_trace.as_ref());
        match (&mut self.tcp, &more.tcp) {
            (Some(sum), Some(more)) => {
                sum.elapsed = sum.elapsed.saturating_add(more.elapsed);
                sum.counted.add_interval(&more.counted);
            }
            (sum, more) => *sum = sum.take().or_else(|| more.clone()),
        }
        for more in &more.nfs_mounts {
            match self.nfs_mounts.iter_mut().find(|known| known.mount_point == more.mount_point) {
                Some(known) => known.add(more),
                None => self.nfs_mounts.push(more.clone()),
            }
        }
        add_named(&mut self.disks, &more.disks, |disk| &disk.name);
        add_named(&mut self.nics, &more.nics, |nic| &nic.name);
    }

    /// What all interfaces but loopback transferred; `None` without one.
    pub(crate) fn all_nics(&self) -> Option<NicCounters> {
        self.nics.iter().cloned().reduce(|mut sum, more| {
            sum.add_beside(&more);
            sum
        })
    }
}

/// The difference of two readings; `None` without both.
fn difference<T: Combine>(before: Option<&T>, after: Option<&T>) -> Option<T> {
    Some(after?.since(before?))
}

/// The sum where both are known, else the known one: a counter that one trial lost does not erase the others.
fn add<T: Combine + Clone>(sum: &mut Option<T>, more: Option<&T>) {
    match (sum.as_mut(), more) {
        (Some(sum), Some(more)) => sum.add_interval(more),
        (None, more) => *sum = more.cloned(),
        (Some(_), None) => {}
    }
}

/// Adds each of `more` to what has the same name.
fn add_named<T: Combine + Clone>(sum: &mut Vec<T>, more: &[T], name: impl Fn(&T) -> &str) {
    for one in more {
        match sum.iter_mut().find(|known| name(known) == name(one)) {
            Some(known) => known.add_interval(one),
            None => sum.push(one.clone()),
        }
    }
}

fn mount(before: &[NfsMountCounters], after: &NfsMountCounters) -> Option<NfsMountCounters> {
    let known = before.iter().find(|known| known.mount_point == after.mount_point)?;
    Some(after.since(known))
}

fn disk(before: &[DiskCounters], after: &DiskCounters) -> Option<DiskCounters> {
    Some(after.since(before.iter().find(|known| known.name == after.name)?))
}

/// The interfaces that both readings have, without loopback.
fn nics(before: &[NicCounters], after: &[NicCounters]) -> Vec<NicCounters> {
    let counted = after.iter().filter(|after| after.name != "lo");
    counted
        .filter_map(|after| Some(after.since(before.iter().find(|known| known.name == after.name)?)))
        .collect()
}

/// A first reading without connections means that they were opened after it and counted from zero.
fn tcp(before: Option<&TcpCounters>, after: &TcpCounters) -> TcpDelta {
    let none = TcpCounters::default();
    let before = before.unwrap_or(&none);
    let timed = before.at_ns.0 > 0;
    TcpDelta {
        elapsed: if timed { after.at_ns.saturating_sub(before.at_ns) } else { Nanos(0) },
        counted: after.since(before),
    }
}
