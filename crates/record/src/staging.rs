//! Folders in which records are begun: `.NAME.ID.partial` beside NAME, left behind by a process that was killed before it
//! gave the folder its name.
//!
//! Not here: how they are made and filled, which is the writer's, and what is done about those that are left.

use crate::files::{EVENTS, INVENTORY, MANIFEST, PARTIAL, PLAN, SAMPLES, SUMMARY};
use narrows_sys::file::{known_content, open_folder_in, remove_known};
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, flock, fstat, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

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

/// A folder with the name of one in which a record is begun, which anybody may have made.
#[derive(Debug)]
pub struct StagingFolder {
    name: OsString,
    parent: Arc<File>,
    /// The reason where this user may not look into it, or something is mounted on it.
    folder: Result<File, String>,
    user_id: u32,
}

impl StagingFolder {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Its owner.
    #[must_use]
    pub fn user_id(&self) -> u32 {
        self.user_id
    }

    /// Whether a process of this machine fills it.
    ///
    /// A process on another machine that shares the storage is not seen: whoever removes such a folder leaves those alone
    /// that were changed a short time ago, since a folder is filled within seconds. Some file systems of networks lock no
    /// folders.
    ///
    /// # Source
    /// flock(2): the lock of a folder ends with the process that has it.
    #[must_use]
    pub fn is_being_filled(&self) -> bool {
        let Ok(folder) = &self.folder else { return false };
        flock(folder, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
    }

    /// When a name in it was made or removed last, in seconds of the epoch; `None` where that is not known.
    #[must_use]
    pub fn changed_s(&self) -> Option<u64> {
        u64::try_from(fstat(self.folder.as_ref().ok()?).ok()?.st_mtime).ok()
    }

    /// Finds that nothing is in it but files of a record.
    ///
    /// # Errors
    /// What else is in it, or why that is not known, as a sentence.
    pub fn check_content(&self) -> Result<(), String> {
        known_content(self.folder.as_ref()?, &is_record_file).map(drop)
    }

    /// Removes it, if nothing is in it but files of a record.
    ///
    /// # Errors
    /// Why it stays, as a sentence.
    pub fn remove(&self) -> Result<(), String> {
        remove_known(&self.parent, &self.name, self.folder.as_ref()?, &is_record_file)
    }
}

/// The folders in the open folder `parent` with names of such in which records are begun, sorted by name: no link and no
/// file.
///
/// # Errors
/// When `parent` cannot be listed.
///
/// # Cost
/// Lists `parent`, a million names of it at most, and opens what has such a name.
pub fn staging_folders(parent: &Arc<File>) -> io::Result<Vec<StagingFolder>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(parent)?.take(LOOKED_AT_MAX) {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if is_staging_name(name) {
            found.extend(staging_folder(parent, name));
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn staging_folder(parent: &Arc<File>, name: &OsStr) -> Option<StagingFolder> {
    let status = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let folder = open_folder_in(parent, name).map_err(|error| error.to_string());
    let user_id = folder.as_ref().ok().and_then(|folder| fstat(folder).ok()).unwrap_or(status).st_uid;
    (FileType::from_raw_mode(status.st_mode) == FileType::Directory).then(|| StagingFolder {
        name: name.to_owned(),
        parent: Arc::clone(parent),
        folder,
        user_id,
    })
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

/// Whether `name` is that of a file of a record, whole or not.
fn is_record_file(name: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    let whole = name.strip_suffix(PARTIAL).unwrap_or(name);
    [MANIFEST, PLAN, INVENTORY, EVENTS, SAMPLES, SUMMARY].contains(&whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// A name that a run gives its unfinished record `name`.
    fn staging(name: &str, id: u64) -> String {
        staging_name(OsStr::new(name), &format!("{id:016x}")).into_string().unwrap()
    }

    /// The names of those that are listed around `folder`, with whether a process fills them.
    fn listed(folder: &Path) -> Vec<(String, bool)> {
        let found = staging_folders(&Arc::new(File::open(folder).unwrap())).unwrap();
        let listed =
            found.iter().map(|found| (found.name().to_str().unwrap().to_owned(), found.is_being_filled()));
        listed.collect()
    }

    #[test]
    fn folders_in_which_records_were_begun_are_listed_and_nothing_else() {
        let around = tempfile::tempdir().unwrap();
        let at = |name: &str| around.path().join(name);
        let (killed, busy) = (staging("record", 0x01_23ab), staging("record.old", u64::MAX));
        assert_eq!(killed, ".record.00000000000123ab.partial");
        for name in [&killed, &busy, ".a.b.partial", &killed[1..]] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at(&staging("file", 1)), "a file").unwrap();
        std::os::unix::fs::symlink(&killed, at(&staging("link", 1))).unwrap();
        // The lock is that of an opened file, whoever has it.
        let filled = File::open(at(&busy)).unwrap();
        flock(&filled, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(listed(around.path()), [(killed.clone(), false), (busy.clone(), true)]);
        flock(&filled, FlockOperation::Unlock).unwrap();
        assert_eq!(listed(around.path()), [(killed, false), (busy, false)]);
    }

    #[test]
    fn one_is_removed_with_files_of_a_record_alone() {
        let around = tempfile::tempdir().unwrap();
        let at = around.path().join(staging("record", 1));
        fs::create_dir(&at).unwrap();
        fs::write(at.join("plan.json.partial"), "{").unwrap();
        fs::write(at.join("thesis.txt"), "years").unwrap();
        let found = staging_folders(&Arc::new(File::open(around.path()).unwrap())).unwrap().remove(0);
        for refused in [found.check_content(), found.remove()] {
            assert_eq!(refused.unwrap_err(), "thesis.txt in it is of somebody else");
        }
        assert!(at.join("plan.json.partial").exists());
        fs::remove_file(at.join("thesis.txt")).unwrap();
        found.check_content().unwrap();
        found.remove().unwrap();
        assert!(!at.exists());
    }

    #[test]
    fn a_record_that_is_begun_is_being_filled_until_its_writer_is_gone() {
        let around = tempfile::tempdir().unwrap();
        let mut manifest = crate::samples::manifest();
        manifest.record_id = format!("{:016x}", 7);
        let (plan, inventory) = (crate::samples::plan(1), crate::samples::inventory());
        let begun = crate::writer::begun(&around.path().join("record"), &manifest, &plan, &inventory);
        assert_eq!(listed(around.path()), [(staging("record", 7), true)]);
        drop(begun);
        // A child process that another test starts at this moment has the lock too until it runs its program.
        let expected = [(staging("record", 7), false)];
        assert!((0..10_000).any(|_| {
            std::thread::yield_now();
            listed(around.path()) == expected
        }));
    }

    #[test]
    fn a_file_of_a_record_is_known_whole_and_partial() {
        for name in ["plan.json", "manifest.json.partial", "events.jsonl"] {
            assert!(is_record_file(OsStr::new(name)), "{name}");
        }
        for name in ["thesis.txt", "plan.json.partial.partial", ".partial", ""] {
            assert!(!is_record_file(OsStr::new(name)), "{name}");
        }
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
            ".a.0123456789abcdef.partial.part",
            ".a.partial",
        ] {
            assert!(!is_staging_name(OsStr::new(name)), "{name}");
        }
        assert!(is_staging_name(OsStr::new(".a.0123456789abcdef.partial")));
    }
}
