//! What a refused system call is reported as: a small [`SysErrno`] where calls are frequent, an [`Error`] elsewhere.
//!
//! It does not retry and does not log.

use std::{fmt, io};

/// The result of a call that is made rarely enough to afford a message.
pub type Result<T> = std::result::Result<T, Error>;

/// What the caller does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The kernel, file system or device cannot do this: skip it and say so.
    Unsupported,
    /// The user lacks a right: ask for it.
    Denied,
    /// The named object does not exist.
    Missing,
    /// The arguments are wrong: change them before trying again.
    Invalid,
    /// Memory, descriptors, quota or space ran out: ask for less.
    Exhausted,
    /// The call was cut short or would have had to wait: try again.
    Retry,
    /// The device, the connection or the kernel failed: record it.
    Failed,
}

impl ErrorKind {
    fn advice(self) -> &'static str {
        match self {
            Self::Unsupported => "the kernel, file system or device does not offer this",
            Self::Denied => "not permitted for this user; check owner, mode and mount options",
            Self::Missing => "check the name",
            Self::Invalid => "check alignment, length and flags",
            Self::Exhausted => "free some, or use less",
            Self::Retry => "try again",
            Self::Failed => "see the kernel log",
        }
    }
}

/// The number by which the kernel names a failure; `Copy`, so it costs nothing on a hot path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SysErrno(i32);

impl SysErrno {
    /// The failure with this number, as in `errno(3)`.
    #[must_use]
    pub const fn from_raw(number: i32) -> Self {
        Self(number)
    }

    /// The failure that the last libc call of this thread left behind.
    pub(crate) fn last() -> Self {
        Self(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    /// The number.
    #[must_use]
    pub const fn raw(self) -> i32 {
        self.0
    }

    /// The symbolic name, such as `EIO`; `E?` for numbers outside the table of names.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.known_name().unwrap_or("E?")
    }

    /// The symbolic name; `None` for numbers outside the table of names.
    #[must_use]
    pub fn known_name(self) -> Option<&'static str> {
        NAMES.iter().find(|(number, _)| *number == self.0).map(|(_, name)| *name)
    }

    /// What the caller does next.
    #[must_use]
    pub fn kind(self) -> ErrorKind {
        match self.0 {
            libc::EOPNOTSUPP | libc::ENOSYS | libc::ENOPROTOOPT | libc::ENOTTY => ErrorKind::Unsupported,
            libc::EACCES | libc::EPERM | libc::EROFS => ErrorKind::Denied,
            libc::ENOENT | libc::ESRCH | libc::ENODEV | libc::ENXIO => ErrorKind::Missing,
            libc::EINVAL
            | libc::EBADF
            | libc::EFAULT
            | libc::EISDIR
            | libc::ENOTDIR
            | libc::EEXIST
            | libc::ELOOP
            | libc::EXDEV
            | libc::ENAMETOOLONG
            | libc::EOVERFLOW => ErrorKind::Invalid,
            libc::ENOSPC | libc::EDQUOT | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::EFBIG => {
                ErrorKind::Exhausted
            }
            libc::EINTR | libc::EAGAIN | libc::EBUSY => ErrorKind::Retry,
            _ => ErrorKind::Failed,
        }
    }

    /// This failure with what was being done, and to what.
    #[must_use]
    pub fn during(self, operation: &'static str, target: impl fmt::Display) -> Error {
        Error { operation, target: target.to_string(), errno: self, detail: None, source: self.into() }
    }
}

impl fmt::Debug for SysErrno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

impl fmt::Display for SysErrno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", io::Error::from_raw_os_error(self.0))
    }
}

impl std::error::Error for SysErrno {}

impl From<SysErrno> for io::Error {
    fn from(errno: SysErrno) -> Self {
        Self::from_raw_os_error(errno.0)
    }
}

impl From<rustix::io::Errno> for SysErrno {
    fn from(errno: rustix::io::Errno) -> Self {
        Self(errno.raw_os_error())
    }
}

