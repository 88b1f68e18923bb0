//! Removal of what is in a folder, by descriptors: never through a link, never across a mount.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, statat, unlinkat};
use rustix::io::Errno;

use super::FileIdentity;
use super::own_folder::open_folder_in;

/// Folders in folders that are entered: a tree of folders that a load makes has up to 65 levels, in two folders of ours.
const DEPTH_MAX: u32 = 72;
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

/// Removes the open folder `folder`, which is `name` in the open folder `parent`, with the regular files in it for which
/// `is_known` holds; with anything else in it, nothing is removed.
///
/// # Errors
/// Why it stays, as a sentence: something else is in it, it was moved or replaced, or the system refuses.
///
/// # Source
/// fstatat(2) and unlinkat(2), from `folder` on.
pub fn remove_known(
    parent: &File,
    name: &OsStr,
    folder: &File,
    is_known: &dyn Fn(&OsStr) -> bool,
) -> Result<(), String> {
    let names = known_content(folder, is_known)?;
    if FileIdentity::from_name(parent, name) != FileIdentity::from_file(folder) {
        return Err("it was moved or replaced meanwhile".to_owned());
    }
    for file in names {
        unlinkat(folder, &file, AtFlags::empty())
            .map_err(|errno| format!("remove {}: {errno}", file.to_string_lossy().escape_debug()))?;
    }
    // An empty folder alone can be removed so.
    unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(|errno| format!("remove it: {errno}"))
}

/// The names in the open folder `folder`, all of which are of regular files for which `is_known` holds.
///
/// # Errors
/// That something else is in it, or that it cannot be listed, as a sentence.
pub fn known_content(folder: &File, is_known: &dyn Fn(&OsStr) -> bool) -> Result<Vec<OsString>, String> {
    let unlisted = |errno: Errno| format!("not looked through: {errno}");
    let mut names = Vec::new();
    for entry in Dir::read_from(folder).map_err(unlisted)? {
        let name = OsStr::from_bytes(entry.map_err(unlisted)?.file_name().to_bytes()).to_owned();
        if name == "." || name == ".." {
            continue;
        }
        let status = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(unlisted)?;
        if !is_known(&name) || FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(format!("{} in it is of somebody else", name.to_string_lossy().escape_debug()));
        }
        names.push(name);
    }
    Ok(names)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_with_known_files_alone_is_removed_and_any_other_stays_whole() {
        let parent = tempfile::tempdir().unwrap();
        let opened = File::open(parent.path()).unwrap();
        let at = |name: &str| parent.path().join(name);
        let name = OsStr::new("folder");
        let is_known = |name: &OsStr| name == "one" || name == "two";
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("folder/one"), "x").unwrap();
        let folder = File::open(at("folder")).unwrap();
        let remove = || remove_known(&opened, name, &folder, &is_known);
        fs::write(at("folder/other"), "mine").unwrap();
        assert!(remove().unwrap_err().contains("other in it"));
        fs::remove_file(at("folder/other")).unwrap();
        symlink("one", at("folder/two")).unwrap();
        assert!(remove().unwrap_err().contains("two in it"));
        fs::remove_file(at("folder/two")).unwrap();
        fs::rename(at("folder"), at("moved")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        assert!(remove().unwrap_err().contains("moved or replaced"));
        fs::remove_dir(at("folder")).unwrap();
        fs::rename(at("moved"), at("folder")).unwrap();
        assert!(at("folder/one").exists(), "nothing was removed yet");
        remove().unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
