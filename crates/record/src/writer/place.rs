//! The folder that a record gets: a new one under a passing name until it is filled, or an empty one that was there.

use crate::error::{ErrorKind, RecordError};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const OPERATION: &str = "create the record in";

/// A folder that is ours to fill.
#[derive(Debug)]
pub(super) struct Place {
    /// Where the record shall be.
    dir: PathBuf,
    /// The folder that is filled and then renamed; `None` fills `dir` itself.
    passing: Option<PathBuf>,
}

impl Place {
    /// A place for `dir`, which must not exist or be an empty folder.
    pub(super) fn claim(dir: &Path, record_id: &str) -> Result<Self, RecordError> {
        match fs::read_dir(dir).map(|mut entries| entries.next().is_some()) {
            Ok(false) => Ok(Self { dir: dir.to_owned(), passing: None }),
            Ok(true) => Err(RecordError::found(
                ErrorKind::Occupied,
                OPERATION,
                dir,
                "the folder is not empty",
                "choose a folder that does not exist yet, with --out; nothing was changed",
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::beside(dir, record_id),
            Err(error) => Err(RecordError::io(OPERATION, dir, error)),
        }
    }

    /// The folder to fill.
    pub(super) fn folder(&self) -> &Path {
        self.passing.as_deref().unwrap_or(&self.dir)
    }

    /// Gives the filled folder its name.
    pub(super) fn publish(self) -> Result<PathBuf, RecordError> {
        if let Some(passing) = &self.passing
            && let Err(error) = fs::rename(passing, &self.dir)
        {
            let error = RecordError::io(OPERATION, &self.dir, error);
            return Err(self.abandon(error));
        }
        Ok(self.dir)
    }

    /// Removes a folder that could not be filled; one that was there before stays.
    pub(super) fn abandon(self, error: RecordError) -> RecordError {
        if let Some(passing) = &self.passing {
            // The first failure is the one to tell. The folder was made by this very call and holds our files alone.
            drop(fs::remove_dir_all(passing));
        }
        error
    }

    fn beside(dir: &Path, record_id: &str) -> Result<Self, RecordError> {
        let Some(name) = dir.file_name() else {
            return Err(RecordError::found(
                ErrorKind::Occupied,
                OPERATION,
                dir,
                "it names no folder",
                "write the folder's name at the end of --out",
            ));
        };
        let mut passing = OsString::from(".");
        passing.push(name);
        passing.push(format!(".{}.partial", plain(record_id)));
        let passing = dir.with_file_name(passing);
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(|error| RecordError::io(OPERATION, dir, error))?;
        }
        fs::create_dir(&passing).map_err(|error| RecordError::io(OPERATION, &passing, error))?;
        Ok(Self { dir: dir.to_owned(), passing: Some(passing) })
    }
}

/// `record_id` without anything that means something in a path.
fn plain(record_id: &str) -> String {
    record_id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(64).collect()
}
