//! The cases: a path with one fault, the check of it, and what limits each load in truth.

use super::support::apart::{Quotas, check_apart, check_throttled, check_with_quotas};
use super::support::check::{Checked, local_check_command, run_check, serve};
use narrows_lab::{BlkioThrottle, CpuQuota, DiskPlan, Lab, pin_to_cpus};
use narrows_model::Segment;
use std::process::Command;

/// Loads by the start of their names, each with the segments that limit it in truth.
type Truth = &'static [(&'static str, &'static [Segment])];

/// A path with a fault.
pub(crate) struct MatrixCase {
    /// The fault, in words.
    pub fault: &'static str,
    pub truth: Truth,
    /// Makes it and checks it.
    pub check: fn(&Lab) -> Checked,
}

const BULK: &str = "--block 1MiB --depth 16 --seconds 15 --cell-seconds 1";
const SINGLE: &str = "--block 4KiB --depth 1 --seconds 15 --cell-seconds 1";
const RANDOM: &str = "--block 4KiB --depth 16 --seconds 15 --cell-seconds 1";

const WIRE: &[Segment] = &[Segment::NetworkBandwidth];
const LATENCY: &[Segment] = &[Segment::NetworkLatency];
const DISK: &[Segment] = &[Segment::DeviceLatency, Segment::DeviceIops];
const CPU_HERE: &[Segment] =
    &[Segment::ClientCpu, Segment::ClientFilesystem, Segment::ClientMemory, Segment::HostCpu];

fn memory_store(lab: &Lab, words: &str) -> Checked {
    check_apart(lab, "case", None, |_| (), words)
}

fn link(lab: &Lab, rate: &str, words: &str) -> Checked {
    lab.host(2).unwrap().limit_rate(rate).unwrap();
    memory_store(lab, words)
}

fn delay(lab: &Lab, one_way_us: u64, words: &str) -> Checked {
    lab.host(2).unwrap().delay(one_way_us).unwrap();
    memory_store(lab, words)
}

fn quotas(lab: &Lab, client_cpus: f64, server_cpus: f64) -> Checked {
    check_with_quotas(
        lab,
        "case",
        Quotas { client_cpus, server_cpus },
        "--block 64KiB --depth 16 --seconds 15 --cell-seconds 1",
    )
}

/// A check whose server alone has a quota; client and server may use the same CPUs.
fn quota_of_the_server(lab: &Lab, cpus: f64) -> Checked {
    let slow = lab.cgroup("server").unwrap();
    slow.limit_cpu(CpuQuota { cpus }).unwrap();
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, None, |command| slow.enter(command));
    let command = served.check_command(&client, "memory");
    run_check(lab, "case", command, "--block 64KiB --depth 16 --seconds 15 --cell-seconds 1")
}

/// A check whose client alone has a quota.
fn quota_of_the_client(lab: &Lab, cpus: f64) -> Checked {
    let slow = lab.cgroup("client").unwrap();
    slow.limit_cpu(CpuQuota { cpus }).unwrap();
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, None, |_: &mut Command| ());
    let mut command = served.check_command(&client, "memory");
    slow.enter(&mut command);
    run_check(lab, "case", command, "--block 64KiB --depth 16 --seconds 15 --cell-seconds 1")
}

/// The disk store of a server on a disk with delays.
fn served_disk(lab: &Lab, plan: &DiskPlan, words: &str) -> Checked {
    let disks = lab.disks("case", plan).unwrap();
    check_apart(lab, "case", Some(&disks.path(0)), |_| (), words)
}

/// A folder on a disk with delays.
fn folder(lab: &Lab, plan: &DiskPlan, words: &str) -> Checked {
    let disks = lab.disks("case", plan).unwrap();
    run_check(lab, "case", local_check_command(&disks.path(0)), words)
}

/// A folder in memory, the check bound to one CPU.
fn in_memory(lab: &Lab, words: &str) -> Checked {
    let mut command = local_check_command(std::path::Path::new("/dev/shm"));
    pin_to_cpus(&mut command, &[0]);
    run_check(lab, "case", command, words)
}

fn window(lab: &Lab, bytes: u64, one_way_us: u64) -> Checked {
    let server = lab.host(2).unwrap();
    server.delay(one_way_us).unwrap();
    server.limit_receive_buffers(bytes).unwrap();
    memory_store(lab, "--op write --block 256KiB --depth 8 --seconds 20 --cell-seconds 1.5")
}

fn throttled(lab: &Lab, bytes: u64) -> Checked {
    let limit = Some(bytes);
    let limits =
        BlkioThrottle { read_bytes_per_s: limit, write_bytes_per_s: limit, ..BlkioThrottle::default() };
    check_throttled(lab, "case", &limits, "--block 256KiB --depth 8 --seconds 18 --cell-seconds 1")
}

const fn disk(read_us: u64, write_us: u64, flush_us: u64, at_once: u32) -> DiskPlan {
    DiskPlan { read_us, write_us, flush_us, at_once, ..DiskPlan::PLAIN }
}

