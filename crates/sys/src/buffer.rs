//! Page-aligned memory for I/O, mapped apart from the heap and touched before it is handed out.
//!
//! A buffer never moves and never grows, so its address may be registered with the kernel for as long as it lives.
//! It does not pool and does not lock pages in memory.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::entropy;
use crate::error::{Error, Result, SysErrno};

/// `MADV_COLLAPSE` of the kernel (`linux/mman.h`), which the C library's own headers do not always have: musl has not.
const MADV_COLLAPSE: i32 = 25;

/// Zeroed bytes that start on a page boundary and whose pages are already present.
pub struct AlignedBuffer {
    start: NonNull<u8>,
    length_bytes: usize,
}

// SAFETY: the mapping is private to this value, and nothing in it is bound to the thread that made it.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared access is only `&[u8]`; every write needs `&mut self`.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// A buffer of `length_bytes` zeroes.
    ///
    /// # Errors
    /// `Invalid` for a length of 0, which no mapping can have; `Exhausted` where memory or address space ran out.
    ///
    /// # Cost
    /// One `mmap` that also faults every page in, so that no page fault falls into a measurement.
    pub fn new(length_bytes: usize) -> Result<Self> {
        let target = || format!("a buffer of {length_bytes} bytes");
        if length_bytes == 0 {
            return Err(Error::invalid("allocate", target(), "a buffer needs at least one byte"));
        }
        if isize::try_from(length_bytes).is_err() {
            return Err(SysErrno::from_raw(libc::ENOMEM).during("allocate", target()));
        }
        // Miri knows no populating, and has no pages to populate.
        let populate = if cfg!(miri) { MapFlags::empty() } else { MapFlags::POPULATE };
        // SAFETY: no address is asked for and MAP_FIXED is not given, so no existing mapping is touched.
        let mapped = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | populate,
            )
        };
        let start = mapped.map_err(|errno| SysErrno::from(errno).during("allocate", target()))?;
        let start = NonNull::new(start.cast::<u8>())
            .ok_or_else(|| SysErrno::from_raw(libc::ENOMEM).during("allocate", target()))?;
        Ok(Self { start, length_bytes })
    }

    /// A buffer of `length_bytes` filled as by [`Self::fill_entropy`].
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_entropy(length_bytes: usize, seed: u64) -> Result<Self> {
        let mut buffer = Self::new(length_bytes)?;
        buffer.fill_entropy(seed);
        Ok(buffer)
    }

    /// Gathers the pages into huge ones where the kernel is willing to; where not, the buffer is as good as before.
    ///
    /// # Cost
    /// The kernel copies the buffer once.
    ///
    /// # Source
    /// madvise(2), `MADV_COLLAPSE`, since Linux 6.1.
    pub fn gather_pages(&mut self) {
        // SAFETY: the range is this value's own mapping, whose contents the call keeps.
        let _willing = unsafe { libc::madvise(self.start.as_ptr().cast(), self.length_bytes, MADV_COLLAPSE) };
    }

    /// Fills the whole buffer with bytes that cannot be compressed; see [`entropy::fill_entropy`].
    pub fn fill_entropy(&mut self, seed: u64) {
        entropy::fill_entropy(self, seed);
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` begins a live mapping of `length_bytes` initialised bytes (at most isize::MAX) that this
        // value owns until it is dropped; the borrow of `self` keeps writers out.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length_bytes) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the exclusive borrow of `self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length_bytes) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: this is the mapping `new` made, unmapped once; no reference to it outlives `self`.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.length_bytes) };
        debug_assert!(unmapped.is_ok(), "munmap of an owned mapping failed: {unmapped:?}");
    }
}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedBuffer").field("length_bytes", &self.length_bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_buffer_starts_on_a_page_and_is_zeroed() {
        for length_bytes in [1, 511, 4096, 1_000_003] {
            let buffer = AlignedBuffer::new(length_bytes).unwrap();
            assert_eq!(buffer.as_ptr().addr() % rustix::param::page_size(), 0);
            assert_eq!(buffer.len(), length_bytes);
            assert!(buffer.iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn a_buffer_of_no_bytes_is_refused_with_the_reason() {
        let error = AlignedBuffer::new(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("at least one byte"), "{error}");
    }

    #[test]
    fn a_buffer_larger_than_the_address_space_is_an_error_and_not_a_crash() {
        for length_bytes in [usize::MAX, isize::MAX.unsigned_abs()] {
            assert_eq!(AlignedBuffer::new(length_bytes).unwrap_err().kind(), ErrorKind::Exhausted);
        }
    }

    #[test]
    fn entropy_reaches_the_last_byte() {
        let buffer = AlignedBuffer::with_entropy(10_007, 3).unwrap();
        let mut expected = vec![0; 10_007];
        entropy::fill_entropy(&mut expected, 3);
        assert_eq!(*buffer, *expected);
    }

    #[test]
    fn a_buffer_keeps_its_address_when_it_moves_to_another_thread() {
        let buffer = AlignedBuffer::with_entropy(4096, 9).unwrap();
        let (address, first) = (buffer.as_ptr().addr(), buffer[0]);
        let there = std::thread::spawn(move || (buffer.as_ptr().addr(), buffer[0])).join().unwrap();
        assert_eq!(there, (address, first));
    }
}
