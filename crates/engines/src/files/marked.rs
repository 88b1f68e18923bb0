//! Folders that narrows made, found by their name and marker, and removed by their descriptor.
//!
//! Nothing is followed and no mount is crossed. Not here: who may remove what, which is decided by callers.

pub use crate::marker::MARKER;

use narrows_sys::file::{self, FileIdentity};
use rustix::fs::{AtFlags, Dir, FileType, fstat, statat, unlinkat};
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Start of the name of every folder that narrows makes beside files of others.
pub const PREFIX: &str = ".narrows-";
/// Start of the marker of a test folder that its user wants to stay; the line of the run that made it follows.
pub(super) const KEPT: &str = "kept: ";
/// No marker is longer.
pub(super) const MARKER_BYTES_MAX: u64 = 4096;
/// Entries of a folder that are looked at.
const LOOKED_AT_MAX: usize = 1 << 20;

/// Whether the line `line` of a test folder's marker says that its user wants it to stay.
#[must_use]
pub fn is_kept(line: &str) -> bool {
    line.starts_with(KEPT)
}

/// A folder that narrows made, open, with what is needed to remove it.
#[derive(Debug, Clone, Copy)]
pub struct MarkedFolder<'a> {
    /// The folder that it is in.
    pub parent: &'a File,
    /// Its name there.
    pub name: &'a str,
    /// Itself.
    pub folder: &'a File,
    /// Name of the file in it that marks it.
    pub marker: &'a str,
}

impl MarkedFolder<'_> {
    /// Removes it with what is in it, but for the names for which `stays` is true; the marker is removed last.
    ///
    /// # Errors
    /// Why something stays, as a sentence: it has no marker, something is mounted in it, it was replaced, or the system
    /// refuses.
    pub fn remove(&self, stays: &dyn Fn(&OsStr) -> bool) -> Result<(), String> {
        let marker = self.marker;
        FileIdentity::from_name(self.folder, OsStr::new(marker))
            .map_err(|_| format!("its marker {marker} is missing, so it is not removed"))?;
        let left = file::remove_content(self.folder, &|name| name == marker || stays(name));
        if !left.is_empty() {
            return Err(format!("not removed: {}", left.join(", ")));
        }
        // What took the place of one of our files, or was added meanwhile.
        if let Some(other) =
            self.first_but_marker().map_err(|errno| format!("not looked through: {errno}"))?
        {
            return Err(format!("{other} in it is not what narrows made, so it is left there"));
        }
        let named = FileIdentity::from_name(self.parent, OsStr::new(self.name)).ok();
        if named.is_none() || named != FileIdentity::from_file(self.folder).ok() {
            return Err(
                "it was moved or replaced by somebody else; its files are removed and the folder is not"
                    .to_owned(),
            );
        }
        unlinkat(self.folder, marker, AtFlags::empty())
            .map_err(|errno| format!("remove {marker}: {errno}"))?;
        unlinkat(self.parent, self.name, AtFlags::REMOVEDIR).map_err(|errno| format!("remove it: {errno}"))
    }

    /// The first name in it but the marker's.
    fn first_but_marker(&self) -> rustix::io::Result<Option<String>> {
        for entry in Dir::read_from(self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if ![".", "..", self.marker].contains(&name.as_str()) {
                return Ok(Some(name.escape_debug().to_string()));
            }
        }
        Ok(None)
    }
}

/// A folder without a word in its marker that is older was left by a program that was killed while it made the folder.
const UNFINISHED_AFTER_S: u64 = 2;

/// A folder with a name of ours, which anybody may have made.
#[derive(Debug)]
pub struct NamedFolder {
    path: PathBuf,
    name: String,
    parent: Arc<File>,
    /// Nothing where this user may not look into it.
    folder: Option<File>,
    user_id: u32,
}

impl NamedFolder {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its owner.
    #[must_use]
    pub fn user_id(&self) -> u32 {
        self.user_id
    }

    /// Whether its owner is the user of this process.
    #[must_use]
    pub fn is_of_this_user(&self) -> bool {
        self.user_id == geteuid().as_raw()
    }

