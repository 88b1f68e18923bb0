//! An NFS server on which nothing of ours runs: illnesses of the way to it, of it and below it are named from what its
//! protocol shows alone, as the segment or as what it is part of, and never as another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::apart::cgroup_with_quota;
use crate::support::check::{Checked, assert_within};
use crate::support::ganesha::Ganesha;
use crate::support::spoken::{BULK, SINGLE, check_target, place_server};
use crate::support::{assert_nothing_left, lab_with_nfs, on_a_calm_machine};
use narrows_lab::{DiskPlan, Lab, disks_available};
use narrows_model::{Op, Segment};

/// No squashing: tests run as root.
const OPEN: &str = "Squash = No_Root_Squash;";
fn export(lab: &Lab) -> PathBuf {
    let folder = lab.scratch().join("export");
    fs::create_dir(&folder).unwrap();
    folder
}

/// Checks an export of host 2 from host 1, each on a CPU of its own; `place` changes the server's command besides.
#[track_caller]
fn check(lab: &Lab, export: &Path, place: impl FnOnce(&mut Command), words: &str) -> Checked {
    let placed = |command: &mut Command| {
        place_server(command);
        place(command);
    };
    let server = Ganesha::start_placed(lab, 2, export, OPEN, placed);
    let checked = check_target(lab, &server.target("/data"), |_| (), words);
    assert_nothing_left(export);
    checked
}

#[test]
fn a_link_of_100_mbit_is_named_by_how_replies_arrive() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        lab.host(2).unwrap().limit_rate("100mbit").unwrap();
        let checked = check(&lab, &export(&lab), |_| (), BULK);
        checked.assert_only("bulk", &[Segment::NetworkBandwidth]);
        let payload = lab.host(2).unwrap().payload_bytes_per_s(100_000_000);
        let rate = checked.path_cell(Op::Read, 1 << 20, 16).rate_bytes_per_s.unwrap().0;
        assert_within(rate, payload, 0.15);
    });
}

#[test]
fn a_server_with_a_quota_of_0_4_cpus_is_named_as_a_whole() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        let quota = cgroup_with_quota(&lab, "server", 0.4);
        // A smaller part of 100 ms makes the rate of a short window a matter of chance.
        let words = "--seconds 18 --cell-seconds 0.9 --block 1MiB --depth 16 --op read";
        let checked = check(&lab, &export(&lab), |command| quota.enter(command), words);
        checked.assert_whole_server();
    });
}

#[test]
fn a_link_with_delay_is_named_by_its_round_trip() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        lab.host(2).unwrap().delay(2000).unwrap();
        let checked = check(&lab, &export(&lab), |_| (), &format!("{SINGLE} --op read"));
        checked.assert_limiting_first("single", Segment::NetworkLatency);
        checked.assert_only("single", &[Segment::NetworkLatency, Segment::WorkloadConcurrency]);
    });
}

/// Checks an export on a disk with the delays of `plan`.
#[track_caller]
fn check_disk(lab: &Lab, plan: &DiskPlan, words: &str) -> Checked {
    let disks = lab.disks("delayed", plan).unwrap();
    check(lab, &disks.path(0), |_| (), words)
}

#[test]
fn a_device_of_20_mib_a_second_below_the_export_is_named_as_a_whole() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs().filter(|_| disks_available().is_ok()) else { return };
        let plan = DiskPlan { shared_bytes_per_s: Some(20 << 20), ..DiskPlan::PLAIN };
        let words = "--seconds 12 --cell-seconds 0.7 --block 1MiB --depth 4 --op write";
        let checked = check_disk(&lab, &plan, words);
        checked.assert_only("bulk", &[Segment::Device]);
    });
}

#[test]
fn flushes_of_10_ms_below_the_export_are_named_as_the_commit_or_the_device() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs().filter(|_| disks_available().is_ok()) else { return };
        let plan = DiskPlan { flush_us: 10_000, ..DiskPlan::PLAIN };
        let checked = check_disk(&lab, &plan, &format!("{SINGLE} --op write"));
        assert_eq!(checked.limiting("single")[0].segment, Segment::ServerCommit);
        // A second write in flight shares the flush of the first.
        let expected = [Segment::ServerCommit, Segment::Device, Segment::WorkloadConcurrency];
        checked.assert_only("single", &expected);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn writes_that_an_export_makes_durable_unasked_are_named_as_the_commit() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs().filter(|_| disks_available().is_ok()) else { return };
        let plan = DiskPlan { flush_us: 5_000, ..DiskPlan::PLAIN };
        let disks = lab.disks("delayed", &plan).unwrap();
        let mount = disks.path(0).display().to_string();
        let remounted = Command::new("mount").args(["-o", "remount,sync", &mount]).status().unwrap();
        assert!(remounted.success());
        let words = "--seconds 14 --cell-seconds 0.6 --block 64KiB --depth 8";
        let checked = check(&lab, &disks.path(0), |_| (), words);
        assert_eq!(checked.limiting("bulk write")[0].segment, Segment::ServerCommit);
    });
}

#[test]
fn a_healthy_server_is_no_devices_and_no_networks_fault() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        let checked = check(&lab, &export(&lab), |_| (), &format!("{BULK} --op read"));
        checked.assert_healthy();
        let findings = &checked.summary.diagnosis.findings;
        assert!(findings.iter().any(|finding| finding.code == "protocol-cache-served"), "{findings:#?}");
    });
}
