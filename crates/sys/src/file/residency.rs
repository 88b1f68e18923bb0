//! How much of a file is in the page cache: whether a read can be served without the storage below.
//!
//! It looks without touching: no page is read in, marked as used or dropped by it.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::FileType;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::descriptor;
use crate::error::{Error, ErrorKind, Result, SysErrno};

/// Bytes looked at in one mapping: 64 Ki pages, so that the answer needs no more than 64 KiB.
const WINDOW_PAGES: u64 = 1 << 16;

/// How many of the `length_bytes` from `offset_bytes` on are in the page cache; bytes past the end do not count.
///
/// # Errors
/// `Denied` for a file not opened for reading, and for one that this user neither owns nor may write: there the
/// kernel answers "all resident", whatever is true. `Missing` (`ENODEV`) where the file system cannot map files.
///
/// # Cost
/// One mapping for each 64 Ki pages; about 1 ms a GiB.
///
/// # Source
/// mincore(2), and its section on security since Linux 5.2.
pub fn resident_bytes(file: impl AsFd, offset_bytes: u64, length_bytes: u64) -> Result<u64> {
    let fd = file.as_fd();
    let failed = |errno: SysErrno| errno.during("find cached pages of", descriptor(fd));
    let status = rustix::fs::fstat(fd).map_err(|errno| failed(errno.into()))?;
    let is_device = FileType::from_raw_mode(status.st_mode) == FileType::BlockDevice;
    // A block device's own size is not in its status.
    let file_bytes = if is_device { u64::MAX } else { u64::try_from(status.st_size).unwrap_or(0) };
    let end_bytes = offset_bytes.saturating_add(length_bytes).min(file_bytes);
    if offset_bytes >= end_bytes {
        return Ok(0);
    }
    if status.st_uid != rustix::process::geteuid().as_raw() {
        may_write(fd).map_err(|errno| with_owner_hint(failed(errno)))?;
    }
    let page_bytes = rustix::param::page_size() as u64;
    let mut window_start = offset_bytes - offset_bytes % page_bytes;
    let mut resident = 0;
    // Bounded: each round moves on by at least a page, up to `end_bytes`.
    while window_start < end_bytes {
        let window_end = end_bytes.min(window_start.saturating_add(WINDOW_PAGES * page_bytes));
        let pages = resident_pages(fd, window_start, window_end - window_start).map_err(failed)?;
        for (page_start, page) in (window_start..).step_by(rustix::param::page_size()).zip(pages) {
            // Only the lowest bit is defined.
            if page & 1 == 1 {
                let first = page_start.max(offset_bytes);
                resident += (page_start + page_bytes).min(end_bytes) - first;
            }
        }
        window_start = window_end;
    }
    Ok(resident)
}

/// Whether this user may write the file, by the same check as the kernel's before it answers mincore(2).
///
/// By the bare call, because neither rustix nor every libc passes `AT_EMPTY_PATH` on. Linux 5.8; older kernels, which
/// would have to be guessed about, are an error (`ENOSYS`).
fn may_write(fd: BorrowedFd<'_>) -> std::result::Result<(), SysErrno> {
    let flags = libc::AT_EMPTY_PATH | libc::AT_EACCESS;
    // SAFETY: the descriptor is open while it is borrowed, the path is a constant that ends in a zero byte, and the
    // kernel writes to no memory of this process.
    let status =
        unsafe { libc::syscall(libc::SYS_faccessat2, fd.as_raw_fd(), c"".as_ptr(), libc::W_OK, flags) };
    if status == 0 { Ok(()) } else { Err(SysErrno::last()) }
}

fn with_owner_hint(error: Error) -> Error {
    if error.kind() != ErrorKind::Denied {
        return error;
    }
    error.advising("the kernel reports this only to the file's owner and to users who may write to it")
}

/// One byte for each page of the window, as mincore(2) gives them.
fn resident_pages(
    fd: impl AsFd,
    start_bytes: u64,
    length_bytes: u64,
) -> std::result::Result<Vec<u8>, SysErrno> {
    let length = usize::try_from(length_bytes).map_err(|_| SysErrno::from_raw(libc::EOVERFLOW))?;
    let mut pages = vec![0; length.div_ceil(rustix::param::page_size())];
    // SAFETY: no address is asked for and MAP_FIXED is not given, so no existing mapping is touched; the mapping is
    // never read through, so a file that shrinks meanwhile cannot fault.
    let start =
        unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, fd, start_bytes) }?;
    // SAFETY: `start` begins a live mapping of `length` bytes, and `pages` has one byte for each page of it.
    let status = unsafe { libc::mincore(start, length, pages.as_mut_ptr()) };
    let answer = if status == 0 { Ok(pages) } else { Err(SysErrno::last()) };
    // SAFETY: the mapping was made above and nothing refers to it any more.
    unsafe { munmap(start, length) }?;
    answer
}
