//! The folder that a session makes below the server's root, and all that is removed with it.
//!
//! It is kept open: only the content of the folder that was made is removed, whatever has its name by then.

use crate::channel::refused;
use crate::owner::{self, MARKER};
use crate::store::{PREFIX, StoreRoot};
use narrows_sys::file::{Create, FileAccess, OpenMode, open_beneath};
use narrows_wire::{Error, Refusal};
use rustix::fs::{AtFlags, Dir, Mode, fstat, mkdirat, statat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Name of the folder in it for the files of cells that run on the server.
const CELLS: &str = "cells";

/// A folder made by one session; removed when this is dropped.
#[derive(Debug)]
pub(crate) struct SessionFolder {
    name: String,
    path: PathBuf,
    root: Arc<File>,
    pub(crate) folder: File,
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
        mkdirat(&root.folder, &name, Mode::RWXU).map_err(|errno| failed(&errno))?;
        let made = open_beneath(&root.folder, Path::new(&name), OpenMode::default(), 0)
            .map_err(|error| failed(&error))
            .and_then(|folder| mark(&folder).map(|()| folder).map_err(|error| failed(&error)));
        match made {
            Ok(folder) => Ok(Self {
                path: root.path.join(&name),
                name,
                root: Arc::clone(&root.folder),
                folder,
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
        [MARKER, CELLS].contains(&name)
    }

    /// The folder for the files of cells, made when it is missing.
    pub(crate) fn cells(&self) -> Result<File, Error> {
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("the server cannot make {CELLS} in {}: {error}", self.path.display());
            refused(Refusal::Permission, message)
        };
        match mkdirat(&self.folder, CELLS, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(&errno)),
        }
        open_beneath(&self.folder, Path::new(CELLS), OpenMode::default(), 0).map_err(|error| failed(&error))
    }

    fn remove(&self) -> io::Result<()> {
        statat(&self.folder, MARKER, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|_| io::Error::other(format!("its marker {MARKER} is missing, so it is not removed")))?;
        if let Ok(cells) = open_beneath(&self.folder, Path::new(CELLS), OpenMode::default(), 0) {
            remove_files(&cells, None)?;
            unlinkat(&self.folder, CELLS, AtFlags::REMOVEDIR)?;
        }
        remove_files(&self.folder, Some(MARKER))?;
        let own = fstat(&self.folder)?;
        match statat(&*self.root, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) if (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino) => {
                // The marker is removed last: what cannot be removed is still known as the server's own.
                unlinkat(&self.folder, MARKER, AtFlags::empty())?;
                Ok(unlinkat(&*self.root, &self.name, AtFlags::REMOVEDIR)?)
            }
            Ok(_) | Err(Errno::NOENT) => {
                Err(io::Error::other("it was moved; its files are removed and the folder is not"))
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Puts the marker into `folder`, or nothing.
fn mark(folder: &File) -> Result<(), Box<dyn std::error::Error>> {
    let new = OpenMode { access: FileAccess::Write, create: Create::New, ..OpenMode::default() };
    let mut marker = open_beneath(folder, Path::new(MARKER), new, 0o600)?;
    if let Err(error) = marker.write_all(owner::marker().as_bytes()) {
        unlinkat(folder, MARKER, AtFlags::empty())?;
        return Err(error.into());
    }
    Ok(())
}

/// Removes all files in `folder` but `kept`; folders in it, which no server makes, are an error.
fn remove_files(folder: &File, kept: Option<&str>) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let stays = [".", ".."].into_iter().chain(kept).any(|stays| name.to_bytes() == stays.as_bytes());
        if !stays {
            unlinkat(folder, name, AtFlags::empty())?;
        }
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
