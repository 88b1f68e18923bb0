//! What is opened, read and removed where somebody else has put links, pipes and mounts.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use super::super::{Create, FileAccess, remove_content};
use super::*;
use crate::denied_calls::{DeniedCall, deny_in_this_thread};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

const NEW: OpenMode = OpenMode {
    access: FileAccess::ReadWrite,
    caching: super::super::Caching::Buffered,
    write_done: super::super::WriteDone::Accepted,
    create: Create::New,
};

fn raw<T: std::fmt::Debug>(answer: Result<T>) -> i32 {
    answer.unwrap_err().errno().raw()
}

#[test]
fn a_folder_is_for_its_user_alone() {
    let parent = tempfile::tempdir().unwrap();
    let opened = File::open(parent.path()).unwrap();
    let made = make_folder(&opened, OsStr::new("own")).unwrap();
    assert_eq!(made.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
    assert_eq!(raw(make_folder(&opened, OsStr::new("own"))), libc::EEXIST);
}

#[test]
fn a_folder_with_content_or_one_that_was_renamed_is_not_taken_for_a_new_one() {
    let parent = tempfile::tempdir().unwrap();
    let opened = File::open(parent.path()).unwrap();
    let raw_errno = |answer: std::result::Result<(), Errno>| answer.unwrap_err().raw_os_error();
    let new = make_folder(&opened, OsStr::new("own")).unwrap();
    assert_eq!((refuse_renamed(&new), refuse_content(&new)), (Ok(()), Ok(())));
    fs::write(parent.path().join("own/file"), "mine").unwrap();
    assert_eq!(raw_errno(refuse_content(&new)), libc::EEXIST);
    let old = parent.path().join("old");
    fs::create_dir(&old).unwrap();
    // Its content changed an hour ago; what sets that is a change of its status now, as a rename is.
    let past = File::open(&old).unwrap().metadata().unwrap().modified().unwrap();
    let past = past - std::time::Duration::from_hours(1);
    File::open(&old).unwrap().set_modified(past).unwrap();
    fs::rename(&old, parent.path().join("renamed")).unwrap();
    assert_eq!(raw_errno(refuse_renamed(File::open(parent.path().join("renamed")).unwrap())), libc::EEXIST);
}

fn refuses_links_pipes_and_paths(folder: &Path) {
    let opened = File::open(folder).unwrap();
    let read = |name: &str| open_own(&opened, OsStr::new(name), OpenMode::default(), 0);
    assert_eq!(raw(read("link")), libc::ELOOP);
    assert_eq!(raw(read("pipe")), libc::EINVAL);
    assert_eq!(raw(read("../file")), libc::EINVAL);
    assert_eq!(raw(open_own(&opened, OsStr::new("link"), NEW, 0o600)), libc::EEXIST);
    assert!(matches!(raw(open_folder_in(&opened, OsStr::new("linked"))), libc::ELOOP | libc::ENOTDIR));
    assert!(read("file").is_ok() && open_folder_in(&opened, OsStr::new("inner")).is_ok());
}

#[test]
fn nothing_is_opened_through_a_link_with_openat2_and_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "mine").unwrap();
    fs::create_dir(at("inner")).unwrap();
    symlink(at("file"), at("link")).unwrap();
    symlink(at("inner"), at("linked")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    refuses_links_pipes_and_paths(folder.path());
    let path = folder.path().to_path_buf();
    let without = std::thread::spawn(move || {
        deny_in_this_thread(DeniedCall::ConfinedOpen, SysErrno::from_raw(libc::ENOSYS)).unwrap();
        refuses_links_pipes_and_paths(&path);
    });
    without.join().unwrap();
}

#[test]
fn what_is_there_is_read_without_waiting_and_in_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "12345").unwrap();
    symlink(at("file"), at("link")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    assert_eq!(read_small(&at("file"), 5).unwrap(), b"12345");
    assert_eq!(raw(read_small(&at("file"), 4)), libc::EFBIG);
    assert_eq!(raw(read_small(&at("link"), 5)), libc::ELOOP);
    assert_eq!(raw(read_small(&at("pipe"), 5)), libc::EINVAL);
    assert_eq!(raw(read_small(folder.path(), 5)), libc::EISDIR);
}

