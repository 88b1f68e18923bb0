//! File systems that refuse: read-only, foreign, full, filling, without direct access. Real ones, in memory or on loop
//! devices; for each check the exit code, the messages and what it leaves around it are asserted.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::robust::{Mounted, SHORT, Seen, narrows, see, surroundings};
use crate::support::{SOON, lab};
use narrows_lab::{Lab, narrows_bin};

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

fn check(lab: &Lab, target: &Path, more: &[&str]) -> Seen {
    let words = [&["check", target.to_str().unwrap()], &SHORT[..], more].concat();
    see(&mut narrows(lab, &words))
}

/// Fails unless the record can be diagnosed; its verdict as it is printed.
#[track_caller]
fn diagnosed(lab: &Lab, record: &Path) -> Seen {
    let seen = see(&mut narrows(lab, &["diagnose", record.to_str().unwrap()]));
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:#?}");
    seen
}

#[test]
fn a_read_only_file_system_is_reported_and_not_touched() {
    let Some(lab) = lab() else { return };
    let disk = Mounted::ext4(&lab, "disk", 64, "rw");
    fs::write(disk.path().join("precious"), "mine").unwrap();
    disk.forbid_writing();
    let before = surroundings(disk.path());
    let seen = check(&lab, disk.path(), &[]);
    seen.assert_said(3, &[disk.path().to_str().unwrap(), "Read-only file system", "may write"]);
    assert_eq!(seen.stdout, "");
    let record = disk.path().join("record");
    let seen = check(&lab, lab.scratch(), &["--out", record.to_str().unwrap()]);
    seen.assert_said(3, &["EROFS", "--out"]);
    assert_eq!((seen.stdout.as_str(), before), ("", surroundings(disk.path())));
}

#[test]
fn a_server_whose_root_is_read_only_says_so_and_the_check_keeps_what_it_has() {
    let Some(lab) = lab() else { return };
    let disk = Mounted::ext4(&lab, "disk", 64, "rw");
    disk.forbid_writing();
    let root = disk.path().to_str().unwrap();
    let serve = narrows(&lab, &["serve", "--listen", "127.0.0.1:0", "--root", root]);
    let mut serve = lab.start("serve", serve).unwrap();
    let line = serve.wait_for_line("listening on ", SOON).unwrap();
    let target = format!("tcp://{}/disk", line.strip_prefix("listening on ").unwrap());
    // A path to an endpoint has more cuts than SHORT's budget allows.
    let words = [&["check", &target, "--out", "record", "--seconds", "6"], &SHORT[2..]].concat();
    let seen = see(&mut narrows(&lab, &words));
    assert!(seen.stderr.contains("Read-only file system"), "{seen:#?}");
    seen.assert_said(4, &["record: record"]);
    diagnosed(&lab, &lab.scratch().join("record"));
}

/// The same words as an ordinary user, in `folder`.
fn as_nobody(folder: &Path, words: &[&str]) -> Seen {
    let mut command = Command::new("setpriv");
    let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    command.args(ids).arg("--clear-groups").arg(narrows_bin().unwrap()).args(words);
    see(command.current_dir(folder))
}

