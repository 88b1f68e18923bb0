//! A folder that this program made, by its descriptor: what is opened or removed in it is what it was when it was made,
//! whatever other users do to names around it.
//!
//! Names in it are single components. Not here: which folders a program made, and what is in them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2};
use rustix::io::Errno;

use super::{FileIdentity, OpenMode, open_error};
use crate::error::{Result, SysErrno};

/// Makes the folder `name` in the open folder `parent`, for its user alone whatever the umask is, and opens it.
///
/// # Errors
/// As the kernel says; `Invalid` with `EEXIST` where the name is taken, and where another folder has it before this one
/// could be opened: one with content, or, on file systems of this machine, one that was renamed or changed since it was
/// made.
///
/// # Source
/// mkdirat(2), openat2(2); that rename(2) sets the time of the last change of a folder's status is POSIX's choice for a file
/// system, and that of ext4, XFS, btrfs and tmpfs.
pub fn make_folder(parent: impl AsFd, name: &OsStr) -> Result<File> {
    let failed = |errno: Errno| SysErrno::from(errno).during("make", Path::new(name).display());
    mkdirat(&parent, name, Mode::RWXU).map_err(failed)?;
    let opened = match open_folder_in(&parent, name) {
        // A umask without the rights of the owner.
        Err(error) if error.errno().raw() == Errno::ACCESS.raw_os_error() => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let path = openat(&parent, name, flags, Mode::empty()).map_err(failed)?;
            refuse_renamed(&path).map_err(failed)?;
            let number = std::os::fd::AsRawFd::as_raw_fd(&path);
            // A thread may have a table of its own.
            rustix::fs::chmod(format!("/proc/thread-self/fd/{number}"), Mode::RWXU).map_err(failed)?;
            open_folder_in(&parent, name)?
        }
        opened => {
            let opened = opened?;
            refuse_renamed(&opened).map_err(failed)?;
            opened
        }
    };
    refuse_content(&opened).map_err(failed)?;
    // Some file systems refuse every change of rights, also one that changes nothing.
    if Mode::from_raw_mode(fstat(&opened).map_err(failed)?.st_mode) != Mode::RWXU {
        rustix::fs::fchmod(&opened, Mode::RWXU).map_err(failed)?;
    }
    Ok(opened)
}

/// Seconds between the two times of a folder that was just made: a file system that sets access lists of a new folder by
/// a request of its own, as over a network, changes its status a little later.
const MAKING_S_MAX: u64 = 1;

/// Fails with `EEXIST` for a folder that is not as it was made: its status, which a rename changes too, changed later than
/// its content. Where file systems renumber inodes their times are not relied on either.
fn refuse_renamed(folder: impl AsFd) -> std::result::Result<(), Errno> {
    if super::identity::renumbers(&folder) {
        return Ok(());
    }
    let status = fstat(&folder)?;
    let is_new = status.st_ctime.abs_diff(status.st_mtime) <= MAKING_S_MAX;
    if is_new { Ok(()) } else { Err(Errno::EXIST) }
}

/// Fails with `EEXIST` for a folder that is not empty.
fn refuse_content(folder: impl AsFd) -> std::result::Result<(), Errno> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Err(Errno::EXIST);
        }
    }
    Ok(())
}

/// The folder `name` in the open folder `parent`, open: no link, and on the mount of `parent`.
///
/// # Errors
/// `Invalid` with `ELOOP` or `ENOTDIR` for a link or a file, with `EXDEV` where something is mounted there; `Unsupported`
/// where neither openat2 nor `STATX_ATTR_MOUNT_ROOT` can exclude a mount.
///
/// # Source
/// openat2(2) with `RESOLVE_NO_XDEV`; statx(2).
pub fn open_folder_in(parent: impl AsFd, name: &OsStr) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed = |errno: Errno| open_error(errno, OpenMode::default(), Path::new(name).display());
    single(name)?;
    let opened = match open_confined(&parent, name, flags, Mode::empty()) {
        Err(Errno::NOSYS | Errno::PERM) => {
            let opened = openat(&parent, name, flags, Mode::empty()).map_err(failed)?;
            refuse_mount(&opened).map_err(failed)?;
            opened
        }
        opened => opened.map_err(failed)?,
    };
    Ok(opened.into())
}

/// The regular file `name` in the open folder `folder`, which this program made; `permissions` are for one that is made.
///
/// Never a link, never what is mounted there, never a pipe or a device. Without openat2 it is opened without following
/// links and its device is compared with the folder's: one component needs no more.
///
/// # Errors
/// `Invalid` with `EEXIST` for a new file whose name is taken, `ELOOP` for a link, `EXDEV` for a mount, `EINVAL` for what
/// is no regular file; otherwise as the kernel says.
///
/// # Source
/// openat2(2) with `RESOLVE_BENEATH`, `RESOLVE_NO_SYMLINKS`, `RESOLVE_NO_MAGICLINKS` and `RESOLVE_NO_XDEV`.
pub fn open_own(folder: impl AsFd, name: &OsStr, mode: OpenMode, permissions: u32) -> Result<File> {
    let failed = |errno: Errno| open_error(errno, mode, Path::new(name).display());
    single(name)?;
    // Opening a pipe waits for its other end otherwise.
    let flags = mode.flags() | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = match open_confined(&folder, name, flags, mode.mode(permissions)) {
        Err(Errno::NOSYS | Errno::PERM) => {
            let opened = openat(&folder, name, flags, mode.mode(permissions)).map_err(failed)?;
            let device = |file| FileIdentity::from_file(file).map(|identity| identity.device);
            if device(opened.as_fd()).ok() != device(folder.as_fd()).ok() {
                return Err(failed(Errno::XDEV));
            }
            opened
        }
        opened => opened.map_err(failed)?,
    };
    let kind = FileType::from_raw_mode(fstat(&opened).map_err(failed)?.st_mode);
    if kind != FileType::RegularFile {
        return Err(failed(Errno::INVAL).advising("it is no regular file"));
    }
    // A submission ring would take the flag as a wish never to wait for the device.
    rustix::fs::fcntl_setfl(&opened, mode.flags()).map_err(failed)?;
    Ok(opened.into())
}

