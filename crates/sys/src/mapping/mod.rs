//! A file mapped into memory, copied from and copied into, whose faults are errors and never the end of the process.
//!
//! A file that another process shortens, or a device that fails, shows as SIGBUS at the access. A handler puts a page of
//! zeroes there so that the copy can end, and the copy then fails with `EIO`. No
//! reference to mapped memory is ever made: it changes under whoever looks. Hot path: a copy makes no system call.

use std::fmt;
use std::fs::File;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, compiler_fence};

use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use crate::error::{Result, SysErrno};
use crate::racy_copy::racy_copy;
use faults::WatchedMapping;

mod faults;
#[cfg(test)]
mod tests;

/// What is done with a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MappingAccess {
    /// It is copied from; the file must be open for reading.
    Read,
    /// It is copied from and into; the file must be open for both.
    ReadWrite,
}

/// In which order a mapping will be visited: how far the kernel reads ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitOrder {
    /// Nothing is read ahead.
    Random,
    /// Some is read ahead, as the kernel sees fit.
    Normal,
    /// Much is read ahead, and what was passed may be dropped early.
    Sequential,
}

impl VisitOrder {
    fn advice(self) -> rustix::mm::Advice {
        match self {
            Self::Random => rustix::mm::Advice::Random,
            Self::Normal => rustix::mm::Advice::Normal,
            Self::Sequential => rustix::mm::Advice::Sequential,
        }
    }
}

/// A file, mapped from its start and shared with all who have it open.
pub struct FileMapping {
    file: File,
    start: NonNull<u8>,
    length_bytes: usize,
    protection: ProtFlags,
    order: Option<VisitOrder>,
    watched: WatchedMapping,
    /// A page of zeroes could not be taken away again: what is read there would be nothing of the file.
    is_lost: bool,
}

// SAFETY: the mapping is owned by this value alone, is bound to no thread, and every access needs `&mut self`.
unsafe impl Send for FileMapping {}

/// hugetlbfs, whose pages are larger than those a fault is mended with (statfs(2), `HUGETLBFS_MAGIC`).
const HUGE_PAGE_FILE_SYSTEM: u64 = 0x9584_58f6;

