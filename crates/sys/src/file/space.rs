//! Room for a file: reserved before it is written, given back where it is not needed any more.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate};

use super::Caching;
use crate::error::SysErrno;

/// Reserves room for the first `length_bytes` of `file`, which grows to that if it is shorter; what is new reads as
/// zeroes. A signal does not break it off.
///
/// # Errors
/// The kernel's number: `ENOSPC` or `EDQUOT` without room, and what was reserved until then may stay; `EOPNOTSUPP` where
/// the file system cannot reserve.
///
/// # Source
/// fallocate(2).
pub fn reserve(file: impl AsFd, length_bytes: u64) -> std::result::Result<(), SysErrno> {
    Ok(rustix::io::retry_on_intr(|| fallocate(&file, FallocateFlags::empty(), 0, length_bytes))?)
}

/// Gives back the room of `length_bytes` from `offset_bytes` on; the file keeps its length and reads as zeroes there.
///
/// # Errors
/// The kernel's number: `EOPNOTSUPP` where the file system keeps no holes, `EINVAL` for a length of 0.
///
/// # Source
/// fallocate(2), `FALLOC_FL_PUNCH_HOLE` with `FALLOC_FL_KEEP_SIZE`.
pub fn punch_hole(
    file: impl AsFd,
    offset_bytes: u64,
    length_bytes: u64,
) -> std::result::Result<(), SysErrno> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::io::retry_on_intr(|| fallocate(&file, flags, offset_bytes, length_bytes))?)
}

/// A file without a name in the open `folder`, to write and to read: nobody sees it, and it is gone when it is closed.
///
/// # Errors
/// The kernel's number: `EOPNOTSUPP` where the file system has no such files, `EINVAL` where it takes no direct access.
///
/// # Source
/// open(2), `O_TMPFILE`.
pub fn nameless(folder: impl AsFd, caching: Caching) -> std::result::Result<File, SysErrno> {
    let direct = if caching == Caching::Direct { OFlags::DIRECT } else { OFlags::empty() };
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC | direct;
    Ok(File::from(rustix::fs::openat(folder, ".", flags, Mode::RUSR | Mode::WUSR)?))
}

/// Whether files in the open `folder` can have holes punched; `None` where that cannot be tried.
///
/// It is tried on a file without a name.
pub fn grants_holes(folder: impl AsFd) -> Option<bool> {
    let nameless = nameless(folder, Caching::Buffered).ok()?;
    match punch_hole(&nameless, 0, rustix::param::page_size() as u64) {
        Ok(()) => Some(true),
        Err(errno) if errno.raw() == libc::EOPNOTSUPP => Some(false),
        Err(_) => None,
    }
}
