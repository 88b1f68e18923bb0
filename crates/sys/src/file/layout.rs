//! How a file is laid out on its file system: which parts are allocated, and what direct I/O must be aligned to.
//!
//! It does not say where on the device the parts are.

use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, SeekFrom, StatxFlags, seek, statx};
use rustix::io::Errno as Raw;

use super::descriptor;
use crate::error::{Result, SysErrno};

/// A part of a file that contains data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileExtent {
    /// Where it starts.
    pub offset_bytes: u64,
    /// How long it is.
    pub length_bytes: u64,
}

/// The parts of a file that contain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileExtentMap {
    /// Ascending, apart from each other; empty for an empty file and for one that is a single hole.
    pub extents: Vec<FileExtent>,
    /// Whether the list reaches the end of the file; if not, there are more parts than were asked for.
    pub complete: bool,
}

/// The first `extent_count_max` parts of `file` that contain data, as far as the file system reports them.
///
/// A file system that keeps no holes shows one part. Space allocated and never written may show as a hole. The
/// position of the file moves while this runs and is put back afterwards.
///
/// # Errors
/// `Failed` (`ESPIPE`) for what cannot be positioned in.
///
/// # Source
/// lseek(2), `SEEK_DATA` and `SEEK_HOLE`.
pub fn allocated_extents(file: impl AsFd, extent_count_max: usize) -> Result<FileExtentMap> {
    keeping_position(file, |fd| {
        let mut layout = FileExtentMap { extents: Vec::new(), complete: false };
        let mut from_bytes = 0;
        while layout.extents.len() <= extent_count_max {
            let offset_bytes = match seek(fd, SeekFrom::Data(from_bytes)) {
                Ok(offset_bytes) => offset_bytes,
                // No data up to the end.
                Err(Raw::NXIO) => {
                    layout.complete = true;
                    return Ok(layout);
                }
                Err(errno) => return Err(errno),
            };
            if layout.extents.len() == extent_count_max {
                return Ok(layout);
            }
            from_bytes = seek(fd, SeekFrom::Hole(offset_bytes))?;
            layout.extents.push(FileExtent { offset_bytes, length_bytes: from_bytes - offset_bytes });
        }
        Ok(layout)
    })
}

/// Whether a part of `file` before its end contains no data: reading it would measure zeroes made by the kernel.
///
/// # Errors
/// As [`allocated_extents`].
pub fn has_holes(file: impl AsFd) -> Result<bool> {
    keeping_position(file, |fd| {
        let end_bytes = seek(fd, SeekFrom::End(0))?;
        // Every file has a hole at its end; an empty one has nothing else.
        Ok(end_bytes > 0 && seek(fd, SeekFrom::Hole(0))? < end_bytes)
    })
}

fn keeping_position<F: AsFd, T>(
    file: F,
    look: impl FnOnce(std::os::fd::BorrowedFd<'_>) -> rustix::io::Result<T>,
) -> Result<T> {
    let fd = file.as_fd();
    let failed = |errno: Raw| SysErrno::from(errno).during("find holes in", descriptor(fd));
    let position = seek(fd, SeekFrom::Current(0)).map_err(failed)?;
    let answer = look(fd);
    seek(fd, SeekFrom::Start(position)).map_err(failed)?;
    answer.map_err(failed)
}

/// Who said what direct I/O must be aligned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlignmentSource {
    /// The file system, through `STATX_DIOALIGN` (Linux 6.1).
    FileSystem,
    /// Assumed: the logical block size of the device that contains the file.
    LogicalBlock,
    /// Assumed: the page size, because the file is on no block device that can be seen (NFS, overlay).
    Page,
}

/// What direct I/O on a file must be aligned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectAlignment {
    /// For the address of the buffer.
    pub memory_bytes: u32,
    /// For offset and length of the transfer.
    pub offset_bytes: u32,
    /// Who said so; the assumed ones do not even promise that direct I/O is possible.
    pub source: AlignmentSource,
}

/// What direct I/O on `file` must be aligned to.
///
/// # Errors
/// `Unsupported` where the file system states that this file takes no direct I/O.
///
/// # Source
/// statx(2), `STATX_DIOALIGN`; else `/sys/dev/block/MAJOR:MINOR/queue/logical_block_size`.
pub fn direct_alignment(file: impl AsFd) -> Result<DirectAlignment> {
    let fd = file.as_fd();
    let failed = |errno: SysErrno| errno.during("find the direct I/O alignment of", descriptor(fd));
    let asked = StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN;
    let status = statx(fd, "", AtFlags::EMPTY_PATH, asked).map_err(|errno| failed(errno.into()))?;
    if status.stx_mask & StatxFlags::DIOALIGN.bits() != 0 {
        if status.stx_dio_offset_align == 0 {
            let refused = failed(SysErrno::from_raw(libc::EOPNOTSUPP));
            return Err(
                refused.advising("this file does not support direct I/O (O_DIRECT); use buffered I/O")
            );
        }
        return Ok(DirectAlignment {
            memory_bytes: status.stx_dio_mem_align,
            offset_bytes: status.stx_dio_offset_align,
            source: AlignmentSource::FileSystem,
        });
    }
    let is_device = FileType::from_raw_mode(status.stx_mode.into()) == FileType::BlockDevice;
    let (major, minor) = if is_device {
        (status.stx_rdev_major, status.stx_rdev_minor)
    } else {
        (status.stx_dev_major, status.stx_dev_minor)
    };
    Ok(assumed_alignment(major, minor))
}

/// The logical block size of a device, or of the disk it is a partition of; else the page size.
pub(super) fn assumed_alignment(major: u32, minor: u32) -> DirectAlignment {
    let device = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let stated = ["queue/logical_block_size", "../queue/logical_block_size"].iter().find_map(|name| {
        let text = std::fs::read_to_string(device.join(name)).ok()?;
        text.trim().parse::<u32>().ok().filter(|bytes| bytes.is_power_of_two())
    });
    let page_bytes = u32::try_from(rustix::param::page_size()).unwrap_or(4096);
    let (bytes, source) = match stated {
        Some(bytes) => (bytes, AlignmentSource::LogicalBlock),
        None => (page_bytes, AlignmentSource::Page),
    };
    DirectAlignment { memory_bytes: bytes, offset_bytes: bytes, source }
}
