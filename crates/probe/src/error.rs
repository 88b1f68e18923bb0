//! The crate's error: what was read, what went wrong, what the caller can do.
//!
//! It decides no policy: whether a missing file is a missing fact or a failure is the reader's choice.

use std::fmt;
use std::io;

use crate::parse::Malformed;

/// Results of this crate.
pub type Result<T> = std::result::Result<T, ProbeError>;

/// What the caller can do about a [`ProbeError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeErrorKind {
    /// The file, folder or process is not there: name another, or go on without the fact.
    Missing,
    /// The kernel refuses it to this user: run with more rights, or go on without the fact.
    Denied,
    /// The text is not what the kernel documents: report it, with the file and line named.
    Malformed,
    /// Reading failed otherwise: see the source.
    Failed,
}

/// A fact that could not be read.
#[derive(Debug)]
pub struct ProbeError {
    kind: ProbeErrorKind,
    target: String,
    reason: String,
    source: Option<io::Error>,
}

impl ProbeError {
    pub(crate) fn reading(target: impl Into<String>, source: io::Error) -> Self {
        let kind = match source.kind() {
            // ESRCH: the process behind a file of /proc has ended. ENODEV: the control group was removed.
            _ if matches!(errno(&source), Some(rustix::io::Errno::SRCH | rustix::io::Errno::NODEV)) => {
                ProbeErrorKind::Missing
            }
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ProbeErrorKind::Missing,
            io::ErrorKind::PermissionDenied => ProbeErrorKind::Denied,
            _ => ProbeErrorKind::Failed,
        };
        let reason = match kind {
            ProbeErrorKind::Missing => "it does not exist".to_owned(),
            ProbeErrorKind::Denied => "this user may not read it; run as root to read it".to_owned(),
            _ => source.to_string(),
        };
        Self { kind, target: target.into(), reason, source: Some(source) }
    }

    pub(crate) fn malformed(target: impl Into<String>, malformed: &Malformed) -> Self {
        let reason = format!("line {}: {}", malformed.line, malformed.reason);
        Self { kind: ProbeErrorKind::Malformed, target: target.into(), reason, source: None }
    }

    pub(crate) fn missing(target: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { kind: ProbeErrorKind::Missing, target: target.into(), reason: reason.into(), source: None }
    }

    pub(crate) fn unusable(target: impl Into<String>, reason: impl Into<String>) -> Self {
        let (target, reason) = (target.into(), reason.into());
        Self { kind: ProbeErrorKind::Malformed, target, reason, source: None }
    }

    pub(crate) fn too_long(target: impl Into<String>, limit_bytes: usize) -> Self {
        let reason = format!("it is longer than {limit_bytes} bytes, which no file of this kind should be");
        Self { kind: ProbeErrorKind::Failed, target: target.into(), reason, source: None }
    }

    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ProbeErrorKind {
        self.kind
    }

    /// The file or folder that was read, as the machine names it.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The kernel's error number, where the kernel refused.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        self.source.as_ref().and_then(io::Error::raw_os_error)
    }
}

fn errno(error: &io::Error) -> Option<rustix::io::Errno> {
    rustix::io::Errno::from_io_error(error)
}

impl fmt::Display for ProbeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "cannot read {}: {}", self.target, self.reason)
    }
}

impl std::error::Error for ProbeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}
