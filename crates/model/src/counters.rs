//! Counters of a machine at one moment: cumulative readings whose differences are what happened.
//!
//! Read by `probe`; differences are taken by `analysis`.

mod block_trace;
mod combine;
mod merge;

pub use block_trace::{BlockTimes, BlockTrace, RequestTimes};
pub use combine::Combine;
pub use merge::{CountedMachine, merge_samples};

use crate::nfs_mount::NfsMountCounters;
use crate::units::{Bytes, Nanos};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part a machine or process plays in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Issues the load.
    Client,
    /// Forwards it.
    Proxy,
    /// Serves it.
    Server,
}

impl Role {
    /// The role in one word, for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Proxy => "proxy",
            Self::Server => "server",
        }
    }
}

/// Who read counters of a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CounterOrigin {
    /// A program of ours on that machine.
    #[default]
    Narrows,
    /// The machine's `node_exporter`, read over HTTP: counters of the whole machine alone.
    NodeExporter,
}

/// All counters of one role at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CounterSample {
    /// Whose counters these are.
    pub role: Role,
    /// Who read them.
    #[serde(default)]
    pub origin: CounterOrigin,
    /// When they were read, on that machine's monotonic clock.
    pub at_ns: Nanos,
    /// CPU time of the whole machine; `None` where it could not be read.
    pub host_cpu: Option<HostCpu>,
    /// CPU time of the role's processes; `None` where it could not be read.
    pub process_cpu: Option<ProcessCpu>,
    /// The part of it that the kernel's threads for rings used; `None` where their threads could not be read.
    #[serde(default)]
    pub ring_cpu: Option<RingCpu>,
    /// CPU time and limits of the role's control group; `None` without one.
    pub cgroup_cpu: Option<CgroupCpu>,
    /// Block devices under the path, or all of them where the path's are not known.
    pub disks: Vec<DiskCounters>,
    /// How long requests were in the queues of these devices and at the devices; `None` where it was not asked for, as of a path
    /// without a device on this machine, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_trace: Option<BlockTrace>,
    /// Network interfaces.
    pub nics: Vec<NicCounters>,
    /// TCP connections of the load, summed, or those by which the kernel or a daemon reaches the server of its files; `None`
    /// without any.
    pub tcp: Option<TcpCounters>,
    /// Memory of the machine; `None` where it could not be read.
    pub memory: Option<MemoryCounters>,
    /// Worker threads of the role's own program that serve requests; `None` where it has none or does not report them.
    #[serde(default)]
    pub workers: Option<WorkerCounters>,
    /// Threads of the role's processes; `None` where the kernel does not report how long they waited for a CPU.
    #[serde(default)]
    pub threads: Option<ThreadTimes>,
    /// CPU time of programs on the role's machine that are no part of the path; `None` where it was not counted.
    #[serde(default)]
    pub foreign_cpu: Option<ForeignCpu>,
    /// NFS mounts under the path, as the kernel's client counts them; empty where there are none.
    #[serde(default)]
    pub nfs_mounts: Vec<NfsMountCounters>,
    /// Time in which tasks of the machine waited for memory; `None` where the kernel does not account for it.
    #[serde(default)]
    pub memory_pressure: Option<PressureTimes>,
    /// The same of the role's control group; `None` also where that group is the whole machine.
    #[serde(default)]
    pub group_memory_pressure: Option<PressureTimes>,
    /// The process that serves a file system of the path (FUSE); `None` without one, or where it is not known.
    #[serde(default)]
    pub daemon: Option<DaemonCounters>,
}

impl CounterSample {
    /// A reading of `role` in which nothing could be read.
    #[must_use]
    pub fn unread(role: Role, at_ns: Nanos) -> Self {
        Self {
            role,
            origin: CounterOrigin::Narrows,
            at_ns,
            host_cpu: None,
            process_cpu: None,
            ring_cpu: None,
            cgroup_cpu: None,
            disks: Vec::new(),
            block_trace: None,
            nics: Vec::new(),
            tcp: None,
            memory: None,
            workers: None,
            threads: None,
            foreign_cpu: None,
            nfs_mounts: Vec::new(),
            memory_pressure: None,
            group_memory_pressure: None,
            daemon: None,
        }
    }
}

