//! Folders in which records are begun: `.NAME.ID.partial` beside NAME, left behind by a process that was killed before it
//! gave the folder its name.
//!
//! Not here: how they are made and filled, which is the writer's, and what is done about those that are left.

use crate::files::{EVENTS, INVENTORY, MANIFEST, PARTIAL, PLAN, SAMPLES, SUMMARY};
use narrows_sys::file::{FolderRights, open_folder_in};
use rustix::fs::{Dir, FlockOperation, flock};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Characters of a run's name in the name of the folder at most.
const ID_CHARS_MAX: usize = 64;
/// Digits of the name that the command gives a run.
const ID_DIGITS: usize = 16;
/// Names that are looked at in a folder at most.
const LOOKED_AT_MAX: usize = 1 << 20;

/// The passing name of the record `name` of the run `record_id`.
pub(crate) fn staging_name(name: &OsStr, record_id: &str) -> OsString {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let id: String =
        record_id.chars().map(|c| if is_plain(&c) { c } else { '_' }).take(ID_CHARS_MAX).collect();
    let mut staging = OsString::from(".");
    staging.push(name);
    staging.push(format!(".{id}{PARTIAL}"));
    staging
}

/// The folders in `dir` in which records of this user were begun by processes that have ended, sorted.
///
/// One has the name of such a folder, nothing in it but what a record starts with, and no process on this machine that
/// fills it. A process on another machine that shares the storage is not seen: whoever removes such a folder leaves those
/// alone that were changed a short time ago, since a folder is filled within seconds.
///
/// # Errors
/// When `dir` cannot be listed.
///
/// # Cost
/// Lists `dir`, a million names of it at most, and opens what has such a name.
///
/// # Source
/// flock(2): the lock of a folder ends with the process that has it.
pub fn abandoned_staging(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let around = File::open(dir)?;
    let mut found = Vec::new();
    for entry in Dir::read_from(&around)?.take(LOOKED_AT_MAX) {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if is_staging_name(name) && open_folder_in(&around, name).is_ok_and(|folder| is_abandoned(&folder)) {
            found.push(dir.join(name));
        }
    }
    found.sort();
    Ok(found)
}

/// Whether `name` is one that [`staging_name`] gives for a run of the command.
fn is_staging_name(name: &OsStr) -> bool {
    let parts = name
        .as_bytes()
        .strip_prefix(b".")
        .and_then(|rest| rest.strip_suffix(PARTIAL.as_bytes()))
        .and_then(|rest| rest.split_at_checked(rest.len().checked_sub(ID_DIGITS + 1)?));
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    parts.is_some_and(|(name, id)| !name.is_empty() && id[0] == b'.' && id[1..].iter().all(is_digit))
}

fn is_abandoned(folder: &File) -> bool {
    let is_ours = FolderRights::from_folder(folder).is_ok_and(|rights| rights.is_of_this_user);
    is_ours && has_only_a_start(folder) && flock(folder, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Whether nothing is in `folder` but files that a record starts with.
fn has_only_a_start(folder: &File) -> bool {
    let Ok(mut entries) = Dir::read_from(folder) else { return false };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name().to_string_lossy();
            let whole = name.strip_suffix(PARTIAL).unwrap_or(&name);
            [".", "..", MANIFEST, PLAN, INVENTORY, EVENTS, SAMPLES, SUMMARY].contains(&whole)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A name that a run gives its unfinished record `name`.
    fn staging(name: &str, id: u64) -> String {
        staging_name(OsStr::new(name), &format!("{id:016x}")).into_string().unwrap()
    }

    #[test]
    fn folders_of_ended_processes_are_listed_and_nothing_else() {
        let around = tempfile::tempdir().unwrap();
        let at = |name: &str| around.path().join(name);
        let (killed, busy) = (staging("record", 0x01_23ab), staging("record.old", u64::MAX));
        assert_eq!(killed, ".record.00000000000123ab.partial");
        let other = staging("other", 1);
        for name in [&killed, &busy, &other, ".a.b.partial", &killed[1..]] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at(&killed).join("plan.json.partial"), "{").unwrap();
        fs::write(at(&other).join("thesis.txt"), "years").unwrap();
        fs::write(at(&staging("file", 1)), "a file").unwrap();
        std::os::unix::fs::symlink(&killed, at(&staging("link", 1))).unwrap();
        // The lock is that of an opened file, whoever has it.
        let filled = File::open(at(&busy)).unwrap();
        flock(&filled, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(abandoned_staging(around.path()).unwrap(), [at(&killed)]);
        flock(&filled, FlockOperation::Unlock).unwrap();
        assert_eq!(abandoned_staging(around.path()).unwrap(), [at(&killed), at(&busy)]);
        assert!(abandoned_staging(&at("missing")).is_err());
    }

    #[test]
    fn a_record_that_is_begun_is_listed_once_its_writer_is_gone() {
        let around = tempfile::tempdir().unwrap();
        let mut manifest = crate::samples::manifest();
        manifest.record_id = format!("{:016x}", 7);
        let (plan, inventory) = (crate::samples::plan(1), crate::samples::inventory());
        let begun = crate::writer::begun(&around.path().join("record"), &manifest, &plan, &inventory);
        assert!(abandoned_staging(around.path()).unwrap().is_empty());
        drop(begun);
        // A child process that another test starts at this moment has the lock too until it runs its program.
        let listed = (0..10_000).map(|_| {
            std::thread::yield_now();
            abandoned_staging(around.path()).unwrap()
        });
        let expected = [around.path().join(staging("record", 7))];
        assert!(listed.into_iter().any(|listed| listed == expected));
    }

    #[test]
    fn names_of_others_are_no_staging_names() {
        for name in [
            "",
            ".",
            ".partial",
            "..0123456789abcdef.partial",
            "a.0123456789abcdef.partial",
            ".a.0123456789abcdeF.partial",
            ".a.123456789abcdef.partial",
            ".a-0123456789abcdef.partial",
        ] {
            assert!(!is_staging_name(OsStr::new(name)), "{name}");
        }
        assert!(is_staging_name(OsStr::new(".a.0123456789abcdef.partial")));
    }
}
