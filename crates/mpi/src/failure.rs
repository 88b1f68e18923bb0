//! Why a call of MPI failed: its text, and the error number of the system that is nearest to it.

use crate::constants::constant;
use mpi::ffi;
use std::fmt;
use std::os::raw::{c_char, c_int};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MpiFailure {
    /// What failed on what, in the library's words.
    pub(crate) text: String,
    /// The nearest error number of the system.
    pub(crate) errno: i32,
}

impl MpiFailure {
    /// An argument that no call takes.
    pub(crate) fn invalid(text: String) -> Self {
        Self { text, errno: EINVAL }
    }

    /// A call that did less than it was asked for.
    pub(crate) fn io(text: String) -> Self {
        Self { text, errno: EIO }
    }
}

impl fmt::Display for MpiFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<MpiFailure> for String {
    fn from(failure: MpiFailure) -> Self {
        failure.text
    }
}

impl From<String> for MpiFailure {
    fn from(text: String) -> Self {
        Self::invalid(text)
    }
}

const ENOENT: i32 = 2;
const EIO: i32 = 5;
const EACCES: i32 = 13;
const EEXIST: i32 = 17;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const EDQUOT: i32 = 122;

/// `outcome` of the call `what` on `path`.
///
/// # Errors
/// That of the library, where it is one.
pub(crate) fn checked(outcome: c_int, what: &str, path: &str) -> Result<(), MpiFailure> {
    if outcome == 0 {
        return Ok(());
    }
    let said = error_text(outcome);
    Err(MpiFailure {
        text: format!("{what} on {path} failed: {said} (error {outcome})"),
        errno: errno(error_class(outcome)),
    })
}

fn error_text(outcome: c_int) -> String {
    let mut text = [0_u8; 1024];
    let mut length: c_int = 0;
    // SAFETY: the text has room for the longest message of either library (512 bytes), and both pointers are valid.
    let known =
        unsafe { ffi::MPI_Error_string(outcome, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    let length = usize::try_from(length).unwrap_or_default().min(text.len());
    if known == 0 { String::from_utf8_lossy(&text[..length]).into_owned() } else { String::new() }
}

/// The class of an error, or the error itself where the library does not know it.
fn error_class(outcome: c_int) -> c_int {
    let mut class: c_int = 0;
    // SAFETY: the class is written by the call.
    let known = unsafe { ffi::MPI_Error_class(outcome, &raw mut class) };
    if known == 0 { class } else { outcome }
}

/// The error number of the system for a class of errors.
fn errno(class: c_int) -> i32 {
    let is = |known: Result<c_int, String>| known == Ok(class);
    if is(constant(ffi::MPI_ERR_NO_SPACE)) {
        ENOSPC
    } else if is(constant(ffi::MPI_ERR_QUOTA)) {
        EDQUOT
    } else if is(constant(ffi::MPI_ERR_NO_SUCH_FILE)) {
        ENOENT
    } else if is(constant(ffi::MPI_ERR_ACCESS)) {
        EACCES
    } else if is(constant(ffi::MPI_ERR_READ_ONLY)) {
        EROFS
    } else if is(constant(ffi::MPI_ERR_FILE_EXISTS)) {
        EEXIST
    } else {
        EIO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_files_have_the_numbers_of_the_system() {
        let class = |known: u32| c_int::try_from(known).unwrap();
        assert_eq!(errno(class(ffi::MPI_ERR_NO_SPACE)), ENOSPC);
        assert_eq!(errno(class(ffi::MPI_ERR_NO_SUCH_FILE)), ENOENT);
        assert_eq!(errno(class(ffi::MPI_ERR_IO)), EIO);
    }
}
