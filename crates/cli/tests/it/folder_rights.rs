//! The folder of a check while it is used and when it is removed: for its user alone under any umask, and what is mounted
//! below it stays.

use crate::support::running::{Running, wait_for_phases, waited};
use crate::support::{Surroundings, narrows, run, strangers_folder};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A user without an account, whose rights count, unlike those of root.
const USER: u32 = 61_001;
/// A load that lasts for a minute; its file is small.
const STUDY: &str = "title = \"rights\"\ntarget = \"target\"\nseconds = 120\n[workload]\nfile = \"1MiB\"\n\
                     [stop]\nmeasure = \"60s\"\ntrials = 1\n";

fn skip(why: &str) {
    drop(writeln!(std::io::stderr(), "skipped: {why}"));
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// The test folder in `target` of `folder`, once its file is there.
#[track_caller]
fn test_folder(folder: &Path) -> PathBuf {
    let find = || {
        let entries = fs::read_dir(folder.join("target")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.into_iter().find(|path| path.join("made-by-narrows").exists() && path.join("data-0").exists())
    };
    assert!(waited(Duration::from_mins(1), || find().is_some()), "no test folder with a file");
    find().unwrap()
}

/// Fails unless a run with the umask `umask` makes its folder, file and record for its user alone, and leaves the record.
fn assert_for_its_user_alone(umask: &str) {
    let folder = strangers_folder();
    fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    let before = Surroundings::of(folder.path());
    let binary = narrows(folder.path(), &[]);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("umask {umask}; exec \"$0\" run study.toml --out record")]);
    command.arg(binary.get_program()).current_dir(folder.path());
    if fs::metadata(folder.path()).unwrap().uid() == 0 {
        for name in ["", "target"] {
            chown(folder.path().join(name), Some(USER), Some(USER)).unwrap();
        }
        command.uid(USER).gid(USER);
    }
    let running = Running::start_command(command);
    let record = folder.path().join("record");
    // The first cell, of the generator alone, has no file.
    wait_for_phases(&record, &["measure"], 2);
    let own = test_folder(folder.path());
    assert_eq!(
        [mode(&own), mode(&own.join("data-0")), mode(&record)],
        [0o700, 0o600, 0o700],
        "umask {umask}"
    );
    assert_eq!(mode(&own.join("made-by-narrows")), 0o600, "umask {umask}");
    running.signal("TERM");
    let seen = running.end();
    seen.assert_said(4, &["record: record"]);
    fs::remove_dir_all(&record).unwrap();
    before.assert_same(folder.path());
}

#[test]
fn a_folder_is_for_its_user_alone_without_a_umask() {
    assert_for_its_user_alone("0");
}

#[test]
fn a_folder_is_for_its_user_alone_and_usable_with_a_umask_of_all_rights() {
    assert_for_its_user_alone("0777");
}

/// A mount of `from` on `at` that ends with this value.
struct Bound(PathBuf);

impl Bound {
    fn mount(from: &Path, at: &Path) -> Option<Self> {
        let done = Command::new("mount").arg("--bind").args([from, at]).output().unwrap();
        done.status.success().then(|| Self(at.to_path_buf()))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        assert!(Command::new("umount").arg(&self.0).status().unwrap().success());
    }
}

#[test]
fn a_mount_below_the_test_folder_stays_and_ends_the_check_with_exit_4() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("precious"), "mine").unwrap();
    let words = ["check", "target", "--out", "record", "--op", "read", "--block", "4KiB", "--depth", "1"];
    let times = ["--cell-seconds", "0.2", "--seconds", "600"];
    let running = Running::start(folder.path(), &[&words[..], &times].concat());
    let own = test_folder(folder.path());
    fs::create_dir(own.join("inner")).unwrap();
    let Some(bound) = Bound::mount(other.path(), &own.join("inner")) else {
        skip("this user may not mount");
        return;
    };
    running.signal("TERM");
    let seen = running.end();
    let name = own.file_name().unwrap().to_str().unwrap();
    let said =
        format!("test folder target/{name}: not removed: inner: something is mounted on it; unmount it");
    seen.assert_said(4, &[&said]);
    assert_eq!(fs::read_to_string(other.path().join("precious")).unwrap(), "mine");
    assert!(own.join("made-by-narrows").is_file() && !own.join("data-0").exists(), "{seen:?}");
    // Nor does the command that removes what is left cross it.
    let cleaned = run(folder.path(), &["clean", "target", "--remove"]);
    assert_eq!(
        (cleaned.code, cleaned.stdout.contains("something is mounted on it")),
        (Some(4), true),
        "{cleaned:?}"
    );
    drop(bound);
    assert_eq!(run(folder.path(), &["clean", "target", "--remove"]).code, Some(0));
    assert!(other.path().join("precious").exists());
    fs::remove_dir_all(folder.path().join("record")).unwrap();
    before.assert_same(folder.path());
}