    /// Whether this process may look into it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.folder.is_some()
    }

    /// What its marker `name` contains; `None` without one: no such file, a link, another owner than the folder's, or no
    /// text.
    #[must_use]
    pub fn marker(&self, name: &str) -> Option<String> {
        let folder = self.folder.as_ref()?;
        let status = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if status.st_uid != self.user_id {
            return None;
        }
        let content = file::read_small_in(folder, Path::new(name), MARKER_BYTES_MAX).ok()?;
        String::from_utf8(content).ok().map(|content| content.trim().to_owned())
    }

    /// Whether a program of this user was killed while it made the folder: nothing is in it but, at most, one of `markers`
    /// without a word, and nothing has changed for two seconds at the time `now_s`, in seconds of the
    /// epoch.
    #[must_use]
    pub fn is_unfinished(&self, markers: &[&str], now_s: u64) -> bool {
        self.is_of_this_user() && self.empty_markers(markers).is_some() && self.is_quiet(now_s)
    }

    /// The empty markers in it, none in an empty folder; `None` for one with anything else in it.
    fn empty_markers(&self, markers: &[&str]) -> Option<Vec<String>> {
        let folder = self.folder.as_ref()?;
        let mut found = Vec::new();
        for entry in Dir::read_from(folder).ok()? {
            let name = entry.ok()?.file_name().to_str().ok()?.to_owned();
            if [".", ".."].contains(&name.as_str()) {
                continue;
            }
            let status = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
            if !markers.contains(&name.as_str()) || !is_file || status.st_size != 0 {
                return None;
            }
            found.push(name);
        }
        Some(found)
    }

    /// Whether nothing has been made or removed in it for a while.
    fn is_quiet(&self, now_s: u64) -> bool {
        let changed = self.folder.as_ref().and_then(|folder| fstat(folder).ok());
        let changed_s = changed.and_then(|status| u64::try_from(status.st_mtime).ok());
        changed_s.is_some_and(|changed_s| now_s > changed_s + UNFINISHED_AFTER_S)
    }

    /// Removes what [`NamedFolder::is_unfinished`] has found.
    ///
    /// # Errors
    /// Why it stays, as a sentence.
    pub fn remove_unfinished(&self, markers: &[&str]) -> Result<(), String> {
        let changed = || "something else is in it now".to_owned();
        let folder = self.folder.as_ref().ok_or_else(changed)?;
        for marker in self.empty_markers(markers).ok_or_else(changed)? {
            unlinkat(folder, &marker, AtFlags::empty())
                .map_err(|errno| format!("remove {marker}: {errno}"))?;
        }
        // An empty folder alone can be removed so.
        unlinkat(&*self.parent, &self.name, AtFlags::REMOVEDIR).map_err(|errno| format!("remove it: {errno}"))
    }

    /// Removes it with all that is in it, the marker `marker` last.
    ///
    /// # Errors
    /// Why something stays, as a sentence.
    pub fn remove(&self, marker: &str) -> Result<(), String> {
        let Some(folder) = &self.folder else {
            return Err("this user may not look into it".to_owned());
        };
        MarkedFolder { parent: &self.parent, name: &self.name, folder, marker }.remove(&|_| false)
    }
}

/// The folders in `parent`, at `path`, whose names narrows uses, sorted by name: no link, and nothing that is mounted
/// there.
///
/// # Errors
/// When `parent` cannot be listed.
pub fn named_folders(parent: &Arc<File>, path: &Path) -> io::Result<Vec<NamedFolder>> {
    let entries = Dir::read_from(parent)?.take(LOOKED_AT_MAX);
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        names.extend(
            entry.file_name().to_str().ok().filter(|name| name.starts_with(PREFIX)).map(str::to_owned),
        );
    }
    names.sort();
    Ok(names.into_iter().filter_map(|name| named_folder(parent, path, name)).collect())
}

fn named_folder(parent: &Arc<File>, path: &Path, name: String) -> Option<NamedFolder> {
    let status = match file::open_folder_in(parent, OsStr::new(&name)) {
        Ok(folder) => (fstat(&folder).ok()?, Some(folder)),
        Err(error) if error.kind() == narrows_sys::ErrorKind::Denied => {
            (statat(parent, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?, None)
        }
        Err(_) => return None,
    };
    let (status, folder) = status;
    let is_folder = FileType::from_raw_mode(status.st_mode) == FileType::Directory;
    is_folder.then(|| NamedFolder {
        path: path.join(&name),
        name,
        parent: Arc::clone(parent),
        folder,
        user_id: status.st_uid,
    })
}
