//! Folders of this machine: what the time of their loads is spent on, without any endpoint.

use crate::support::check::{Checked, local_check_command, run_check};
use crate::support::fuse::FuseMount;
use crate::support::{lab, lab_with_disks, on_a_calm_machine};
use narrows_lab::{CpuQuota, DiskPlan};
use narrows_model::workload::{Access, Order, SyncPolicy};
use narrows_model::{Op, Segment};
use std::path::Path;
use std::process::Command;

const CODE: &str = "time-in-parts";
const DAEMON_CODE: &str = "daemon-cpu-full";

/// Whether the rule names anything.
fn names_parts(checked: &Checked) -> bool {
    checked.summary.diagnosis.limiting.iter().any(|entry| entry.codes.iter().any(|code| code == CODE))
}

#[test]
fn durable_writes_of_a_folder_whose_disk_takes_3_ms_to_flush_wait_for_the_device() {
    on_a_calm_machine(|| {
        const FLUSH_US: u64 = 3000;
        let Some(lab) = lab_with_disks() else { return };
        let disks = lab.disks("flushing", &DiskPlan { flush_us: FLUSH_US, ..DiskPlan::PLAIN }).unwrap();
        let words = "--op write --block 4KiB --depth 1 --seconds 8 --cell-seconds 1.5";
        let checked = run_check(&lab, "flushing", local_check_command(&disks.path(0)), words);
        checked.assert_limiting_first("synchronous write", Segment::Device);
        assert!(names_parts(&checked), "{:#?}", checked.summary.diagnosis.limiting);
        let cell = checked.path_cell(Op::Write, 4 << 10, 1);
        assert_eq!((cell.requested.sync, cell.requested.order), (SyncPolicy::Dsync, Order::Random));
        let shares = cell.time_shares.unwrap();
        assert!(shares.device_ratio.unwrap() > 0.8 && shares.flush_ratio.unwrap() > 0.5, "{shares:?}");
        // Each write waits for a flush, which the lab makes as long as this.
        assert!(cell.latency_ns.p50.unwrap() > FLUSH_US * 1000, "{:?}", cell.latency_ns);
        assert!(cell.ops_per_s.unwrap().0 < 1e6 / FLUSH_US as f64);
    });
}

/// A file system in memory that is unmounted when it is dropped.
struct InMemory<'a>(&'a Path);

impl<'a> InMemory<'a> {
    fn mount(point: &'a Path) -> Self {
        std::fs::create_dir(point).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=512m", "tmpfs"]).arg(point).status();
        assert!(mounted.unwrap().success());
        Self(point)
    }
}

impl Drop for InMemory<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_folder_in_memory_waits_for_no_device_and_is_limited_by_the_cpu_that_serves_it() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let point = lab.scratch().join("memory");
        let _mounted = InMemory::mount(&point);
        let words = "--op read --block 4KiB --depth 1 --seconds 8 --cell-seconds 1.5";
        let checked = run_check(&lab, "memory", local_check_command(&point), words);
        checked.assert_limiting_first("one-at-a-time read", Segment::ClientCpu);
        assert!(!names_parts(&checked), "{:#?}", checked.summary.diagnosis.limiting);
        let shares = checked.path_cell(Op::Read, 4 << 10, 1).time_shares.unwrap();
        assert!(shares.cpu_ratio() > 0.9 && shares.device_ratio.is_none(), "{shares:?}");
    });
}

#[test]
fn small_requests_of_a_folder_on_a_disk_are_its_own_operations_past_the_page_cache() {
    on_a_calm_machine(|| {
        /// Four at a time, of 2 ms each.
        const OPS_PER_S: f64 = 2000.0;
        let Some(lab) = lab_with_disks() else { return };
        let plan = DiskPlan { read_us: 2000, at_once: 4, ..DiskPlan::PLAIN };
        let disks = lab.disks("random", &plan).unwrap();
        let words = "--op read --block 4KiB --depth 16 --seconds 10 --cell-seconds 1.0";
        let checked = run_check(&lab, "random", local_check_command(&disks.path(0)), words);
        let entries = checked.limiting("random read");
        assert!(entries[0].segment.is_within(Segment::Device), "{entries:#?}");
        let cell = checked.path_cell(Op::Read, 4 << 10, 16);
        assert_eq!((cell.requested.access, cell.requested.order), (Access::Direct, Order::Random));
        let rate = cell.ops_per_s.unwrap().0;
        assert!(rate < OPS_PER_S * 1.05 && rate > OPS_PER_S * 0.6, "{rate}");
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_folder_that_a_process_serves_waits_for_that_process() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let (backing, point) = (lab.scratch().join("backing"), lab.scratch().join("served"));
        std::fs::create_dir(&backing).unwrap();
        let _mounted = FuseMount::new(&backing, &point, |_anywhere| ());
        let words = "--op read --block 4KiB --depth 1 --seconds 8 --cell-seconds 1.0";
        let checked = run_check(&lab, "daemon", local_check_command(&point), words);
        checked.assert_limiting_first("one-at-a-time read", Segment::ClientDaemon);
        // The device of the folder behind it is known, and the page cache there serves the reads.
        let cell = checked.path_cell(Op::Read, 4 << 10, 1);
        assert!(cell.bytes.device.is_some_and(|device| device < cell.bytes.application), "{:?}", cell.bytes);
        let shares = cell.time_shares.unwrap();
        assert!(shares.other_ratio > 0.5, "{shares:?}");
        assert_eq!(cell.daemon.as_ref().expect("the daemon is found").name, "bindfs");
        // It is no program of others, which are counted beside it.
        let others = cell.foreign_cpu.iter().flat_map(|load| &load.programs);
        assert!(others.clone().all(|program| program.name != "bindfs") && !cell.foreign_cpu.is_empty());
    });
}

#[test]
fn a_process_that_serves_a_folder_with_a_tenth_of_a_cpu_is_named_with_its_cpu_time() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let (backing, point) = (lab.scratch().join("backing"), lab.scratch().join("served"));
        std::fs::create_dir(&backing).unwrap();
        let group = lab.cgroup("daemon").unwrap();
        group.limit_cpu(CpuQuota { cpus: 0.1 }).unwrap();
        let _mounted = FuseMount::new(&backing, &point, |command| group.enter(command));
        let words = "--op read --block 4KiB --depth 1 --seconds 8 --cell-seconds 1.0";
        let checked = run_check(&lab, "busy-daemon", local_check_command(&point), words);
        checked.assert_limiting_first("one-at-a-time read", Segment::ClientDaemon);
        let named = checked.limiting("one-at-a-time read");
        let first = named[0];
        assert!(first.codes.iter().any(|code| code == DAEMON_CODE), "{first:#?}");
        let cell = checked.path_cell(Op::Read, 4 << 10, 1);
        let daemon = cell.daemon.as_ref().expect("the daemon is found");
        assert_eq!(daemon.name, "bindfs");
        // It is no program of others, which are counted beside it.
        let others = cell.foreign_cpu.iter().flat_map(|load| &load.programs);
        assert!(others.clone().all(|program| program.name != "bindfs") && !cell.foreign_cpu.is_empty());
        assert!(daemon.used_cpus < 0.15 && daemon.busiest.runnable_ratio > 0.5, "{daemon:?}");
    });
}
