//! Unmounts what is mounted below a folder, the last mount first.
//!
//! It mounts nothing, and touches nothing outside of the folder that it is given.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use crate::error::{Error, Result};

/// Unmounts every file system at or below a folder; one that a process still uses is detached and disappears when it is
/// released.
///
/// # Errors
/// The first refusal; the others were tried nevertheless.
pub fn unmount_below(folder: &Path) -> Result<()> {
    let table = "/proc/self/mountinfo";
    let text = fs::read(table).map_err(|source| Error::os("read", table, source))?;
    // A folder that is not there has no mounts; a link to it is not what the table names.
    let Ok(folder) = fs::canonicalize(folder) else { return Ok(()) };
    let outcomes: Vec<Result<()>> =
        points_below(&text, &folder).iter().rev().map(|point| remove(point)).collect();
    outcomes.into_iter().collect()
}

fn remove(point: &Path) -> Result<()> {
    let outcome = match unmount(point, UnmountFlags::empty()) {
        Err(Errno::BUSY) => unmount(point, UnmountFlags::DETACH),
        other => other,
    };
    match outcome {
        // Another mount took it along.
        Err(Errno::INVAL | Errno::NOENT) | Ok(()) => Ok(()),
        Err(errno) => Err(Error::os("unmount", point.display().to_string(), errno)),
    }
}

/// The mount points below a folder in the kernel's order, which is that of mounting.
///
/// Source: `proc_pid_mountinfo(5)`: the fifth field, with space, tab, line feed and backslash as octal numbers.
fn points_below(mountinfo: &[u8], folder: &Path) -> Vec<PathBuf> {
    let lines = mountinfo.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4)).map(unescaped);
    points.filter(|point| point.starts_with(folder)).collect()
}

fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal =
            after.get(..3).filter(|_| first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let code = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
        40 22 0:30 / /lab/a/images rw - tmpfs tmpfs rw\n\
        41 22 0:31 / /lab/a/slow rw - fuse delaydisk rw\n\
        42 22 7:0 / /lab/a/disk\\0400 rw - ext4 /dev/loop0 rw\n\
        43 22 7:1 / /lab/another rw - ext4 /dev/loop1 rw\n";

    #[test]
    fn only_what_is_below_the_folder_is_found_in_the_order_of_mounting() {
        let expected = ["/lab/a/images", "/lab/a/slow", "/lab/a/disk 0"].map(PathBuf::from);
        assert_eq!(points_below(TABLE, Path::new("/lab/a")), expected);
        assert!(points_below(TABLE, Path::new("/lab/an")).is_empty());
    }

    #[test]
    fn a_backslash_without_a_number_is_itself() {
        assert_eq!(unescaped(b"a\\040b\\9\\"), Path::new("a b\\9\\"));
    }

    #[test]
    fn a_folder_without_mounts_or_without_being_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        unmount_below(folder.path()).unwrap();
        unmount_below(&folder.path().join("nothing")).unwrap();
    }
}
