//! The folder that a session makes below the server's root, and all that is removed with it.
//!
//! It is kept open: only the content of the folder that was made is removed, whatever has its name by then.

use crate::channel::refused;
use crate::owner::{self, SESSION_MARKER};
use crate::store::{PREFIX, StoreRoot, name_error};
use narrows_engines::own_folders::{ConfinedFolder, MarkedFolder};
use narrows_sys::file::{Create, FileAccess, MadeFiles, OpenMode, make_folder, open_folder_in, open_own};
use narrows_wire::{Error, Refusal};
use rustix::fs::{AtFlags, fstat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Name of the folder in it for the files of cells that run on the server.
const CELLS: &str = "cells";

/// A folder made by one session; removed when this is dropped.
#[derive(Debug)]
pub(crate) struct SessionFolder {
    name: String,
    path: PathBuf,
    root: Arc<File>,
    folder: File,
    /// The objects that were made in it.
    made: MadeFiles,
    /// The files of cells that were made.
    made_by_cells: Arc<MadeFiles>,
    leftovers: Arc<Mutex<Vec<String>>>,
}

impl SessionFolder {
    /// Makes the folder of session `id` below `root`, with the marker in it; what fails leaves nothing behind.
    pub(crate) fn make(root: &StoreRoot, id: &str) -> Result<Self, Error> {
        let name = format!("{PREFIX}{id}");
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("the server cannot make {name} in {}: {error}", root.path.display());
            refused(Refusal::Permission, message)
        };
        let folder = make_folder(&root.folder, OsStr::new(&name)).map_err(|error| {
            // Made and not opened: it is empty. One whose name was taken is somebody else's.
            if error.errno().raw() != Errno::EXIST.raw_os_error() {
                let _ = unlinkat(&root.folder, &name, AtFlags::REMOVEDIR);
            }
            failed(&error)
        })?;
        match mark(&folder).map_err(|error| failed(&error)) {
            Ok(()) => Ok(Self {
                path: root.path.join(&name),
                name,
                root: Arc::clone(&root.folder),
                folder,
                made: MadeFiles::default(),
                made_by_cells: Arc::default(),
                leftovers: Arc::clone(&root.leftovers),
            }),
            Err(error) => {
                // It is empty: whatever else should bear the name by now stays.
                let _ = unlinkat(&root.folder, &name, AtFlags::REMOVEDIR);
                Err(error)
            }
        }
    }

    /// Whether the server itself uses this name in the folder.
    pub(crate) fn is_own(name: &str) -> bool {
        [SESSION_MARKER, CELLS].contains(&name)
    }

    /// The object `name`, opened as `mode` says: the file that was made, or a new one if `mode` allows it.
    pub(crate) fn open_object(&self, name: &str, mode: OpenMode) -> Result<File, Error> {
        self.made.open(&self.folder, name, mode, 0o600).map_err(|error| name_error(name, &error))
    }

    /// Removes the object `name`; one that is gone or was never made counts as removed.
    pub(crate) fn remove_object(&self, name: &str) -> Result<(), Error> {
        self.made.remove(&self.folder, name).map_err(|error| name_error(name, &error))
    }

    /// The folder for the files of cells, made when it is missing.
    pub(crate) fn cells(&self) -> Result<ConfinedFolder, Error> {
        Ok(ConfinedFolder::new(self.cells_folder()?, Arc::clone(&self.made_by_cells)))
    }

    /// As [`SessionFolder::cells`], without what was made in it.
    pub(crate) fn cells_folder(&self) -> Result<File, Error> {
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("the server cannot make {CELLS} in {}: {error}", self.path.display());
            refused(Refusal::Permission, message)
        };
        match make_folder(&self.folder, OsStr::new(CELLS)) {
            Err(error) if error.errno().raw() == Errno::EXIST.raw_os_error() => {
                open_folder_in(&self.folder, OsStr::new(CELLS)).map_err(|error| failed(&error))
            }
            made => made.map_err(|error| failed(&error)),
        }
    }

    fn remove(&self) -> Result<(), String> {
        let (parent, folder) = (&*self.root, &self.folder);
        let cells = open_folder_in(folder, OsStr::new(CELLS));
        let is_foreign_in_cells = cells.is_ok_and(|cells| self.made_by_cells.has_replaced(&cells));
        let stays =
            |name: &OsStr| (name == CELLS && is_foreign_in_cells) || self.made.is_replaced(folder, name);
        MarkedFolder { parent, name: &self.name, folder, marker: SESSION_MARKER }.remove(&stays)
    }
}

/// Puts the marker into `folder`, or nothing: also where the folder belongs to another user, who can have put it in the place
/// of the one that was made. Owners are compared with each other, because file systems may map the ids of users.
fn mark(folder: &File) -> Result<(), Box<dyn std::error::Error>> {
    let new = OpenMode { access: FileAccess::Write, create: Create::New, ..OpenMode::default() };
    let mut marker = open_own(folder, OsStr::new(SESSION_MARKER), new, 0o600)?;
    let owners = (fstat(&marker)?.st_uid, fstat(folder)?.st_uid);
    let marked = if owners.0 == owners.1 {
        marker.write_all(owner::marker().as_bytes())
    } else {
        Err(std::io::Error::other("somebody else put a folder in its place"))
    };
    if let Err(error) = marked {
        unlinkat(folder, SESSION_MARKER, AtFlags::empty())?;
        return Err(error.into());
    }
    Ok(())
}

impl Drop for SessionFolder {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            let sentence = format!("{}: {error}", self.path.display());
            self.leftovers.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
        }
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
