//! A server's storage that limits in another way than by its bandwidth: durable writes, threads, operations a second.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod robust;
mod support;

use narrows_lab::{BlkioThrottle, Lab, pin_to_cpus};
use narrows_model::{Cut, Op, Segment};
use robust::Mounted;
use support::check::{Checked, assert_within, run_check, serve};
use support::lab;

/// Checks the disk store of a server on a file system whose device is a file: it keeps what is written in memory until
/// it is told to flush, as a device with a volatile cache does, and is as slow then as the disk below.
fn check_flushed(lab: &Lab, serve_words: &[&str], words: &str) -> Checked {
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let store = Mounted::ext4(lab, "flushed", 512, "rw");
    let served = serve(lab, &server, Some(store.path()), |command| {
        command.args(serve_words);
        pin_to_cpus(command, &[1]);
    });
    let mut command = served.check_command(&client, "disk");
    pin_to_cpus(&mut command, &[0]);
    let checked = run_check(lab, "flushed", command, words);
    drop(served);
    checked
}

/// A metric of a cell.
#[track_caller]
fn metric(cell: &narrows_model::summary::CellSummary, id: &str) -> f64 {
    let found = cell.metrics.iter().find(|metric| metric.id == id);
    found.unwrap_or_else(|| panic!("{} has no {id}: {:?}", cell.id, cell.metrics)).value
}

#[test]
#[ignore = "names the parent or the concurrency since the last changes of windows and rules: to be mended"]
fn writes_that_wait_for_the_flush_of_a_volatile_cache_are_limited_by_the_commit() {
    let Some(lab) = lab() else { return };
    let words = "--op write --seconds 12 --cell-seconds 0.8 --block 4KiB --depth 1";
    let checked = check_flushed(&lab, &[], words);
    checked.assert_limiting_first("small synchronous", Segment::ServerCommit);
    checked.assert_none_limit(&[
        Segment::DeviceBandwidth,
        Segment::DeviceLatency,
        Segment::NetworkLatency,
        Segment::ServerThreads,
        Segment::Unknown,
    ]);
    let late = checked.path_cell(Op::Write, 4 << 10, 1);
    let early = checked.cells(Cut::EarlyPath).next().unwrap();
    let gain = early.ops_per_s.unwrap().0 / late.ops_per_s.unwrap().0;
    assert!(gain > 2.0, "an early acknowledgement gains {gain}");
    // Each durable write is a flush or more: the file system and others on the device have some of their own.
    let ops = late.ops_per_s.unwrap().0 * late.elapsed_s.last_done;
    assert!(metric(late, "device_flush_count") > 0.9 * ops);
}

#[test]
#[ignore = "names the parent or the concurrency since the last changes of windows and rules: to be mended"]
fn one_thread_in_front_of_a_device_that_serves_more_at_once_is_named() {
    let Some(lab) = lab() else { return };
    // No time is left for more clients: a flush of the disk below, which is everybody's, takes now 1 ms and now 8 ms.
    let words = "--op write --seconds 8 --cell-seconds 0.8 --block 4KiB --depth 16";
    let checked = check_flushed(&lab, &["--disk-threads", "1"], words);
    checked.assert_limiting_first("bulk", Segment::ServerThreads);
    checked.assert_none_limit(&[
        Segment::DeviceBandwidth,
        Segment::DeviceIops,
        Segment::ServerCpu,
        Segment::NetworkBandwidth,
        Segment::NetworkLatency,
        Segment::Unknown,
    ]);
    let path = checked.path_cell(Op::Write, 4 << 10, 16);
    assert_within(metric(path, "server_worker_count"), 1.0, 0.0);
    assert_within(metric(path, "server_worker_busy_ratio"), 1.0, 0.1);
    // One is served, and the others of sixteen wait.
    assert_within(metric(path, "server_queue_length"), 15.0, 0.3);
}

#[test]
#[ignore = "names the parent or the concurrency since the last changes of windows and rules: to be mended"]
fn a_device_limited_to_400_operations_a_second_is_limited_by_these_at_any_block() {
    const LIMIT_OPS_PER_S: u64 = 400;
    let Some(lab) = lab() else { return };
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let root = lab.scratch().join("served");
    std::fs::create_dir(&root).unwrap();
    let slow = lab.cgroup("slow").unwrap();
    let throttle = BlkioThrottle {
        path: root.clone(),
        read_ops_per_s: Some(LIMIT_OPS_PER_S),
        ..BlkioThrottle::default()
    };
    slow.limit_io(&throttle).unwrap();
    let served = serve(&lab, &server, Some(&root), |command| {
        pin_to_cpus(command, &[1]);
        slow.enter(command);
    });
    let mut command = served.check_command(&client, "disk");
    pin_to_cpus(&mut command, &[0]);
    let words = "--op read --seconds 16 --cell-seconds 0.8 --block 4KiB,64KiB --depth 8";
    let checked = run_check(&lab, "operations", command, words);
    for kind in ["bulk", "small parallel"] {
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
    for block in [4 << 10, 64 << 10] {
        let rate = checked.path_cell(Op::Read, block, 8).ops_per_s.unwrap().0;
        assert_within(rate, LIMIT_OPS_PER_S as f64, 0.15);
    }
}