#[test]
fn a_folder_of_somebody_else_is_reported_and_not_touched() {
    let Some(lab) = lab() else { return };
    let at = |name: &str| lab.scratch().join(name);
    fs::create_dir_all(at("theirs/inner")).unwrap();
    fs::write(at("theirs/secret"), "mine").unwrap();
    fs::set_permissions(at("theirs/secret"), fs::Permissions::from_mode(0o600)).unwrap();
    let before = surroundings(&at("theirs"));
    let seen = as_nobody(lab.scratch(), &["check", "theirs"]);
    seen.assert_said(3, &["theirs", "Permission denied", "may write"]);
    as_nobody(lab.scratch(), &["check", "theirs/secret"])
        .assert_said(3, &["theirs/secret", "Permission denied"]);
    as_nobody(lab.scratch(), &["serve", "--root", "theirs/secret"]).assert_said(2, &["theirs/secret"]);
    as_nobody(lab.scratch(), &["check", ".", "--token-file", "theirs/secret"])
        .assert_said(2, &["theirs/secret", "Permission denied"]);
    fs::set_permissions(at("theirs"), fs::Permissions::from_mode(0o700)).unwrap();
    let seen = as_nobody(lab.scratch(), &["check", "theirs/inner"]);
    seen.assert_said(3, &["theirs/inner", "Permission denied", "permissions"]);
    as_nobody(lab.scratch(), &["diagnose", "theirs/inner"]).assert_said(3, &["theirs/inner", "EACCES"]);
    fs::set_permissions(at("theirs"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(before, surroundings(&at("theirs")));
}

#[test]
fn an_ordinary_user_checks_a_folder_of_their_own() {
    let Some(lab) = lab() else { return };
    let disk = Mounted::ext4(&lab, "disk", 64, "rw");
    chown(disk.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let seen = as_nobody(disk.path(), &[&["check", ".", "--out", "record"], &SHORT[..]].concat());
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:#?}");
    seen.assert_said(seen.code.unwrap(), &["record: record"]);
    diagnosed(&lab, &disk.path().join("record"));
}

#[test]
fn a_file_system_too_small_for_a_file_is_refused_with_what_it_needs() {
    let Some(lab) = lab() else { return };
    let small = Mounted::tmpfs(&lab, "small", 1 << 20);
    let before = surroundings(small.path());
    let words = ["check", small.path().to_str().unwrap(), "--block", "1MiB"];
    let seen = see(&mut narrows(&lab, &words));
    seen.assert_said(2, &["16MiB", "free space", "smaller blocks"]);
    assert_eq!((seen.stdout.as_str(), before), ("", surroundings(small.path())));
}

/// Fills what is free of a file system with a file of a stranger.
fn fill(point: &Path) {
    let mut file = File::create(point.join("filler")).unwrap();
    let block = vec![7; 64 << 10];
    while file.write_all(&block).is_ok() {}
}

#[test]
fn a_full_file_system_is_reported_and_left_as_it_was() {
    let Some(lab) = lab() else { return };
    let small = Mounted::tmpfs(&lab, "small", 1 << 20);
    fill(small.path());
    let before = surroundings(small.path());
    let seen = check(&lab, small.path(), &[]);
    assert!(matches!(seen.code, Some(2 | 3)), "{seen:#?}");
    let said = ["No space left", "free space"].iter().any(|words| seen.stderr.contains(words));
    assert!(said && seen.stdout.is_empty(), "{seen:#?}");
    assert!(before == surroundings(small.path()), "something was changed or left");
}

#[test]
fn a_file_system_that_fills_in_mid_run_ends_in_a_partial_record() {
    let Some(lab) = lab() else { return };
    let disk = Mounted::ext4(&lab, "disk", 64, "rw");
    let words = ["check", disk.path().to_str().unwrap(), "--out", "record", "--op", "read"];
    let times = ["--cell-seconds", "1", "--seconds", "20", "--block", "4KiB", "--depth", "1", "--whole-plan"];
    let mut running = lab.start("check", narrows(&lab, &[&words[..], &times].concat())).unwrap();
    running.wait_for_line("[1/", SOON).unwrap();
    fill(disk.path());
    let status = running.wait(SOON).unwrap();
    let (stdout, stderr) = (running.stdout().unwrap(), running.stderr().unwrap());
    Seen { code: status.code(), stdout: stdout.clone(), stderr }
        .assert_said(4, &["No space left", "free some space"]);
    assert!(stdout.starts_with("FAILED"), "{stdout}");
    assert_eq!(diagnosed(&lab, &lab.scratch().join("record")).stdout, stdout);
    let left: Vec<_> = surroundings(disk.path()).into_keys().collect();
    assert!(left.iter().all(|path| path.ends_with("filler") || path.ends_with("lost+found")), "{left:?}");
}

#[test]
fn a_record_that_cannot_grow_is_reported_and_stays_readable() {
    let Some(lab) = lab() else { return };
    let disk = Mounted::ext4(&lab, "disk", 64, "rw");
    for kibibytes in [8, 24, 40, 64] {
        let small = Mounted::tmpfs(&lab, &format!("small{kibibytes}"), kibibytes << 10);
        let record = small.path().join("record");
        let seen = check(&lab, disk.path(), &["--out", record.to_str().unwrap()]);
        assert!(matches!(seen.code, Some(3 | 4)), "{kibibytes} KiB: {seen:#?}");
        seen.assert_said(seen.code.unwrap(), &["ENOSPC", "--out"]);
        if record.exists() {
            let again = see(&mut narrows(&lab, &["diagnose", record.to_str().unwrap()]));
            assert_eq!(
                (again.code, again.stdout),
                (seen.code, seen.stdout),
                "{kibibytes} KiB: {}",
                seen.stderr
            );
        } else {
            assert_eq!(fs::read_dir(small.path()).unwrap().count(), 0, "a part of a record is left");
        }
        let left: Vec<_> = surroundings(disk.path()).into_keys().collect();
        assert!(left.iter().all(|path| path.ends_with("lost+found")), "{left:?}");
    }
}

#[test]
fn a_file_system_without_direct_access_is_a_planned_skip_and_never_silently_buffered() {
    let Some(lab) = lab() else { return };
    // With its data in the journal ext4 accepts O_DIRECT and then uses the page cache all the same.
    let disk = Mounted::ext4(&lab, "disk", 64, "data=journal");
    let seen = check(&lab, disk.path(), &["--json", "--out", "record"]);
    seen.assert_said(0, &["record: record"]);
    let summary: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
    let skipped = summary["skipped"].as_array().unwrap();
    let reported = skipped.iter().find(|skip| skip["cell"].as_str().unwrap().starts_with("local-device/"));
    let reason =
        reported.unwrap_or_else(|| panic!("not among the skipped: {skipped:?}"))["reason"].as_str().unwrap();
    assert!(reason.contains("direct"), "{reason}");
    let cells = summary["cells"].as_array().unwrap();
    assert!(
        !cells.is_empty() && cells.iter().all(|cell| cell["requested"]["access"] == "buffered"),
        "{cells:?}"
    );
}