/// A mount of `from` on `at` that ends with this value.
struct Bound(std::path::PathBuf);

impl Bound {
    fn mount(from: &Path, at: &Path) -> Option<Self> {
        let done = Command::new("mount").arg("--bind").args([from, at]).output().unwrap();
        if !done.status.success() {
            drop(writeln!(std::io::stderr(), "skipped: this user may not mount"));
            return None;
        }
        Some(Self(at.to_path_buf()))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        assert!(Command::new("umount").arg(&self.0).status().unwrap().success());
    }
}

fn leaves_the_mounts(folder: &Path) {
    let left = remove_content(&File::open(folder).unwrap(), &|name| name == "kept");
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().all(|line| line.contains("mounted")), "{left:?}");
}

#[test]
fn removal_follows_no_link_and_crosses_no_mount() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    fs::write(other.path().join("precious"), "mine").unwrap();
    let build = || {
        fs::create_dir_all(at("deep/inner/empty")).unwrap();
        for name in ["kept", "data-0", "deep/inner/file", "onto"] {
            fs::write(at(name), "x").unwrap();
        }
        symlink(other.path(), at("deep/link")).unwrap();
        fs::create_dir_all(at("deep/mounted")).unwrap();
    };
    build();
    if let Some(_bound) = Bound::mount(other.path(), &at("deep/mounted"))
        && let Some(_file) = Bound::mount(&other.path().join("precious"), &at("onto"))
    {
        leaves_the_mounts(folder.path());
        build_again(&at("deep/inner"));
        let path = folder.path().to_path_buf();
        let without = std::thread::spawn(move || {
            deny_in_this_thread(DeniedCall::ConfinedOpen, SysErrno::from_raw(libc::ENOSYS)).unwrap();
            leaves_the_mounts(&path);
        });
        without.join().unwrap();
    }
    let left = remove_content(&File::open(folder.path()).unwrap(), &|name| name == "kept");
    assert_eq!(left, Vec::<String>::new());
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["kept"]);
    assert_eq!(fs::read_to_string(other.path().join("precious")).unwrap(), "mine");
}

#[test]
fn a_tree_as_deep_as_a_load_makes_is_removed_whole() {
    // 65 levels below a set's folder in a folder of ours.
    let folder = tempfile::tempdir().unwrap();
    let deepest = (0..67).fold(folder.path().to_path_buf(), |path, level| path.join(format!("tree.{level}")));
    build_again(&deepest);
    let left = remove_content(&File::open(folder.path()).unwrap(), &|_| false);
    assert_eq!((left, fs::read_dir(folder.path()).unwrap().count()), (Vec::<String>::new(), 0));
}

fn build_again(inner: &Path) {
    fs::create_dir_all(inner).unwrap();
    fs::write(inner.join("file"), "x").unwrap();
}

#[test]
fn a_link_is_followed_where_nobody_else_can_have_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let rights = |mode: u32| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    fs::create_dir(at("..data")).unwrap();
    fs::write(at("..data/token"), "12345").unwrap();
    symlink("..data/token", at("token")).unwrap();
    symlink("token", at("second")).unwrap();
    symlink("round", at("round")).unwrap();
    let read = |name: &str| read_small_through_links(&at(name), 5);
    for mode in [0o700, 0o755, 0o1777] {
        rights(mode);
        assert_eq!(read("token").unwrap(), b"12345", "{mode:o}");
        assert_eq!(read("second").unwrap(), b"12345", "{mode:o}");
    }
    for mode in [0o770, 0o777] {
        rights(mode);
        assert_eq!(raw(read("token")), libc::ELOOP, "{mode:o}");
    }
    rights(0o700);
    assert_eq!(raw(read("round")), libc::ELOOP);
    if std::os::unix::fs::lchown(at("token"), Some(61_001), Some(61_001)).is_err() {
        drop(writeln!(std::io::stderr(), "skipped in part: only root may give files away"));
        return;
    }
    assert_eq!(raw(read("token")), libc::ELOOP, "another user's link");
}
