//! Faults of a folder on this machine.

use super::served::plan;
use super::{MatrixCase, RANDOM, SINGLE, Truth};
use crate::support::check::{Checked, local_check_command, run_check};
use crate::support::fuse::FuseMount;
use narrows_lab::{BlkioThrottle, CpuQuota, DiskPlan, Lab, LabProcess, pin_to_cpus};
use narrows_model::Segment;
use std::path::Path;
use std::process::Command;

const DISK: &[Segment] = &[Segment::DeviceLatency, Segment::DeviceIops];
const CPU_HERE: &[Segment] =
    &[Segment::ClientCpu, Segment::ClientFilesystem, Segment::ClientMemory, Segment::HostCpu];
const BANDWIDTH: Truth = &[("bulk", &[Segment::DeviceBandwidth, Segment::Device])];
const DAEMON: &[Segment] = &[Segment::ClientDaemon];

/// A folder on a disk with delays.
fn folder(lab: &Lab, plan: &DiskPlan, words: &str) -> Checked {
    let disks = lab.disks("case", plan).unwrap();
    run_check(lab, "case", local_check_command(&disks.path(0)), words)
}

/// A folder in memory, the check bound to one CPU.
fn in_memory(lab: &Lab, words: &str) -> Checked {
    let mut command = local_check_command(Path::new("/dev/shm"));
    pin_to_cpus(&mut command, &[0]);
    run_check(lab, "case", command, words)
}

/// A folder of the scratch file system, the check in a control group with limits on its device.
fn throttled(lab: &Lab, limits: &BlkioThrottle, words: &str) -> Checked {
    let folder = lab.scratch().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let slow = lab.cgroup("slow").unwrap();
    slow.limit_io(&BlkioThrottle { path: folder.clone(), ..limits.clone() }).unwrap();
    let mut command = local_check_command(&folder);
    slow.enter(&mut command);
    run_check(lab, "case", command, words)
}

fn operations(ops_per_s: u64) -> BlkioThrottle {
    let limit = Some(ops_per_s);
    BlkioThrottle { read_ops_per_s: limit, write_ops_per_s: limit, ..BlkioThrottle::default() }
}

fn bandwidth(bytes_per_s: u64) -> BlkioThrottle {
    let limit = Some(bytes_per_s);
    BlkioThrottle { read_bytes_per_s: limit, write_bytes_per_s: limit, ..BlkioThrottle::default() }
}

/// Random reads of others on a disk, past the page cache, until it is dropped.
fn others_on_the_disk(lab: &Lab, folder: &Path) -> LabProcess {
    let file = folder.join("others");
    let mut make = Command::new("dd");
    make.args(["if=/dev/zero", "bs=1M", "count=32", "oflag=direct", "status=none"]);
    make.arg(format!("of={}", file.display()));
    assert!(make.status().unwrap().success());
    let mut command = Command::new("sh");
    let read =
        format!("while :; do dd if={} of=/dev/null bs=4k iflag=direct status=none; done", file.display());
    command.args(["-c", &read]);
    lab.start("others", command).unwrap()
}

fn through_fuse(lab: &Lab, quota_cpus: Option<f64>, plan: Option<&DiskPlan>, words: &str) -> Checked {
    let backing = lab.scratch().join("backing");
    std::fs::create_dir(&backing).unwrap();
    let disks = plan.map(|plan| lab.disks("case", plan).unwrap());
    let backing = disks.as_ref().map_or(backing, |disks| disks.path(0));
    let point = lab.scratch().join("through");
    let daemon = lab.cgroup("daemon").unwrap();
    let _mounted = FuseMount::new(&backing, &point, |command| {
        if let Some(cpus) = quota_cpus {
            daemon.limit_cpu(CpuQuota { cpus }).unwrap();
            daemon.enter(command);
        }
    });
    run_check(lab, "case", local_check_command(&point), words)
}

