//! An iSCSI target on which nothing of ours runs: illnesses of the way to it, of it and below it are named from what its
//! protocol shows alone, as the segment or as what it is part of, and never as another.

use std::path::Path;
use std::process::Command;

use crate::support::apart::cgroup_with_quota;
use crate::support::check::{Checked, assert_within};
use crate::support::spoken::{BULK, SINGLE, check_target, place_server};
use crate::support::tgt::{Tgt, TgtSetup};
use crate::support::{lab_with_iscsi, on_a_calm_machine};
use narrows_lab::{DiskPlan, Lab, disks_available};
use narrows_model::{Cut, Op, Segment};

/// Bytes of a unit of which a quarter is 16 blocks for each of 16 requests of 1 MiB; only what is written takes room.
const UNIT_BYTES: u64 = 1100 << 20;
/// Bytes of one on a disk of 512 MiB.
const ON_DISK_BYTES: u64 = 400 << 20;

/// Checks a blank unit of host 2 from host 1, and looks that nothing is left on it.
#[track_caller]
fn check(lab: &Lab, place: impl FnOnce(&mut Command), words: &str) -> Checked {
    check_in(lab, (lab.scratch(), UNIT_BYTES), place, words)
}

/// The same with a unit of so many bytes in a folder.
#[track_caller]
fn check_in(
    lab: &Lab,
    (folder, bytes): (&Path, u64),
    place: impl FnOnce(&mut Command),
    words: &str,
) -> Checked {
    let placed = |command: &mut Command| {
        place_server(command);
        place(command);
    };
    let server = Tgt::start_placed(lab, 2, folder, bytes, TgtSetup::default(), placed);
    let checked = check_target(lab, &server.target(""), |_| (), words);
    assert!(server.is_empty(), "what was written is zeroes again");
    checked
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_link_of_100_mbit_is_named_by_how_data_arrives() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_iscsi() else { return };
        lab.host(2).unwrap().limit_rate("100mbit").unwrap();
        // A blank unit is looked at before it is claimed, which takes longer over this link than the whole check.
        let server = Tgt::start_placed(&lab, 2, lab.scratch(), UNIT_BYTES, TgtSetup::default(), place_server);
        let made = Command::new("mkfs.ext4").arg("-q").arg(server.image()).status().unwrap();
        assert!(made.success());
        let checked = check_target(&lab, &server.target(""), |_| (), BULK);
        checked.assert_only("bulk", &[Segment::NetworkBandwidth]);
        let payload = lab.host(2).unwrap().payload_bytes_per_s(100_000_000);
        let rate = checked.path_cell(Op::Read, 1 << 20, 16).rate_bytes_per_s.unwrap().0;
        assert_within(rate, payload, 0.15);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_target_with_a_quota_of_0_15_cpus_is_named_as_a_whole() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_iscsi() else { return };
        let quota = cgroup_with_quota(&lab, "server", 0.15);
        // Looking at the blank unit before it is claimed takes the server ten seconds.
        let words = "--seconds 30 --cell-seconds 0.5 --block 1MiB --depth 16 --op read";
        let checked = check(&lab, |command| quota.enter(command), words);
        checked.assert_whole_server();
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_link_with_delay_is_named_by_its_round_trip() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_iscsi() else { return };
        lab.host(2).unwrap().delay(2000).unwrap();
        let checked = check(&lab, |_| (), &format!("{SINGLE} --op read --whole-plan"));
        checked.assert_limiting_first("single", Segment::NetworkLatency);
        checked.assert_only("single", &[Segment::NetworkLatency, Segment::WorkloadConcurrency]);
        let pings = checked.only(Cut::RoundTrip).protocol.clone();
        assert!(pings.iter().any(|one| one.procedure == "NOP-Out" && one.reply_count > 0), "{pings:?}");
    });
}

/// Checks a unit on a disk with the delays of `plan`.
#[track_caller]
fn check_disk(lab: &Lab, plan: &DiskPlan, words: &str) -> Checked {
    let disks = lab.disks("delayed", plan).unwrap();
    check_in(lab, (&disks.path(0), ON_DISK_BYTES), |_| (), words)
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_device_of_20_mib_a_second_below_the_unit_is_named_as_a_whole() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_iscsi().filter(|_| disks_available().is_ok()) else { return };
        let plan = DiskPlan { shared_bytes_per_s: Some(20 << 20), ..DiskPlan::PLAIN };
        let words = "--seconds 12 --cell-seconds 0.7 --block 1MiB --depth 4 --op write";
        let checked = check_disk(&lab, &plan, words);
        checked.assert_only("bulk", &[Segment::Device]);
    });
}

#[test]
#[ignore = "campaign: a protocol's rule, which `verdict_protocol` proves in ./test, over iSCSI"]
fn flushes_of_10_ms_below_the_unit_are_named_as_the_commit_or_the_device() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_iscsi().filter(|_| disks_available().is_ok()) else { return };
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
fn a_healthy_target_is_no_devices_and_no_networks_fault() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_iscsi() else { return };
        let checked = check(&lab, |_| (), &format!("{BULK} --op read"));
        checked.assert_healthy();
    });
}
