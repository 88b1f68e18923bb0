//! Cumulative counters of one role's machine, read again and again.
//!
//! [`CounterReader`] opens its files once and reads them with `pread` at offset 0, into one buffer that grows to the largest
//! file and stays. It takes no differences (`analysis` does) and reads no clock. It follows nothing that moves
//! while it lives: a process that changes its control group is counted in the one where it began.
//!
//! Sources: `/proc/stat`, `/proc/[pid]/stat`, `/proc/[pid]/task/[tid]/comm`, `stat` and `schedstat`, `cpuacct.usage` and `cpu.stat`, `/proc/diskstats`, `/proc/net/dev`,
//! `/proc/meminfo`, `/proc/pressure/memory`, `memory.pressure`, `/proc/self/mountstats`. Each lists its limits at its part below.

mod counter_file;
mod daemon;
mod disks;
mod group;
mod nfs_mounts;
mod pressure;
mod processes;
mod programs;
mod ring_threads;
#[cfg(test)]
mod tests;
mod threads;

use narrows_model::counters::{CounterOrigin, CounterSample, DiskCounters, HostCpu, MemoryCounters, Role};
use narrows_model::units::{NANOS_PER_SEC, Nanos};

use crate::parse::{meminfo, net_dev, proc_stat};
use crate::root::Root;
use crate::unknown::UnknownFacts;
use counter_file::CounterFile;
use daemon::Daemon;
use disks::DiskReadings;
use group::GroupCounters;
use narrows_model::nfs_mount::NfsMountCounters;
use nfs_mounts::NfsMounts;
use pressure::MemoryPressure;
use processes::Processes;
use programs::Programs;
use ring_threads::RingThreads;
use threads::Threads;

pub use daemon::with_descendants;
pub use threads::note_ending_thread;

/// What a [`CounterReader`] counts besides the whole machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CounterScope {
    /// Processes whose CPU time is charged, their ended children included; the first of them, or the reading process
    /// when there is none, names the control group. Empty: no process CPU.
    pub pids: Vec<u32>,
    /// Kernel names of block devices. Empty: all whole disks, which counts a byte once a layer (partitions left out,
    /// mapped, RAID and loop devices included).
    pub devices: Vec<String>,
    /// Processes of the path on this machine besides those and their descendants: the CPU time of all others is counted
    /// as that of other programs. `None`: not known, so that it is not counted.
    pub path_pids: Option<Vec<u32>>,
}

/// The counters of one role.
///
/// # Cost
/// A read is two `pread` or more for each of about six files and each process: 160 microseconds, unoptimised, on a
/// virtual machine with 2 CPUs, 10 disks and 7 interfaces; the kernel's part grows with CPUs and interrupts. Other
/// programs cost a file of `/proc` each, up to a thousand.
#[derive(Debug)]
pub struct CounterReader {
    role: Role,
    ticks: TickUnit,
    host: Option<CounterFile>,
    memory: Option<CounterFile>,
    nics: Option<CounterFile>,
    disks: Option<DiskReadings>,
    processes: Processes,
    ring_threads: RingThreads,
    threads: Threads,
    programs: Option<Programs>,
    group: Option<GroupCounters>,
    nfs_mounts: Option<NfsMounts>,
    pressure: MemoryPressure,
    daemon: Option<Daemon>,
    buffer: Vec<u8>,
    unknown: UnknownFacts,
}

impl CounterReader {
    /// A reader with its files open; files that cannot be opened are listed by [`CounterReader::unknown`].
    #[must_use]
    pub fn new(root: &Root, role: Role, scope: &CounterScope) -> Self {
        let mut unknown = UnknownFacts::default();
        let mut open = |fact: &str, path: &str| unknown.note(fact, CounterFile::open(root, path));
        let host = open("CPU time of the machine", "/proc/stat");
        let memory = open("memory", "/proc/meminfo");
        let nics = open("network interfaces", "/proc/net/dev");
        let disks = open("block devices", "/proc/diskstats");
        let disks = disks.map(|source| DiskReadings::new(root, source, &scope.devices));
        let processes = Processes::open(root, &scope.pids, &mut unknown);
        let programs = scope
            .path_pids
            .as_ref()
            .and_then(|more| Programs::new(root, scope.pids.iter().chain(more).copied(), &mut unknown));
        let group = unknown.note("control group", GroupCounters::open(root, scope.pids.first().copied()));
        Self {
            role,
            ticks: TickUnit::from_kernel(),
            host,
            memory,
            nics,
            disks,
            processes,
            ring_threads: RingThreads::new(root, &scope.pids),
            threads: Threads::new(root, &scope.pids),
            programs,
            group: group.flatten(),
            nfs_mounts: None,
            pressure: MemoryPressure::open(root, scope.pids.first().copied()),
            daemon: None,
            buffer: Vec::new(),
            unknown,
        }
    }

    /// The same reader, which reads the NFS mounts at these points too.
    #[must_use]
    pub fn with_nfs_mounts(mut self, root: &Root, points: &[String]) -> Self {
        if !points.is_empty() {
            let opened = NfsMounts::open(root, points);
            self.nfs_mounts = self.unknown.note("calls of the NFS mount", opened);
        }
        self
    }

    /// The same reader, which counts the process `pid` as the daemon of a file system of the path.
    #[must_use]
    pub fn with_daemon(mut self, root: &Root, pid: Option<u32>) -> Self {
        self.daemon = pid.and_then(|pid| Daemon::open(root, pid));
        self
    }

