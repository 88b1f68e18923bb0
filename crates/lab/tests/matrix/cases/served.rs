//! Faults of the storage of a server.

use super::{MatrixCase, Truth};
use crate::support::apart::{check_apart, check_throttled};
use crate::support::check::Checked;
use narrows_lab::{BlkioThrottle, DiskPlan, Lab};
use narrows_model::Segment;

const BANDWIDTH: Truth = &[("bulk", &[Segment::DeviceBandwidth])];
const DISK: &[Segment] = &[Segment::DeviceLatency, Segment::DeviceIops];

/// The disk store of a server on a disk with delays.
fn disk(lab: &Lab, plan: &DiskPlan, words: &str) -> Checked {
    let disks = lab.disks("case", plan).unwrap();
    check_apart(lab, "case", Some(&disks.path(0)), |_| (), words)
}

fn bandwidth(lab: &Lab, bytes_per_s: u64) -> Checked {
    let limit = Some(bytes_per_s);
    let limits =
        BlkioThrottle { read_bytes_per_s: limit, write_bytes_per_s: limit, ..BlkioThrottle::default() };
    check_throttled(lab, "case", &limits, "--block 256KiB --depth 8 --seconds 18 --cell-seconds 1")
}

fn operations(lab: &Lab, ops_per_s: u64, words: &str) -> Checked {
    let limit = Some(ops_per_s);
    let limits = BlkioThrottle { read_ops_per_s: limit, write_ops_per_s: limit, ..BlkioThrottle::default() };
    check_throttled(lab, "case", &limits, words)
}

/// A disk that takes so long for a read, a write and a flush, and does so many at once.
pub(super) const fn plan(read_us: u64, write_us: u64, flush_us: u64, at_once: u32) -> DiskPlan {
    DiskPlan { read_us, write_us, flush_us, at_once, ..DiskPlan::PLAIN }
}

/// Every case.
pub(super) static CASES: &[MatrixCase] = &[
    MatrixCase {
        fault: "served device of 10 MiB/s",
        truth: BANDWIDTH,
        check: |lab| bandwidth(lab, 10 << 20),
    },
    MatrixCase {
        fault: "served device of 20 MiB/s",
        truth: BANDWIDTH,
        check: |lab| bandwidth(lab, 20 << 20),
    },
    MatrixCase {
        fault: "served device of 60 MiB/s",
        truth: BANDWIDTH,
        check: |lab| bandwidth(lab, 60 << 20),
    },
    MatrixCase {
        fault: "served device of 300 operations a second",
        truth: &[("bulk read", &[Segment::DeviceIops]), ("random read", &[Segment::DeviceIops])],
        check: |lab| {
            operations(lab, 300, "--op read --block 4KiB,64KiB --depth 8 --seconds 18 --cell-seconds 1")
        },
    },
    MatrixCase {
        fault: "served device of 100 operations a second",
        // Of one block alone bytes and operations are the same.
        truth: &[("bulk read", &[Segment::DeviceIops, Segment::DeviceBandwidth])],
        check: |lab| {
            operations(lab, 100, "--op read --block 256KiB --depth 8 --seconds 18 --cell-seconds 1.5")
        },
    },
    MatrixCase {
        fault: "served disk of 5 ms a read",
        truth: &[("one-at-a-time read", DISK)],
        check: |lab| {
            disk(
                lab,
                &plan(5000, 0, 0, 64),
                "--op read --block 4KiB,64KiB --depth 1 --seconds 15 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "served disk of 4 ms a read behind a delay of 0.5 ms",
        truth: &[("one-at-a-time read", DISK)],
        check: |lab| {
            lab.host(2).unwrap().delay(250).unwrap();
            disk(lab, &plan(4000, 0, 0, 64), "--op read --block 4KiB --depth 1 --seconds 15 --cell-seconds 1")
        },
    },
    MatrixCase {
        fault: "served disk that flushes in 4 ms",
        truth: &[("synchronous write", &[Segment::ServerCommit, Segment::Device])],
        check: |lab| {
            disk(
                lab,
                &plan(0, 0, 4000, 64),
                "--op write --block 4KiB --depth 1 --seconds 15 --cell-seconds 1.5",
            )
        },
    },
    MatrixCase {
        fault: "served disk that flushes in 10 ms",
        truth: &[("synchronous write", &[Segment::ServerCommit, Segment::Device])],
        check: |lab| {
            disk(
                lab,
                &plan(0, 0, 10_000, 64),
                "--op write --block 4KiB --depth 1 --seconds 15 --cell-seconds 1.5",
            )
        },
    },
    MatrixCase {
        fault: "served disk of 400 reads a second",
        truth: &[("bulk read", DISK), ("random read", DISK)],
        check: |lab| {
            disk(
                lab,
                &plan(10_000, 0, 0, 4),
                "--op read --block 4KiB,64KiB --depth 8 --seconds 18 --cell-seconds 1",
            )
        },
    },
    MatrixCase {
        fault: "served disk that shares a bus of 20 MiB/s",
        truth: &[("bulk read", &[Segment::DeviceBandwidth])],
        check: |lab| {
            let plan = DiskPlan { shared_bytes_per_s: Some(20 << 20), ..DiskPlan::PLAIN };
            disk(lab, &plan, "--op read --block 256KiB --depth 8 --seconds 18 --cell-seconds 1")
        },
    },
];
