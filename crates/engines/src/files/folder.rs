//! The folder that narrows makes for its files: marked as its own, for its user alone, removed with all that is in it.
//!
//! Nothing outside it is ever written, and a folder without the marker is never removed. It is kept open: what is removed
//! is in the folder that was made, whatever has its name by then.

use super::own::{self, OwnFolder};
use narrows_sys::file::{self, Create, FileAccess, FileIdentity, OpenMode};
use rustix::fs::{AtFlags, Dir, fstat, unlinkat};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// File that marks a folder as made by narrows.
const MARKER: &str = "made-by-narrows";
/// Start of the folder's name.
const PREFIX: &str = ".narrows-";
/// No marker is longer.
const MARKER_BYTES_MAX: u64 = 4096;
/// Entries of a folder that are looked at for what earlier runs left.
const LOOKED_AT_MAX: usize = 1 << 20;

/// Why a test folder could not be made.
#[derive(Debug, thiserror::Error)]
#[error("create a test folder in {}: {source}; give a folder that this user may write to", parent.display())]
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

    /// Leaves it with what is in it when this value is dropped; it stays marked.
    pub fn keep(&mut self) {
        self.is_kept = true;
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

    /// Folders in `parent` that earlier runs left behind, with the line of their marker.
    #[must_use]
    pub fn left_behind(parent: &Path) -> Vec<(PathBuf, String)> {
        let Ok(opened) = File::open(parent) else { return Vec::new() };
        let Ok(entries) = Dir::read_from(&opened) else { return Vec::new() };
        entries
            .take(LOOKED_AT_MAX)
            .filter_map(Result::ok)
            .filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))
            .filter(|name| name.starts_with(PREFIX))
            .filter_map(|name| {
                let folder = file::open_folder_in(&opened, OsStr::new(&name)).ok()?;
                let owner = file::read_small_in(&folder, Path::new(MARKER), MARKER_BYTES_MAX).ok()?;
                let owner = String::from_utf8(owner).ok()?;
                Some((parent.join(name), owner.trim().to_owned()))
            })
            .collect()
    }

    /// Removes the folder with what is in it, the marker last; why something stays.
    fn remove(&self) -> Result<(), String> {
        let known = own::own_folder(&self.path).map(|own| own.files).unwrap_or_default();
        let not_ours = |name: &OsStr| {
            name.to_str().and_then(|name| known.get(name)).is_some_and(|identity| {
                FileIdentity::from_name(&self.folder, name).is_ok_and(|found| found != *identity)
            })
        };
        FileIdentity::from_name(&self.folder, OsStr::new(MARKER))
            .map_err(|_| format!("its marker {MARKER} is missing, so it is not removed"))?;
        let left = file::remove_content(&self.folder, &|name| name == MARKER || not_ours(name));
        if !left.is_empty() {
            return Err(format!("not removed: {}", left.join(", ")));
        }
        // What took the place of one of our files, or was added meanwhile.
        if let Some(other) =
            self.first_but_marker().map_err(|errno| format!("not looked through: {errno}"))?
        {
            return Err(format!("{other} in it is not what narrows made, so it is left there"));
        }
        let named = FileIdentity::from_name(&self.parent, OsStr::new(&self.name)).ok();
        if named.is_none() || named != FileIdentity::from_file(&self.folder).ok() {
            return Err(
                "it was replaced or moved by somebody else; its files are removed and the folder is not"
                    .to_owned(),
            );
        }
        unlinkat(&self.folder, MARKER, AtFlags::empty())
            .map_err(|errno| format!("remove {MARKER}: {errno}"))?;
        unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR).map_err(|errno| format!("remove it: {errno}"))
    }
}

impl TestFolder {
    /// The first name in it but the marker's.
    fn first_but_marker(&self) -> rustix::io::Result<Option<String>> {
        for entry in Dir::read_from(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if ![".", "..", MARKER].contains(&name.as_str()) {
                return Ok(Some(name.escape_debug().to_string()));
            }
        }
        Ok(None)
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