/// The content of the file at `path`, which anybody may have put there: of a regular file that is no link, and of
/// `bytes_max` bytes at most.
///
/// # Errors
/// `Invalid` with `ELOOP` for a link, `EINVAL` for what is no regular file; `Exhausted` with `EFBIG` for a longer one;
/// otherwise as the kernel says. It never waits.
///
/// # Source
/// open(2) with `O_NOFOLLOW` and `O_NONBLOCK`.
pub fn read_small(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    read_small_in(CWD, path, bytes_max)
}

/// As [`read_small`], of `path` from the open folder `folder` on.
///
/// # Errors
/// As [`read_small`].
pub fn read_small_in(folder: impl AsFd, path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    read_bounded(open_regular_in(folder, path)?, path, bytes_max)
}

/// The regular file at `path` from the open folder `folder` on, to be read: no link, and never waited for.
pub(super) fn open_regular_in(folder: impl AsFd, path: &Path) -> Result<File> {
    let failed = |errno: Errno| SysErrno::from(errno).during("read", path.display());
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = openat(folder, path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::LOOP => {
            failed(errno).advising("it is a symbolic link, which is not followed; name the file itself")
        }
        _ => failed(errno),
    })?;
    let kind = FileType::from_raw_mode(fstat(&opened).map_err(failed)?.st_mode);
    if kind == FileType::Directory {
        return Err(failed(Errno::ISDIR).advising("name a file"));
    }
    if kind != FileType::RegularFile {
        return Err(failed(Errno::INVAL).advising("it is no regular file; name one"));
    }
    Ok(opened.into())
}

/// The content of `opened`, the file at `path`, of `bytes_max` bytes at most.
pub(super) fn read_bounded(opened: File, path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let failed = |errno: SysErrno| errno.during("read", path.display());
    let mut content = Vec::new();
    let read = opened.take(bytes_max.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|error| failed(error.into()))?;
    if content.len() as u64 > bytes_max {
        return Err(
            failed(Errno::FBIG.into()).advising("it is longer than such a file can be; name another one")
        );
    }
    Ok(content)
}

/// Links that are followed one after the other.
const LINKS_MAX: u32 = 8;

/// As [`read_small`], but a link at the end of `path` is followed if nobody but root and this user can have put it
/// there: one of them owns the link and the folder that it is in, and others may not write in that folder, or it is
/// sticky. So are secrets mounted in containers.
///
/// # Errors
/// As [`read_small`]; `Invalid` with `ELOOP` for any other link, and for more than eight.
///
/// # Source
/// As `fs.protected_symlinks` in sysctl/fs(5), for every folder.
pub fn read_small_through_links(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match read_small(&path, bytes_max) {
            Err(error) if error.errno().raw() == Errno::LOOP.raw_os_error() => path = link_target(&path)?,
            read => return read,
        }
    }
    read_small(&path, bytes_max)
}

/// Whether `user_id` is that of root or of this process.
pub(super) fn is_trusted(user_id: u32) -> bool {
    user_id == 0 || user_id == rustix::process::geteuid().as_raw()
}

/// Where the link `path` leads to, if nobody but root and this user can have put it there.
fn link_target(path: &Path) -> Result<std::path::PathBuf> {
    let failed = |errno: Errno| SysErrno::from(errno).during("read", path.display());
    let untrusted = failed(Errno::LOOP).advising(
        "it is a symbolic link that other users can have made, which is not followed; name the file itself, or a link \
         owned by root or this user in a folder of theirs in which others may not write",
    );
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(untrusted) };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, parent, flags, Mode::empty()).map_err(failed)?;
    let around = fstat(&folder).map_err(failed)?;
    let link = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    let rights = Mode::from_raw_mode(around.st_mode);
    let is_closed = !rights.intersects(Mode::WGRP | Mode::WOTH) || rights.contains(Mode::SVTX);
    if !(is_trusted(link.st_uid) && is_trusted(around.st_uid) && is_closed) {
        return Err(untrusted);
    }
    let target = rustix::fs::readlinkat(&folder, name, Vec::new()).map_err(failed)?;
    Ok(parent.join(OsStr::from_bytes(target.to_bytes())))
}

fn open_confined(
    folder: impl AsFd,
    name: &OsStr,
    flags: OFlags,
    mode: Mode,
) -> std::result::Result<std::os::fd::OwnedFd, Errno> {
    let confined = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    openat2(folder.as_fd(), name, flags, mode, confined)
}

/// Fails where `folder` is what is mounted at its name, or where that cannot be known.
fn refuse_mount(folder: impl AsFd) -> std::result::Result<(), Errno> {
    use rustix::fs::{StatxAttributes, StatxFlags, statx};
    let status = statx(folder, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
    if !status.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        return Err(Errno::OPNOTSUPP);
    }
    if status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) { Err(Errno::XDEV) } else { Ok(()) }
}

/// Fails for what is not one component of a path.
fn single(name: &OsStr) -> Result<()> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(std::path::Component::Normal(part)), None) if part == name => Ok(()),
        _ => Err(crate::Error::invalid("open", Path::new(name).display(), "it is not one name in a folder")),
    }
}

#[cfg(all(test, feature = "denied-calls"))]
#[path = "own_folder_tests.rs"]
mod tests;
