//! Whole transfers out of calls that may be short: blocks of a file.
//!
//! Hot path: no allocation; the system calls are the work.

use narrows_sys::file::{pread, pwrite};
use std::fs::File;

/// The number by which a reply reports a failure.
pub(crate) fn status_of(errno: narrows_sys::SysErrno) -> u32 {
    u32::try_from(errno.raw()).unwrap_or(u32::MAX)
}

/// Reads until `into` is full or the file ends.
pub(crate) fn read_all(file: &File, into: &mut [u8], offset_bytes: u64) -> Result<usize, u32> {
    let mut done = 0;
    while done < into.len() {
        let read = pread(file, &mut into[done..], offset_bytes + done as u64).map_err(status_of)?;
        if read.done_bytes() == 0 {
            break;
        }
        done += read.done_bytes();
    }
    Ok(done)
}

/// Writes all of `from`; a device that takes nothing more is full.
pub(crate) fn write_all(file: &File, from: &[u8], offset_bytes: u64) -> Result<usize, u32> {
    const ENOSPC: u32 = 28;
    let mut done = 0;
    while done < from.len() {
        let written = pwrite(file, &from[done..], offset_bytes + done as u64).map_err(status_of)?;
        if written.done_bytes() == 0 {
            return Err(ENOSPC);
        }
        done += written.done_bytes();
    }
    Ok(done)
}
