//! The ring that the kernel writes records of one CPU's events into.
//!
//! The kernel moves its head, and this process its tail; what is between them is copied out. A record that finds no room is
//! counted by the kernel.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fd::OwnedFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::SysErrno;

// Places in `struct perf_event_mmap_page` (include/uapi/linux/perf_event.h); the data follows that page.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

/// A mapped ring.
#[derive(Debug)]
pub(super) struct EventRing {
    start: NonNull<u8>,
    /// The page with head and tail.
    page_bytes: usize,
    /// A power of two.
    data_bytes: usize,
}

// SAFETY: the mapping is owned by this value alone and bound to no thread; taking from it needs `&mut self`.
unsafe impl Send for EventRing {}

impl EventRing {
    /// Maps the ring of `event`, whose data has `data_bytes`: a power of two of pages.
    pub(super) fn map(event: &OwnedFd, data_bytes: usize) -> std::result::Result<Self, SysErrno> {
        let page_bytes = rustix::param::page_size();
        if !data_bytes.is_power_of_two() || data_bytes < page_bytes {
            return Err(SysErrno::from_raw(libc::EINVAL));
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: no address is asked for and MAP_FIXED is not given, so no existing mapping is touched; no reference to the
        // mapped bytes is made but to its two atomic counters.
        let mapped = unsafe {
            mmap(std::ptr::null_mut(), page_bytes + data_bytes, protection, MapFlags::SHARED, event, 0)
        }?;
        let start = NonNull::new(mapped.cast::<u8>()).ok_or(SysErrno::from_raw(libc::ENOMEM))?;
        Ok(Self { start, page_bytes, data_bytes })
    }

    /// Moves all records into `into`, which is emptied first, and gives their room back to the kernel.
    pub(super) fn take(&mut self, into: &mut Vec<u8>) {
        into.clear();
        let head = self.counter(HEAD_AT).load(Ordering::Acquire);
        let tail = self.counter(TAIL_AT).load(Ordering::Relaxed);
        let ready = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX).min(self.data_bytes);
        let mask = self.data_bytes - 1;
        let at = usize::try_from(tail & mask as u64).unwrap_or(0);
        let first = ready.min(self.data_bytes - at);
        into.reserve(ready);
        // SAFETY: both pieces are within the mapped data, which follows the first page; the kernel writes nothing between tail
        // and head until the tail is moved below. `into` has room for `ready` bytes, all of which are initialised here.
        unsafe {
            let data = self.start.as_ptr().add(self.page_bytes);
            std::ptr::copy_nonoverlapping(data.add(at), into.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(data, into.as_mut_ptr().add(first), ready - first);
            into.set_len(ready);
        }
        self.counter(TAIL_AT).store(head, Ordering::Release);
    }

    fn counter(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the place is within the first page of the mapping and aligned to 8 bytes, the mapping lives as long as `self`,
        // and both sides access the counter atomically.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(at).cast()) }
    }
}

impl Drop for EventRing {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and nothing refers to it any more.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.page_bytes + self.data_bytes) };
        debug_assert!(unmapped.is_ok(), "munmap of a ring failed: {unmapped:?}");
    }
}
