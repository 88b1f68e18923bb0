//! The folder of a record, kept open: its files are opened, made, renamed and removed in the folder that it was, whatever
//! its path leads to by then.
//!
//! Not here: what files contain, and which folder a record gets.

use crate::error::{ErrorKind, RecordError};
use narrows_sys::file::{
    Create, FileAccess, FileIdentity, OpenMode, RenameMode, current_path, open_own, open_place, remove_in,
    rename_in,
};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Rights on the files of a record: its user alone may read it, as it is with the folder.
const PERMISSIONS: u32 = 0o600;

/// The folder of a record, open.
#[derive(Debug)]
pub(crate) struct OpenFolder {
    path: PathBuf,
    opened: File,
    identity: FileIdentity,
}

impl OpenFolder {
    /// `opened`, which `path` led to.
    pub(crate) fn new(path: PathBuf, opened: File) -> io::Result<Self> {
        let identity = FileIdentity::from_file(&opened)?;
        Ok(Self { path, opened, identity })
    }

    /// The folder at `path` for reading what is in it; links on the way are followed.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::new(path.to_owned(), open_place(path).map_err(|error| from_sys(&error))?)
    }

    /// The same folder, which has the path `path` now.
    pub(crate) fn named(self, path: PathBuf) -> Self {
        Self { path, ..self }
    }

    /// The path that led to it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the file `name` in it, for messages.
    pub(crate) fn file_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The file `name` to be read: a regular one that is no link, and never waited for.
    ///
    /// # Source
    /// openat(2) with `O_NOFOLLOW`, and with `O_NONBLOCK` because opening a pipe waits for its other end.
    pub(crate) fn open_to_read(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = File::from(openat(&self.opened, name, flags, Mode::empty())?);
        if opened.metadata()?.is_file() {
            return Ok(opened);
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
    }

    /// Whether there is no file `name`.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        let found = FileIdentity::from_name(&self.opened, OsStr::new(name));
        found.is_err_and(|errno| io::Error::from(errno).kind() == io::ErrorKind::NotFound)
    }

    /// The new file `name` to be written, for its user alone whatever the umask is.
    ///
    /// Somebody else may write in a folder that was there before: what is there under the name is neither followed nor
    /// kept. A folder of another user that was put in the place of ours is found by the owner of the file; owners are
    /// compared with each other, because file systems may map the ids of users.
    pub(crate) fn create_new(&self, operation: &'static str, name: &str) -> Result<File, RecordError> {
        let path = self.file_path(name);
        let failed = |error| RecordError::io(operation, &path, error);
        let new = OpenMode { access: FileAccess::Write, create: Create::New, ..OpenMode::default() };
        let made = open_own(&self.opened, OsStr::new(name), new, PERMISSIONS).map_err(|error| {
            let error = from_sys(&error);
            if error.kind() == io::ErrorKind::AlreadyExists {
                planted(operation, &path)
            } else {
                failed(error)
            }
        })?;
        let owner = |file: &File| file.metadata().map(|status| status.uid());
        if owner(&made).map_err(failed)? != owner(&self.opened).map_err(failed)? {
            drop(self.remove(name));
            return Err(replaced(operation, &self.path));
        }
        // Where a file system has no rights of its own, those of its mount apply.
        drop(made.set_permissions(Permissions::from_mode(PERMISSIONS)));
        Ok(made)
    }

    /// Gives the name `to` to the file `from`, in place of a file that has it.
    pub(crate) fn replace(&self, from: &str, to: &str) -> io::Result<()> {
        rename_in(&self.opened, OsStr::new(from), OsStr::new(to), RenameMode::Replace)
            .map_err(|error| from_sys(&error))
    }

    /// Removes the file `name`.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        remove_in(&self.opened, OsStr::new(name)).map_err(|error| from_sys(&error))
    }

    /// Whether the name `name` in the folder `around` is this folder.
    pub(crate) fn is_named(&self, around: &File, name: &OsStr) -> bool {
        FileIdentity::from_name(around, name) == Ok(self.identity)
    }

    /// Whether its path still leads to it; one that ends in a link does not.
    pub(crate) fn is_at_its_path(&self) -> bool {
        FileIdentity::from_name(CWD, self.path.as_os_str()) == Ok(self.identity)
    }

    /// Where it is now, for messages; `None` where that is not known.
    pub(crate) fn current_path(&self) -> Option<PathBuf> {
        current_path(&self.opened)
    }
}

/// What a call of `sys` failed with.
pub(crate) fn from_sys(error: &narrows_sys::Error) -> io::Error {
    error.errno().into()
}

/// Another folder is at `path` than the one that was made.
pub(crate) fn replaced(operation: &'static str, path: &Path) -> RecordError {
    RecordError::found(
        ErrorKind::Replaced,
        operation,
        path,
        "somebody else moved or replaced the folder while the record was made",
        "write the record into a folder in which nobody else may write, with --out; nothing of theirs was changed",
    )
}

fn planted(operation: &'static str, path: &Path) -> RecordError {
    RecordError::found(
        ErrorKind::Io,
        operation,
        path,
        "somebody else put a file or a link there while the record was written",
        "write the record into a folder in which nobody else may write, with --out; nothing was changed there",
    )
}
