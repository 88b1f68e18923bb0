//! An NFS server on which nothing of ours runs but whose `node_exporter` is read: its CPU is named where it is full, and
//! cleared where it is not.
//!
//! The exporter is the lab's: it reports the server's control group as a machine of its own, since all hosts of a lab share
//! the counters of one kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::apart::cgroup_with_quota;
use crate::support::check::Checked;
use crate::support::ganesha::Ganesha;
use crate::support::spoken::{check_target, place_server};
use crate::support::{SOON, lab_with_nfs, on_a_calm_machine};
use narrows_lab::{Cgroup, DiskPlan, Lab, LabProcess, disks_available, labexporter_bin, pin_to_cpus};
use narrows_model::counters::Role;
use narrows_model::summary::CpuBasis;
use narrows_model::{Cut, Op, Segment};

/// The CPU on which the lab's servers run, as a machine of its own.
const SERVER_CPU: &str = "1@1";
/// No squashing: tests run as root.
const OPEN: &str = "Squash = No_Root_Squash;";

fn export(lab: &Lab) -> PathBuf {
    let folder = lab.scratch().join("export");
    fs::create_dir(&folder).unwrap();
    folder
}

/// The exporter of the server in `group`, whose machine is as fast as `cpus` of this one's (`CPUS` or `CPUS@N` of
/// `labexporter`); it and its URL.
fn start_exporter(lab: &Lab, group: &Cgroup, cpus: &str) -> (LabProcess, String) {
    let host = lab.host(2).unwrap();
    let folders = group.folders();
    let folder = folders.iter().find(|folder| folder.join("cpuacct.usage").exists()).unwrap_or(&folders[0]);
    let mut command = host.command(labexporter_bin().unwrap());
    command.arg(format!("{}:0", host.address())).arg(cpus).arg(folder);
    let mut process = lab.start("exporter", command).unwrap();
    let line = process.wait_for_line("listening", SOON).unwrap();
    let url = format!("http://{}/metrics", line.strip_prefix("listening ").unwrap());
    (process, url)
}

/// Checks an export of host 2 from host 1, the server in `group`, with its exporter.
#[track_caller]
fn check(lab: &Lab, export: &Path, (group, cpus): (&Cgroup, &str), words: &str) -> Checked {
    let placed = |command: &mut Command| {
        place_server(command);
        group.enter(command);
    };
    let server = Ganesha::start_placed(lab, 2, export, OPEN, placed);
    let (_exporter, url) = start_exporter(lab, group, cpus);
    let with_metrics = |command: &mut Command| {
        command.args(["--server-metrics", &url]);
    };
    let checked = check_target(lab, &server.target("/data"), with_metrics, words);
    let metrics = checked.summary.server_metrics.as_ref().unwrap();
    assert_eq!(metrics.url, url);
    assert!(metrics.read_count > 0 && metrics.missed_count <= metrics.read_count / 4, "{metrics:?}");
    checked
}

/// Fails unless the server's CPU is named for bulk data by the figures of its exporter.
#[track_caller]
fn assert_cpu_named(checked: &Checked) {
    let entry = checked.limiting("bulk")[0];
    assert_eq!(entry.segment, Segment::ServerCpu, "{entry:#?}");
    assert!(
        entry.evidence.iter().any(|evidence| evidence.counter.contains("node_exporter")),
        "the source is named: {entry:#?}"
    );
    let cpu = &checked.path_cell(Op::Read, 1 << 20, 16).cpu[&Role::Server];
    assert_eq!(cpu.basis, CpuBasis::Exporter);
    assert!(cpu.busy_ratio >= 0.9, "{cpu:?}");
}

const WORDS: &str = "--seconds 20 --cell-seconds 0.9 --block 1MiB --depth 16 --op read";

#[test]
fn a_server_with_a_quota_of_0_4_cpus_is_named_by_its_cpu() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        let group = cgroup_with_quota(&lab, "server", 0.4);
        assert_cpu_named(&check(&lab, &export(&lab), (&group, "0.4"), WORDS));
    });
}

#[test]
fn a_server_whose_cpu_another_program_fills_is_named_by_its_cpu() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        let group = lab.cgroup("server").unwrap();
        let mut busy = lab.host(2).unwrap().command("sh");
        busy.args(["-c", "while :; do :; done"]);
        pin_to_cpus(&mut busy, &[1]);
        group.enter(&mut busy);
        let _busy = lab.start("busy", busy).unwrap();
        assert_cpu_named(&check(&lab, &export(&lab), (&group, SERVER_CPU), WORDS));
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_slow_device_below_a_server_with_cpus_to_spare_is_named_and_the_cpu_is_cleared() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs().filter(|_| disks_available().is_ok()) else { return };
        let plan = DiskPlan { shared_bytes_per_s: Some(20 << 20), ..DiskPlan::PLAIN };
        let disks = lab.disks("delayed", &plan).unwrap();
        let group = lab.cgroup("server").unwrap();
        let words = "--seconds 14 --cell-seconds 0.7 --block 1MiB --depth 4 --op write";
        let checked = check(&lab, &disks.path(0), (&group, SERVER_CPU), words);
        checked.assert_only("bulk", &[Segment::Device]);
        let cleared =
            |segment: Segment| checked.summary.diagnosis.exonerated.iter().any(|one| one.segment == segment);
        assert!(cleared(Segment::ServerCpu), "{:#?}", checked.summary.diagnosis.exonerated);
        assert!(checked.cells(Cut::Path).all(|cell| cell.cpu.contains_key(&Role::Server)));
    });
}
