//! A file behind the C library's buffered streams (`FILE *`), called as a C program calls them.
//!
//! Nothing is done here that the C library would not do: no second buffer, no shortened paths. What a call costs is what
//! it costs a C program. Hot path: no allocation but the C library's own buffer at the first access.

use std::ffi::{CStr, c_int, c_void};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd};
use std::ptr::NonNull;

use crate::error::{Result, SysErrno};

mod buffer;
#[cfg(test)]
mod tests;
mod whole;

use buffer::StreamBuffer;

pub use whole::{SyncFn, read_whole, write_whole};

/// What a stream is opened for, as the mode of `fopen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamMode {
    /// `r`: reading alone.
    Read,
    /// `r+`: reading and writing a file that is there.
    Update,
}

impl StreamMode {
    fn word(self) -> &'static CStr {
        match self {
            Self::Read => c"r",
            Self::Update => c"r+",
        }
    }
}

/// What the stream did last: between writing and reading, C asks for a seek.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastOperation {
    Nothing,
    Read,
    Write,
}

/// An open stream. It is closed when dropped; [`StdioStream::close`] reports whether that worked.
#[derive(Debug)]
pub struct StdioStream {
    handle: NonNull<libc::FILE>,
    /// The position of the stream, in bytes from the start of the file; `None` after a failure.
    place_bytes: Option<u64>,
    last: LastOperation,
    /// Kept alive for as long as the C library writes into it.
    buffer: Option<StreamBuffer>,
}

// SAFETY: a FILE and its buffer are bound to no thread, are owned by this value alone, and every call takes `&mut self`.
unsafe impl Send for StdioStream {}

impl StdioStream {
    /// A stream over `file`, which must be open for what `mode` asks.
    ///
    /// `buffer_bytes` is the size of the stream's buffer: `None` leaves it to the C library, 0 is none at all.
    ///
    /// # Errors
    /// `Invalid` for a file that is not open as `mode` needs it, or whose position cannot be read; `Exhausted` without
    /// memory.
    ///
    /// # Source
    /// fdopen(3), setvbuf(3).
    pub fn new(file: File, mode: StreamMode, buffer_bytes: Option<usize>) -> Result<Self> {
        let target = crate::file::descriptor(&file);
        let failed = |operation| SysErrno::last().during(operation, &target);
        let descriptor = file.into_raw_fd();
        // SAFETY: the descriptor is open and handed over; the mode is a C string.
        let stream = unsafe { libc::fdopen(descriptor, mode.word().as_ptr()) };
        let Some(stream) = NonNull::new(stream) else {
            let error = failed("open a stream over");
            // SAFETY: fdopen refused it, so that the descriptor is still nobody's but ours.
            unsafe { libc::close(descriptor) };
            return Err(error);
        };
        let buffer = buffer_bytes.map(StreamBuffer::new);
        if let Some(buffer) = &buffer {
            let (start, bytes) = (buffer.start().cast(), buffer.length_bytes());
            let kind = if bytes == 0 { libc::_IONBF } else { libc::_IOFBF };
            // SAFETY: nothing was done with the stream yet, and the buffer lives as long as the stream.
            if unsafe { libc::setvbuf(stream.as_ptr(), start, kind, bytes) } != 0 {
                let error = failed("give a buffer to the stream over");
                // SAFETY: the stream is open, and not used again.
                unsafe { libc::fclose(stream.as_ptr()) };
                return Err(error);
            }
        }
        Ok(Self { handle: stream, place_bytes: None, last: LastOperation::Nothing, buffer })
    }

    /// Writes all of `bytes` at `offset_bytes` with one `fwrite`; they may still be in the stream's buffer then.
    ///
    /// # Errors
    /// What the file refused; how much of it arrived is not known then.
    pub fn write_at(&mut self, bytes: &[u8], offset_bytes: u64) -> std::result::Result<usize, SysErrno> {
        self.seek_to(offset_bytes, LastOperation::Write)?;
        // SAFETY: the stream is open, and so many bytes are readable at the pointer.
        let written =
            unsafe { libc::fwrite(bytes.as_ptr().cast::<c_void>(), 1, bytes.len(), self.handle.as_ptr()) };
        if written < bytes.len() {
            return Err(self.failure());
        }
        self.moved(written);
        Ok(written)
    }

    /// Reads into `bytes` from `offset_bytes` with one `fread`; fewer than asked for at the end of the file.
    ///
    /// # Errors
    /// What the file refused.
    pub fn read_at(&mut self, bytes: &mut [u8], offset_bytes: u64) -> std::result::Result<usize, SysErrno> {
        self.seek_to(offset_bytes, LastOperation::Read)?;
        // SAFETY: the stream is open, and so many bytes are writable at the pointer.
        let read =
            unsafe { libc::fread(bytes.as_mut_ptr().cast::<c_void>(), 1, bytes.len(), self.handle.as_ptr()) };
        if read < bytes.len() {
            self.end_of_file()?;
        }
        self.moved(read);
        Ok(read)
    }