/// Every case.
pub(crate) static CASES: &[MatrixCase] = &[
    MatrixCase {
        fault: "link of 50 Mbit/s",
        truth: &[("bulk", WIRE)],
        check: |lab| link(lab, "50mbit", BULK),
    },
    MatrixCase {
        fault: "link of 50 Mbit/s, again",
        truth: &[("bulk", WIRE)],
        check: |lab| link(lab, "50mbit", BULK),
    },
    MatrixCase {
        fault: "link of 200 Mbit/s",
        truth: &[("bulk", WIRE)],
        check: |lab| link(lab, "200mbit", BULK),
    },
    MatrixCase {
        fault: "link of 500 Mbit/s",
        truth: &[("bulk", WIRE)],
        check: |lab| link(lab, "500mbit", BULK),
    },
    MatrixCase {
        fault: "delay of 2 ms",
        truth: &[("one-at-a-time", LATENCY)],
        check: |lab| delay(lab, 1000, SINGLE),
    },
    MatrixCase {
        fault: "delay of 20 ms",
        truth: &[("one-at-a-time", LATENCY)],
        check: |lab| delay(lab, 10_000, SINGLE),
    },
    MatrixCase {
        fault: "delay of 10 ms",
        truth: &[("one-at-a-time", LATENCY)],
        check: |lab| delay(lab, 5_000, SINGLE),
    },
    MatrixCase {
        fault: "delay of 20 ms, 16 at a time",
        truth: &[("random", LATENCY)],
        check: |lab| delay(lab, 10_000, RANDOM),
    },
    MatrixCase {
        fault: "window of 64 KiB at 4 ms",
        truth: &[("bulk", &[Segment::ClientConnection])],
        check: |lab| window(lab, 64 << 10, 2000),
    },
    MatrixCase {
        fault: "window of 128 KiB at 20 ms",
        truth: &[("bulk", &[Segment::ClientConnection])],
        check: |lab| window(lab, 128 << 10, 10_000),
    },
    MatrixCase {
        fault: "server quota 0.3 beside client quota 1",
        truth: &[("bulk", &[Segment::ServerCpu])],
        check: |lab| quotas(lab, 1.0, 0.3),
    },
    MatrixCase {
        fault: "client quota 0.15 beside server quota 1",
        truth: &[("bulk", &[Segment::ClientCpu])],
        check: |lab| quotas(lab, 0.15, 1.0),
    },
    MatrixCase {
        fault: "server quota 0.2 alone",
        truth: &[("bulk", &[Segment::ServerCpu])],
        check: |lab| quota_of_the_server(lab, 0.2),
    },
    MatrixCase {
        fault: "client quota 0.2 alone",
        truth: &[("bulk", &[Segment::ClientCpu])],
        check: |lab| quota_of_the_client(lab, 0.2),
    },
    MatrixCase {
        fault: "server quota 0.1 alone",
        truth: &[("bulk", &[Segment::ServerCpu])],
        check: |lab| quota_of_the_server(lab, 0.1),
    },
    MatrixCase {
        fault: "served device of 20 MiB/s",
        truth: &[("bulk", &[Segment::DeviceBandwidth])],
        check: |lab| throttled(lab, 20 << 20),
    },
    MatrixCase {
        fault: "served device of 60 MiB/s",
        truth: &[("bulk", &[Segment::DeviceBandwidth])],
        check: |lab| throttled(lab, 60 << 20),
    },
    MatrixCase {
        fault: "served disk of 5 ms a read",
        truth: &[("one-at-a-time read", DISK)],
        check: |lab| {
            served_disk(
                lab,
                &disk(5000, 0, 0, 64),
                "--op read --block 4KiB,64KiB --depth 1 --seconds 15 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "served disk that flushes in 4 ms",
        truth: &[("synchronous write", &[Segment::ServerCommit, Segment::Device])],
        check: |lab| {
            served_disk(
                lab,
                &disk(0, 0, 4000, 64),
                "--op write --block 4KiB --depth 1 --seconds 15 --cell-seconds 1.5",
            )
        },
    },
    MatrixCase {
        fault: "served disk of 400 reads a second",
        truth: &[("bulk read", DISK), ("random read", DISK)],
        check: |lab| {
            served_disk(
                lab,
                &disk(10_000, 0, 0, 4),
                "--op read --block 4KiB,64KiB --depth 8 --seconds 18 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "folder on a disk of 5 ms a read",
        truth: &[("one-at-a-time read", DISK)],
        check: |lab| {
            folder(
                lab,
                &disk(5000, 0, 0, 64),
                "--op read --block 4KiB --depth 1 --seconds 12 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "folder on a disk that flushes in 4 ms",
        truth: &[("synchronous write", &[Segment::Device, Segment::DeviceLatency])],
        check: |lab| {
            folder(
                lab,
                &disk(0, 0, 4000, 64),
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
                &disk(4000, 0, 0, 4),
                "--op read --block 4KiB --depth 16 --seconds 12 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "folder on a disk of 5 ms a read, 64 at once",
        truth: &[("random read", &[Segment::DeviceLatency, Segment::WorkloadConcurrency])],
        check: |lab| {
            folder(
                lab,
                &disk(5000, 0, 0, 64),
                "--op read --block 4KiB --depth 16 --seconds 15 --cell-seconds 1",
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
];
