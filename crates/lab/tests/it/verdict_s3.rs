//! An S3 server on which nothing of ours runs: illnesses of the way to it, of it and below it are named from what its
//! protocol shows alone, as the segment or as what it is part of, and never as another.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::apart::cgroup_with_quota;
use crate::support::check::{Checked, assert_within};
use crate::support::spoken::{BULK, SINGLE, check_target, place_server};
use crate::support::versity::{BUCKET, KEY_ID, SECRET, serve_in_host};
use crate::support::{lab_with_s3, on_a_calm_machine};
use narrows_lab::{DiskPlan, Lab, disks_available};
use narrows_model::{Cut, Op, Segment};

/// Checks `prefix` of a bucket in `store` of host 2 from host 1.
#[track_caller]
fn check_key(
    lab: &Lab,
    (store, prefix): (&Path, &str),
    place: impl FnOnce(&mut Command),
    words: &str,
) -> Checked {
    let placed = |command: &mut Command| {
        place_server(command);
        place(command);
    };
    let (_server, target) = serve_in_host(lab, store, prefix, placed);
    let with_keys = |command: &mut Command| {
        command.env("AWS_ACCESS_KEY_ID", KEY_ID).env("AWS_SECRET_ACCESS_KEY", SECRET);
    };
    check_target(lab, &target, with_keys, words)
}

/// Checks a part of an empty bucket, and looks that nothing is left there.
#[track_caller]
fn check(lab: &Lab, place: impl FnOnce(&mut Command), words: &str) -> Checked {
    let store = lab.scratch().join("store");
    let checked = check_key(lab, (&store, "some/part"), place, words);
    let left = Command::new("find").arg(store.join(BUCKET)).args(["-type", "f"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "", "nothing is left");
    checked
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_link_of_100_mbit_is_named_by_how_bodies_arrive() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_s3() else { return };
        lab.host(2).unwrap().limit_rate("100mbit").unwrap();
        let checked = check(&lab, |_| (), BULK);
        checked.assert_only("bulk", &[Segment::NetworkBandwidth]);
        let payload = lab.host(2).unwrap().payload_bytes_per_s(100_000_000);
        // Sixteen requests take longer over this link than the window: how many end in it is a matter of chance.
        let metrics = &checked.path_cell(Op::Read, 1 << 20, 16).metrics;
        let received = metrics.iter().find(|metric| metric.id == "received_bytes_per_s").unwrap().value;
        assert_within(received, payload, 0.1);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_server_with_a_quota_of_0_15_cpus_is_named_as_a_whole() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_s3() else { return };
        let quota = cgroup_with_quota(&lab, "server", 0.15);
        let checked = check(&lab, |command| quota.enter(command), BULK);
        checked.assert_whole_server();
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_link_with_delay_is_named_by_its_round_trip() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_s3() else { return };
        lab.host(2).unwrap().delay(10_000).unwrap();
        let checked = check(&lab, |_| (), &format!("{SINGLE} --whole-plan"));
        checked.assert_limiting_first("single", Segment::NetworkLatency);
        checked.assert_only("single", &[Segment::NetworkLatency, Segment::WorkloadConcurrency]);
        let pings = checked.only(Cut::RoundTrip).protocol.clone();
        assert!(pings.iter().any(|one| one.procedure == "HeadObject" && one.reply_count > 0), "{pings:?}");
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_device_of_20_mib_a_second_below_an_object_is_named_as_a_whole() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_s3().filter(|_| disks_available().is_ok()) else { return };
        let plan = DiskPlan { shared_bytes_per_s: Some(20 << 20), ..DiskPlan::PLAIN };
        let disks = lab.disks("delayed", &plan).unwrap();
        let store = disks.path(0);
        fs::create_dir(store.join(BUCKET)).unwrap();
        let object = store.join(BUCKET).join("object");
        fs::write(&object, vec![7; 128 << 20]).unwrap();
        // Nothing of it stays in the server's memory.
        let mut drop_pages = Command::new("dd");
        drop_pages.arg(format!("of={}", object.display())).args(["conv=notrunc,fdatasync", "count=0"]);
        assert!(drop_pages.arg("oflag=nocache").output().unwrap().status.success());
        let words = "--seconds 12 --cell-seconds 0.7 --block 1MiB --depth 4";
        let checked = check_key(&lab, (&store, "object"), |_| (), words);
        checked.assert_only("bulk", &[Segment::Device]);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_healthy_server_is_no_devices_and_no_networks_fault() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_s3() else { return };
        check(&lab, |_| (), BULK).assert_healthy();
    });
}

#[test]
fn puts_over_a_link_of_100_mbit_move_what_it_carries_and_nothing_else_is_blamed() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_s3() else { return };
        lab.host(2).unwrap().limit_rate("100mbit").unwrap();
        let words = "--seconds 30 --cell-seconds 3 --block 1MiB --depth 4 --op write";
        let checked = check(&lab, |_| (), words);
        assert!(
            checked.summary.complete && checked.summary.failed.is_empty(),
            "{:?}",
            checked.summary.failed
        );
        let put = checked.cells(Cut::Path).find(|cell| cell.op == Op::Put).unwrap();
        assert!(put.errors.is_empty(), "{:?}", put.errors);
        let payload = lab.host(2).unwrap().payload_bytes_per_s(100_000_000);
        assert_within(put.rate_bytes_per_s.unwrap().0, payload, 0.15);
        checked.assert_none_limit(&[
            Segment::Server,
            Segment::ServerCommit,
            Segment::Device,
            Segment::ClientCpu,
        ]);
    });
}
