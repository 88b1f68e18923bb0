//! Two disks that share a bus transfer less together than each alone, and the bus is named.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::check::{Checked, assert_within, run_check};
use crate::support::study::{bytes_per_s, run_study};
use crate::support::{lab_with_disks, on_a_calm_machine};
use narrows_lab::{DiskPlan, Lab, narrows_bin};
use narrows_model::{Cut, Segment};

const MIB: f64 = (1 << 20) as f64;
/// Each disk serves one read of 256 KiB at a time in 12.5 ms: 20 MiB/s, little enough for the disks' server to have time.
const PLAN: DiskPlan = DiskPlan { count: 2, mebibytes: 256, read_us: 12_500, at_once: 1, ..DiskPlan::PLAIN };
const DISK_BYTES_PER_S: f64 = 20.0 * MIB;
const BUS_BYTES_PER_S: u64 = 25 << 20;

/// Runs a study that loads each of two disks alone, and then both.
fn load_together(lab: &Lab, plan: &DiskPlan) -> Checked {
    let disks = lab.disks("disks", plan).unwrap();
    load_folders(lab, &[disks.path(0), disks.path(1)])
}

/// The same of two folders.
fn load_folders(lab: &Lab, folders: &[PathBuf; 2]) -> Checked {
    let study = lab.scratch().join("study.toml");
    let [first, second] = folders.each_ref().map(|folder| folder.display().to_string());
    let text = format!(
        r#"
title = "do the disks add up?"
target = ["{first}", "{second}"]
together = true

[workload]
block = "256KiB"
file = "32MiB"
order = "random_with_replacement"
access = "direct"
workers = 4

[stop]
warm_up = "200ms"
measure = "1s"
"#
    );
    fs::write(&study, text).unwrap();
    let mut command = Command::new(narrows_bin().unwrap());
    command.arg("run").arg(&study);
    run_check(lab, "together", command, "--seconds 15")
}

/// The rates of the disks alone and of both together.
#[track_caller]
fn rates(checked: &Checked) -> (Vec<f64>, f64) {
    let (both, alone): (Vec<_>, Vec<_>) =
        checked.cells(Cut::Path).partition(|cell| !cell.more_targets.is_empty());
    let rate = |cell: &&narrows_model::summary::CellSummary| cell.rate_bytes_per_s.unwrap().0;
    assert_eq!((alone.len(), both.len()), (2, 1));
    (alone.iter().map(rate).collect(), rate(&both[0]))
}

#[test]
fn two_disks_behind_one_bus_are_limited_by_it_together_and_not_alone() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let checked = load_together(&lab, &DiskPlan { shared_bytes_per_s: Some(BUS_BYTES_PER_S), ..PLAN });
        let (alone, together) = rates(&checked);
        for rate in alone {
            assert_within(rate, DISK_BYTES_PER_S, 0.1);
        }
        assert_within(together, BUS_BYTES_PER_S as f64, 0.1);
        checked.assert_limiting_first("several targets together", Segment::DeviceBus);
        checked.assert_none_limit(&[Segment::ClientCache, Segment::WorkloadConcurrency]);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn two_folders_of_one_disk_are_not_called_two_disks() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let disks = lab.disks("disks", &DiskPlan { count: 1, ..PLAN }).unwrap();
        let folders = ["a", "b"].map(|name| disks.path(0).join(name));
        for folder in &folders {
            fs::create_dir(folder).unwrap();
        }
        let checked = load_folders(&lab, &folders);
        let (alone, together) = rates(&checked);
        assert!(together < 0.7 * alone.iter().sum::<f64>(), "{together} together, {alone:?} alone");
        checked.assert_none_limit(&[Segment::DeviceBus]);
        let statement = serde_json::to_string(&checked.summary.diagnosis.findings).unwrap();
        assert!(statement.contains("are on the same device"), "{statement}");
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn two_disks_that_share_nothing_clear_the_bus() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let checked = load_together(&lab, &PLAN);
        let (alone, together) = rates(&checked);
        assert_within(together, alone.iter().sum(), 0.1);
        checked.assert_none_limit(&[Segment::DeviceBus]);
        let cleared = &checked.summary.diagnosis.exonerated;
        assert!(cleared.iter().any(|entry| entry.segment == Segment::DeviceBus), "{cleared:?}");
    });
}

/// Reads of a stripe over two disks, beside the rate of each of them alone and of both together past the page cache.
fn reads_of_a_stripe(lab: &Lab, plan: &DiskPlan) -> Checked {
    let disks = lab.disks("disks", plan).unwrap();
    let (first, second) = (disks.path(0), disks.path(1));
    let members = format!("{},{}", first.display(), second.display());
    let text = format!(
        r#"
target = "stripe:{members}?unit=256KiB"
cuts = ["local_device"]
[workload]
engine = "uring"
block = "512KiB"
file = "32MiB"
access = "direct"
depth = 4
[stop]
warm_up = "200ms"
measure = "1s"
"#
    );
    run_study(lab, "stripe", &text)
}

#[test]
fn a_stripe_over_two_disks_behind_one_bus_is_limited_by_the_bus() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let checked =
            reads_of_a_stripe(&lab, &DiskPlan { shared_bytes_per_s: Some(BUS_BYTES_PER_S), ..PLAN });
        assert_within(bytes_per_s(checked.only(Cut::Path)), BUS_BYTES_PER_S as f64, 0.1);
        // The rate of both together is also their bandwidth, which may be named beside it.
        let named: Vec<Segment> = checked.limiting("bulk").iter().map(|entry| entry.segment).collect();
        assert!(named.contains(&Segment::DeviceBus), "{named:?}");
        let may = [Segment::DeviceBus, Segment::DeviceBandwidth];
        assert!(named.iter().all(|segment| may.contains(segment)), "{named:?}");
        let statement = &checked.evidence("stripe-bus-shared")[0].text;
        assert!(statement.contains("the devices of 2 members move "), "{statement}");
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_stripe_over_two_disks_that_share_nothing_clears_the_bus() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let checked = reads_of_a_stripe(&lab, &PLAN);
        assert_within(bytes_per_s(checked.only(Cut::Path)), 2.0 * DISK_BYTES_PER_S, 0.1);
        checked.assert_not_found("stripe-bus-shared");
        checked.assert_none_limit(&[Segment::DeviceBus]);
    });
}
