//! Memory that the C library writes into while a stream is open: it is known by its address alone, and never moves.
//!
//! A `Box` would not do: moving it says that nobody else has its address, and the stream has.

use std::ptr::NonNull;

/// Bytes on the heap that are reached through a pointer alone; freed when dropped.
#[derive(Debug)]
pub(super) struct StreamBuffer(NonNull<[u8]>);

impl StreamBuffer {
    /// So many zeroes; none is fine.
    pub(super) fn new(length_bytes: usize) -> Self {
        let bytes = Box::into_raw(vec![0_u8; length_bytes].into_boxed_slice());
        // SAFETY: a box is never null.
        Self(unsafe { NonNull::new_unchecked(bytes) })
    }

    /// The first byte: valid for reads and writes of the whole length until this value is dropped, wherever it is moved.
    pub(super) fn start(&self) -> *mut u8 {
        self.0.as_ptr().cast()
    }

    /// Bytes.
    pub(super) fn length_bytes(&self) -> usize {
        self.0.len()
    }
}

impl Drop for StreamBuffer {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box, which is made again once; the owner has closed the stream that wrote here.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Under Miri (`cargo xtask sanitize`) this fails for a `Box` in place of the pointer.
    #[test]
    fn what_the_c_library_writes_after_a_move_is_no_alias() {
        let buffer = StreamBuffer::new(3);
        let (start, bytes) = (buffer.start(), buffer.length_bytes());
        let moved = std::convert::identity((Some(buffer), 1));
        // SAFETY: the bytes are valid until the buffer is dropped.
        unsafe { start.add(bytes - 1).write(7) };
        let again = Box::new(moved);
        // SAFETY: as above.
        assert_eq!(unsafe { start.add(2).read() }, 7);
        assert_eq!(again.0.as_ref().map(StreamBuffer::length_bytes), Some(3));
    }

    #[test]
    fn a_buffer_of_no_bytes_has_an_address_and_is_freed() {
        assert!(!StreamBuffer::new(0).start().is_null());
    }
}
