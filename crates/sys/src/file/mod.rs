//! Files as a benchmark needs them: opened past the cache or confined to a folder, read and written at an offset or at
//! their own position.
//!
//! No call falls back: direct I/O that the file system refuses is an error, a short transfer is reported as short.
//! [`pread`], [`pwrite`], [`read()`], [`write()`] and [`seek`] are hot paths: one system call, no allocation.

use std::fmt::Display;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use rustix::fs::{Advice, CWD, FileType, Mode, OFlags, ResolveFlags};

use crate::error::{Result, SysErrno};
use crate::return_stack;

mod appended;
mod identity;
mod in_folder;
mod layout;
mod listing;
mod made_files;
mod own_folder;
mod position;
mod removal;
mod residency;
mod short_path;
mod space;
mod trusted;
mod vectors;

pub use appended::{check_to_append, open_to_append};
pub use identity::{FileIdentity, is_made_file, is_made_name};
pub use in_folder::{
    FolderRights, RenameMode, current_path, is_empty_folder, open_folder, open_place, remove_folder_in,
    remove_in, rename_in,
};
pub use layout::{
    AlignmentSource, DirectAlignment, FileExtent, FileExtentMap, allocated_extents, direct_alignment,
    has_holes,
};
pub use listing::Listing;
pub use made_files::MadeFiles;
pub use own_folder::{
    make_folder, open_folder_in, open_own, read_small, read_small_in, read_small_through_links,
};
pub use position::{read, seek, write};
pub use removal::{known_content, remove_content, remove_known};
pub use residency::resident_bytes;
pub use short_path::ShortPath;
pub use space::{grants_holes, nameless, punch_hole, reserve};
pub use trusted::read_small_trusted;
pub use vectors::{VECTORS_MAX, preadv, pwritev};

/// What will be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileAccess {
    /// Read only.
    #[default]
    Read,
    /// Write only.
    Write,
    /// Both.
    ReadWrite,
}

/// Whether transfers pass through the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Caching {
    /// Through the page cache.
    #[default]
    Buffered,
    /// Past it: `O_DIRECT`. Address, offset and length must then be aligned; see [`direct_alignment`].
    Direct,
}

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteDone {
    /// When the kernel has taken the bytes.
    #[default]
    Accepted,
    /// When the bytes, and what is needed to find them again, are durable: `O_DSYNC`.
    Durable,
}

/// What happens if the name does or does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Create {
    /// It must exist.
    #[default]
    Never,
    /// It is made if it does not exist.
    IfMissing,
    /// It must not exist yet.
    New,
}

/// How a file is opened; the default reads an existing file through the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenMode {
    /// Reading, writing or both.
    pub access: FileAccess,
    /// Through the page cache or past it.
    pub caching: Caching,
    /// When a write counts as done.
    pub write_done: WriteDone,
    /// Whether the file may or must be made.
    pub create: Create,
}

impl OpenMode {
    fn flags(self) -> OFlags {
        let access = match self.access {
            FileAccess::Read => OFlags::RDONLY,
            FileAccess::Write => OFlags::WRONLY,
            FileAccess::ReadWrite => OFlags::RDWR,
        };
        let caching = match self.caching {
            Caching::Buffered => OFlags::empty(),
            Caching::Direct => OFlags::DIRECT,
        };
        let write_done = match self.write_done {
            WriteDone::Accepted => OFlags::empty(),
            WriteDone::Durable => OFlags::DSYNC,
        };
        let create = match self.create {
            Create::Never => OFlags::empty(),
            Create::IfMissing => OFlags::CREATE,
            Create::New => OFlags::CREATE | OFlags::EXCL,
        };
        access | caching | write_done | create | OFlags::CLOEXEC
    }

    /// The permission bits of a new file; openat2 refuses bits where nothing can be made.
    fn mode(self, permissions: u32) -> Mode {
        if self.create == Create::Never { Mode::empty() } else { Mode::from_raw_mode(permissions & 0o7777) }
    }
}

/// The file `path`, opened as `mode` says; `permissions` (less the umask) are for a file that is made.
///
/// # Errors
/// `Invalid` where the file system refuses direct I/O (`EINVAL`), or the name exists and must not; otherwise as the
/// kernel says.
///
/// # Source
/// open(2).
pub fn open(path: &Path, mode: OpenMode, permissions: u32) -> Result<File> {
    rustix::fs::openat(CWD, path, mode.flags(), mode.mode(permissions))
        .map(File::from)
        .map_err(|errno| open_error(errno, mode, path.display()))
}

