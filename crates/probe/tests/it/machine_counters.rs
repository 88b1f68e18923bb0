//! Facts about machines given as trees: their counters.

use crate::support::{lists, root};
use narrows_model::counters::{CounterSample, Role};
use narrows_model::units::{Bytes, Nanos};
use narrows_probe::counters::{CounterReader, CounterScope};

fn sample(machine: &str, scope: &CounterScope) -> (CounterSample, Vec<String>) {
    let mut reader = CounterReader::new(&root(machine), Role::Server, scope);
    let sample = reader.read(9);
    (sample, reader.unknown().to_vec())
}

fn disk_names(sample: &CounterSample) -> Vec<&str> {
    sample.disks.iter().map(|disk| disk.name.as_str()).collect()
}

#[test]
fn the_container_charges_its_process_and_is_throttled_where_the_quota_is() {
    let scope = CounterScope { pids: vec![42], devices: vec!["vda".to_owned()], path_pids: None };
    let (sample, unknown) = sample("container", &scope);
    assert!(unknown.is_empty(), "{unknown:?}");
    assert_eq!((sample.role, sample.at_ns), (Role::Server, Nanos(9)));
    let process = sample.process_cpu.unwrap();
    assert_eq!((process.user_ns, process.system_ns), (Nanos(2_800_000_000), Nanos(1_450_000_000)));
    let group = sample.cgroup_cpu.unwrap();
    assert_eq!(group.path, "/kubepods.slice/pod1.slice/ctr.scope");
    assert_eq!(group.usage_ns, Nanos(8_000_000_000));
    assert_eq!((group.throttled_count, group.throttled_ns), (37, Nanos(1_234_567_000)));
    assert!(group.quota_cpus.is_some_and(|cpus| (cpus - 1.5).abs() < 1e-12));
}

#[test]
fn a_virtual_disk_of_a_new_kernel_counts_reads_writes_and_flushes() {
    let (sample, _) =
        sample("container", &CounterScope { pids: vec![], devices: vec!["vda".to_owned()], path_pids: None });
    let disk = &sample.disks[0];
    assert_eq!((disk.read_count, disk.read_bytes), (99_750, Bytes(8_673_922 * 512)));
    assert_eq!((disk.write_count, disk.write_bytes), (12_187, Bytes(3_724_512 * 512)));
    assert_eq!((disk.read_ns, disk.write_ns), (Nanos(73_507_000_000), Nanos(8_853_000_000)));
    assert_eq!((disk.busy_ns, disk.queue_ns), (Nanos(23_632_000_000), Nanos(82_878_000_000)));
    assert_eq!((disk.flush_count, disk.flush_ns), (462, Nanos(21_000_000)));
}

#[test]
fn host_cpu_comes_in_whole_ticks_with_steal_apart() {
    let cpu = sample("container", &CounterScope::default()).0.host_cpu.unwrap();
    assert_eq!(
        (cpu.online_cpus, cpu.user_ns, cpu.steal_ns),
        (4, Nanos(60_000_000_000), Nanos(5_000_000_000))
    );
    assert_eq!((cpu.softirq_ns, cpu.iowait_ns), (Nanos(5_000_000_000), Nanos(10_000_000_000)));
}

#[test]
fn without_names_only_whole_disks_count() {
    let (sample, _) = sample("md-server", &CounterScope::default());
    assert_eq!(disk_names(&sample), ["sda", "sdb", "sdc", "sdd", "md0"]);
}

#[test]
fn a_named_partition_counts() {
    let (sample, _) = sample(
        "md-server",
        &CounterScope { pids: vec![], devices: vec!["sdb1".to_owned()], path_pids: None },
    );
    assert_eq!(disk_names(&sample), ["sdb1"]);
}

#[test]
fn a_named_device_that_the_kernel_does_not_count_is_listed() {
    let (sample, unknown) =
        sample("laptop", &CounterScope { pids: vec![], devices: vec!["sdz".to_owned()], path_pids: None });
    assert!(sample.disks.is_empty() && lists(&unknown, &["sdz", "/proc/diskstats"]), "{unknown:?}");
}

#[test]
fn the_hybrid_guest_joins_usage_and_throttling_of_two_hierarchies() {
    let group = sample("firecracker", &CounterScope::default()).0.cgroup_cpu.unwrap();
    assert_eq!((group.path.as_str(), group.usage_ns), ("/load/a", Nanos(4_242_424_242)));
    assert_eq!((group.period_count, group.throttled_count), (200, 150));
    assert_eq!(group.throttled_ns, Nanos(9_876_543_210));
}

#[test]
fn interfaces_count_bytes_packets_and_drops() {
    let (sample, _) = sample("firecracker", &CounterScope::default());
    let eth0 = &sample.nics[1];
    assert_eq!((eth0.name.as_str(), eth0.receive_bytes), ("eth0", Bytes(114_566_159)));
    assert_eq!((eth0.receive_packet_count, eth0.receive_drop_count), (4_344, 7));
    assert_eq!((eth0.send_bytes, eth0.send_packet_count, eth0.send_drop_count), (Bytes(380_006), 3_074, 9));
}

#[test]
fn the_old_kernel_counts_disks_without_flushes_and_has_no_group() {
    let (sample, unknown) = sample("old-kernel", &CounterScope::default());
    assert_eq!(disk_names(&sample), ["cciss/c0d0"]);
    assert_eq!((sample.disks[0].write_count, sample.disks[0].flush_count), (600, 0));
    assert!(sample.cgroup_cpu.is_none() && sample.memory.is_none());
    assert!(lists(&unknown, &["memory", "MemAvailable"]));
    assert_eq!(sample.nics[1].receive_bytes, Bytes(4_294_967_296));
}

#[test]
fn memory_counts_in_bytes() {
    let memory = sample("laptop", &CounterScope::default()).0.memory.unwrap();
    assert_eq!((memory.available_bytes, memory.cached_bytes), (Bytes(9_000_000 * 1024), Bytes(2 << 20)));
    assert_eq!((memory.dirty_bytes, memory.writeback_bytes), (Bytes(64 << 10), Bytes(0)));
}

#[test]
fn calls_of_an_nfs_mount_are_read_by_procedure_where_its_point_is_named() {
    let root = root("nfs4-client");
    let read = |points: &[String]| {
        let reader = CounterReader::new(&root, Role::Client, &CounterScope::default());
        reader.with_nfs_mounts(&root, points).read(1).nfs_mounts
    };
    assert_eq!((read(&[]).len(), read(&["/elsewhere".to_owned()]).len()), (0, 0));
    let mounts = read(&["/mnt/nas".to_owned()]);
    let [mount] = mounts.as_slice() else { panic!("{mounts:?}") };
    assert_eq!((mount.read_bytes, mount.write_bytes), (Bytes(409_600), Bytes(81_920)));
    let names: Vec<&str> = mount.procedures.iter().map(|one| one.procedure.as_str()).collect();
    assert_eq!(names, ["NULL", "READ", "WRITE"]);
    let reads = &mount.procedures[1];
    assert_eq!((reads.call_count, reads.transmission_count, reads.timeout_count), (100, 104, 1));
    assert_eq!((reads.queue_ns, reads.round_trip_ns), (Nanos(250_000_000), Nanos(4_000_000_000)));
}
