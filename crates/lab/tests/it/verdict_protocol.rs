//! An NFS server on which nothing of ours runs: illnesses of the way to it, of it and below it are named from what its
//! protocol shows alone, as the segment or as what it is part of, and never as another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::apart::cgroup_with_quota;
use crate::support::check::{Checked, assert_within, run_check};
use crate::support::ganesha::Ganesha;
use crate::support::{lab_with_nfs, on_a_calm_machine};
use narrows_lab::{DiskPlan, Lab, disks_available, narrows_bin, pin_to_cpus};
use narrows_model::{Op, Segment};

/// No squashing: tests run as root.
const OPEN: &str = "Squash = No_Root_Squash;";
/// The points that bulk verdicts are given for.
const BULK: &str = "--seconds 16 --cell-seconds 0.6 --block 1MiB --depth 16";
/// One small request at a time.
const SINGLE: &str = "--seconds 12 --cell-seconds 0.6 --block 4KiB --depth 1";

fn export(lab: &Lab) -> PathBuf {
    let folder = lab.scratch().join("export");
    fs::create_dir(&folder).unwrap();
    folder
}

/// Checks an export of host 2 from host 1, each on a CPU of its own; `place` changes the server's command besides.
#[track_caller]
fn check(lab: &Lab, export: &Path, place: impl FnOnce(&mut Command), words: &str) -> Checked {
    let placed = |command: &mut Command| {
        pin_to_cpus(command, &[1]);
        place(command);
    };
    let server = Ganesha::start_placed(lab, 2, export, OPEN, placed);
    let mut command = lab.host(1).unwrap().command(narrows_bin().unwrap());
    command.arg("check").arg(server.target("/data"));
    pin_to_cpus(&mut command, &[0]);
    let checked = run_check(lab, "nfs", command, words);
    let left = fs::read_dir(export).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name != "lost+found").collect();
    assert!(left.is_empty(), "nothing is left: {left:?}");
    checked
}

/// Fails where anything else than one of `segments` is named for a load whose name begins with `kind`.
#[track_caller]
fn assert_only(checked: &Checked, kind: &str, segments: &[Segment]) {
    for entry in checked.limiting(kind) {
        assert!(segments.contains(&entry.segment), "{}: {:#?}", entry.regime, entry);
    }
}

#[test]
fn a_link_of_100_mbit_is_named_by_how_replies_arrive() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        lab.host(2).unwrap().limit_rate("100mbit").unwrap();
        let checked = check(&lab, &export(&lab), |_| (), BULK);
        assert_only(&checked, "bulk", &[Segment::NetworkBandwidth]);
        let payload = lab.host(2).unwrap().payload_bytes_per_s(100_000_000);
        let rate = checked.path_cell(Op::Read, 1 << 20, 16).rate_bytes_per_s.unwrap().0;
        assert_within(rate, payload, 0.15);
    });
}

#[test]
fn a_server_with_a_quota_of_0_15_cpus_is_named_as_a_whole() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        let quota = cgroup_with_quota(&lab, "server", 0.15);
        let checked =
            check(&lab, &export(&lab), |command| quota.enter(command), &format!("{BULK} --op read"));
        assert_only(&checked, "bulk", &[Segment::Server]);
        let caveat = "the server's CPU, threads and protocol were not seen apart";
        let entry = checked.limiting("bulk")[0];
        assert!(entry.evidence.iter().any(|evidence| evidence.text.ends_with(caveat)), "{entry:#?}");
    });
}

#[test]
fn a_link_with_delay_is_named_by_its_round_trip() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        lab.host(2).unwrap().delay(2000).unwrap();
        let checked = check(&lab, &export(&lab), |_| (), &format!("{SINGLE} --op read"));
        checked.assert_limiting_first("single", Segment::NetworkLatency);
        assert_only(&checked, "single", &[Segment::NetworkLatency, Segment::WorkloadConcurrency]);
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
        let words = "--seconds 16 --cell-seconds 1 --block 1MiB --depth 4 --op write";
        let checked = check_disk(&lab, &plan, words);
        assert_only(&checked, "bulk", &[Segment::Device]);
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
        assert_only(&checked, "single", &expected);
    });
}

#[test]
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
        checked.assert_none_limit(&[
            Segment::Network,
            Segment::NetworkBandwidth,
            Segment::NetworkLatency,
            Segment::NetworkLoss,
            Segment::Device,
            Segment::ServerCommit,
        ]);
        let findings = &checked.summary.diagnosis.findings;
        assert!(findings.iter().any(|finding| finding.code == "protocol-cache-served"), "{findings:#?}");
    });
}