    /// All counters now, stamped `at_ns`.
    ///
    /// # Shape
    /// What could not be read is `None` or empty, and listed by [`CounterReader::unknown`]. `tcp` and `block_trace` are always
    /// `None`: the caller knows the sockets, and traces by itself. Process CPU never decreases, even when a process ends. Host CPU is the whole machine's,
    /// even when read inside a control group or a container; its idle and iowait can decrease by a tick. The control
    /// group at the root of a hierarchy is the whole machine too. Interfaces are those of this process's network
    /// namespace.
    ///
    /// # Units
    /// Host and process CPU come in clock ticks, 10 ms on every common kernel; control-group CPU in nanoseconds
    /// (version 1) or microseconds (version 2).
    pub fn read(&mut self, at_ns: u64) -> CounterSample {
        let (memory_pressure, group_memory_pressure) = self.pressure.read(&mut self.buffer);
        let daemon = self.daemon.as_mut().and_then(|daemon| daemon.read(&mut self.buffer, &mut self.unknown));
        CounterSample {
            role: self.role,
            origin: CounterOrigin::Narrows,
            at_ns: Nanos(at_ns),
            host_cpu: self.host_cpu(),
            process_cpu: self.processes.read(self.ticks, &mut self.buffer, &mut self.unknown),
            ring_cpu: self.ring_threads.read(self.ticks, &mut self.unknown),
            cgroup_cpu: self.group.as_ref().and_then(|group| {
                let outcome = group.read(&mut self.buffer);
                self.unknown.note("control group", outcome)
            }),
            disks: self.disks_now(),
            block_trace: None,
            nics: self
                .parsed("network interfaces", |reader| reader.nics.as_ref(), net_dev::parse)
                .unwrap_or_default(),
            tcp: None,
            memory: self.memory_now(),
            workers: None,
            threads: self.threads.read(&mut self.unknown),
            foreign_cpu: self.programs.as_mut().and_then(|all| all.read(self.ticks, &mut self.unknown)),
            nfs_mounts: self.nfs_mounts_now(),
            memory_pressure,
            group_memory_pressure,
            daemon,
        }
    }

    /// What could not be read so far, for people; each sentence once.
    #[must_use]
    pub fn unknown(&self) -> &[String] {
        self.unknown.sentences()
    }

    fn host_cpu(&mut self) -> Option<HostCpu> {
        let cpu = self.parsed("CPU time of the machine", |reader| reader.host.as_ref(), proc_stat::parse)?;
        Some(host_cpu(&cpu, self.ticks))
    }

    fn disks_now(&mut self) -> Vec<DiskCounters> {
        let Some(disks) = &mut self.disks else { return Vec::new() };
        let outcome = disks.read(&mut self.buffer);
        let Some(counters) = self.unknown.note("block devices", outcome) else { return Vec::new() };
        for name in disks.missing(&counters) {
            self.unknown.add(format!("block device {name}: /proc/diskstats has no counters of it"));
        }
        counters
    }

    fn nfs_mounts_now(&mut self) -> Vec<NfsMountCounters> {
        let Some(mounts) = &self.nfs_mounts else { return Vec::new() };
        let outcome = mounts.read(&mut self.buffer);
        self.unknown.note("calls of the NFS mount", outcome).unwrap_or_default()
    }

    fn memory_now(&mut self) -> Option<MemoryCounters> {
        let memory = self.parsed("memory", |reader| reader.memory.as_ref(), meminfo::parse)?;
        let counters = memory_counters(&memory);
        if counters.is_none() {
            self.unknown.add("memory: /proc/meminfo lacks MemAvailable, Cached, Dirty or Writeback");
        }
        counters
    }

    fn parsed<T>(
        &mut self,
        fact: &str,
        source: impl Fn(&Self) -> Option<&CounterFile>,
        parse: impl Fn(&[u8]) -> Result<T, crate::parse::Malformed>,
    ) -> Option<T> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let outcome = source(self).map(|source| source.parse(&mut buffer, parse));
        self.buffer = buffer;
        outcome.and_then(|outcome| self.unknown.note(fact, outcome))
    }
}

/// The unit of CPU times in `/proc`.
#[derive(Debug, Clone, Copy)]
struct TickUnit {
    nanos: u64,
}

impl TickUnit {
    fn from_kernel() -> Self {
        Self { nanos: NANOS_PER_SEC / narrows_sys::process::clock_ticks_per_s().max(1) }
    }

    fn duration(self, ticks: u64) -> Nanos {
        Nanos(ticks.saturating_mul(self.nanos))
    }
}

fn host_cpu(cpu: &proc_stat::CpuTicks, ticks: TickUnit) -> HostCpu {
    HostCpu {
        online_cpus: cpu.online_cpus,
        user_ns: ticks.duration(cpu.user.saturating_add(cpu.nice)),
        system_ns: ticks.duration(cpu.system),
        irq_ns: ticks.duration(cpu.irq),
        softirq_ns: ticks.duration(cpu.softirq),
        steal_ns: ticks.duration(cpu.steal.unwrap_or(0)),
        idle_ns: ticks.duration(cpu.idle),
        iowait_ns: ticks.duration(cpu.iowait),
    }
}

fn memory_counters(memory: &meminfo::Memory) -> Option<MemoryCounters> {
    Some(MemoryCounters {
        available_bytes: memory.available?,
        cached_bytes: memory.cached?,
        dirty_bytes: memory.dirty?,
        writeback_bytes: memory.writeback?,
    })
}