impl From<io::Error> for SysErrno {
    /// An error without a number (a short read, a closed pipe inside std) becomes `EIO`.
    fn from(error: io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

/// A refused call: what was being done, to what, why, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {target}: {} ({}); {}", .source, .errno.name(), .detail.unwrap_or(.errno.kind().advice()))]
pub struct Error {
    operation: &'static str,
    target: String,
    errno: SysErrno,
    detail: Option<&'static str>,
    #[source]
    source: io::Error,
}

impl Error {
    /// An argument refused before the kernel was asked, with what is wrong with it.
    pub(crate) fn invalid(operation: &'static str, target: impl fmt::Display, detail: &'static str) -> Self {
        Self { detail: Some(detail), ..SysErrno(libc::EINVAL).during(operation, target) }
    }

    /// The same failure with advice that fits this call better than the general one.
    pub(crate) fn advising(self, detail: &'static str) -> Self {
        Self { detail: Some(detail), ..self }
    }

    /// The advice that fits this call; `None` where there is none but that of its kind.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        self.detail
    }

    /// What the caller does next.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.errno.kind()
    }

    /// What was being done, as a verb phrase: "open", "map".
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// What it was being done to: a path, a descriptor, a length.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The number the kernel answered with.
    #[must_use]
    pub fn errno(&self) -> SysErrno {
        self.errno
    }
}

const NAMES: &[(i32, &str)] = &[
    (libc::E2BIG, "E2BIG"),
    (libc::EACCES, "EACCES"),
    (libc::EADDRINUSE, "EADDRINUSE"),
    (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
    (libc::EAGAIN, "EAGAIN"),
    (libc::EBADF, "EBADF"),
    (libc::EBUSY, "EBUSY"),
    (libc::ECANCELED, "ECANCELED"),
    (libc::ECHILD, "ECHILD"),
    (libc::ECONNABORTED, "ECONNABORTED"),
    (libc::ECONNREFUSED, "ECONNREFUSED"),
    (libc::ECONNRESET, "ECONNRESET"),
    (libc::EDQUOT, "EDQUOT"),
    (libc::EEXIST, "EEXIST"),
    (libc::EFAULT, "EFAULT"),
    (libc::EFBIG, "EFBIG"),
    (libc::EHOSTUNREACH, "EHOSTUNREACH"),
    (libc::EINPROGRESS, "EINPROGRESS"),
    (libc::EINTR, "EINTR"),
    (libc::EINVAL, "EINVAL"),
    (libc::EIO, "EIO"),
    (libc::EISDIR, "EISDIR"),
    (libc::ELOOP, "ELOOP"),
    (libc::EMFILE, "EMFILE"),
    (libc::EMSGSIZE, "EMSGSIZE"),
    (libc::ENAMETOOLONG, "ENAMETOOLONG"),
    (libc::ENETDOWN, "ENETDOWN"),
    (libc::ENETUNREACH, "ENETUNREACH"),
    (libc::ENFILE, "ENFILE"),
    (libc::ENOBUFS, "ENOBUFS"),
    (libc::ENODATA, "ENODATA"),
    (libc::ENODEV, "ENODEV"),
    (libc::ENOENT, "ENOENT"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::ENOPROTOOPT, "ENOPROTOOPT"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::ENOSYS, "ENOSYS"),
    (libc::ENOTCONN, "ENOTCONN"),
    (libc::ENOTDIR, "ENOTDIR"),
    (libc::ENOTEMPTY, "ENOTEMPTY"),
    (libc::ENOTSOCK, "ENOTSOCK"),
    (libc::ENOTTY, "ENOTTY"),
    (libc::ENXIO, "ENXIO"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::EOVERFLOW, "EOVERFLOW"),
    (libc::EPERM, "EPERM"),
    (libc::EPIPE, "EPIPE"),
    (libc::EPROTO, "EPROTO"),
    (libc::EREMOTE, "EREMOTE"),
    (libc::EREMOTEIO, "EREMOTEIO"),
    (libc::EROFS, "EROFS"),
    (libc::ESPIPE, "ESPIPE"),
    (libc::ESRCH, "ESRCH"),
    (libc::ESTALE, "ESTALE"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
    (libc::ETXTBSY, "ETXTBSY"),
    (libc::EXDEV, "EXDEV"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_happened_where_and_what_to_do() {
        let error = SysErrno::from_raw(libc::ENOSPC).during("write", "/data/x");
        assert_eq!(
            error.to_string(),
            "cannot write /data/x: No space left on device (os error 28) (ENOSPC); free some, or use less"
        );
        assert_eq!(error.kind(), ErrorKind::Exhausted);
    }

    #[test]
    fn a_number_outside_the_table_has_no_invented_name() {
        assert_eq!(SysErrno::from_raw(libc::EKEYREVOKED).name(), "E?");
    }

    #[test]
    fn no_number_is_named_twice() {
        let mut numbers: Vec<i32> = NAMES.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), NAMES.len());
    }
}
