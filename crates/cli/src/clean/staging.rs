//! Records whose making was killed: the folder in which a new record is filled before it gets its name.
//!
//! Such a folder has no marker: it is known by its name, its owner, and that nothing is in it but files of a record. Not
//! here: records, which are results.

use super::{CleanOutcome, user_name};
use crate::measurement::epoch_seconds;
use narrows_sys::file::{known_content, open_folder_in, remove_known};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Ending of the folder's name, and of a file of a record that is not whole.
const PARTIAL: &str = ".partial";
/// Digits of a record's id, before that ending.
const ID_DIGITS: usize = 16;
/// Files of a record.
const RECORD_FILES: [&str; 6] =
    ["manifest.json", "plan.json", "inventory.json", "events.jsonl", "samples.jsonl", "summary.json"];
/// Entries of a folder that are looked at.
const LOOKED_AT_MAX: usize = 1 << 20;
/// A record is filled in moments. One that has changed since may belong to a run that is about to begin.
const QUIET_AFTER_S: u64 = 60;

/// What was found in the folder at `dir`, open as `parent`, and what became of it, sorted by name; it is removed if that
/// `is_asked` for and allowed.
///
/// # Errors
/// When the folder cannot be listed.
pub(super) fn partial_records(
    parent: &File,
    dir: &Path,
    is_asked: bool,
) -> io::Result<Vec<(PathBuf, CleanOutcome)>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)?.take(LOOKED_AT_MAX) {
        names.extend(entry?.file_name().to_str().filter(|name| is_staging_name(name)).map(str::to_owned));
    }
    names.sort();
    let found = names.into_iter().filter_map(|name| {
        let path = dir.join(&name);
        let outcome = outcome(parent, &path, OsStr::new(&name), is_asked)?;
        Some((path, outcome))
    });
    Ok(found.collect())
}

/// Whether `name` is that of a folder in which a record is filled: `.NAME.ID.partial`.
fn is_staging_name(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(PARTIAL));
    inner.and_then(|inner| inner.rsplit_once('.')).is_some_and(|(record, id)| {
        !record.is_empty() && id.len() == ID_DIGITS && id.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Whether `name` is that of a file of a record, whole or not.
fn is_record_file(name: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    RECORD_FILES.contains(&name.strip_suffix(PARTIAL).unwrap_or(name))
}

/// What becomes of `name` in `parent`; `None` for what is no folder.
fn outcome(parent: &File, path: &Path, name: &OsStr, is_asked: bool) -> Option<CleanOutcome> {
    let status = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_dir)?;
    if status.uid() != narrows_sys::process::user_id() {
        return Some(CleanOutcome::Foreign(user_name(status.uid())));
    }
    let folder = match open_folder_in(parent, name) {
        Ok(folder) => folder,
        Err(error) => return Some(CleanOutcome::Stays(error.to_string())),
    };
    let changed_s = folder.metadata().ok().and_then(|status| u64::try_from(status.mtime()).ok());
    if changed_s.is_none_or(|changed_s| epoch_seconds() <= changed_s.saturating_add(QUIET_AFTER_S)) {
        return Some(CleanOutcome::Recent);
    }
    let done = if is_asked {
        remove_known(parent, name, &folder, &is_record_file).map(|()| CleanOutcome::Removed)
    } else {
        known_content(&folder, &is_record_file).map(|_| CleanOutcome::Removable)
    };
    Some(done.unwrap_or_else(CleanOutcome::Stays))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_records_that_are_being_filled_are_looked_at() {
        for name in [".a.0123456789abcdef.partial", ".narrows-record-2.b.0123456789abcdef.partial"] {
            assert!(is_staging_name(name), "{name}");
        }
        for name in [
            "..0123456789abcdef.partial",
            ".a.0123456789abcde.partial",
            ".a.0123456789abcdeg.partial",
            "a.0123456789abcdef.partial",
            ".a.0123456789abcdef.partial.part",
            ".a.partial",
        ] {
            assert!(!is_staging_name(name), "{name}");
        }
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
}
