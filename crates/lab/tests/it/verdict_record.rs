//! A record alone gives the verdict again: elsewhere, without the path, without rights.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::check::{Checked, local_check_command, run_check};
use crate::support::{SOON, lab};
use narrows_lab::{Lab, narrows_bin};
use serde_json::Value;

/// User and group ids that own nothing.
const NOBODY: &str = "65534";

fn checked_folder(lab: &Lab, name: &str) -> Checked {
    let folder = lab.scratch().join("folder");
    fs::create_dir(&folder).unwrap();
    let words = "--server self --seconds 12 --cell-seconds 0.5 --block 64KiB --depth 1,4 --op write";
    let checked = run_check(lab, name, local_check_command(&folder), words);
    fs::remove_dir_all(&folder).unwrap();
    checked
}

#[track_caller]
fn diagnosed(lab: &Lab, mut command: Command) -> Value {
    command.arg("--json");
    let mut process = lab.start("diagnose", command).unwrap();
    let status = process.wait(SOON).unwrap();
    let (stdout, stderr) = (process.stdout().unwrap(), process.stderr().unwrap());
    assert!([Some(0), Some(4)].contains(&status.code()), "{status}: {stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {stderr}"))
}

#[track_caller]
fn assert_same(again: &Value, first: &Value) {
    assert_eq!(again["diagnosis"], first["diagnosis"]);
    assert!(first["diagnosis"]["limiting"][0]["segment"].is_string(), "there is a verdict");
    assert_eq!(again, first, "and all else is the same");
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copy = to.join(entry.file_name());
        fs::copy(entry.path(), &copy).unwrap();
        fs::set_permissions(&copy, Permissions::from_mode(0o444)).unwrap();
    }
    fs::set_permissions(to, Permissions::from_mode(0o555)).unwrap();
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_record_reports_the_same_where_it_is_and_where_it_was_moved_without_path_or_network() {
    let Some(lab) = lab() else { return };
    let checked = checked_folder(&lab, "moved");
    let mut in_place = Command::new(narrows_bin().unwrap());
    in_place.arg("diagnose").arg(&checked.record);
    assert_same(&diagnosed(&lab, in_place), &checked.json);
    let moved = lab.scratch().join("elsewhere");
    fs::rename(&checked.record, &moved).unwrap();
    // No network, and an empty /sys: nothing of the machine can be asked.
    let mut alone = Command::new("unshare");
    alone.args(["--mount", "--net", "sh", "-c", "mount -t tmpfs none /sys && exec \"$@\"", "sh"]);
    alone.arg(narrows_bin().unwrap()).arg("diagnose").arg(&moved);
    assert_same(&diagnosed(&lab, alone), &checked.json);
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_copied_record_reports_the_same_to_a_user_who_owns_nothing() {
    let Some(lab) = lab() else { return };
    let checked = checked_folder(&lab, "copied");
    let open = tempfile::tempdir().unwrap();
    fs::set_permissions(open.path(), Permissions::from_mode(0o755)).unwrap();
    let (copy, program) = (open.path().join("record"), open.path().join("narrows"));
    copy_files(&checked.record, &copy);
    fs::copy(narrows_bin().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--no-new-privs"]);
    command.arg(&program).arg("diagnose").arg(&copy).current_dir(open.path());
    assert_same(&diagnosed(&lab, command), &checked.json);
}
