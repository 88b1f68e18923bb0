//! The folder that narrows makes for its files: marked as its own, for its user alone, removed with all that is in it.
//!
//! Nothing outside it is ever written, and a folder without the marker is never removed. It is kept open: what is removed
//! is in the folder that was made, whatever has its name by then.

use super::marked::{
    KEPT, MARKER, MARKER_BYTES_MAX, MarkedFolder, NamedFolder, PREFIX, is_kept, named_folders,
};
use super::own::{self, OwnFolder};
use narrows_sys::file::{self, Create, FileAccess, FileIdentity, OpenMode};
use rustix::fs::{AtFlags, fstat, unlinkat};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a test folder could not be made.
#[derive(Debug, thiserror::Error)]
#[error("create a test folder in {}: {source}; give a folder that this user may write to, or a file, which is only read", parent.display())]
pub struct FolderError {
    /// Where it was to be made.
    pub parent: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

/// A marked folder with narrows' files; dropping it removes it.
#[derive(Debug)]
pub struct TestFolder {
    path: PathBuf,
    name: String,
    parent: File,
    folder: File,
    is_kept: bool,
}

impl TestFolder {
    /// A new folder in `parent`, named from `nonce`, marked with `owner` (a line that states which run made it), which
    /// nobody else may enter.
    ///
    /// # Errors
    /// When `parent` is missing, read-only, full, or this user may not write there; when somebody else puts another folder
    /// in its place meanwhile.
    pub fn create(parent: &Path, nonce: u64, owner: &str) -> Result<Self, FolderError> {
        let failed = |source| FolderError { parent: parent.to_path_buf(), source };
        let from_sys = |error: narrows_sys::Error| failed(io::Error::from_raw_os_error(error.errno().raw()));
        let name = format!("{PREFIX}{nonce:016x}");
        let path = parent.join(&name);
        let parent = File::open(parent).map_err(failed)?;
        let making = own::lock_making();
        let folder = file::make_folder(&parent, OsStr::new(&name)).map_err(from_sys)?;
        let identity = FileIdentity::from_file(&folder).map_err(|errno| failed(errno.into()))?;
        let mut made = Self { path, name, parent, folder, is_kept: false };
        if let Err(source) = made.mark(owner) {
            // It is empty but for a torn marker; a folder of others in its place that is not empty stays.
            made.is_kept = true;
            let _ = unlinkat(&made.folder, MARKER, AtFlags::empty());
            let _ = unlinkat(&made.parent, &made.name, AtFlags::REMOVEDIR);
            return Err(failed(source));
        }
        own::add_own_folder(&made.path, OwnFolder { identity, files: BTreeMap::new() });
        drop(making);
        Ok(made)
    }

    fn mark(&self, owner: &str) -> io::Result<()> {
        let new = OpenMode { access: FileAccess::Write, create: Create::New, ..OpenMode::default() };
        let mut marker = file::open_own(&self.folder, OsStr::new(MARKER), new, 0o600)
            .map_err(|error| io::Error::from_raw_os_error(error.errno().raw()))?;
        // A folder that another user put in its place before it was opened is that user's; the marker is ours. Compared
        // with each other, because file systems may map the ids of users.
        if fstat(&marker)?.st_uid != fstat(&self.folder)?.st_uid {
            return Err(io::Error::other("somebody else put a folder in its place"));
        }
        marker.write_all(format!("{owner}\n").as_bytes())
    }

    /// Leaves it with what is in it when this value is dropped and when a signal ends this process; its marker says so
    /// from now on. It is no longer compared with what was made. That its marker cannot be changed is a problem of this
    /// process.
    pub fn keep(&mut self) {
        self.is_kept = true;
        own::forget(&self.path);
        if let Err(error) = self.mark_kept() {
            own::note_problem(format!(
                "test folder {}: it stays, but its marker cannot say so: {error}; `narrows clean --remove` removes it",
                self.path.display()
            ));
        }
    }

    /// Puts that it stays before the line of its marker, in one write: a marker of half a line never counts as one.
    fn mark_kept(&self) -> io::Result<()> {
        let mode = OpenMode { access: FileAccess::ReadWrite, ..OpenMode::default() };
        let marker = file::open_own(&self.folder, OsStr::new(MARKER), mode, 0)
            .map_err(|error| io::Error::from_raw_os_error(error.errno().raw()))?;
        let mut line = String::new();
        (&marker).take(MARKER_BYTES_MAX).read_to_string(&mut line)?;
        let written = file::pwrite(&marker, format!("{KEPT}{line}").as_bytes(), 0)?;
        if written.is_short() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file in it that marks it: there as long as the folder is.
    #[must_use]
    pub fn marker(&self) -> PathBuf {
        self.path.join(MARKER)
    }

    /// Folders in `parent` that earlier runs left behind or that runs use now, with the line of their marker: an empty one
    /// where a run was killed, some seconds before the time `now_s` (of the epoch), while it made the folder. Those that
    /// their user keeps are left out.
    #[must_use]
    pub fn left_behind(parent: &Path, now_s: u64) -> Vec<(PathBuf, String)> {
        let Ok(opened) = File::open(parent) else { return Vec::new() };
        let Ok(folders) = named_folders(&Arc::new(opened), parent) else { return Vec::new() };
        let line = |folder: &NamedFolder| match folder.marker(MARKER) {
            Some(line) if is_kept(&line) => None,
            Some(line) if !line.is_empty() => Some(line),
            _ => folder.is_unfinished(&[MARKER], now_s).then(String::new),
        };
        let marked = folders.iter().filter_map(|folder| Some((folder.path().to_path_buf(), line(folder)?)));
        marked.collect()
    }

    /// Removes the folder with what is in it, the marker last; why something stays.
    fn remove(&self) -> Result<(), String> {
        let known = own::own_folder(&self.path).map(|own| own.files).unwrap_or_default();
        let not_ours = |name: &OsStr| {
            name.to_str()
                .and_then(|name| known.get(name))
                .is_some_and(|identity| file::is_made_name(&self.folder, name, *identity) == Ok(false))
        };
        MarkedFolder { parent: &self.parent, name: &self.name, folder: &self.folder, marker: MARKER }
            .remove(&not_ours)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(why) = self.remove()
        {
            // What cannot be removed stays marked, and `left_behind` finds it.
            own::note_problem(format!("test folder {}: {why}", self.path.display()));
        }
        own::forget(&self.path);
    }
}
