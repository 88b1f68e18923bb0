//! What the kernel's tracepoints report of a disk's requests agrees with the disk's own counters, and with the delays that the lab
//! sets.

use crate::support::check::{Checked, local_check_command, run_check};
use crate::support::lab_with_trace_events;
use narrows_lab::DiskPlan;
use narrows_model::counters::{BlockTimes, Combine, CounterSample, DiskCounters, RequestTimes};
use narrows_model::trial::CounterPair;
use narrows_model::{Event, Nanos, Op, Role};
use narrows_record::Record;

/// Counters of the disk and of its traced requests, in each trial of the whole path.
fn trials(checked: &Checked) -> Vec<(DiskCounters, BlockTimes)> {
    let record = Record::open(&checked.record).unwrap();
    let mut found = Vec::new();
    for event in record.timeline().unwrap() {
        let Event::TrialFinished(trial) = event.unwrap() else { continue };
        let client = |pair: &&CounterPair| pair.before.role == Role::Client;
        let pair = trial.counters.iter().find(client).unwrap();
        found.extend(counted(&pair.before, &pair.after));
    }
    found
}

fn counted(before: &CounterSample, after: &CounterSample) -> Option<(DiskCounters, BlockTimes)> {
    let traced = after.block_trace.as_ref()?.since(before.block_trace.as_ref()?);
    assert_eq!((traced.missing_reason, traced.lost_count), (None, 0));
    let requests = traced.devices.into_iter().find(|device| device.served_count() > 0)?;
    let of_disk = |sample: &CounterSample| {
        sample.disks.iter().find(|disk| disk.name == requests.name).cloned().unwrap()
    };
    Some((of_disk(after).since(&of_disk(before)), requests))
}

/// Requests that the disk counts are those that were traced, as far as trials do not cut them, and so is their time.
#[track_caller]
fn assert_agree(count: u64, time: Nanos, traced: RequestTimes) {
    // Requests in flight when the counters are read, which are not read at one moment.
    let at_borders = 8 + count / 50;
    assert!(traced.served_count.abs_diff(count) <= at_borders, "{count} requests, {traced:?}");
    assert!(traced.queued_count + 2 >= traced.served_count, "{traced:?}");
    let traced_s = traced.device_ns.as_secs_f64() + traced.queue_ns.as_secs_f64();
    let difference = (traced_s - time.as_secs_f64()).abs();
    // Times of /proc/diskstats are whole milliseconds.
    assert!(difference < 0.1 * time.as_secs_f64() + 0.02, "{time:?}, {traced:?}");
}

#[test]
fn traced_reads_are_those_of_the_disks_counters_and_take_as_long_as_configured() {
    const READ_US: u64 = 2000;
    let Some(lab) = lab_with_trace_events() else { return };
    let disks = lab.disks("traced", &DiskPlan { read_us: READ_US, ..DiskPlan::PLAIN }).unwrap();
    let words = "--op read --block 4KiB --depth 4 --seconds 8 --cell-seconds 1.0";
    let checked = run_check(&lab, "traced", local_check_command(&disks.path(0)), words);
    let trials = trials(&checked);
    assert!(!trials.is_empty(), "{:#?}", checked.summary.cells);
    for (disk, traced) in trials.iter().filter(|(disk, _)| disk.read_count > 100) {
        assert_agree(disk.read_count, disk.read_ns, traced.read);
        let mean = traced.read.device_mean_ns().unwrap();
        assert!(mean >= Nanos(READ_US * 1000), "{mean:?}");
    }
    let cell = checked.path_cell(Op::Read, 4 << 10, 4);
    let times = cell.block_trace.as_ref().unwrap().devices[0].read;
    assert!(times.device_mean_ns().unwrap() < Nanos(2 * READ_US * 1000), "{times:?}");
}

#[test]
fn traced_flushes_and_writes_are_those_of_the_disks_counters() {
    const FLUSH_US: u64 = 3000;
    let Some(lab) = lab_with_trace_events() else { return };
    let disks = lab.disks("traced-flushes", &DiskPlan { flush_us: FLUSH_US, ..DiskPlan::PLAIN }).unwrap();
    let words = "--op write --block 4KiB --depth 1 --seconds 8 --cell-seconds 1.0";
    let checked = run_check(&lab, "traced-flushes", local_check_command(&disks.path(0)), words);
    let trials = trials(&checked);
    let flushed: Vec<_> = trials.iter().filter(|(disk, _)| disk.flush_count > 20).collect();
    assert!(!flushed.is_empty(), "{trials:#?}");
    for (disk, traced) in flushed {
        let at_borders = 4 + disk.flush_count / 50;
        assert!(traced.flush.served_count.abs_diff(disk.flush_count) <= at_borders, "{disk:?} {traced:?}");
        let mean = traced.flush.device_mean_ns().unwrap();
        assert!(mean >= Nanos(FLUSH_US * 1000), "{mean:?}");
        // A flush without data, such as of a file whose data another worker's commit has written, is a write to the kernel.
        let writes = traced.write.served_count + traced.flush_request_count;
        assert!(writes.abs_diff(disk.write_count) <= at_borders, "{disk:?} {traced:?}");
    }
}
