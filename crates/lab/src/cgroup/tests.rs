//! Tests of the wrappers and of finding controllers, on folders that replace the kernel's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Cgroup, ControllerGroup, Version, number, pin_to_cpus, tree};

fn group(folder: &Path, version: Version) -> ControllerGroup {
    ControllerGroup { folder: folder.to_owned(), version }
}

#[test]
fn a_v1_controller_is_found_by_its_mount_option() {
    let mounts = "proc /proc proc rw 0 0\ncgroup /c/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n\
                  cgroup /c/cpuset cgroup rw,cpuset 0 0\n";
    let found = tree::find(mounts, "cpuacct", "cpu").unwrap();
    assert_eq!((found.root, found.version), (PathBuf::from("/c/cpu,cpuacct"), Version::V1));
    assert!(tree::find(mounts, "blkio", "io").is_none());
}

#[test]
fn a_v2_controller_is_found_only_where_the_tree_offers_it() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("cgroup.controllers"), "cpuset cpu memory\n").unwrap();
    let mounts = format!("cgroup2 {} cgroup2 rw 0 0\n", root.path().display());
    assert_eq!(tree::find(&mounts, "cpu", "cpu").unwrap().version, Version::V2);
    assert!(tree::find(&mounts, "blkio", "io").is_none());
}

#[test]
fn making_a_v2_group_enables_its_controller() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("cgroup.controllers"), "cpu io\n").unwrap();
    let mounts = format!("cgroup2 {} cgroup2 rw 0 0\n", root.path().display());
    tree::find(&mounts, "blkio", "io").unwrap().make("g").unwrap();
    assert_eq!(fs::read_to_string(root.path().join("cgroup.subtree_control")).unwrap(), "+io");
    assert!(root.path().join("g").is_dir());
}

#[test]
fn entering_writes_the_programs_own_id_into_every_folder_and_keeps_arguments() {
    let root = tempfile::tempdir().unwrap();
    let folders = [root.path().join("cpu dir"), root.path().join("io")];
    for folder in &folders {
        fs::create_dir(folder).unwrap();
    }
    let cpu = group(&folders[0], Version::V1);
    let io = Some(group(&folders[1], Version::V1));
    let cgroup = Cgroup { name: "g".to_owned(), accounting: cpu.clone(), cpu, io };
    let mut command = Command::new("sh");
    command.args(["-c", r#"echo "$$ $1 $WORD""#, "sh", "two words"]).env("WORD", "kept");
    cgroup.enter(&mut command);
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let (pid, rest) = said.trim().split_once(' ').unwrap();
    assert_eq!(rest, "two words kept");
    for folder in &folders {
        assert_eq!(fs::read_to_string(folder.join("cgroup.procs")).unwrap().trim(), pid);
    }
}

#[test]
fn a_group_that_cannot_be_entered_stops_the_program_from_running() {
    let cpu = group(Path::new("/nowhere"), Version::V1);
    let cgroup = Cgroup { name: "g".to_owned(), accounting: cpu.clone(), cpu, io: None };
    let mut command = Command::new("echo");
    command.arg("ran");
    cgroup.enter(&mut command);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_pinned_program_sees_only_its_cpu() {
    let mut command = Command::new("grep");
    command.args(["Cpus_allowed_list", "/proc/self/status"]);
    pin_to_cpus(&mut command, &[0]);
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert_eq!(said.split_whitespace().last(), Some("0"));
}

#[test]
fn cpu_time_and_throttled_time_are_nanoseconds_on_both_versions() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("cpuacct.usage"), "123456789\n").unwrap();
    fs::write(root.path().join("cpu.stat"), "nr_throttled 3\nthrottled_time 77\n").unwrap();
    let cpu = group(root.path(), Version::V1);
    let first = Cgroup { name: "g".to_owned(), accounting: cpu.clone(), cpu, io: None };
    assert_eq!((first.cpu_usage_ns().unwrap(), first.throttled_ns().unwrap()), (123_456_789, 77));
    fs::write(root.path().join("cpu.stat"), "usage_usec 5\nuser_usec 4\nthrottled_usec 6\n").unwrap();
    let cpu = group(root.path(), Version::V2);
    let second = Cgroup { name: "g".to_owned(), accounting: cpu.clone(), cpu, io: None };
    assert_eq!((second.cpu_usage_ns().unwrap(), second.throttled_ns().unwrap()), (5000, 6000));
}

#[test]
fn a_counter_file_without_its_key_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    let stat = root.path().join("cpu.stat");
    fs::write(&stat, "usage_usec_total 5\n").unwrap();
    assert!(number(&stat, Some("usage_usec")).is_err());
}
