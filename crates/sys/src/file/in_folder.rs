//! Names in an open folder, renamed and removed whatever its path leads to by then, and whether others may change them.
//!
//! Names are single components. Not here: making folders and opening what is in them, and what is done about rights.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, RenameFlags, fstat, open, openat, renameat, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;

use crate::error::{Result, SysErrno};

/// What a rename does about the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameMode {
    /// It must be free.
    New,
    /// A file that has it is replaced.
    Replace,
}

/// Who may change what is in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderRights {
    /// Its owner's number.
    pub user_id: u32,
    /// Whether this process acts for that user.
    pub is_of_this_user: bool,
    /// Permission bits, as in `chmod`.
    pub mode: u32,
}

impl FolderRights {
    /// Those of the open folder `folder`.
    ///
    /// # Errors
    /// The kernel's number.
    ///
    /// # Source
    /// fstat(2); an access list that lets others write shows in the bits of the group, acl(5).
    pub fn from_folder(folder: impl AsFd) -> std::result::Result<Self, SysErrno> {
        let status = fstat(folder)?;
        let is_of_this_user = status.st_uid == rustix::process::geteuid().as_raw();
        Ok(Self { user_id: status.st_uid, is_of_this_user, mode: status.st_mode & 0o7777 })
    }

    /// Whether nobody but its owner may make, rename or remove names in it. A sticky folder is not closed.
    #[must_use]
    pub fn is_closed(self) -> bool {
        !Mode::from_raw_mode(self.mode).intersects(Mode::WGRP | Mode::WOTH)
    }
}

/// The folder at `path`, open as a place for names and without the right to list them, which need not be granted; links
/// on the way are followed.
///
/// # Errors
/// As the kernel says; `Invalid` with `ENOTDIR` for what is no folder. It never waits.
///
/// # Source
/// open(2) with `O_PATH`.
pub fn open_place(path: &Path) -> Result<std::fs::File> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = open(path, flags, Mode::empty())
        .map_err(|errno| SysErrno::from(errno).during("open", path.display()))?;
    Ok(opened.into())
}

/// The folder at `path`, open to be listed; a link at the end of `path` is not followed.
///
/// # Errors
/// As the kernel says; `Invalid` with `ENOTDIR` or `ELOOP` for a link and for what is no folder. It never waits.
///
/// # Source
/// open(2) with `O_DIRECTORY` and `O_NOFOLLOW`.
pub fn open_folder(path: &Path) -> Result<std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(CWD, path, flags, Mode::empty())
        .map_err(|errno| SysErrno::from(errno).during("open", path.display()))?;
    Ok(opened.into())
}

/// Gives the name `to` to what is `from`, both in the open folder `folder`; a link is renamed, not followed.
///
/// # Errors
/// `Invalid` with `EEXIST` where `to` must be free and is not; otherwise as the kernel says. Where the file system has no
/// rename of this kind the name is looked at first, and what takes it in between is replaced if it is a file, or a folder
/// with nothing in it in the place of a folder.
///
/// # Source
/// renameat2(2) with `RENAME_NOREPLACE`; renameat(2).
pub fn rename_in(folder: impl AsFd, from: &OsStr, to: &OsStr, mode: RenameMode) -> Result<()> {
    let failed = |errno: Errno| SysErrno::from(errno).during("rename", Path::new(from).display());
    single("rename", from)?;
    single("rename", to)?;
    let folder = folder.as_fd();
    let renamed = match mode {
        RenameMode::Replace => renameat(folder, from, folder, to),
        RenameMode::New => match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => match statat(folder, to, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Errno::EXIST),
                Err(Errno::NOENT) => renameat(folder, from, folder, to),
                Err(errno) => Err(errno),
            },
            renamed => renamed,
        },
    };
    renamed.map_err(failed)
}

/// Removes the file or link `name` from the open folder `folder`.
///
/// # Errors
/// As the kernel says; a folder stays.
///
/// # Source
/// unlinkat(2).
pub fn remove_in(folder: impl AsFd, name: &OsStr) -> Result<()> {
    single("remove", name)?;
    unlinkat(folder, name, AtFlags::empty())
        .map_err(|errno| SysErrno::from(errno).during("remove", Path::new(name).display()))
}

/// Removes the folder `name`, in which nothing is, from the open folder `folder`.
///
/// # Errors
/// As the kernel says; a folder with anything in it, a file and a link stay.
///
/// # Source
/// unlinkat(2) with `AT_REMOVEDIR`.
pub fn remove_folder_in(folder: impl AsFd, name: &OsStr) -> Result<()> {
    single("remove", name)?;
    unlinkat(folder, name, AtFlags::REMOVEDIR)
        .map_err(|errno| SysErrno::from(errno).during("remove", Path::new(name).display()))
}

