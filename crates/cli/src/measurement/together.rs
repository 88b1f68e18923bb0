//! Counters of several servers as those of one: what a load that goes round them costs all of them together.
//!
//! Work is added up; time in which a device was busy is the mean over servers, since a load that goes round them fills
//! all alike. Servers on one machine share its CPUs, devices and memory, which count once.

use narrows_engines::endpoint::add_tcp_counters;
use narrows_model::counters::{
    CgroupCpu, DiskCounters, HostCpu, MemoryCounters, NicCounters, ProcessCpu, RingCpu, TcpCounters,
    WorkerCounters,
};
use narrows_model::{Bytes, CounterSample, Nanos};

/// The machine of a server.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    /// Equal ids are one machine.
    pub(super) boot_id: String,
    /// Kernel names of the devices under its store, the one that the file system lies on first.
    pub(super) devices: Vec<String>,
}

/// The sum of `samples`, one of each of `machines` in their order, in the first one's terms; `None` without any.
pub(super) fn together(machines: &[Machine], samples: Vec<CounterSample>) -> Option<CounterSample> {
    if samples.len() < 2 {
        return samples.into_iter().next();
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut own: Vec<(usize, &CounterSample)> = Vec::new();
    for (index, (machine, sample)) in machines.iter().zip(&samples).enumerate() {
        if !seen.contains(&machine.boot_id.as_str()) {
            seen.push(&machine.boot_id);
            own.push((index, sample));
        }
    }
    let first = samples.first()?;
    let per_machine: Vec<&CounterSample> = own.iter().map(|(_, sample)| *sample).collect();
    Some(CounterSample {
        role: first.role,
        at_ns: first.at_ns,
        host_cpu: sum(per_machine.iter().map(|sample| sample.host_cpu), add_host),
        process_cpu: sum(samples.iter().map(|sample| sample.process_cpu), add_process),
        ring_cpu: sum(samples.iter().map(|sample| sample.ring_cpu), add_ring),
        cgroup_cpu: groups(&samples),
        disks: disks(machines, &own),
        nics: samples.iter().flat_map(|sample| &sample.nics).fold(Vec::new(), add_nic),
        tcp: connections(&samples),
        memory: sum(per_machine.iter().map(|sample| sample.memory), add_memory),
        workers: sum(samples.iter().map(|sample| sample.workers), add_workers),
    })
}

/// The sum of what all of them tell; `None` where one does not.
fn sum<T>(values: impl Iterator<Item = Option<T>>, add: fn(T, T) -> T) -> Option<T> {
    values.collect::<Option<Vec<T>>>()?.into_iter().reduce(add)
}

fn add_host(a: HostCpu, b: HostCpu) -> HostCpu {
    HostCpu {
        online_cpus: a.online_cpus.saturating_add(b.online_cpus),
        user_ns: a.user_ns.saturating_add(b.user_ns),
        system_ns: a.system_ns.saturating_add(b.system_ns),
        irq_ns: a.irq_ns.saturating_add(b.irq_ns),
        softirq_ns: a.softirq_ns.saturating_add(b.softirq_ns),
        steal_ns: a.steal_ns.saturating_add(b.steal_ns),
        idle_ns: a.idle_ns.saturating_add(b.idle_ns),
        iowait_ns: a.iowait_ns.saturating_add(b.iowait_ns),
    }
}

fn add_process(a: ProcessCpu, b: ProcessCpu) -> ProcessCpu {
    ProcessCpu {
        user_ns: a.user_ns.saturating_add(b.user_ns),
        system_ns: a.system_ns.saturating_add(b.system_ns),
    }
}

fn add_ring(a: RingCpu, b: RingCpu) -> RingCpu {
    RingCpu {
        polling_thread_count: a.polling_thread_count.saturating_add(b.polling_thread_count),
        polling_ns: a.polling_ns.saturating_add(b.polling_ns),
        worker_thread_count: a.worker_thread_count.saturating_add(b.worker_thread_count),
        worker_ns: a.worker_ns.saturating_add(b.worker_ns),
    }
}

/// The group that all of them share; quotas of different groups are no one quota.
fn groups(samples: &[CounterSample]) -> Option<CgroupCpu> {
    let mut groups = samples.iter().map(|sample| sample.cgroup_cpu.as_ref());
    let first = groups.next()??;
    groups.all(|other| other.is_some_and(|other| other.path == first.path)).then(|| first.clone())
}

/// All connections; `None` where a server does not tell of its own.
fn connections(samples: &[CounterSample]) -> Option<TcpCounters> {
    let mut sum = samples.first()?.tcp.clone()?;
    for more in samples.iter().skip(1) {
        add_tcp_counters(&mut sum, more.tcp.as_ref()?);
    }
    Some(sum)
}

fn add_memory(a: MemoryCounters, b: MemoryCounters) -> MemoryCounters {
    MemoryCounters {
        available_bytes: a.available_bytes.saturating_add(b.available_bytes),
        cached_bytes: a.cached_bytes.saturating_add(b.cached_bytes),
        dirty_bytes: a.dirty_bytes.saturating_add(b.dirty_bytes),
        writeback_bytes: a.writeback_bytes.saturating_add(b.writeback_bytes),
    }
}

fn add_workers(a: WorkerCounters, b: WorkerCounters) -> WorkerCounters {
    WorkerCounters {
        worker_count: a.worker_count.saturating_add(b.worker_count),
        served_count: a.served_count.saturating_add(b.served_count),
        busy_ns: a.busy_ns.saturating_add(b.busy_ns),
        queued_ns: a.queued_ns.saturating_add(b.queued_ns),
    }
}

fn add_nic(mut sum: Vec<NicCounters>, more: &NicCounters) -> Vec<NicCounters> {
    let Some(known) = sum.iter_mut().find(|known| known.name == more.name) else {
        sum.push(more.clone());
        return sum;
    };
    known.receive_bytes = known.receive_bytes.saturating_add(more.receive_bytes);
    known.receive_packet_count = known.receive_packet_count.saturating_add(more.receive_packet_count);
    known.receive_drop_count = known.receive_drop_count.saturating_add(more.receive_drop_count);
    known.send_bytes = known.send_bytes.saturating_add(more.send_bytes);
    known.send_packet_count = known.send_packet_count.saturating_add(more.send_packet_count);
    known.send_drop_count = known.send_drop_count.saturating_add(more.send_drop_count);
    sum
}

/// The devices under the stores, each added to that of the first server in the same place below the file system; only
/// what all machines have.
fn disks(machines: &[Machine], own: &[(usize, &CounterSample)]) -> Vec<DiskCounters> {
    let Some((first_index, first)) = own.first() else { return Vec::new() };
    let Some((_, others)) = own.split_first().filter(|(_, others)| !others.is_empty()) else {
        return first.disks.clone();
    };
    let devices = |index: usize| machines.get(index).map_or(&[][..], |machine| &machine.devices);
    let count = u64::try_from(own.len()).unwrap_or(u64::MAX);
    let found = |index: usize, sample: &CounterSample, place: usize| {
        let name = devices(index).get(place)?;
        sample.disks.iter().find(|disk| disk.name == *name).cloned()
    };
    let added = (0..devices(*first_index).len()).filter_map(|place| {
        let start = found(*first_index, first, place)?;
        let mut all = others.iter().map(|(index, sample)| found(*index, sample, place));
        let sum = all.try_fold(start, |sum, more| Some(add_disk(sum, &more?)))?;
        let mean = |time: Nanos| Nanos(time.0 / count);
        Some(DiskCounters { busy_ns: mean(sum.busy_ns), queue_ns: mean(sum.queue_ns), ..sum })
    });
    added.collect()
}

fn add_disk(a: DiskCounters, b: &DiskCounters) -> DiskCounters {
    let bytes = |a: Bytes, b: Bytes| a.saturating_add(b);
    DiskCounters {
        read_count: a.read_count.saturating_add(b.read_count),
        read_bytes: bytes(a.read_bytes, b.read_bytes),
        read_ns: a.read_ns.saturating_add(b.read_ns),
        write_count: a.write_count.saturating_add(b.write_count),
        write_bytes: bytes(a.write_bytes, b.write_bytes),
        write_ns: a.write_ns.saturating_add(b.write_ns),
        flush_count: a.flush_count.saturating_add(b.flush_count),
        flush_ns: a.flush_ns.saturating_add(b.flush_ns),
        busy_ns: a.busy_ns.saturating_add(b.busy_ns),
        queue_ns: a.queue_ns.saturating_add(b.queue_ns),
        name: a.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Role;

    fn machine(boot_id: &str, device: &str) -> Machine {
        Machine { boot_id: boot_id.to_owned(), devices: vec![device.to_owned()] }
    }

    fn disk(name: &str, bytes: u64, busy_ns: u64) -> DiskCounters {
        DiskCounters {
            name: name.to_owned(),
            read_count: 1,
            read_bytes: Bytes(bytes),
            read_ns: Nanos(0),
            write_count: 0,
            write_bytes: Bytes(0),
            write_ns: Nanos(0),
            flush_count: 0,
            flush_ns: Nanos(0),
            busy_ns: Nanos(busy_ns),
            queue_ns: Nanos(0),
        }
    }

    fn sample(disks: Vec<DiskCounters>, user_ns: u64) -> CounterSample {
        let workers = WorkerCounters { worker_count: 4, served_count: 10, ..WorkerCounters::default() };
        CounterSample {
            role: Role::Server,
            at_ns: Nanos(7),
            host_cpu: Some(HostCpu { online_cpus: 2, user_ns: Nanos(user_ns), ..HostCpu::default() }),
            ring_cpu: None,
            process_cpu: Some(ProcessCpu { user_ns: Nanos(user_ns), system_ns: Nanos(0) }),
            cgroup_cpu: None,
            disks,
            nics: Vec::new(),
            tcp: Some(TcpCounters { connection_count: 1, acked_bytes: Bytes(5), ..TcpCounters::default() }),
            memory: None,
            workers: Some(workers),
        }
    }

    #[test]
    fn one_server_alone_is_as_it_is() {
        let alone = sample(vec![disk("sda", 5, 6)], 3);
        assert_eq!(together(&[machine("a", "sda")], vec![alone.clone()]), Some(alone));
        assert_eq!(together(&[], Vec::new()), None);
    }

    #[test]
    fn servers_on_machines_of_their_own_add_up_and_their_devices_are_busy_on_average() {
        let samples = vec![
            sample(vec![disk("sda", 100, 50), disk("sdx", 1, 1)], 10),
            sample(vec![disk("nvme0n1", 300, 150)], 30),
        ];
        let sum = together(&[machine("a", "sda"), machine("b", "nvme0n1")], samples).unwrap();
        assert_eq!(sum.host_cpu.map(|cpu| (cpu.online_cpus, cpu.user_ns)), Some((4, Nanos(40))));
        assert_eq!(sum.process_cpu.map(|cpu| cpu.user_ns), Some(Nanos(40)));
        assert_eq!(sum.disks, [DiskCounters { read_count: 2, ..disk("sda", 400, 100) }]);
        assert_eq!(sum.workers.map(|workers| (workers.worker_count, workers.served_count)), Some((8, 20)));
        assert_eq!(sum.tcp.map(|tcp| (tcp.connection_count, tcp.acked_bytes)), Some((2, Bytes(10))));
    }

    #[test]
    fn servers_on_one_machine_share_its_cpus_and_devices() {
        let samples = vec![sample(vec![disk("sda", 100, 50)], 10), sample(vec![disk("sda", 101, 51)], 12)];
        let sum = together(&[machine("a", "sda"), machine("a", "sda")], samples).unwrap();
        assert_eq!(sum.host_cpu.map(|cpu| cpu.online_cpus), Some(2));
        assert_eq!(sum.process_cpu.map(|cpu| cpu.user_ns), Some(Nanos(22)));
        assert_eq!(sum.disks, [disk("sda", 100, 50)]);
    }

    #[test]
    fn what_one_server_does_not_tell_is_not_told_of_all() {
        let silent = CounterSample { tcp: None, workers: None, ..sample(Vec::new(), 1) };
        let machines = [machine("a", "sda"), machine("b", "sda")];
        let sum = together(&machines, vec![sample(vec![disk("sda", 1, 1)], 1), silent]).unwrap();
        assert!(sum.tcp.is_none() && sum.workers.is_none() && sum.disks.is_empty());
    }
}
