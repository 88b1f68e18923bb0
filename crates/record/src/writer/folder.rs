//! The folder that a record gets: a new one under a passing name until it is filled, or an empty one that was there.

use crate::error::{ErrorKind, RecordError};
use crate::files::{EVENTS, INVENTORY, MANIFEST, PLAN, SAMPLES, SUMMARY};
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const OPERATION: &str = "create the record in";

/// A folder that is ours to fill.
#[derive(Debug)]
pub(super) struct RecordFolder {
    /// Where the record shall be.
    dir: PathBuf,
    /// The folder that is filled and then renamed; `None` fills `dir` itself.
    staging: Option<PathBuf>,
}

impl RecordFolder {
    /// A place for `dir`, which must not exist or be an empty folder.
    pub(super) fn claim(dir: &Path, record_id: &str) -> Result<Self, RecordError> {
        match fs::read_dir(dir).map(|mut entries| entries.next().is_some()) {
            Ok(false) => Ok(Self { dir: dir.to_owned(), staging: None }),
            Ok(true) => Err(RecordError::found(
                ErrorKind::Occupied,
                OPERATION,
                dir,
                "the folder is not empty",
                "choose a folder that does not exist yet, with --out; nothing was changed",
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::in_staging(dir, record_id),
            Err(error) => Err(RecordError::io(OPERATION, dir, error)),
        }
    }

    /// The folder to fill.
    pub(super) fn folder(&self) -> &Path {
        self.staging.as_deref().unwrap_or(&self.dir)
    }

    /// Gives the filled folder its name.
    pub(super) fn publish(self) -> Result<PathBuf, RecordError> {
        if let Some(staging) = &self.staging
            && let Err(error) = fs::rename(staging, &self.dir)
        {
            let error = RecordError::io(OPERATION, &self.dir, error);
            return Err(self.abandon(error));
        }
        Ok(self.dir)
    }

    /// Removes a folder that could not be filled; one that was there before stays.
    pub(super) fn abandon(self, error: RecordError) -> RecordError {
        if let Some(staging) = &self.staging {
            // The first failure is the one to report. The folder was made by this very call; only what a record has is
            // removed from it.
            for name in [MANIFEST, PLAN, INVENTORY, EVENTS, SAMPLES, SUMMARY] {
                drop(fs::remove_file(staging.join(name)));
            }
            drop(fs::remove_dir(staging));
        }
        error
    }

    fn in_staging(dir: &Path, record_id: &str) -> Result<Self, RecordError> {
        let Some(name) = dir.file_name() else {
            return Err(RecordError::found(
                ErrorKind::Occupied,
                OPERATION,
                dir,
                "it names no folder",
                "write the folder's name at the end of --out",
            ));
        };
        let mut staging = OsString::from(".");
        staging.push(name);
        staging.push(format!(".{}.partial", sanitize(record_id)));
        let staging = dir.with_file_name(staging);
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(|error| RecordError::io(OPERATION, dir, error))?;
        }
        let made = DirBuilder::new().mode(0o700).create(&staging);
        made.map_err(|error| RecordError::io(OPERATION, &staging, error))?;
        Ok(Self { dir: dir.to_owned(), staging: Some(staging) })
    }
}

/// `record_id` without anything that means something in a path.
fn sanitize(record_id: &str) -> String {
    record_id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(64).collect()
}
