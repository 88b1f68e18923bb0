//! The folder that a record gets: a new one under a passing name until it is filled, or an empty one that was there.
//!
//! Other users may write in the folder around it: what has its name is compared with what was made.

use crate::error::{ErrorKind, RecordError};
use crate::files::{EVENTS, INVENTORY, MANIFEST, PLAN, SAMPLES, SUMMARY};
use crate::folder::{OpenFolder, from_sys, replaced};
use crate::staging::staging_name;
use narrows_sys::access::may_make_files_in;
use narrows_sys::file::{
    FolderRights, RenameMode, is_empty_folder, make_folder, open_folder, open_folder_in, open_place,
    remove_folder_in, rename_in,
};
use rustix::fs::{FlockOperation, flock};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

const OPERATION: &str = "create the record in";

/// A folder that is ours to fill.
#[derive(Debug)]
pub(super) struct RecordFolder {
    folder: OpenFolder,
    /// The folder that is filled and then renamed; `None` fills one that was there.
    staged: Option<StagedName>,
}

/// The passing name of a folder, and the one that it gets.
#[derive(Debug)]
struct StagedName {
    around: File,
    passing: OsString,
    name: OsString,
    /// The path with that name.
    dir: PathBuf,
}

impl RecordFolder {
    /// A place for `dir`, which must not exist or be an empty folder that is this user's alone.
    pub(super) fn claim(dir: &Path, record_id: &str) -> Result<Self, RecordError> {
        // A separator at the end would follow a link.
        let dir: PathBuf = dir.components().collect();
        match open_folder(&dir).map_err(|error| from_sys(&error)) {
            Ok(opened) => Self::existing(&dir, opened),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::in_staging(dir, record_id),
            Err(error) => Err(Self::refused(&dir, error)),
        }
    }

    /// Why `dir`, which could not be opened because of `error`, is no folder for a record.
    fn refused(dir: &Path, error: io::Error) -> RecordError {
        if !dir.is_symlink() {
            return RecordError::io(OPERATION, dir, error);
        }
        RecordError::found(
            ErrorKind::Occupied,
            OPERATION,
            dir,
            "it is a symbolic link, which others could lead elsewhere during the run",
            "name the folder itself, or one that does not exist yet, with --out; nothing was changed",
        )
    }

