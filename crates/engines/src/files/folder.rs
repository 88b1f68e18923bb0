//! The folder that narrows makes for its files: marked as its own, removed with all that is in it.
//!
//! Nothing outside it is ever written, and a folder without the marker is never removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// File that marks a folder as made by narrows.
const MARKER: &str = "made-by-narrows";
/// Start of the folder's name.
const PREFIX: &str = ".narrows-";

/// Why a test folder could not be made.
#[derive(Debug, thiserror::Error)]
#[error("make a test folder in {}: {source}; give a folder in which this user may write", parent.display())]
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
    is_kept: bool,
}

impl TestFolder {
    /// A new folder in `parent`, named from `nonce`, marked with `owner` (a line that tells which run made it).
    ///
    /// # Errors
    /// When `parent` is missing, read-only, full, or this user may not write there.
    pub fn create(parent: &Path, nonce: u64, owner: &str) -> Result<Self, FolderError> {
        let failed = |source| FolderError { parent: parent.to_path_buf(), source };
        let path = parent.join(format!("{PREFIX}{nonce:016x}"));
        fs::create_dir(&path).map_err(failed)?;
        // From here on dropping the value removes the folder, also when the marker cannot be written.
        let folder = Self { path, is_kept: false };
        match fs::write(folder.marker(), format!("{owner}\n")) {
            Ok(()) => Ok(folder),
            Err(source) => {
                // Without its marker the folder is not removed on drop, and it is empty but for a torn marker.
                drop(fs::remove_file(folder.marker()));
                drop(fs::remove_dir(&folder.path));
                Err(failed(source))
            }
        }
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
        let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
        entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
            .filter_map(|entry| {
                let owner = fs::read_to_string(entry.path().join(MARKER)).ok()?;
                Some((entry.path(), owner.trim().to_owned()))
            })
            .collect()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        if !self.is_kept && self.marker().is_file() {
            // What cannot be removed stays marked, and `left_behind` finds it.
            drop(fs::remove_dir_all(&self.path));
        }
    }
}
