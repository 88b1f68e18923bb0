//! What spoils a figure is reported with it: too few operations, a mean of a cache and a disk, a cut that the path
//! exceeds.
//!
//! All of it on disks whose reads take as long as the lab says, and next to each the same load without what spoils it.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::support::check::{Checked, assert_within};
use crate::support::study::{bytes_per_s, ops_per_s, resident_bytes, run_study, write_data};
use crate::support::{lab_with_disks, on_a_calm_machine};
use narrows_lab::{DiskPlan, Lab, counters, device_under};
use narrows_model::summary::{MixedFigure, Mode};
use narrows_model::{Cut, Segment};

/// Reads past the page cache of a folder's file, one at a time.
fn direct_reads(target: &Path, measure: &str) -> String {
    let target = target.display();
    format!(
        r#"
target = "{target}"
[workload]
block = "4KiB"
file = "8MiB"
order = "random"
access = "direct"
[stop]
warm_up = "100ms"
measure = "{measure}"
"#
    )
}

/// A disk that serves one read at a time, which takes `read_us`, and where it is mounted.
fn disk(lab: &Lab, read_us: u64) -> PathBuf {
    let plan = DiskPlan { read_us, at_once: 1, ..DiskPlan::PLAIN };
    lab.disks("disk", &plan).unwrap().path(0)
}

#[test]
fn a_second_of_reads_of_50_ms_is_called_short_for_its_20_operations() {
    on_a_calm_machine(|| {
        const OPS_MAX: f64 = 20.0;
        let Some(lab) = lab_with_disks() else { return };
        let disk = disk(&lab, 50_000);
        let device = device_under(&disk).unwrap().name;
        let reads = || counters::diskstats(&device).unwrap().reads_count;
        let before = reads();
        let checked = run_study(&lab, "few", &direct_reads(&disk, "1s"));
        let read_count = reads() - before;
        let cell = checked.only(Cut::Path);
        let ops = (ops_per_s(cell) * cell.elapsed_s.last_done).round();
        assert!((10.0..=OPS_MAX).contains(&ops), "{ops} reads of 50 ms in a second");
        assert!(ops <= read_count as f64, "{ops} operations, and the device read {read_count} times");
        let statement = &checked.evidence("short-run")[0].text;
        assert!(
            statement.starts_with(&cell.id) && statement.contains(&format!(": {ops} operations in ")),
            "{statement}"
        );
    });
}

#[test]
fn a_window_of_a_fifth_of_a_second_is_called_short_and_one_of_a_second_is_not() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let disk = disk(&lab, 0);
        let short = run_study(&lab, "short", &direct_reads(&disk, "200ms"));
        let cell = short.only(Cut::Path);
        assert!(ops_per_s(cell) * cell.elapsed_s.last_done > 50.0, "not for want of operations");
        let statement = &short.evidence("short-run")[0].text;
        assert!(statement.starts_with(&cell.id) && statement.ends_with(" in 0.20 s"), "{statement}");
        let long = run_study(&lab, "long", &direct_reads(&disk, "1s"));
        assert_eq!(
            long.cells(Cut::Generator).count(),
            1,
            "the generator's own cut is no reason to warn either"
        );
        long.assert_not_found("short-run");
    });
}

const FILE_BYTES: u64 = 64 << 20;
/// Less than half of it, so that the median of the response times is one of the disk's.
const CACHED_BYTES: u64 = 24 << 20;
const READ_US: u64 = 3000;

/// Reads of a file through the page cache, each block once, of which the first `cached_bytes` are in it; and the share of
/// the file that the kernel says was there before.
fn reads_of_a_file_in_part_cached(lab: &Lab, cached_bytes: u64) -> (Checked, f64) {
    // Nothing is read ahead: else a miss brings in blocks that are hit later, and the share grows while it is measured.
    let plan = DiskPlan { read_us: READ_US, at_once: 1, read_ahead_kib: 0, ..DiskPlan::PLAIN };
    let file = lab.disks("disk", &plan).unwrap().path(0).join("data");
    write_data(&file, usize::try_from(FILE_BYTES).unwrap());
    // Written, all of it is in the cache; what is on the disk may leave it.
    let written = File::open(&file).unwrap();
    written.sync_all().unwrap();
    rustix::fs::fadvise(&written, cached_bytes, None, rustix::fs::Advice::DontNeed).unwrap();
    let share = || resident_bytes(&file) as f64 / FILE_BYTES as f64;
    let before = share();
    let target = file.display();
    let text = format!(
        r#"
target = "{target}"
cuts = []
[workload]
engine = "psync"
block = "4KiB"
order = "random"
access = "buffered"
[stop]
warm_up = "0s"
measure = "1s"
"#
    );
    let checked = run_study(lab, "reads", &text);
    // A block of each miss, at most 1 s of these.
    let after = share();
    assert!(after - before < 0.03, "{before} of the file was cached before, {after} after");
    (checked, before)
}