impl FileMapping {
    /// The first `length_bytes` of `file` in memory; they should be within the file.
    ///
    /// # Errors
    /// `Invalid` for a length of 0; `Missing` (`ENODEV`) where the file system cannot map files; `Denied` for a file
    /// that is not open as `access` needs it; `Exhausted` beyond 4096 mappings at a time, or without address space;
    /// `Unsupported` on hugetlbfs.
    ///
    /// # Cost
    /// One `mmap`; pages come with their first access. The first mapping of a process sets the handler of SIGBUS.
    ///
    /// # Source
    /// mmap(2).
    pub fn new(file: File, length_bytes: u64, access: MappingAccess) -> Result<Self> {
        let target = crate::file::descriptor(&file);
        let failed = |errno: SysErrno| errno.during("map", &target);
        let length_bytes = usize::try_from(length_bytes)
            .ok()
            .filter(|length| isize::try_from(*length).is_ok())
            .ok_or_else(|| failed(SysErrno::from_raw(libc::ENOMEM)))?;
        if length_bytes == 0 {
            return Err(failed(SysErrno::from_raw(libc::EINVAL)).advising("an empty file cannot be mapped"));
        }
        let system = rustix::fs::fstatfs(&file).map_err(|errno| failed(errno.into()))?;
        if u64::try_from(system.f_type) == Ok(HUGE_PAGE_FILE_SYSTEM) {
            let error = failed(SysErrno::from_raw(libc::EOPNOTSUPP));
            return Err(error.advising("files of huge pages (hugetlbfs) are not mapped here"));
        }
        let protection = match access {
            MappingAccess::Read => ProtFlags::READ,
            MappingAccess::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: no address is asked for and MAP_FIXED is not given, so no existing mapping is touched; no reference
        // to the mapped bytes is made, here or later.
        let mapped =
            unsafe { mmap(std::ptr::null_mut(), length_bytes, protection, MapFlags::SHARED, &file, 0) };
        let start = mapped.map_err(|errno| failed(errno.into()))?;
        let start =
            NonNull::new(start.cast::<u8>()).ok_or_else(|| failed(SysErrno::from_raw(libc::ENOMEM)))?;
        match faults::watch(start, length_bytes) {
            Ok(watched) => {
                Ok(Self { file, start, length_bytes, protection, order: None, watched, is_lost: false })
            }
            Err(errno) => {
                // SAFETY: the mapping was made above and nothing refers to it.
                let unmapped = unsafe { munmap(start.as_ptr().cast(), length_bytes) };
                debug_assert!(unmapped.is_ok(), "munmap of a new mapping failed: {unmapped:?}");
                Err(failed(errno)
                    .advising("too many files are mapped at a time; use fewer workers or clients"))
            }
        }
    }

    /// Bytes that are mapped.
    #[must_use]
    pub fn length_bytes(&self) -> usize {
        self.length_bytes
    }

    /// Advises the kernel in which order the mapping will be visited.
    ///
    /// # Errors
    /// The kernel's number.
    ///
    /// # Source
    /// madvise(2).
    pub fn advise(&mut self, order: VisitOrder) -> std::result::Result<(), SysErrno> {
        self.order = Some(order);
        // SAFETY: the range is this value's own live mapping, and neither kind of advice changes its contents.
        unsafe { madvise(self.start.as_ptr().cast(), self.length_bytes, order.advice()) }?;
        Ok(())
    }

    /// Copies from `offset_bytes` on into `into`, and returns how much: less at the end of the mapping.
    ///
    /// A file that was shortened to within a page reads as zeroes up to that page's end, as mmap(2) says.
    ///
    /// # Errors
    /// `EIO` when a page could not be had: the file was shortened, or its device failed. `into` is then undefined in
    /// part, though never uninitialised.
    pub fn copy_out(&mut self, offset_bytes: u64, into: &mut [u8]) -> std::result::Result<usize, SysErrno> {
        let Some((from, length)) = self.part(offset_bytes, into.len()) else { return Ok(0) };
        // SAFETY: `part` is within the live mapping, `into` is at least as long, and the two cannot overlap, since no
        // reference to the mapping exists. A page that is unavailable is replaced while the copy runs. Others may write
        // the file meanwhile, which this copy allows.
        self.copying(offset_bytes, length, || unsafe {
            racy_copy(from.as_ptr(), into.as_mut_ptr(), length);
        })
    }

    /// Copies `from` to `offset_bytes` and what follows, and returns how much: less at the end of the mapping.
    ///
    /// # Errors
    /// As [`Self::copy_out`], and for want of room where the file had a hole. `EBADF` when it was mapped for reading.
    pub fn copy_in(&mut self, offset_bytes: u64, from: &[u8]) -> std::result::Result<usize, SysErrno> {
        if !self.protection.contains(ProtFlags::WRITE) {
            return Err(SysErrno::from_raw(libc::EBADF));
        }
        let Some((to, length)) = self.part(offset_bytes, from.len()) else { return Ok(0) };
        // SAFETY: as in `copy_out`, with the directions swapped; the mapping may be written.
        self.copying(offset_bytes, length, || unsafe {
            racy_copy(from.as_ptr(), to.as_ptr(), length);
        })
    }

    /// Waits until what was copied into `length_bytes` from `offset_bytes` on is durable; zero is up to the end.
    ///
    /// # Errors
    /// The kernel's number, such as `EIO` or `ENOSPC` where the device took less than the memory.
    ///
    /// # Source
    /// msync(2), `MS_SYNC`.
    pub fn sync(&mut self, offset_bytes: u64, length_bytes: u64) -> std::result::Result<(), SysErrno> {
        let length = if length_bytes == 0 { usize::MAX } else { saturated(length_bytes) };
        let Some((first, length)) = self.part(offset_bytes, length) else { return Ok(()) };
        let (page_start, length) = whole_pages(first, length);
        // SAFETY: the range is whole pages of this value's own live mapping.
        unsafe { msync(page_start.as_ptr().cast(), length, MsyncFlags::SYNC) }?;
        Ok(())
    }

    /// Gives back the room of a range of the file; see [`crate::file::punch_hole`]. Its pages read as zeroes then.
    ///
    /// # Errors
    /// As that function, and `EBADF` when it was mapped for reading.
    pub fn punch_hole(&mut self, offset_bytes: u64, length_bytes: u64) -> std::result::Result<(), SysErrno> {
        if !self.protection.contains(ProtFlags::WRITE) {
            return Err(SysErrno::from_raw(libc::EBADF));
        }
        crate::file::punch_hole(&self.file, offset_bytes, length_bytes)
    }

    /// The address of `offset_bytes`, and how much of `length` is mapped from there; `None` past the end.
    fn part(&self, offset_bytes: u64, length: usize) -> Option<(NonNull<u8>, usize)> {
        let offset = usize::try_from(offset_bytes).ok().filter(|offset| *offset < self.length_bytes)?;
        // SAFETY: the offset is within the mapping, so that the sum is too.
        let first = unsafe { self.start.add(offset) };
        Some((first, length.min(self.length_bytes - offset)))
    }

    /// Runs `copy` and reports whether it met an unavailable page.
    fn copying(
        &mut self,
        offset_bytes: u64,
        length: usize,
        copy: impl FnOnce(),
    ) -> std::result::Result<usize, SysErrno> {
        if self.is_lost {
            return Err(SysErrno::from_raw(libc::EIO));
        }
        let before = self.watched.fault_count();
        // The handler runs on this thread, in the midst of the copy: the compiler must not move the copy past the
        // counts.
        compiler_fence(Ordering::SeqCst);
        copy();
        compiler_fence(Ordering::SeqCst);
        if self.watched.fault_count() == before {
            return Ok(length);
        }
        self.put_back(offset_bytes, length);
        Err(SysErrno::from_raw(libc::EIO))
    }

    /// Maps the file again where pages of zeroes were put, so that nobody takes them for the file's.
    #[cold]
    fn put_back(&mut self, offset_bytes: u64, length: usize) {
        let Some((first, length)) = self.part(offset_bytes, length) else { return };
        let (page_start, length) = whole_pages(first, length);
        let file_offset = (page_start.addr().get() - self.start.addr().get()) as u64;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: MAP_FIXED replaces whole pages of this value's own live mapping, to which no reference exists, by
        // the same pages of the same file with the same protection.
        let mapped = unsafe {
            mmap(page_start.as_ptr().cast(), length, self.protection, flags, &self.file, file_offset)
        };
        self.is_lost = mapped.is_err();
        if let Some(order) = self.order {
            // Only how far is read ahead hangs on it.
            let _ = self.advise(order);
        }
    }
}

/// The whole pages that contain `length` bytes from `first` on; the length may end within its last page.
fn whole_pages(first: NonNull<u8>, length: usize) -> (NonNull<u8>, usize) {
    let within_page = first.addr().get() % rustix::param::page_size();
    // SAFETY: every mapping starts on a page, so that the start of the page that contains `first` is mapped with it.
    let page_start = unsafe { first.sub(within_page) };
    (page_start, length + within_page)
}

fn saturated(length_bytes: u64) -> usize {
    usize::try_from(length_bytes).unwrap_or(usize::MAX)
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        self.watched.end();
        // SAFETY: this is the mapping `new` made (some of its pages anew), unmapped once; nothing refers to it.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.length_bytes) };
        debug_assert!(unmapped.is_ok(), "munmap of an owned mapping failed: {unmapped:?}");
    }
}

impl fmt::Debug for FileMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileMapping")
            .field("file", &self.file)
            .field("length_bytes", &self.length_bytes)
            .finish_non_exhaustive()
    }
}
