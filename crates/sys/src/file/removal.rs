//! Removal of what is in a folder, by descriptors: never through a link, never across a mount.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, unlinkat};
use rustix::io::Errno;

use super::own_folder::open_folder_in;

/// Folders in folders that are entered; programs make two.
const DEPTH_MAX: u32 = 16;
/// Passes over a folder: a file system may leave names out of a listing while others are removed.
const PASSES_MAX: u32 = 4;
/// Entries that are named at most.
const LEFT_MAX: usize = 8;
const MOUNTED: &str = "something is mounted on it; unmount it";

/// Removes what is in the open folder `folder` but the names for which `stays` is true, and returns what could not be
/// removed: its path from the folder on, and why. Empty where all is gone; at most eight entries.
///
/// A link is removed, not followed. A folder on which something is mounted stays with all that is in it.
///
/// # Source
/// openat2(2) with `RESOLVE_NO_XDEV`; unlinkat(2) answers `EBUSY` for a file on which something is mounted.
pub fn remove_content(folder: &File, stays: &dyn Fn(&OsStr) -> bool) -> Vec<String> {
    let mut left = Vec::new();
    for _ in 0..2 {
        if left.is_empty() {
            remove_level(folder, "", DEPTH_MAX, stays, &mut left);
        }
    }
    left
}

fn remove_level(
    folder: &File,
    place: &str,
    depth_left: u32,
    stays: &dyn Fn(&OsStr) -> bool,
    left: &mut Vec<String>,
) {
    let mut note = |what: &str, why: &str| {
        if left.len() < LEFT_MAX {
            left.push(format!("{what}: {why}"));
        }
    };
    let entries = match Dir::read_from(folder) {
        Ok(entries) => entries,
        Err(errno) => return note(place, &errno.to_string()),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let name = match &entry {
            Ok(entry) => OsStr::from_bytes(entry.file_name().to_bytes()),
            Err(errno) => return note(place, &errno.to_string()),
        };
        if name == "." || name == ".." || stays(name) {
            continue;
        }
        let shown = format!("{place}{}", name.to_string_lossy().escape_debug());
        match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            // POSIX answers EPERM for a folder.
            Err(Errno::ISDIR | Errno::PERM) if depth_left > 0 => folders.push((name.to_owned(), shown)),
            Err(Errno::BUSY) => note(&shown, MOUNTED),
            Err(errno) => note(&shown, &errno.to_string()),
        }
    }
    for (name, shown) in folders {
        let why = match open_folder_in(folder, &name) {
            Ok(inner) => {
                remove_folder(folder, &name, (&inner, &format!("{shown}/")), depth_left - 1, left);
                continue;
            }
            Err(error) if error.errno().raw() == Errno::XDEV.raw_os_error() => MOUNTED.to_owned(),
            Err(error) => error.to_string(),
        };
        left.push(format!("{shown}: {why}"));
    }
}

/// Removes the folder `name`, open as `inner` with its place, with all that is in it.
fn remove_folder(folder: &File, name: &OsStr, inner: (&File, &str), depth_left: u32, left: &mut Vec<String>) {
    let before = left.len();
    for _ in 0..PASSES_MAX {
        remove_level(inner.0, inner.1, depth_left, &|_| false, left);
        if left.len() > before {
            return;
        }
        match unlinkat(folder, name, AtFlags::REMOVEDIR) {
            Ok(()) => return,
            Err(Errno::NOTEMPTY) => {}
            Err(errno) => return left.push(format!("{}: {errno}", inner.1)),
        }
    }
    left.push(format!("{}: files are added to it as fast as they are removed", inner.1));
}
