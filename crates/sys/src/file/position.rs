//! Reads and writes at a file's own position, which they move on, and seeks.
//!
//! Hot path: one system call, no allocation.

use crate::error::SysErrno;
use crate::return_stack;
use rustix::fs::SeekFrom;
use std::os::fd::AsFd;

use super::TransferResult;

/// Reads into `into` from the file's own position on, in one call.
///
/// # Errors
/// As [`super::pread`].
pub fn read(file: impl AsFd, into: &mut [u8]) -> Result<TransferResult, SysErrno> {
    let asked_bytes = into.len();
    let answer = rustix::io::read(file, into);
    return_stack::refill();
    Ok(TransferResult { done_bytes: answer?, asked_bytes })
}

/// Writes `from` from the file's own position on, in one call.
///
/// # Errors
/// As [`super::pwrite`].
pub fn write(file: impl AsFd, from: &[u8]) -> Result<TransferResult, SysErrno> {
    let answer = rustix::io::write(file, from);
    return_stack::refill();
    Ok(TransferResult { done_bytes: answer?, asked_bytes: from.len() })
}

/// Moves the file's own position to `offset_bytes` from its start.
///
/// # Errors
/// The kernel's number; `ESPIPE` for a pipe.
pub fn seek(file: impl AsFd, offset_bytes: u64) -> Result<(), SysErrno> {
    let answer = rustix::fs::seek(file, SeekFrom::Start(offset_bytes));
    return_stack::refill();
    answer?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_move_the_position_on_and_a_seek_sets_it() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(write(&file, b"abcdef").map(TransferResult::done_bytes), Ok(6));
        seek(&file, 2).unwrap();
        let mut read_bytes = [0; 3];
        assert_eq!(read(&file, &mut read_bytes).map(TransferResult::done_bytes), Ok(3));
        assert_eq!(&read_bytes, b"cde");
        assert!(read(&file, &mut read_bytes).unwrap().is_short());
        seek(&file, 1 << 40).unwrap();
        assert_eq!(read(&file, &mut read_bytes).map(TransferResult::done_bytes), Ok(0));
    }

    #[test]
    fn a_pipe_has_no_position() {
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        assert_eq!(seek(&reader, 0).unwrap_err().raw(), rustix::io::Errno::SPIPE.raw_os_error());
    }
}