    /// Whether a record may be made at `dir`; nothing is changed.
    pub(super) fn check(dir: &Path) -> Result<(), RecordError> {
        let dir: PathBuf = dir.components().collect();
        match open_folder(&dir).map_err(|error| from_sys(&error)) {
            Ok(opened) => Self::existing(&dir, opened).map(drop),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                takes_folder(&dir).map_err(|error| RecordError::io(OPERATION, &dir, error))
            }
            Err(error) => Err(Self::refused(&dir, error)),
        }
    }

    /// The folder to fill.
    pub(super) fn folder(&self) -> &OpenFolder {
        &self.folder
    }

    /// Gives the filled folder its name.
    pub(super) fn publish(self) -> Result<OpenFolder, RecordError> {
        let Some(staged) = &self.staged else { return Ok(self.folder) };
        let renamed = rename_in(&staged.around, &staged.passing, &staged.name, RenameMode::New);
        let error = match renamed {
            Err(error) => RecordError::io(OPERATION, &staged.dir, from_sys(&error)),
            Ok(()) if !self.folder.is_named(&staged.around, &staged.name) => replaced(OPERATION, &staged.dir),
            Ok(()) => {
                let dir = staged.dir.clone();
                return Ok(self.folder.named(dir));
            }
        };
        self.remove();
        Err(error)
    }

    /// Gives a folder up that could not be filled because of `error`, which is returned. It is removed if it is ours and
    /// was not there before.
    pub(super) fn abandon(self, error: RecordError) -> RecordError {
        if error.kind() != ErrorKind::Replaced {
            self.remove();
        }
        error
    }

    /// Removes what was made, as far as that can be done; the first failure is the one to report.
    fn remove(&self) {
        let Some(staged) = &self.staged else { return };
        // The folder was made by this very call; only what a record has is removed from it.
        for name in [MANIFEST, PLAN, INVENTORY, EVENTS, SAMPLES, SUMMARY] {
            drop(self.folder.remove(name));
        }
        for name in [&staged.passing, &staged.name] {
            if self.folder.is_named(&staged.around, name) {
                drop(remove_folder_in(&staged.around, name));
            }
        }
    }

    /// As if `folder` had been put in the place of the one that was made before that was opened.
    #[cfg(test)]
    pub(super) fn put_in_place(&mut self, folder: OpenFolder) {
        self.folder = folder;
    }

    /// A folder that was there.
    fn existing(dir: &Path, opened: File) -> Result<Self, RecordError> {
        let failed = |error: io::Error| RecordError::io(OPERATION, dir, error);
        let refused = |kind, found: String, hint| Err(RecordError::found(kind, OPERATION, dir, found, hint));
        if !is_empty_folder(&opened).map_err(|errno| failed(errno.into()))? {
            return refused(
                ErrorKind::Occupied,
                "the folder is not empty".to_owned(),
                "choose a folder that does not exist yet, with --out; nothing was changed",
            );
        }
        let rights = FolderRights::from_folder(&opened).map_err(|errno| failed(errno.into()))?;
        if !rights.is_of_this_user {
            return refused(
                ErrorKind::NotPrivate,
                format!("the folder belongs to another user, of id {}", rights.user_id),
                "name a folder that does not exist yet, with --out: it is made for this user alone; nothing was changed",
            );
        }
        if !rights.is_closed() {
            return refused(
                ErrorKind::NotPrivate,
                format!("other users may write in the folder (mode {:04o})", rights.mode),
                "take that right from them with `chmod go-w`, or name a folder that does not exist yet, with --out: it is \
                 made for this user alone; nothing was changed",
            );
        }
        let folder = OpenFolder::new(dir.to_owned(), opened).map_err(failed)?;
        Ok(Self { folder, staged: None })
    }

    fn in_staging(dir: PathBuf, record_id: &str) -> Result<Self, RecordError> {
        let failed = |error: io::Error| RecordError::io(OPERATION, &dir, error);
        let Some(name) = dir.file_name().map(OsStr::to_owned) else {
            return Err(RecordError::found(
                ErrorKind::Occupied,
                OPERATION,
                &dir,
                "it names no folder",
                "write the folder's name at the end of --out",
            ));
        };
        let around = open_or_make(dir.parent().unwrap_or(Path::new(""))).map_err(failed)?;
        let passing = staging_name(&name, record_id);
        let staging = dir.with_file_name(&passing);
        let failed = |error: io::Error| RecordError::io(OPERATION, &staging, error);
        let opened = make_folder(&around, &passing).map_err(|error| {
            let error = from_sys(&error);
            // Made and not opened: it is empty. One whose name was taken is somebody else's.
            if error.kind() != io::ErrorKind::AlreadyExists {
                drop(remove_folder_in(&around, &passing));
            }
            failed(error)
        })?;
        // Its end shows that this process has ended, also by a kill. Where a file system has no locks, nothing is shown.
        let _ = flock(&opened, FlockOperation::NonBlockingLockExclusive);
        if !is_empty_folder(&opened).map_err(|errno| failed(errno.into()))? {
            return Err(replaced(OPERATION, &staging));
        }
        let folder = OpenFolder::new(staging.clone(), opened).map_err(failed)?;
        Ok(Self { folder, staged: Some(StagedName { around, passing, name, dir }) })
    }
}

/// Whether this user may make a folder in the first one above `dir` that is there.
fn takes_folder(dir: &Path) -> io::Result<()> {
    for above in dir.ancestors().skip(1) {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        match may_make_files_in(above).map_err(|error| from_sys(&error)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            taken => return taken,
        }
    }
    Ok(())
}

/// The folder `path`, open as a place for names; it and folders above it are made where they are missing, for this user
/// alone.
fn open_or_make(path: &Path) -> io::Result<File> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let error = match open_place(path) {
        Ok(opened) => return Ok(opened),
        Err(error) => from_sys(&error),
    };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
    if error.kind() != io::ErrorKind::NotFound {
        return Err(error);
    }
    // Bounded: the path gets shorter each time.
    let around = open_or_make(parent)?;
    match make_folder(&around, name).map_err(|error| from_sys(&error)) {
        // Another run made it meanwhile.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            open_folder_in(&around, name).map_err(|error| from_sys(&error))
        }
        made => made,
    }
}