/// Whether nothing is in the folder `folder`, which is open to be listed.
///
/// # Errors
/// The kernel's number.
///
/// # Source
/// getdents64(2).
pub fn is_empty_folder(folder: impl AsFd) -> std::result::Result<bool, SysErrno> {
    for entry in Dir::read_from(folder)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where the open folder `folder` is now; `None` where the kernel does not say, and for one that was removed.
///
/// Others may move it at any moment: this is for messages, and not to be opened.
///
/// # Source
/// proc(5), `/proc/thread-self/fd`.
#[must_use]
pub fn current_path(folder: impl AsFd) -> Option<PathBuf> {
    // One that was removed has no name left.
    if fstat(&folder).ok()?.st_nlink == 0 {
        return None;
    }
    let number = folder.as_fd().as_raw_fd();
    // A thread may have a table of its own.
    std::fs::read_link(format!("/proc/thread-self/fd/{number}")).ok()
}

/// Fails for what is not one component of a path.
fn single(operation: &'static str, name: &OsStr) -> Result<()> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part == name => Ok(()),
        _ => {
            let shown = Path::new(name).display();
            Err(crate::Error::invalid(operation, shown, "it is not one name in a folder"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn raw<T: std::fmt::Debug>(answer: Result<T>) -> i32 {
        answer.unwrap_err().errno().raw()
    }

    #[test]
    fn names_are_renamed_and_removed_in_the_folder_that_was_opened() {
        let around = tempfile::tempdir().unwrap();
        let at = |name: &str| around.path().join(name);
        fs::create_dir(at("ours")).unwrap();
        fs::write(at("ours/a"), "ours").unwrap();
        fs::write(at("ours/b"), "ours").unwrap();
        let opened = open_folder(&at("ours")).unwrap();
        fs::rename(at("ours"), at("moved")).unwrap();
        fs::create_dir(at("ours")).unwrap();
        fs::write(at("ours/a"), "theirs").unwrap();
        let name = OsStr::new;
        assert_eq!(raw(rename_in(&opened, name("a"), name("b"), RenameMode::New)), libc::EEXIST);
        rename_in(&opened, name("a"), name("b"), RenameMode::Replace).unwrap();
        rename_in(&opened, name("b"), name("c"), RenameMode::New).unwrap();
        assert!(at("moved/c").exists());
        remove_in(&opened, name("c")).unwrap();
        assert_eq!(is_empty_folder(&opened), Ok(true));
        assert_eq!(is_empty_folder(File::open(at("ours")).unwrap()), Ok(false));
        assert_eq!(fs::read_to_string(at("ours/a")).unwrap(), "theirs");
        assert_eq!(current_path(&opened).unwrap(), fs::canonicalize(at("moved")).unwrap());
        fs::remove_dir(at("moved")).unwrap();
        assert_eq!(current_path(&opened), None);
    }

    #[test]
    fn paths_are_no_names() {
        let folder = tempfile::tempdir().unwrap();
        let opened = open_folder(folder.path()).unwrap();
        for name in ["", ".", "..", "a/b", "a/"] {
            let name = OsStr::new(name);
            assert_eq!(raw(remove_in(&opened, name)), libc::EINVAL, "{name:?}");
            assert_eq!(raw(remove_folder_in(&opened, name)), libc::EINVAL, "{name:?}");
            assert_eq!(raw(rename_in(&opened, name, OsStr::new("a"), RenameMode::New)), libc::EINVAL);
            assert_eq!(raw(rename_in(&opened, OsStr::new("a"), name, RenameMode::Replace)), libc::EINVAL);
        }
    }

    #[test]
    fn a_link_is_no_folder_and_a_folder_need_not_be_listed_to_be_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("inner")).unwrap();
        fs::write(at("file"), "x").unwrap();
        symlink("inner", at("link")).unwrap();
        assert!(matches!(raw(open_folder(&at("link"))), libc::ENOTDIR | libc::ELOOP));
        assert_eq!(raw(open_folder(&at("file"))), libc::ENOTDIR);
        assert_eq!(raw(open_place(&at("file"))), libc::ENOTDIR);
        let place = open_place(&at("link")).unwrap();
        fs::write(at("inner/a"), "x").unwrap();
        assert_eq!(raw(remove_folder_in(&place, OsStr::new("a"))), libc::ENOTDIR);
        remove_in(&place, OsStr::new("a")).unwrap();
        assert_eq!(raw(remove_in(&place, OsStr::new("a"))), libc::ENOENT);
    }

    #[test]
    fn a_folder_in_which_others_may_write_is_not_closed() {
        let folder = tempfile::tempdir().unwrap();
        let opened = open_folder(folder.path()).unwrap();
        for (mode, is_closed) in
            [(0o700, true), (0o755, true), (0o770, false), (0o702, false), (0o1777, false)]
        {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            let rights = FolderRights::from_folder(&opened).unwrap();
            assert_eq!((rights.mode, rights.is_of_this_user, rights.is_closed()), (mode, true, is_closed));
        }
    }
}
