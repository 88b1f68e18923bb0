//! A server's storage that limits in another way than by its bandwidth: durable writes, threads, operations a second.

use std::process::Command;

use crate::support::apart::check_apart;
use crate::support::check::{Checked, assert_within};
use crate::support::{lab_with_disks, on_a_calm_machine};
use narrows_lab::{DiskPlan, Lab};
use narrows_model::{Cut, Op, Segment};

const PARTS_CODE: &str = "server-time-in-parts";

/// Checks the disk store of a server on a disk with the delays of `plan`.
fn check_disk(lab: &Lab, plan: &DiskPlan, serve_words: &[&str], words: &str) -> Checked {
    let disks = lab.disks("delayed", plan).unwrap();
    let with_words = |command: &mut Command| {
        command.args(serve_words);
    };
    check_apart(lab, "delayed", Some(&disks.path(0)), with_words, words)
}

/// A metric of a cell.
#[track_caller]
fn metric(cell: &narrows_model::summary::CellSummary, id: &str) -> f64 {
    let found = cell.metrics.iter().find(|metric| metric.id == id);
    found.unwrap_or_else(|| panic!("{} has no {id}: {:?}", cell.id, cell.metrics)).value
}

#[test]
fn writes_that_wait_for_a_flush_of_3_ms_are_limited_by_the_commit() {
    on_a_calm_machine(|| {
        const FLUSH_US: u64 = 3000;
        let Some(lab) = lab_with_disks() else { return };
        let plan = DiskPlan { flush_us: FLUSH_US, ..DiskPlan::PLAIN };
        let words = "--op write --seconds 10 --cell-seconds 1.0 --block 4KiB --depth 1";
        let checked = check_disk(&lab, &plan, &[], words);
        checked.assert_limiting_first("single", Segment::ServerCommit);
        checked.assert_none_limit(&[
            Segment::Device,
            Segment::DeviceBandwidth,
            Segment::DeviceIops,
            Segment::DeviceLatency,
            Segment::NetworkLatency,
            Segment::ServerThreads,
            Segment::Unknown,
        ]);
        let late = checked.path_cell(Op::Write, 4 << 10, 1);
        let early = checked.cells(Cut::EarlyPath).next().unwrap();
        let gain = early.ops_per_s.unwrap().0 / late.ops_per_s.unwrap().0;
        assert!(gain > 2.0, "an early acknowledgement gains {gain}");
        // Each durable write is a flush or more: the file system has some of its own.
        let ops = late.ops_per_s.unwrap().0 * late.elapsed_s.last_done;
        let flushes = metric(late, "device_flush_count");
        assert!(flushes > 0.9 * ops, "{flushes} flushes for {ops} writes");
        let flush_us = metric(late, "device_flush_s") / flushes * 1e6;
        assert!(flush_us > 0.99 * FLUSH_US as f64, "a flush of {flush_us} us");
    });
}

#[test]
fn one_thread_in_front_of_a_device_that_serves_16_reads_of_4_ms_at_once_is_named() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let plan = DiskPlan { read_us: 4000, at_once: 16, ..DiskPlan::PLAIN };
        // No time is left for more clients: whether they add to what one thread does is within the noise of short cells.
        let words = "--op read --seconds 8 --cell-seconds 0.9 --block 4KiB --depth 16";
        let checked = check_disk(&lab, &plan, &["--disk-threads", "1"], words);
        checked.assert_limiting_first("random", Segment::ServerThreads);
        checked.assert_none_limit(&[
            Segment::Device,
            Segment::DeviceBandwidth,
            Segment::DeviceIops,
            Segment::ServerCpu,
            Segment::NetworkBandwidth,
            Segment::NetworkLatency,
            Segment::Unknown,
        ]);
        let path = checked.path_cell(Op::Read, 4 << 10, 16);
        assert_within(metric(path, "server_worker_count"), 1.0, 0.0);
        assert_within(metric(path, "server_worker_busy_ratio"), 1.0, 0.1);
        // One is served, and the others of sixteen wait.
        assert_within(metric(path, "server_queue_length"), 15.0, 0.1);
        // One at a time is 4 ms each at least; the device alone serves sixteen in that time.
        assert!(path.ops_per_s.unwrap().0 < 251.0);
        let alone = checked.cells(Cut::ServerStorage).find(|cell| cell.queue_depth == 16).unwrap();
        let gain = alone.ops_per_s.unwrap().0 / path.ops_per_s.unwrap().0;
        assert!(gain > 8.0, "a thread for each request gains {gain}");
    });
}

#[test]
fn a_device_of_5_ms_a_read_limits_single_small_reads_by_its_latency() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let plan = DiskPlan { read_us: 5000, ..DiskPlan::PLAIN };
        let words = "--op read --seconds 14 --cell-seconds 0.8 --block 4KiB,64KiB --depth 1";
        let checked = check_disk(&lab, &plan, &[], words);
        checked.assert_limiting_first("single", Segment::DeviceLatency);
        checked.assert_none_limit(&[
            Segment::DeviceBandwidth,
            Segment::DeviceIops,
            Segment::ServerCommit,
            Segment::ServerThreads,
            Segment::NetworkLatency,
            Segment::Unknown,
        ]);
        let ops_per_s = checked.path_cell(Op::Read, 4 << 10, 1).ops_per_s.unwrap().0;
        assert!(ops_per_s < 201.0, "{ops_per_s} reads of 5 ms one after the other in a second");
    });
}