/// Every case.
pub(super) static CASES: &[MatrixCase] = &[
    MatrixCase {
        fault: "folder on a disk of 5 ms a read",
        truth: &[("one-at-a-time read", DISK)],
        check: |lab| {
            folder(
                lab,
                &plan(5000, 0, 0, 64),
                "--op read --block 4KiB --depth 1 --seconds 12 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "folder on a disk of 1 ms a read",
        truth: &[("one-at-a-time read", DISK)],
        check: |lab| {
            folder(
                lab,
                &plan(1000, 0, 0, 64),
                "--op read --block 4KiB --depth 1 --seconds 12 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "folder on a disk of 3 ms a write",
        truth: &[("synchronous write", &[Segment::Device, Segment::DeviceLatency, Segment::DeviceIops])],
        check: |lab| {
            folder(
                lab,
                &plan(0, 3000, 0, 64),
                "--op write --block 4KiB --depth 1 --seconds 12 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "folder on a disk that flushes in 4 ms",
        truth: &[("synchronous write", &[Segment::Device, Segment::DeviceLatency])],
        check: |lab| {
            folder(
                lab,
                &plan(0, 0, 4000, 64),
                "--op write --block 4KiB --depth 1 --seconds 12 --cell-seconds 1.5",
            )
        },
    },
    MatrixCase {
        fault: "folder on a disk of 1000 reads a second",
        truth: &[("random read", DISK)],
        check: |lab| {
            folder(
                lab,
                &plan(4000, 0, 0, 4),
                "--op read --block 4KiB --depth 16 --seconds 12 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "folder on a disk of 400 reads a second, 64 KiB each",
        truth: &[("bulk read", DISK)],
        check: |lab| {
            folder(
                lab,
                &plan(10_000, 0, 0, 4),
                "--op read --block 64KiB --depth 16 --seconds 12 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "folder on a disk of 5 ms a read, 64 at once",
        truth: &[("random read", &[Segment::DeviceLatency, Segment::WorkloadConcurrency])],
        check: |lab| {
            folder(
                lab,
                &plan(5000, 0, 0, 64),
                "--op read --block 4KiB --depth 16 --seconds 15 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "folder on a disk that shares a bus of 30 MiB/s",
        truth: BANDWIDTH,
        check: |lab| {
            let plan = DiskPlan { shared_bytes_per_s: Some(30 << 20), ..DiskPlan::PLAIN };
            folder(lab, &plan, "--op read --block 1MiB --depth 4 --seconds 15 --cell-seconds 1")
        },
    },
    MatrixCase {
        fault: "folder on a device of 20 MiB/s",
        truth: BANDWIDTH,
        check: |lab| {
            throttled(lab, &bandwidth(20 << 20), "--block 1MiB --depth 4 --seconds 18 --cell-seconds 1")
        },
    },
    MatrixCase {
        fault: "folder on a device of 300 operations a second",
        truth: &[("random", DISK)],
        check: |lab| throttled(lab, &operations(300), RANDOM),
    },
    MatrixCase {
        fault: "folder on a device of 200 operations a second, one at a time",
        truth: &[("one-at-a-time read", DISK)],
        check: |lab| throttled(lab, &operations(200), SINGLE),
    },
    MatrixCase {
        fault: "folder on a disk of 2000 reads a second that others use",
        truth: &[("random read", DISK)],
        check: |lab| {
            let disks = lab.disks("case", &plan(2000, 0, 0, 4)).unwrap();
            let _others = others_on_the_disk(lab, &disks.path(0));
            run_check(
                lab,
                "case",
                local_check_command(&disks.path(0)),
                "--op read --block 4KiB --depth 16 --seconds 12 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "folder in memory, one CPU",
        truth: &[("bulk", CPU_HERE), ("random", CPU_HERE), ("one-at-a-time", CPU_HERE)],
        check: |lab| in_memory(lab, "--seconds 30 --cell-seconds 1"),
    },
    MatrixCase {
        fault: "folder in memory, one CPU, single",
        truth: &[("one-at-a-time", CPU_HERE)],
        check: |lab| in_memory(lab, SINGLE),
    },
    MatrixCase {
        fault: "folder in memory",
        truth: &[("bulk", CPU_HERE), ("random", CPU_HERE), ("one-at-a-time", CPU_HERE)],
        check: |lab| {
            run_check(
                lab,
                "case",
                local_check_command(Path::new("/dev/shm")),
                "--seconds 30 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "bindfs before a folder",
        truth: &[("one-at-a-time read", DAEMON)],
        check: |lab| through_fuse(lab, None, None, SINGLE),
    },
    MatrixCase {
        fault: "bindfs with a quota of 0.1 before a folder",
        truth: &[("one-at-a-time read", DAEMON), ("random read", DAEMON)],
        check: |lab| {
            through_fuse(lab, Some(0.1), None, "--block 4KiB --depth 1,16 --seconds 20 --cell-seconds 1")
        },
    },
    MatrixCase {
        // The daemon reads through the page cache, which has the file.
        fault: "bindfs before a disk of 5 ms a read, cached behind it",
        truth: &[("one-at-a-time read", DAEMON)],
        check: |lab| {
            let plan = plan(5000, 0, 0, 64);
            through_fuse(
                lab,
                None,
                Some(&plan),
                "--op read --block 4KiB --depth 1 --seconds 15 --cell-seconds 1",
            )
        },
    },
];
