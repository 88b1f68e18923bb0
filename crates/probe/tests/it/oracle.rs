//! On the machine that runs the tests, facts agree with independent readers: the crate `procfs`, findmnt and lsblk.

use std::path::Path;
use std::process::Command;

use narrows_model::counters::{CounterSample, Role};
use narrows_model::units::{Bytes, Nanos};
use narrows_probe::Root;
use narrows_probe::counters::{CounterReader, CounterScope};
use narrows_probe::inventory::{self, ProcessFacts};
use procfs::{Current, CurrentSI};

fn sample() -> CounterSample {
    let scope = CounterScope { pids: vec![std::process::id()], devices: vec![], path_pids: None };
    CounterReader::new(&Root::system(), Role::Client, &scope).read(0)
}

/// The command's standard output, or `None` where it is not installed or fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
}

#[test]
fn host_cpu_is_between_two_readings_of_procfs() {
    let ticks = |cpu: &procfs::CpuTime| [cpu.user + cpu.nice, cpu.system, cpu.softirq.unwrap_or(0)];
    let before = ticks(&procfs::KernelStats::current().unwrap().total);
    let cpu = sample().host_cpu.unwrap();
    let after = ticks(&procfs::KernelStats::current().unwrap().total);
    let ours = [cpu.user_ns, cpu.system_ns, cpu.softirq_ns].map(|span| span.0 / 10_000_000);
    for index in 0..ours.len() {
        assert!(before[index] <= ours[index] && ours[index] <= after[index], "{before:?} {ours:?} {after:?}");
    }
}

#[test]
fn process_cpu_is_between_two_readings_of_procfs() {
    let ticks = || {
        let stat = procfs::process::Process::myself().unwrap().stat().unwrap();
        stat.utime + u64::try_from(stat.cutime).unwrap()
    };
    let before = ticks();
    let ours = sample().process_cpu.unwrap().user_ns;
    assert!(Nanos(before * 10_000_000) <= ours && ours <= Nanos(ticks() * 10_000_000));
}

#[test]
fn every_disk_that_procfs_lists_has_the_same_kind_of_counters() {
    let before = procfs::diskstats().unwrap();
    let ours = sample().disks;
    let after = procfs::diskstats().unwrap();
    assert!(!ours.is_empty());
    for disk in ours {
        let [before, after] =
            [&before, &after].map(|all| all.iter().find(|one| one.name == disk.name).unwrap());
        assert!((before.sectors_read * 512..=after.sectors_read * 512).contains(&disk.read_bytes.0));
        assert!((before.sectors_written * 512..=after.sectors_written * 512).contains(&disk.write_bytes.0));
        assert!((before.writes..=after.writes).contains(&disk.write_count));
        let flushes = [before, after].map(|one| one.flushes.unwrap_or(0));
        assert!((flushes[0]..=flushes[1]).contains(&disk.flush_count));
    }
}

#[test]
fn interfaces_agree_with_procfs() {
    let ours = sample().nics;
    let after = procfs::net::dev_status().unwrap();
    assert_eq!(ours.len(), after.len());
    for nic in ours {
        let theirs = &after[&nic.name];
        assert!(nic.receive_bytes.0 <= theirs.recv_bytes && nic.send_packet_count <= theirs.sent_packets);
    }
}

#[test]
fn the_machines_facts_agree_with_procfs() {
    let (host, _) = inventory::host(&Root::system(), &ProcessFacts::default());
    let memory = procfs::Meminfo::current().unwrap();
    assert_eq!(host.memory_bytes, Some(Bytes(memory.mem_total)));
    let cpus = procfs::CpuInfo::current().unwrap();
    assert_eq!(usize::try_from(host.online_cpus).unwrap(), cpus.num_cores());
    assert_eq!(host.cpu_model.as_deref(), cpus.model_name(0));
    assert_eq!(host.boot_id.unwrap(), procfs::sys::kernel::random::boot_id().unwrap());
}

#[test]
fn every_mount_point_in_sight_has_the_mount_that_findmnt_finds() {
    for target in ["/", "/proc", "/sys", "/dev", "/dev/shm", "/tmp", env!("CARGO_MANIFEST_DIR")] {
        let Some(found) = output("findmnt", &["-n", "-r", "-o", "TARGET,FSTYPE,MAJ:MIN", "-T", target])
        else {
            continue;
        };
        // Stacked mounts give a line each; the last is on top.
        let found: Vec<&str> = found.lines().last().unwrap().split(' ').collect();
        let mount = inventory::path(&Root::system(), Path::new(target)).unwrap().mount;
        assert_eq!([mount.mount_point, mount.fs_type, mount.device], [found[0], found[1], found[2]]);
    }
}

#[test]
fn the_devices_under_this_folder_agree_with_lsblk() {
    let facts = inventory::path(&Root::system(), Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    for device in facts.devices {
        let columns = "NAME,MAJ:MIN,SIZE,ROTA,SCHED,LOG-SEC";
        let node = format!("/dev/{}", device.name);
        let Some(found) = output("lsblk", &["-n", "-r", "-b", "-d", "-o", columns, &node]) else { continue };
        let found: Vec<&str> = found.trim_end().split(' ').collect();
        assert_eq!(found[..2], [device.name.as_str(), device.device.as_str()]);
        assert_eq!(found[2], device.size_bytes.unwrap().0.to_string());
        if let Some(rotational) = device.rotational {
            assert_eq!(found[3], u8::from(rotational).to_string());
            assert_eq!(found[4], device.scheduler.unwrap_or_default());
            assert_eq!(found[5], device.logical_block_bytes.unwrap().0.to_string());
        }
    }
}

#[test]
fn room_agrees_with_stat_of_coreutils() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let facts = inventory::path(&Root::system(), Path::new(folder)).unwrap();
    let Some(found) = output("stat", &["-f", "-c", "%b %S", folder]) else { return };
    let numbers: Vec<u64> = found.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!(facts.size_bytes, Some(Bytes(numbers[0] * numbers[1])));
    assert!(facts.free_bytes.unwrap() <= facts.size_bytes.unwrap());
}

#[test]
fn a_relative_path_starts_at_the_current_folder() {
    let here = std::env::current_dir().unwrap();
    let facts = inventory::path(&Root::system(), Path::new(".")).unwrap();
    assert_eq!(Path::new(&facts.path), here);
}
