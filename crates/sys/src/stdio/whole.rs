//! A whole file through a stream of its own: opened, moved block by block, closed.
//!
//! The stream's buffer is the caller's, so that none is allocated for each file. Hot path: the C library allocates its
//! `FILE`, nothing else does.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};
use std::ptr::NonNull;

use crate::error::SysErrno;

/// What is done with a file that has been written, before it is closed.
pub type SyncFn<'a> = &'a mut dyn FnMut(BorrowedFd<'_>) -> Result<(), SysErrno>;

/// A stream for the time of one call, over a buffer that outlives it.
struct BorrowedStream<'a> {
    handle: NonNull<libc::FILE>,
    /// The C library alone uses the buffer while this lives; a reference moved along would say that nobody else does.
    _buffer: PhantomData<&'a mut [u8]>,
}

impl<'a> BorrowedStream<'a> {
    fn open(file: OwnedFd, mode: &CStr, buffer: &'a mut [u8]) -> Result<Self, SysErrno> {
        let descriptor = file.into_raw_fd();
        // SAFETY: the descriptor is open and handed over; the mode is a C string.
        let handle = unsafe { libc::fdopen(descriptor, mode.as_ptr()) };
        let Some(handle) = NonNull::new(handle) else {
            let errno = SysErrno::last();
            // SAFETY: fdopen refused it, so that the descriptor is still nobody's but ours.
            unsafe { libc::close(descriptor) };
            return Err(errno);
        };
        let kind = if buffer.is_empty() { libc::_IONBF } else { libc::_IOFBF };
        // SAFETY: nothing was done with the stream yet, and the buffer is borrowed for as long as the stream lives.
        let code = unsafe { libc::setvbuf(handle.as_ptr(), buffer.as_mut_ptr().cast(), kind, buffer.len()) };
        let stream = Self { handle, _buffer: PhantomData };
        if code == 0 { Ok(stream) } else { Err(SysErrno::last()) }
    }

    fn flush(&mut self) -> Result<(), SysErrno> {
        // SAFETY: the stream is open.
        if unsafe { libc::fflush(self.handle.as_ptr()) } == 0 { Ok(()) } else { Err(SysErrno::last()) }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the stream is open and owns its descriptor for as long as it lives.
        unsafe { BorrowedFd::borrow_raw(libc::fileno(self.handle.as_ptr())) }
    }

    fn close(self) -> Result<(), SysErrno> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the stream is open, and not used again: nothing drops it.
        if unsafe { libc::fclose(this.handle.as_ptr()) } == 0 { Ok(()) } else { Err(SysErrno::last()) }
    }
}

impl Drop for BorrowedStream<'_> {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and not used again.
        unsafe { libc::fclose(self.handle.as_ptr()) };
    }
}

/// Writes `length_bytes` to `file`, which is open for writing, through a stream with the given buffer: one `fwrite` of
/// `block` after the other, and of a part of it at the end. With `sync` the stream is flushed and the file handed over
/// before it is closed.
///
/// # Errors
/// What the file or `sync` refused; the file is closed even then, and its content is unknown.
///
/// # Panics
/// When there are bytes to write and the block is empty.
///
/// # Source
/// fdopen(3), setvbuf(3), fwrite(3), fclose(3).
pub fn write_whole(
    file: OwnedFd,
    stream_buffer: &mut [u8],
    block: &[u8],
    length_bytes: u64,
    sync: Option<SyncFn<'_>>,
) -> Result<u64, SysErrno> {
    assert!(length_bytes == 0 || !block.is_empty(), "blocks to write must have bytes");
    let mut stream = BorrowedStream::open(file, c"w", stream_buffer)?;
    let mut left = length_bytes;
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        // SAFETY: the stream is open, and so many bytes are readable at the pointer.
        let written =
            unsafe { libc::fwrite(block.as_ptr().cast::<c_void>(), 1, part, stream.handle.as_ptr()) };
        if written < part {
            return Err(SysErrno::last());
        }
        left -= part as u64;
    }
    if let Some(sync) = sync {
        stream.flush()?;
        sync(stream.descriptor())?;
    }
    stream.close()?;
    Ok(length_bytes)
}

/// Reads `length_bytes` of `file`, which is open for reading, through a stream with the given buffer: one `fread` of
/// `block` after the other. Fewer at the end of the file.
///
/// # Errors
/// What the file refused; it is closed even then.
///
/// # Panics
/// When there are bytes to read and the block is empty.
///
/// # Source
/// fdopen(3), setvbuf(3), fread(3), fclose(3).
pub fn read_whole(
    file: OwnedFd,
    stream_buffer: &mut [u8],
    block: &mut [u8],
    length_bytes: u64,
) -> Result<u64, SysErrno> {
    assert!(length_bytes == 0 || !block.is_empty(), "blocks to read must have bytes");
    let stream = BorrowedStream::open(file, c"r", stream_buffer)?;
    let mut left = length_bytes;
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        // SAFETY: the stream is open, and so many bytes are writable at the pointer.
        let read =
            unsafe { libc::fread(block.as_mut_ptr().cast::<c_void>(), 1, part, stream.handle.as_ptr()) };
        left -= read as u64;
        if read < part {
            // SAFETY: the stream is open.
            if unsafe { libc::ferror(stream.handle.as_ptr()) } != 0 {
                return Err(SysErrno::last());
            }
            break;
        }
    }
    stream.close()?;
    Ok(length_bytes - left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File, OpenOptions};

    #[test]
    fn what_is_written_in_blocks_is_read_in_blocks_and_a_file_that_ends_says_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut buffer = [0; 64];
        let block: Vec<u8> = (0..48).collect();
        let mut synced = 0;
        let mut sync = |_: BorrowedFd<'_>| {
            synced += 1;
            Ok(())
        };
        let written =
            write_whole(File::create(&path).unwrap().into(), &mut buffer, &block, 100, Some(&mut sync));
        assert_eq!((written, synced), (Ok(100), 1));
        let expected: Vec<u8> = (0..48).chain(0..48).chain(0..4).collect();
        assert_eq!(fs::read(&path).unwrap(), expected);
        let append = OpenOptions::new().append(true).open(&path).unwrap();
        assert_eq!(write_whole(append.into(), &mut [], &block, 3, None), Ok(3));
        assert_eq!(fs::metadata(&path).unwrap().len(), 103);
        let mut read = [0; 100];
        let file = || OwnedFd::from(File::open(&path).unwrap());
        assert_eq!(read_whole(file(), &mut buffer, &mut read, 100), Ok(100));
        assert_eq!(read[..], expected[..]);
        assert_eq!(read_whole(file(), &mut buffer, &mut read, 1000), Ok(103));
    }

    #[test]
    fn a_file_that_refuses_says_why() {
        let mut block = [0; 8];
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let refused = write_whole(full.into(), &mut [0; 64], &block, 8, None);
        assert_eq!(refused, Err(SysErrno::from_raw(libc::ENOSPC)));
        let written_only = OpenOptions::new().write(true).open("/dev/null").unwrap();
        let refused = read_whole(written_only.into(), &mut [0; 64], &mut block, 8);
        assert_eq!(refused, Err(SysErrno::from_raw(libc::EINVAL)));
    }
}