/// The file `path` below the open folder `folder`, whatever the path contains.
///
/// An absolute path, a `..` that leaves the folder, and any symbolic or magic link on the way are refused, by the
/// kernel and without a race. `.` opens the folder itself, for reading. A pipe, socket or device is refused, and never
/// waited for: a caller that confines paths does not know what is in the folder.
///
/// # Errors
/// `Invalid` with `EXDEV` (leaves the folder), `ELOOP` (a link on the way) or `EINVAL` (neither file nor folder);
/// `Unsupported` before Linux 5.6 or where a sandbox hides the call; otherwise as [`open`].
///
/// # Source
/// openat2(2) with `RESOLVE_BENEATH`, `RESOLVE_NO_SYMLINKS` and `RESOLVE_NO_MAGICLINKS`.
pub fn open_beneath(folder: impl AsFd, path: &Path, mode: OpenMode, permissions: u32) -> Result<File> {
    /// openat2 answers `EAGAIN` when a rename elsewhere raced with a `..`; the manual asks to try again.
    const TRIES: u32 = 16;
    let confined = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // Opening a pipe waits for its other end otherwise.
    let flags = mode.flags() | OFlags::NONBLOCK;
    let mut answer = Err(rustix::io::Errno::AGAIN);
    for _ in 0..TRIES {
        answer = rustix::fs::openat2(folder.as_fd(), path, flags, mode.mode(permissions), confined);
        if !matches!(answer, Err(rustix::io::Errno::AGAIN)) {
            break;
        }
    }
    let failed = |errno| open_error(errno, mode, path.display());
    let opened = File::from(answer.map_err(failed)?);
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&opened).map_err(failed)?.st_mode);
    if !matches!(kind, FileType::RegularFile | FileType::Directory) {
        let error = SysErrno::from(rustix::io::Errno::INVAL).during("open", path.display());
        return Err(error.advising("it is neither a file nor a folder"));
    }
    // A submission ring would take the flag as a wish never to wait for the device.
    rustix::fs::fcntl_setfl(&opened, mode.flags()).map_err(failed)?;
    Ok(opened)
}

fn open_error(errno: rustix::io::Errno, mode: OpenMode, target: impl Display) -> crate::Error {
    let error = SysErrno::from(errno).during("open", target);
    match errno {
        rustix::io::Errno::INVAL if mode.caching == Caching::Direct => {
            error.advising("this file system does not support direct I/O (O_DIRECT)")
        }
        rustix::io::Errno::XDEV => error.advising("the path leaves the folder it is confined to"),
        rustix::io::Errno::LOOP => error.advising("a symbolic link on the way is not followed here"),
        rustix::io::Errno::EXIST => error.advising("choose a name that is free"),
        _ => error,
    }
}

/// How much of a transfer took place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a transfer may be short"]
pub struct TransferResult {
    done_bytes: usize,
    asked_bytes: usize,
}

impl TransferResult {
    /// Bytes moved.
    #[must_use]
    pub fn done_bytes(self) -> usize {
        self.done_bytes
    }

    /// Bytes asked for.
    #[must_use]
    pub fn asked_bytes(self) -> usize {
        self.asked_bytes
    }

    /// Fewer bytes were moved than asked for: the end of the file, a full device, or a signal.
    #[must_use]
    pub fn is_short(self) -> bool {
        self.done_bytes < self.asked_bytes
    }
}

/// Reads into `into` from `offset_bytes`, in one call; the file's own position stays.
///
/// # Errors
/// The kernel's number. `EINVAL` with direct I/O means that address, offset or length is not aligned.
pub fn pread(
    file: impl AsFd,
    into: &mut [u8],
    offset_bytes: u64,
) -> std::result::Result<TransferResult, SysErrno> {
    let asked_bytes = into.len();
    let answer = rustix::io::pread(file, into, offset_bytes);
    return_stack::refill();
    Ok(TransferResult { done_bytes: answer?, asked_bytes })
}

/// Writes `from` at `offset_bytes`, in one call; the file's own position stays.
///
/// # Errors
/// As [`pread`]; and `ENOSPC`, `EDQUOT` where there is no room for a single byte.
pub fn pwrite(
    file: impl AsFd,
    from: &[u8],
    offset_bytes: u64,
) -> std::result::Result<TransferResult, SysErrno> {
    let answer = rustix::io::pwrite(file, from, offset_bytes);
    return_stack::refill();
    Ok(TransferResult { done_bytes: answer?, asked_bytes: from.len() })
}

/// Waits until what was written to `file`, and what is needed to find it again, is durable.
///
/// # Errors
/// The kernel's number. After `EIO` the failed pages count as clean: a second call that succeeds proves nothing.
pub fn fdatasync(file: impl AsFd) -> std::result::Result<(), SysErrno> {
    Ok(rustix::fs::fdatasync(file)?)
}

/// Asks the kernel to drop the cached pages of `file` from `offset_bytes` on, for `length_bytes` (0: to the end).
///
/// Only advice: dirty, mapped and locked pages stay. Call [`fdatasync`] first, and see [`resident_bytes`] afterwards.
///
/// # Errors
/// The kernel's number; `ESPIPE` for a pipe.
pub fn fadvise_dontneed(
    file: impl AsFd,
    offset_bytes: u64,
    length_bytes: u64,
) -> std::result::Result<(), SysErrno> {
    let length = std::num::NonZeroU64::new(length_bytes);
    Ok(rustix::fs::fadvise(file, offset_bytes, length, Advice::DontNeed)?)
}

/// Closes `file` and reports what its file system refuses only then, as network file systems do. Not through the C
/// library, which prepares each close for the thread's cancellation.
///
/// # Errors
/// The kernel's number; the file is closed even then.
///
/// # Source
/// close(2).
pub fn close(file: std::os::fd::OwnedFd) -> std::result::Result<(), SysErrno> {
    use std::os::fd::IntoRawFd;
    // SAFETY: the descriptor was owned by the value that was just given up, so that nobody else closes or uses it.
    Ok(unsafe { rustix::io::try_close(file.into_raw_fd()) }?)
}

/// How a descriptor is called in messages.
pub(crate) fn descriptor(file: impl AsFd) -> String {
    let number = file.as_fd().as_raw_fd();
    // A thread may have a table of its own.
    std::fs::read_link(format!("/proc/thread-self/fd/{number}"))
        .map_or_else(|_| format!("descriptor {number}"), |path| path.display().to_string())
}

#[cfg(test)]
mod tests;
