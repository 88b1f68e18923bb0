//! What a file is, whatever it is called, and whether the file under a name is the one that this program made there.
//!
//! Not here: which files a program made, and what is done about one that is not.

use std::ffi::OsStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Mode, Stat, fstat, fstatfs, statat};

use crate::error::SysErrno;

/// File systems that may give a file another inode number once the kernel has forgotten it, because nothing that they
/// store contains one: `FUSE_SUPER_MAGIC`, `CIFS_SUPER_MAGIC`, `SMB2_SUPER_MAGIC`, `SMB_SUPER_MAGIC`,
/// `MSDOS_SUPER_MAGIC` (FAT), `EXFAT_SUPER_MAGIC` of linux/magic.h, and `VBOXSF_SUPER_MAGIC` of fs/vboxsf/super.c.
const RENUMBERING: [u64; 7] =
    [0x6573_5546, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x4d44, 0x2011_bab0, 0x786f_4256];

/// What a file or folder is, whatever it is called: its device and its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileIdentity {
    /// The device of its file system.
    pub device: u64,
    /// Its inode there; not given to another file as long as this one is there or open.
    pub inode: u64,
}

impl FileIdentity {
    /// That of an open file or folder.
    ///
    /// # Errors
    /// The kernel's number.
    ///
    /// # Source
    /// fstat(2).
    pub fn from_file(file: impl AsFd) -> std::result::Result<Self, SysErrno> {
        Ok(FoundFile::new(fstat(file)?).identity)
    }

    /// That of `name` in the open folder `folder`; of a link itself, not of what it leads to.
    ///
    /// # Errors
    /// The kernel's number; `ENOENT` where there is no such name.
    ///
    /// # Source
    /// fstatat(2) with `AT_SYMLINK_NOFOLLOW`.
    pub fn from_name(folder: impl AsFd, name: &OsStr) -> std::result::Result<Self, SysErrno> {
        Ok(FoundFile::new(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?).identity)
    }
}

/// Whether the open `file`, found under the name of the regular file `made` in the folder `folder` that this program made,
/// is that file.
///
/// It has the device and inode of `made`. A file system that renumbers inodes may have given it another inode: there it
/// is also the one that was made if it is a regular file with one name, of the folder's owner, in a folder in which
/// nobody else may write.
///
/// # Errors
/// The kernel's number.
///
/// # Source
/// fstat(2), fstatfs(2).
pub fn is_made_file(
    folder: impl AsFd,
    file: impl AsFd,
    made: FileIdentity,
) -> std::result::Result<bool, SysErrno> {
    Ok(is_made(&folder, FoundFile::new(fstat(file)?), made))
}

/// As [`is_made_file`], of what is `name` in `folder`; a link is not followed.
///
/// # Errors
/// The kernel's number; `ENOENT` where there is no such name.
///
/// # Source
/// fstatat(2) with `AT_SYMLINK_NOFOLLOW`, fstatfs(2).
pub fn is_made_name(
    folder: impl AsFd,
    name: &OsStr,
    made: FileIdentity,
) -> std::result::Result<bool, SysErrno> {
    let status = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(is_made(&folder, FoundFile::new(status), made))
}

/// Whether the file system of the open folder `folder` may renumber inodes, or cannot be asked.
pub(super) fn renumbers(folder: impl AsFd) -> bool {
    let magic = fstatfs(folder).ok().and_then(|facts| u64::try_from(facts.f_type).ok());
    magic.is_none_or(|magic| RENUMBERING.contains(&magic))
}

fn is_made(folder: impl AsFd, found: FoundFile, made: FileIdentity) -> bool {
    found.identity == made
        || FolderAround::from_folder(folder).is_some_and(|around| around.renumbered(found, made))
}

/// What was found under a name, as far as it is compared.
#[derive(Debug, Clone, Copy)]
struct FoundFile {
    identity: FileIdentity,
    is_regular: bool,
    user_id: u32,
    has_one_name: bool,
}