/// Time in which tasks could not go on for want of a resource (pressure stall information).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct PressureTimes {
    /// Time in which at least one task waited.
    pub some_ns: Nanos,
    /// Time in which all tasks that were not idle waited at once.
    pub full_ns: Nanos,
}

/// A process that serves a file system of the path, with its descendants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct DaemonCounters {
    /// Its name as the kernel has it: at most 15 bytes, of any content.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// Times of its threads.
    pub threads: ThreadTimes,
    /// Time in which its control group had used up its quota, summed over CPUs.
    pub throttled_ns: Nanos,
}

/// Time of threads that the scheduler accounts for: on a CPU, and runnable but waiting for one.
///
/// A thread whose control group has used up its quota waits too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ThreadTimes {
    /// Time on a CPU, summed over threads, those that ended included.
    pub running_ns: Nanos,
    /// Time runnable and waiting for a CPU, summed in the same way.
    pub waiting_ns: Nanos,
    /// Of the thread that ran or waited for the longest since the reading before: its time on a CPU since then.
    pub busiest_running_ns: Nanos,
    /// Its time runnable and waiting for a CPU since then.
    pub busiest_waiting_ns: Nanos,
}

/// CPU time of programs that are no part of the path. Threads of the kernel are not counted: what they do may be done
/// for the path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ForeignCpu {
    /// CPU time since the first reading, programs that ended meanwhile included.
    pub used_ns: Nanos,
    /// Programs that used the most CPU time since the reading before, the busiest first: a few.
    pub programs: Vec<ForeignProgram>,
    /// Programs that moved the most bytes to and from devices since the reading before, the busiest first: a few, and
    /// only those whose accounts this process may read.
    #[serde(default)]
    pub device_programs: Vec<ForeignDeviceProgram>,
    /// Programs with the most memory, the largest first: a few.
    #[serde(default)]
    pub memory_programs: Vec<ForeignMemoryProgram>,
}

/// A program that is no part of the path, by its memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ForeignMemoryProgram {
    /// Its name as the kernel has it: at most 15 bytes, of any content.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// Its pages in memory, those that it shares included.
    pub resident_bytes: Bytes,
}

/// A program that is no part of the path and moved bytes to or from block devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ForeignDeviceProgram {
    /// Its name as the kernel has it: at most 15 bytes, of any content.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// Bytes that it had read from devices and written, of all devices, since the reading before.
    pub device_bytes: Bytes,
}

/// A program that is no part of the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ForeignProgram {
    /// Its name as the kernel has it: at most 15 bytes, of any content.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// CPU time since the reading before, its children that ended meanwhile included.
    pub used_ns: Nanos,
}

/// Worker threads that take requests from a queue, summed over all of them since the program started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct WorkerCounters {
    /// Requests that can be served at once now.
    pub worker_count: u32,
    /// Requests taken from the queue.
    pub served_count: u64,
    /// Time in which workers served a request, summed over workers.
    pub busy_ns: Nanos,
    /// Time that requests waited for a worker, summed over requests: divided by the time that passed it is the mean
    /// length of the queue.
    pub queued_ns: Nanos,
}

/// CPU time of a whole machine since boot, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct HostCpu {
    /// CPUs online.
    pub online_cpus: u32,
    /// User mode, niced included.
    pub user_ns: Nanos,
    /// Kernel mode.
    pub system_ns: Nanos,
    /// Hard interrupts.
    pub irq_ns: Nanos,
    /// Soft interrupts: most network receive work.
    pub softirq_ns: Nanos,
    /// Taken by the hypervisor for others.
    pub steal_ns: Nanos,
    /// Idle.
    pub idle_ns: Nanos,
    /// Idle while I/O was outstanding.
    pub iowait_ns: Nanos,
}

impl HostCpu {
    /// Kernel mode, interrupts included.
    #[must_use]
    pub fn kernel_ns(&self) -> Nanos {
        self.system_ns.saturating_add(self.irq_ns).saturating_add(self.softirq_ns)
    }

    /// All time, idle included: that of one CPU times the CPUs.
    #[must_use]
    pub fn total_ns(&self) -> Nanos {
        let busy = self.user_ns.saturating_add(self.kernel_ns()).saturating_add(self.steal_ns);
        busy.saturating_add(self.idle_ns).saturating_add(self.iowait_ns)
    }
}

/// CPU time of processes, children that ended included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ProcessCpu {
    /// User mode.
    pub user_ns: Nanos,
    /// Kernel mode.
    pub system_ns: Nanos,
}