#[test]
fn reads_of_4_ms_over_a_round_trip_of_2_5_ms_spend_their_time_in_both() {
    on_a_calm_machine(|| {
        const WAY_US: u64 = 1250;
        /// Of four in flight each takes both, one after the other: a third of the time and more than half of it.
        const READ_US: u64 = 4000;
        let Some(lab) = lab_with_disks() else { return };
        lab.host(2).unwrap().delay(WAY_US).unwrap();
        let plan = DiskPlan { read_us: READ_US, at_once: 64, ..DiskPlan::PLAIN };
        let words = "--op read --seconds 9 --cell-seconds 1.0 --block 4KiB --depth 4";
        let checked = check_disk(&lab, &plan, &[], words);
        let named = checked.limiting("random");
        let of_parts = |entry: &&&narrows_model::Limiting| entry.codes.iter().any(|code| code == PARTS_CODE);
        let segments: Vec<Segment> = named.iter().filter(of_parts).map(|entry| entry.segment).collect();
        assert_eq!(segments, [Segment::Device, Segment::NetworkLatency], "{named:#?}");
        let path = checked.path_cell(Op::Read, 4 << 10, 4);
        let request_us = 4e6 / path.ops_per_s.unwrap().0;
        assert!(request_us > (READ_US + 2 * WAY_US) as f64, "{request_us}");
        let shares = path.server_shares.expect("the server counts the time of its workers");
        assert!(shares.device_ratio.is_some_and(|share| share > 0.7), "{shares:?}");
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn reads_of_a_disk_without_delays_wait_for_neither_its_latency_nor_threads() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let words = "--op read --seconds 14 --cell-seconds 0.6 --block 4KiB --depth 1,16";
        let checked = check_disk(&lab, &DiskPlan::PLAIN, &[], words);
        checked.assert_none_limit(&[Segment::DeviceLatency, Segment::ServerThreads, Segment::Device]);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn durable_writes_over_a_wire_to_a_disk_without_delays_wait_for_the_wire_and_no_commit() {
    on_a_calm_machine(|| {
        /// A write to a lab's disk, whose driver is a process, takes 0.7 ms on an idle machine and was seen to take 2.7 ms on a
        /// busy one. A round trip of 8 ms is most of the time of a request in either case.
        const WAY_US: u64 = 4000;
        let Some(lab) = lab_with_disks() else { return };
        lab.host(2).unwrap().delay(WAY_US).unwrap();
        let words = "--op write --seconds 12 --cell-seconds 0.8 --block 4KiB --depth 1";
        let checked = check_disk(&lab, &DiskPlan::PLAIN, &[], words);
        checked.assert_limiting_first("single", Segment::NetworkLatency);
        checked.assert_none_limit(&[Segment::ServerCommit, Segment::Device, Segment::DeviceLatency]);
    });
}

#[test]
fn a_device_limited_to_400_operations_a_second_is_limited_by_these_at_any_block() {
    on_a_calm_machine(|| {
        const LIMIT_OPS_PER_S: u64 = 400;
        /// So many at a time, each of which takes as long at any size. (The kernel's own throttle counts in slices and
        /// ticks: one cell gets 400 there, the next 357.)
        const AT_ONCE: u32 = 4;
        let Some(lab) = lab_with_disks() else { return };
        let read_us = 1_000_000 * u64::from(AT_ONCE) / LIMIT_OPS_PER_S;
        let plan = DiskPlan { read_us, at_once: AT_ONCE, ..DiskPlan::PLAIN };
        let words = "--op read --seconds 12 --cell-seconds 0.6 --block 4KiB,64KiB --depth 8";
        let checked = check_disk(&lab, &plan, &[], words);
        for kind in ["bulk", "random"] {
            checked.assert_limiting_first(kind, Segment::DeviceIops);
        }
        checked.assert_none_limit(&[
            Segment::Device,
            Segment::DeviceBandwidth,
            Segment::NetworkBandwidth,
            Segment::ServerCpu,
            Segment::ServerThreads,
            Segment::Unknown,
        ]);
        let limiting = &checked.summary.diagnosis.limiting;
        let names_parts = limiting.iter().flat_map(|entry| &entry.codes).any(|code| code == PARTS_CODE);
        assert!(!names_parts, "what is full is named, and not what time is spent on: {limiting:#?}");
        for block in [4 << 10, 64 << 10] {
            let rate = checked.path_cell(Op::Read, block, 8).ops_per_s.unwrap().0;
            assert_within(rate, LIMIT_OPS_PER_S as f64, 0.15);
        }
    });
}