    /// Writes all of `bytes` at `offset_bytes` with one `putc` each; they may still be in the stream's buffer then.
    ///
    /// # Errors
    /// What the file refused; how much of it arrived is not known then.
    pub fn write_chars_at(
        &mut self,
        bytes: &[u8],
        offset_bytes: u64,
    ) -> std::result::Result<usize, SysErrno> {
        self.seek_to(offset_bytes, LastOperation::Write)?;
        for byte in bytes {
            // SAFETY: the stream is open.
            if unsafe { libc::fputc(c_int::from(*byte), self.handle.as_ptr()) } == libc::EOF {
                return Err(self.failure());
            }
        }
        self.moved(bytes.len());
        Ok(bytes.len())
    }

    /// Reads into `bytes` from `offset_bytes` with one `getc` each; fewer than asked for at the end of the file.
    ///
    /// # Errors
    /// What the file refused.
    pub fn read_chars_at(
        &mut self,
        bytes: &mut [u8],
        offset_bytes: u64,
    ) -> std::result::Result<usize, SysErrno> {
        self.seek_to(offset_bytes, LastOperation::Read)?;
        let mut read = 0;
        for byte in bytes {
            // SAFETY: the stream is open.
            let found = unsafe { libc::fgetc(self.handle.as_ptr()) };
            let Ok(found) = u8::try_from(found) else {
                self.end_of_file()?;
                break;
            };
            *byte = found;
            read += 1;
        }
        self.moved(read);
        Ok(read)
    }

    /// Hands what is in the stream's buffer to the kernel.
    ///
    /// # Errors
    /// What the file refused.
    ///
    /// # Source
    /// fflush(3).
    pub fn flush(&mut self) -> std::result::Result<(), SysErrno> {
        // SAFETY: the stream is open.
        if unsafe { libc::fflush(self.handle.as_ptr()) } == 0 { Ok(()) } else { Err(self.failure()) }
    }

    /// The file below the stream, for syncs; reading or writing through it bypasses the stream.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the stream is open and owns its descriptor for as long as it lives.
        unsafe { BorrowedFd::borrow_raw(libc::fileno(self.handle.as_ptr())) }
    }

    /// Closes the stream, which writes what is in its buffer.
    ///
    /// # Errors
    /// What the file refused; the stream is closed even then.
    pub fn close(self) -> std::result::Result<(), SysErrno> {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the stream is open, and not used again: nothing drops it.
        let code = unsafe { libc::fclose(this.handle.as_ptr()) };
        let outcome = if code == 0 { Ok(()) } else { Err(SysErrno::last()) };
        drop(this.buffer.take());
        outcome
    }

    /// Seeks, unless the stream is at that position already and does not change between reading and writing.
    fn seek_to(&mut self, offset_bytes: u64, next: LastOperation) -> std::result::Result<(), SysErrno> {
        if self.place_bytes == Some(offset_bytes) && (self.last == next) {
            return Ok(());
        }
        let offset = libc::off_t::try_from(offset_bytes).map_err(|_| SysErrno::from_raw(libc::EOVERFLOW))?;
        // SAFETY: the stream is open.
        if unsafe { libc::fseeko(self.handle.as_ptr(), offset, libc::SEEK_SET) } != 0 {
            return Err(self.failure());
        }
        self.place_bytes = Some(offset_bytes);
        self.last = next;
        Ok(())
    }

    fn moved(&mut self, bytes: usize) {
        self.place_bytes = self.place_bytes.map(|place| place + bytes as u64);
    }

    /// Whether a short read was the end of the file and no failure.
    fn end_of_file(&mut self) -> std::result::Result<(), SysErrno> {
        // SAFETY: the stream is open.
        if unsafe { libc::ferror(self.handle.as_ptr()) } != 0 {
            return Err(self.failure());
        }
        // SAFETY: as above. The next read looks again: the file may have grown.
        unsafe { libc::clearerr(self.handle.as_ptr()) };
        Ok(())
    }

    /// The failure of the last call; the stream is usable again, with no known position.
    fn failure(&mut self) -> SysErrno {
        let errno = SysErrno::last();
        self.place_bytes = None;
        // SAFETY: the stream is open.
        unsafe { libc::clearerr(self.handle.as_ptr()) };
        errno
    }
}

impl AsFd for StdioStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor()
    }
}

impl Drop for StdioStream {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and not used again.
        unsafe { libc::fclose(self.handle.as_ptr()) };
    }
}