impl ProcessCpu {
    /// User and kernel mode together.
    #[must_use]
    pub fn total_ns(&self) -> Nanos {
        self.user_ns.saturating_add(self.system_ns)
    }
}

/// CPU time of the threads that the kernel runs within processes for their rings (`io_uring`): part of [`ProcessCpu`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RingCpu {
    /// Threads that poll for submissions (`iou-sqp`), those that ended included.
    pub polling_thread_count: u32,
    /// Their time: they spin while the ring is used, whatever the load is.
    pub polling_ns: Nanos,
    /// Threads that do what would block (`iou-wrk`), those that ended included.
    pub worker_thread_count: u32,
    /// Their time.
    pub worker_ns: Nanos,
}

/// CPU time and limits of a control group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CgroupCpu {
    /// The group's path below its hierarchy.
    pub path: String,
    /// CPU time used by the group; 0 where it is not accounted for the group that has the limits.
    pub usage_ns: Nanos,
    /// Time the group was throttled by its quota, summed over its threads' CPUs.
    pub throttled_ns: Nanos,
    /// Periods in which it was throttled.
    pub throttled_count: u64,
    /// Periods that have passed.
    pub period_count: u64,
    /// CPUs that the quota allows; `None` without a quota.
    pub quota_cpus: Option<f64>,
}

/// Counters of one block device since boot, as in `/proc/diskstats`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct DiskCounters {
    /// Kernel name.
    pub name: String,
    /// Reads completed.
    pub read_count: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Time of all reads, summed.
    pub read_ns: Nanos,
    /// Writes completed.
    pub write_count: u64,
    /// Bytes written.
    pub write_bytes: Bytes,
    /// Time of all writes, summed.
    pub write_ns: Nanos,
    /// Flushes completed; zero on kernels that do not count them.
    pub flush_count: u64,
    /// Time of all flushes, summed.
    pub flush_ns: Nanos,
    /// Time in which at least one request was in flight.
    pub busy_ns: Nanos,
    /// Requests in flight x time.
    pub queue_ns: Nanos,
}

/// Counters of one network interface since boot, as in `/proc/net/dev`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct NicCounters {
    /// Kernel name.
    pub name: String,
    /// Bytes received, headers of the link layer included.
    pub receive_bytes: Bytes,
    /// Packets received (large receive offload counts several as one).
    pub receive_packet_count: u64,
    /// Packets dropped on receive.
    pub receive_drop_count: u64,
    /// Bytes sent.
    pub send_bytes: Bytes,
    /// Packets sent.
    pub send_packet_count: u64,
    /// Packets dropped on send.
    pub send_drop_count: u64,
}

/// `TCP_INFO` of connections, summed over them unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct TcpCounters {
    /// When they were read, on the clock of the load; the mean over connections, 0 where it is not known.
    #[serde(default)]
    pub at_ns: Nanos,
    /// Connections summed.
    pub connection_count: u32,
    /// Payload bytes that the peer has acknowledged.
    pub acked_bytes: Bytes,
    /// Payload bytes received.
    pub received_bytes: Bytes,
    /// Of both, those of connections with both ends on one host, which crossed no network.
    #[serde(default)]
    pub loopback_bytes: Bytes,
    /// Segments sent.
    pub segments_out_count: u64,
    /// Segments received.
    pub segments_in_count: u64,
    /// Segments sent again.
    pub retransmit_count: u64,
    /// Smallest round-trip time seen by any connection.
    pub rtt_min_ns: Nanos,
    /// Mean of the connections' smoothed round-trip times.
    pub rtt_ns: Nanos,
    /// Mean congestion window.
    pub congestion_window_bytes: Bytes,
    /// Time with data to send, as the two below of connections that leave their host.
    pub busy_ns: Nanos,
    /// Time limited by the peer's receive window.
    pub receive_window_limited_ns: Nanos,
    /// Time limited by the own send buffer.
    pub send_buffer_limited_ns: Nanos,
}

/// Memory of a machine at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct MemoryCounters {
    /// Available for new use without swapping.
    pub available_bytes: Bytes,
    /// In the page cache.
    pub cached_bytes: Bytes,
    /// Written by programs, not yet by the system.
    pub dirty_bytes: Bytes,
    /// Being written to devices now.
    pub writeback_bytes: Bytes,
}
