//! Why an engine could not do what was asked.

use narrows_model::printable::one_line;
use std::fmt;
use std::io;

/// What the caller does next about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Ask for something else: the engine or the target cannot do this.
    Unsupported,
    /// Correct the input: no such file, folder, host or object.
    NotFound,
    /// Get the right to do it.
    Permission,
    /// Make room.
    NoSpace,
    /// Start the server, or correct the address.
    Refused,
    /// Give the right token.
    Token,
    /// The peer is gone or does not answer.
    PeerGone,
    /// The peer does not speak this protocol or this version.
    Protocol,
    /// Run again: somebody put something else in the place of what this run works on.
    Replaced,
    /// A stop was asked for while it waited.
    Stopped,
    /// The device or system failed.
    Io,
}

/// Why an engine could not do what was asked: what happened, where, what to do.
#[derive(Debug)]
pub struct EngineError {
    /// What the caller does next.
    pub kind: ErrorKind,
    /// What was being done, such as `open` or `write`.
    pub operation: &'static str,
    /// On what.
    pub target: String,
    /// What happened, for people; empty when the source says it all.
    pub detail: String,
    /// What to do; empty when nothing can be advised.
    pub hint: String,
    /// The system's error.
    pub source: Option<io::Error>,
}

impl EngineError {
    /// An error of `operation` on `target`, with nothing else known.
    #[must_use]
    pub fn new(kind: ErrorKind, operation: &'static str, target: impl Into<String>) -> Self {
        Self {
            kind,
            operation,
            target: target.into(),
            detail: String::new(),
            hint: String::new(),
            source: None,
        }
    }

    /// The error that the system's `source` means for `operation` on `target`.
    #[must_use]
    pub fn from_io(operation: &'static str, target: impl Into<String>, source: io::Error) -> Self {
        let kind = kind_of(&source);
        let hint = match source.kind() {
            io::ErrorKind::FileTooLarge => {
                "raise the limit of file sizes (ulimit -f), or ask for smaller files"
            }
            _ => hint_of(kind),
        };
        Self { hint: hint.to_owned(), source: Some(source), ..Self::new(kind, operation, target) }
    }

    /// The same with what happened, for people.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// The same with what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The system's name of the error, or a name of the kind where the system had no part.
    #[must_use]
    pub fn errno(&self) -> String {
        match self.source.as_ref().and_then(io::Error::raw_os_error) {
            Some(number) => errno_name(number),
            None => kind_name(self.kind).to_owned(),
        }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names and what a peer sent are parts of it.
        write!(f, "{} {}", self.operation, one_line(&self.target))?;
        if !self.detail.is_empty() {
            write!(f, ": {}", one_line(&self.detail))?;
        }
        if let Some(source) = &self.source {
            write!(f, ": {}", one_line(&source.to_string()))?;
        }
        if !self.hint.is_empty() {
            write!(f, "; {}", one_line(&self.hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

fn kind_of(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Permission,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ErrorKind::NoSpace
        }
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable => ErrorKind::Refused,
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::TimedOut => ErrorKind::PeerGone,
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Io,
    }
}

fn hint_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "check that it exists and the spelling",
        ErrorKind::Permission => "check this user's permissions there, and that it is not mounted read-only",
        ErrorKind::NoSpace => "free some space or give a folder on another file system",
        ErrorKind::Refused => "check the address, and that `narrows serve` runs there",
        ErrorKind::PeerGone => "check whether the server still runs",
        _ => "",
    }
}

fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Unsupported => "UNSUPPORTED",
        ErrorKind::NotFound => "NOT_FOUND",
        ErrorKind::Permission => "PERMISSION",
        ErrorKind::NoSpace => "NO_SPACE",
        ErrorKind::Refused => "REFUSED",
        ErrorKind::Token => "TOKEN",
        ErrorKind::PeerGone => "PEER_GONE",
        ErrorKind::Protocol => "PROTOCOL",
        ErrorKind::Replaced => "REPLACED",
        ErrorKind::Stopped => "STOPPED",
        ErrorKind::Io => "IO",
    }
}

/// The system's name of an error number; `ERRNO_n` for a number without a known name.
#[must_use]
pub fn errno_name(number: i32) -> String {
    match narrows_sys::SysErrno::from_raw(number).name() {
        "E?" => format!("ERRNO_{number}"),
        name => name.to_owned(),
    }
}

impl From<narrows_sys::Error> for EngineError {
    fn from(error: narrows_sys::Error) -> Self {
        let source = io::Error::from_raw_os_error(error.errno().raw());
        let known = Self::from_io(error.operation(), error.target().to_owned(), source);
        match error.advice() {
            Some(advice) => known.hint(advice),
            None => known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_sent_is_one_line_that_steers_no_terminal() {
        let error =
            EngineError::new(ErrorKind::Refused, "open", "a\u{1b}[2J").detail("b\nnarrows: fine\u{9b}");
        assert_eq!(error.to_string(), "open a\\u001b[2J: b\\u000anarrows: fine\\u009b");
    }

    #[test]
    fn the_message_says_what_where_why_and_what_to_do() {
        let error = EngineError::from_io("write", "/srv/x", io::Error::from_raw_os_error(28));
        assert_eq!(error.kind, ErrorKind::NoSpace);
        assert_eq!(error.errno(), "ENOSPC");
        let text = error.to_string();
        assert!(text.starts_with("write /srv/x: No space left on device"), "{text}");
        assert!(text.ends_with("free some space or give a folder on another file system"), "{text}");
    }
}