impl FoundFile {
    fn new(status: Stat) -> Self {
        Self {
            identity: FileIdentity { device: status.st_dev, inode: status.st_ino },
            is_regular: FileType::from_raw_mode(status.st_mode) == FileType::RegularFile,
            user_id: status.st_uid,
            has_one_name: status.st_nlink == 1,
        }
    }
}

/// What a file was found in.
#[derive(Debug, Clone, Copy)]
struct FolderAround {
    /// The type of its file system.
    magic: u64,
    user_id: u32,
    /// Nobody but its owner may write in it.
    is_closed: bool,
}

impl FolderAround {
    fn from_folder(folder: impl AsFd) -> Option<Self> {
        let status = fstat(&folder).ok()?;
        let magic = u64::try_from(fstatfs(folder).ok()?.f_type).ok()?;
        let rights = Mode::from_raw_mode(status.st_mode);
        Some(Self { magic, user_id: status.st_uid, is_closed: !rights.intersects(Mode::WGRP | Mode::WOTH) })
    }

    /// Whether `found` may be `made` with another inode number. Owners are compared with each other and not with the user
    /// of this process, because such file systems often map ids.
    fn renumbered(self, found: FoundFile, made: FileIdentity) -> bool {
        RENUMBERING.contains(&self.magic)
            && self.is_closed
            && found.identity.device == made.device
            && found.is_regular
            && found.user_id == self.user_id
            && found.has_one_name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXT4: u64 = 0xef53;
    const MADE: FileIdentity = FileIdentity { device: 8, inode: 7 };
    const RENUMBERED: FoundFile = FoundFile {
        identity: FileIdentity { device: 8, inode: 9 },
        is_regular: true,
        user_id: 1000,
        has_one_name: true,
    };
    const FUSE: FolderAround = FolderAround { magic: RENUMBERING[0], user_id: 1000, is_closed: true };

    #[test]
    fn another_inode_number_is_the_same_file_where_numbers_are_not_kept() {
        for magic in RENUMBERING {
            assert!(FolderAround { magic, ..FUSE }.renumbered(RENUMBERED, MADE), "{magic:x}");
        }
    }

    #[test]
    fn another_inode_number_is_another_file_where_numbers_are_kept() {
        assert!(!FolderAround { magic: EXT4, ..FUSE }.renumbered(RENUMBERED, MADE));
    }

    #[test]
    fn what_a_file_of_ours_cannot_be_is_another_file_also_where_numbers_are_not_kept() {
        let elsewhere = FileIdentity { device: 9, ..RENUMBERED.identity };
        for found in [
            FoundFile { is_regular: false, ..RENUMBERED },
            FoundFile { user_id: 1001, ..RENUMBERED },
            FoundFile { has_one_name: false, ..RENUMBERED },
            FoundFile { identity: elsewhere, ..RENUMBERED },
        ] {
            assert!(!FUSE.renumbered(found, MADE), "{found:?}");
        }
        assert!(!FolderAround { is_closed: false, ..FUSE }.renumbered(RENUMBERED, MADE));
    }

    #[test]
    fn another_file_under_the_name_is_found_where_numbers_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let opened = std::fs::File::open(folder.path()).unwrap();
        // A container may keep its temporary files on FUSE.
        let may_be_made =
            FolderAround::from_folder(&opened).is_some_and(|around| RENUMBERING.contains(&around.magic));
        let write = |name: &str| std::fs::write(folder.path().join(name), "x").unwrap();
        write("made");
        let name = OsStr::new("made");
        let made = FileIdentity::from_name(&opened, name).unwrap();
        assert_eq!(is_made_name(&opened, name, made), Ok(true));
        // The first one stays, so that its number is not given again.
        std::fs::rename(folder.path().join("made"), folder.path().join("moved")).unwrap();
        write("made");
        assert_eq!(is_made_name(&opened, name, made), Ok(may_be_made));
        let file = std::fs::File::open(folder.path().join("made")).unwrap();
        assert_eq!(is_made_file(&opened, &file, made), Ok(may_be_made));
    }
}
