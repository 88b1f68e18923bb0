//! Records whose making was killed: what becomes of the folder in which a new record is filled before it gets its name.
//!
//! Such a folder has no marker: it is known by its name, its owner, and that nothing is in it but files of a record. Not
//! here: how those folders are found, and records, which are results.

use super::{CleanOutcome, user_name};
use crate::measurement::epoch_seconds;
use narrows_record::{StagingFolder, staging_folders};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A record is filled in moments. One that has changed since may belong to a run on another machine that is about to begin.
const QUIET_AFTER_S: u64 = 60;

/// What was found in the folder at `dir`, open as `parent`, and what became of it, sorted by name; it is removed if that
/// `is_asked` for and allowed.
///
/// # Errors
/// When the folder cannot be listed.
pub(super) fn partial_records(
    parent: &Arc<File>,
    dir: &Path,
    is_asked: bool,
) -> io::Result<Vec<(PathBuf, CleanOutcome)>> {
    let found = staging_folders(parent)?.into_iter();
    Ok(found.map(|folder| (dir.join(folder.name()), outcome(&folder, is_asked))).collect())
}

/// What becomes of `folder`.
fn outcome(folder: &StagingFolder, is_asked: bool) -> CleanOutcome {
    if folder.user_id() != narrows_sys::process::user_id() {
        return CleanOutcome::Foreign(user_name(folder.user_id()));
    }
    if folder.is_being_filled() {
        return CleanOutcome::InUse;
    }
    let is_recent = folder.changed_s().is_some_and(|changed_s| epoch_seconds() <= changed_s + QUIET_AFTER_S);
    let done = if is_recent {
        Ok(CleanOutcome::Recent)
    } else if is_asked {
        folder.remove().map(|()| CleanOutcome::Removed)
    } else {
        folder.check_content().map(|()| CleanOutcome::Removable)
    };
    done.unwrap_or_else(CleanOutcome::Stays)
}