/// The modes of the response times of the path.
fn latency_modes(checked: &Checked) -> Vec<Mode> {
    let mixtures = &checked.only(Cut::Path).mixtures;
    let found = mixtures.iter().find(|mixture| mixture.figure == MixedFigure::LatencyNs);
    found.map_or_else(Vec::new, |mixture| mixture.modes.clone())
}

#[test]
fn reads_of_a_file_of_which_three_eighths_are_cached_are_a_mixture_of_two_shares() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let (checked, cached_ratio) = reads_of_a_file_in_part_cached(&lab, CACHED_BYTES);
        assert_within(cached_ratio, CACHED_BYTES as f64 / FILE_BYTES as f64, 0.05);
        let modes = latency_modes(&checked);
        assert_eq!(modes.len(), 2, "{modes:?}");
        let (hits, misses) = (&modes[0], &modes[1]);
        assert!((hits.share_ratio - cached_ratio).abs() < 0.08, "{modes:?} of {cached_ratio} in the cache");
        assert!(hits.centre < 0.1 * READ_US as f64 * 1e3, "{modes:?}");
        assert_within(misses.centre, READ_US as f64 * 1e3, 0.3);
        let statement = &checked.evidence("mixture")[0].text;
        assert!(statement.starts_with(&checked.only(Cut::Path).id), "{statement}");
        checked.evidence("not-enough-evidence");
    });
}

#[test]
fn reads_of_a_file_that_is_on_the_disk_alone_are_no_mixture() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let (checked, cached_ratio) = reads_of_a_file_in_part_cached(&lab, 0);
        assert!(cached_ratio < 0.01, "{cached_ratio} of the file is cached");
        checked.assert_not_found("mixture");
    });
}

/// How long each read takes there: little of it is what others on the machine add to it.
const BESIDE_US: u64 = 18_000;

/// Reads of 64 KiB from a file on a disk where each takes 18 ms, and of the same past the page cache.
fn beside_its_device(lab: &Lab, access: &str) -> Checked {
    let file = disk(lab, BESIDE_US).join("data");
    write_data(&file, 16 << 20);
    // Written, and not yet dropped: all of it is in the cache.
    File::open(&file).unwrap().sync_all().unwrap();
    assert_eq!(resident_bytes(&file), 16 << 20);
    let target = file.display();
    let text = format!(
        r#"
target = "{target}"
cuts = ["local_device"]
[workload]
engine = "psync"
block = "64KiB"
access = "{access}"
[stop]
warm_up = "100ms"
measure = "1s"
"#
    );
    run_study(lab, "beside", &text)
}

/// The highest rate that the disk of [`beside_its_device`] can sustain, in bytes a second.
const DISK_BYTES_PER_S: f64 = (64 << 10) as f64 * 1e6 / BESIDE_US as f64;

#[test]
fn a_path_that_a_cache_takes_past_its_device_is_reported_to_exceed_the_devices_cut() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let checked = beside_its_device(&lab, "buffered");
        let (path, device) = (checked.only(Cut::Path), checked.only(Cut::LocalDevice));
        assert!(bytes_per_s(device) <= 1.01 * DISK_BYTES_PER_S, "{}", bytes_per_s(device));
        assert!(bytes_per_s(path) > 10.0 * DISK_BYTES_PER_S, "{}", bytes_per_s(path));
        let statement = &checked.evidence("ceiling-exceeded")[0].text;
        assert!(statement.starts_with(&path.id) && statement.contains("local-device alone"), "{statement}");
        checked.assert_none_limit(&[
            Segment::Device,
            Segment::DeviceBandwidth,
            Segment::DeviceIops,
            Segment::DeviceLatency,
        ]);
        checked.assert_not_found("not-enough-evidence");
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_path_that_its_device_serves_does_not_exceed_the_devices_cut() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let checked = beside_its_device(&lab, "direct");
        assert_within(bytes_per_s(checked.only(Cut::Path)), DISK_BYTES_PER_S, 0.15);
        checked.assert_not_found("ceiling-exceeded");
    });
}
