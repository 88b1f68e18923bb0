//! Why a record could not be written or read: what the caller does next, where, and the words for people.

use narrows_sys::SysErrno;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What the caller does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The place is taken by something else: choose another folder.
    Occupied,
    /// Somebody else owns the folder or may write in it: choose another one, or change its rights.
    NotPrivate,
    /// Somebody else put another folder in the place of ours: choose a folder in which nobody else may write.
    Replaced,
    /// The folder is no record, or one of a run that never began: name another.
    NotARecord,
    /// A newer narrows wrote it: read it with that version.
    FromTheFuture,
    /// The content is not what the schema says: repair the place that is named, or give the record up.
    Malformed,
    /// The disk or the quota is full: free space; what is there stays readable.
    NoSpace,
    /// The user may not: change rights or place.
    PermissionDenied,
    /// Another failure of the operating system.
    Io,
}

/// Why a record could not be written or read.
#[derive(Debug)]
pub struct RecordError {
    // Boxed: a result's good case should not be as large as its rare bad one.
    failure: Box<ErrorDetails>,
}

#[derive(Debug)]
struct ErrorDetails {
    kind: ErrorKind,
    operation: &'static str,
    path: PathBuf,
    line: Option<u64>,
    key: Option<String>,
    found: String,
    hint: &'static str,
    source: Option<io::Error>,
}

impl RecordError {
    /// What the caller does next.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.failure.kind
    }

    /// What was being done, as a verb phrase.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.failure.operation
    }

    /// The file or folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.failure.path
    }

    /// The line in the file, from 1; `None` where the whole file is meant.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.failure.line
    }

    /// The key in the document, such as `cells[3].stop`; `None` where no key is meant.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.failure.key.as_deref()
    }

    /// The system's name of the failure, such as `ENOSPC`; `None` where the system did not fail.
    #[must_use]
    pub fn errno(&self) -> Option<&'static str> {
        self.failure.source.as_ref().and_then(errno_name)
    }

    /// A failure of the operating system.
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        let (kind, hint) = next_step(&source);
        let found = reason(&source);
        let mut error = Self::found(kind, operation, path, found, hint);
        error.failure.source = Some(source);
        error
    }

    /// A failure that narrows found itself.
    pub(crate) fn found(
        kind: ErrorKind,
        operation: &'static str,
        path: &Path,
        found: impl Into<String>,
        hint: &'static str,
    ) -> Self {
        let found = found.into();
        let path = path.to_owned();
        let failure =
            ErrorDetails { kind, operation, path, line: None, key: None, found, hint, source: None };
        Self { failure: Box::new(failure) }
    }

    /// The same failure, at a place inside the file.
    pub(crate) fn at(mut self, line: Option<u64>, key: Option<String>) -> Self {
        self.failure.line = line;
        self.failure.key = key;
        self
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}", self.failure.operation, self.failure.path.display())?;
        if let Some(line) = self.failure.line {
            write!(f, ", line {line}")?;
        }
        if let Some(key) = &self.failure.key {
            write!(f, ", key `{key}`")?;
        }
        write!(f, ": {}; {}", self.failure.found, self.failure.hint)
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failure.source.as_ref().map(|source| source as _)
    }
}

fn next_step(source: &io::Error) -> (ErrorKind, &'static str) {
    match source.kind() {
        io::ErrorKind::FileTooLarge => (
            ErrorKind::NoSpace,
            "raise the limit of file sizes (ulimit -f); what is already there stays readable",
        ),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => (
            ErrorKind::NoSpace,
            "free space or put the record elsewhere with --out; the part already written stays readable",
        ),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => (
            ErrorKind::PermissionDenied,
            "choose a folder that this user may write to, with --out for a new record",
        ),
        io::ErrorKind::NotFound => (ErrorKind::NotARecord, "name the folder that a run of narrows wrote"),
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            (ErrorKind::Occupied, "choose a folder that does not exist yet, with --out")
        }
        _ => (ErrorKind::Io, "check the file system of the record"),
    }
}

fn reason(source: &io::Error) -> String {
    let text = source.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    match errno_name(source) {
        Some(name) => format!("{text} ({name})"),
        None => text.to_owned(),
    }
}

/// The kernel's name of the failure; `None` where it has none.
fn errno_name(source: &io::Error) -> Option<&'static str> {
    SysErrno::from_raw(source.raw_os_error()?).known_name()
}
