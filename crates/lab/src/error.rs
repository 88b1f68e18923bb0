//! The crate's error: what was attempted, on what, and what the kernel or the tool answered.
//!
//! It does not decide whether a test is skipped: [`crate::available`] answers that beforehand.

use std::io;

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What the caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LabErrorKind {
    /// The machine refused: a missing right, tool, controller or device. Run elsewhere or install it.
    Refused,
    /// The argument cannot mean anything here. Change the call.
    Invalid,
    /// A file or program that must be built or made first is not there.
    Missing,
    /// What was waited for did not come in the time given.
    Late,
    /// The process ended before it did what was waited for.
    Ended,
}

/// Why a building block of the lab could not be made, changed or read.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {target}: {detail}")]
pub struct Error {
    kind: LabErrorKind,
    operation: &'static str,
    target: String,
    detail: String,
    #[source]
    source: Option<io::Error>,
}

impl Error {
    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> LabErrorKind {
        self.kind
    }

    /// What was attempted, as a verb phrase.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// What it was attempted on: a path, an interface, a command line.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    pub(crate) fn new(
        kind: LabErrorKind,
        operation: &'static str,
        target: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, operation, target: target.into(), detail: detail.into(), source: None }
    }

    /// An error that the operating system answered; its text becomes the detail.
    pub(crate) fn os(
        operation: &'static str,
        target: impl Into<String>,
        source: impl Into<io::Error>,
    ) -> Self {
        let source = source.into();
        let kind = if source.kind() == io::ErrorKind::NotFound {
            LabErrorKind::Missing
        } else {
            LabErrorKind::Refused
        };
        Self { kind, operation, target: target.into(), detail: source.to_string(), source: Some(source) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, LabErrorKind};

    #[test]
    fn message_names_operation_target_and_the_kernels_answer() {
        let error = Error::os("read", "/nowhere", rustix::io::Errno::ACCESS);
        assert_eq!(error.kind(), LabErrorKind::Refused);
        assert!(error.to_string().starts_with("read /nowhere: Permission denied"), "{error}");
    }

    #[test]
    fn an_absent_file_is_missing() {
        assert_eq!(Error::os("read", "/nowhere", rustix::io::Errno::NOENT).kind(), LabErrorKind::Missing);
    }
}
