//! Counters of several servers as those of one: what a load that is distributed over them costs all of them together.
//!
//! Work is added up; time in which a device was busy is the mean over servers, since a load that is distributed over
//! them fills all alike. Servers on one machine share its CPUs, devices and memory, which count once.

use super::{CgroupCpu, Combine, CounterSample, DiskCounters, NicCounters};
use crate::Nanos;

/// The machine whose counters are in a sample.
#[derive(Debug, Clone)]
pub struct CountedMachine {
    /// Equal ids are one machine.
    pub boot_id: String,
    /// Kernel names of the devices under its store, the one that the file system is on first.
    pub devices: Vec<String>,
}

/// The sum of `samples`, one of each of `machines` in their order, in the first one's terms; `None` without any.
#[must_use]
pub fn merge_samples(machines: &[CountedMachine], samples: Vec<CounterSample>) -> Option<CounterSample> {
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
        origin: first.origin,
        at_ns: first.at_ns,
        host_cpu: sum(per_machine.iter().map(|sample| sample.host_cpu)),
        process_cpu: sum(samples.iter().map(|sample| sample.process_cpu)),
        ring_cpu: sum(samples.iter().map(|sample| sample.ring_cpu)),
        cgroup_cpu: groups(&samples),
        disks: disks(machines, &own),
        // A server does not trace its devices.
        block_trace: None,
        nics: samples.iter().flat_map(|sample| &sample.nics).fold(Vec::new(), add_nic),
        tcp: sum(samples.iter().map(|sample| sample.tcp.clone())),
        memory: sum(per_machine.iter().map(|sample| sample.memory)),
        workers: sum(samples.iter().map(|sample| sample.workers)),
        threads: sum(samples.iter().map(|sample| sample.threads)),
        // Of several machines, and of servers that take each other for others.
        foreign_cpu: None,
        nfs_mounts: first.nfs_mounts.clone(),
        memory_pressure: None,
        group_memory_pressure: None,
        daemon: None,
    })
}

/// The sum of all values; `None` where one is missing.
fn sum<T: Combine>(values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let mut all = values.collect::<Option<Vec<T>>>()?.into_iter();
    let mut sum = all.next()?;
    all.for_each(|more| sum.add_beside(&more));
    Some(sum)
}

/// The group that all of them share; quotas of different groups are no one quota.
fn groups(samples: &[CounterSample]) -> Option<CgroupCpu> {
    let mut groups = samples.iter().map(|sample| sample.cgroup_cpu.as_ref());
    let first = groups.next()??;
    groups.all(|other| other.is_some_and(|other| other.path == first.path)).then(|| first.clone())
}

fn add_nic(mut sum: Vec<NicCounters>, more: &NicCounters) -> Vec<NicCounters> {
    let Some(known) = sum.iter_mut().find(|known| known.name == more.name) else {
        sum.push(more.clone());
        return sum;
    };
    known.add_beside(more);
    sum
}

/// The devices under the stores, each added to that of the first server in the same place below the file system; only
/// what all machines have.
fn disks(machines: &[CountedMachine], own: &[(usize, &CounterSample)]) -> Vec<DiskCounters> {
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
        let sum = all.try_fold(start, |mut sum, more| {
            sum.add_beside(&more?);
            Some(sum)
        })?;
        let mean = |time: Nanos| Nanos(time.0 / count);
        Some(DiskCounters { busy_ns: mean(sum.busy_ns), queue_ns: mean(sum.queue_ns), ..sum })
    });
    added.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;
    use crate::counters::{HostCpu, ProcessCpu, Role, TcpCounters, WorkerCounters};

    fn machine(boot_id: &str, device: &str) -> CountedMachine {
        CountedMachine { boot_id: boot_id.to_owned(), devices: vec![device.to_owned()] }
    }

    fn disk(name: &str, bytes: u64, busy_ns: u64) -> DiskCounters {
        DiskCounters {
            name: name.to_owned(),
            read_count: 1,
            read_bytes: Bytes(bytes),
            busy_ns: Nanos(busy_ns),
            ..DiskCounters::default()
        }
    }

    fn sample(disks: Vec<DiskCounters>, user_ns: u64) -> CounterSample {
        let workers = WorkerCounters { worker_count: 4, served_count: 10, ..WorkerCounters::default() };
        CounterSample {
            role: Role::Server,
            origin: crate::counters::CounterOrigin::Narrows,
            at_ns: Nanos(7),
            host_cpu: Some(HostCpu { online_cpus: 2, user_ns: Nanos(user_ns), ..HostCpu::default() }),
            ring_cpu: None,
            process_cpu: Some(ProcessCpu { user_ns: Nanos(user_ns), system_ns: Nanos(0) }),
            cgroup_cpu: None,
            disks,
            block_trace: None,
            nics: Vec::new(),
            tcp: Some(TcpCounters { connection_count: 1, acked_bytes: Bytes(5), ..TcpCounters::default() }),
            memory: None,
            workers: Some(workers),
            threads: None,
            foreign_cpu: None,
            nfs_mounts: Vec::new(),
            memory_pressure: None,
            group_memory_pressure: None,
            daemon: None,
        }
    }

    #[test]
    fn one_server_alone_is_as_it_is() {
        let alone = sample(vec![disk("sda", 5, 6)], 3);
        assert_eq!(merge_samples(&[machine("a", "sda")], vec![alone.clone()]), Some(alone));
        assert_eq!(merge_samples(&[], Vec::new()), None);
    }

    #[test]
    fn servers_on_machines_of_their_own_add_up_and_their_devices_are_busy_on_average() {
        let samples = vec![
            sample(vec![disk("sda", 100, 50), disk("sdx", 1, 1)], 10),
            sample(vec![disk("nvme0n1", 300, 150)], 30),
        ];
        let sum = merge_samples(&[machine("a", "sda"), machine("b", "nvme0n1")], samples).unwrap();
        assert_eq!(sum.host_cpu.map(|cpu| (cpu.online_cpus, cpu.user_ns)), Some((4, Nanos(40))));
        assert_eq!(sum.process_cpu.map(|cpu| cpu.user_ns), Some(Nanos(40)));
        assert_eq!(sum.disks, [DiskCounters { read_count: 2, ..disk("sda", 400, 100) }]);
        assert_eq!(sum.workers.map(|workers| (workers.worker_count, workers.served_count)), Some((8, 20)));
        assert_eq!(sum.tcp.map(|tcp| (tcp.connection_count, tcp.acked_bytes)), Some((2, Bytes(10))));
    }

    #[test]
    fn servers_on_one_machine_share_its_cpus_and_devices() {
        let samples = vec![sample(vec![disk("sda", 100, 50)], 10), sample(vec![disk("sda", 101, 51)], 12)];
        let sum = merge_samples(&[machine("a", "sda"), machine("a", "sda")], samples).unwrap();
        assert_eq!(sum.host_cpu.map(|cpu| cpu.online_cpus), Some(2));
        assert_eq!(sum.process_cpu.map(|cpu| cpu.user_ns), Some(Nanos(22)));
        assert_eq!(sum.disks, [disk("sda", 100, 50)]);
    }

    #[test]
    fn what_one_server_does_not_report_is_not_reported_of_all() {
        let silent = CounterSample { tcp: None, workers: None, ..sample(Vec::new(), 1) };
        let machines = [machine("a", "sda"), machine("b", "sda")];
        let sum = merge_samples(&machines, vec![sample(vec![disk("sda", 1, 1)], 1), silent]).unwrap();
        assert!(sum.tcp.is_none() && sum.workers.is_none() && sum.disks.is_empty());
    }
}
