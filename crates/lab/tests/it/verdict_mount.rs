//! A folder on an NFS mount, with nothing of ours on the server: the kernel's client is distinguished from what is behind it, because
//! narrows puts the same load on the export by itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::check::{Checked, assert_within};
use crate::support::ganesha::Ganesha;
use crate::support::guest::Guest;
use crate::support::spoken::place_server;
use crate::support::{assert_nothing_left, lab_with_guests, on_a_calm_machine};
use narrows_lab::{DiskPlan, Lab, disks_available};
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Op, Segment};

/// No squashing: tests run as root.
const OPEN: &str = "Squash = No_Root_Squash;";
const BULK_READS: &str = "--seconds 20 --cell-seconds 0.6 --block 1MiB --depth 4 --op read";

fn export(lab: &Lab) -> PathBuf {
    let folder = lab.scratch().join("export");
    fs::create_dir(&folder).unwrap();
    folder
}

/// Checks a mount of `export` with these further mount options in a guest; the server is host 2.
#[track_caller]
fn check(lab: &Lab, export: &Path, server_options: &str, mount_options: &str, words: &str) -> Checked {
    let placed = |command: &mut Command| place_server(command);
    let server = Ganesha::start_placed(lab, 2, export, server_options, placed);
    let checked = Guest::new(lab).check_mount(&server, mount_options, words);
    assert_nothing_left(export);
    checked
}

#[test]
#[ignore = "campaign: half a minute in a guest"]
fn a_link_of_100_mbit_behind_a_mount_is_named_and_not_the_kernels_client() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_guests() else { return };
        lab.host(2).unwrap().limit_rate("100mbit").unwrap();
        // In less time than this the link transfers so few blocks that the turns of four requests decide the rate.
        let words = "--seconds 28 --cell-seconds 1.5 --block 1MiB --depth 4 --op read";
        let checked = check(&lab, &export(&lab), OPEN, "", words);
        checked.assert_only("bulk", &[Segment::NetworkBandwidth]);
        let payload = lab.host(2).unwrap().payload_bytes_per_s(100_000_000);
        let path = checked.path_cell(Op::Read, 1 << 20, 4);
        // The guest's client, which has one CPU, does not always keep the link full, as narrows's own does.
        let rate = |cell: &CellSummary| cell.rate_bytes_per_s.unwrap().0;
        checked.cells(Cut::UserClient).for_each(|cell| assert_within(rate(cell), payload, 0.15));
        assert!((0.75 * payload..=1.15 * payload).contains(&rate(path)), "{} of {payload}", rate(path));
        let calls = &path.nfs_mounts[0].procedures;
        assert!(calls.iter().any(|one| one.procedure == "READ" && one.call_count > 0), "{calls:?}");
    });
}

#[test]
fn a_mount_that_reads_4_kib_at_a_time_is_limited_by_the_kernels_client() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_guests() else { return };
        let checked = check(&lab, &export(&lab), OPEN, ",rsize=4096,wsize=4096", BULK_READS);
        checked.assert_only("bulk", &[Segment::ClientFilesystem, Segment::ClientConnection]);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_device_of_20_mib_a_second_behind_a_mount_is_named_as_a_whole() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_guests().filter(|_| disks_available().is_ok()) else { return };
        // Room for two sets of files: those of the mount and those of its export.
        let plan = DiskPlan { mebibytes: 1024, shared_bytes_per_s: Some(20 << 20), ..DiskPlan::PLAIN };
        let disks = lab.disks("delayed", &plan).unwrap();
        let words = "--seconds 30 --cell-seconds 0.7 --block 1MiB --depth 4 --op write";
        let checked = check(&lab, &disks.path(0), OPEN, "", words);
        checked.assert_only("bulk", &[Segment::Device]);
    });
}
