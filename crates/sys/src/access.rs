//! Whether this user may make something in a folder, and how much, without making it.
//!
//! What a server forbids beyond the rights that it shows (squashed users, quotas) comes out at the first write alone.

use std::path::Path;

use rustix::fs::{Access, access};

use crate::error::{Result, SysErrno};

/// Looks whether this user may make files in `folder`.
///
/// # Errors
/// `Denied` without the right to write there or to enter it; the system's `EROFS` on a file system that is mounted
/// read-only.
///
/// # Source
/// access(2), which asks for the real user, not for the effective one.
pub fn may_make_files_in(folder: &Path) -> Result<()> {
    access(folder, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|errno| SysErrno::from(errno).during("create files in", folder.display()))
}

/// Room for this user's files on the file system of `folder`, in bytes.
///
/// # Errors
/// As the system says.
///
/// # Source
/// statvfs(3): `f_bavail` blocks of `f_frsize` bytes.
pub fn free_bytes(folder: &Path) -> Result<u64> {
    let room = rustix::fs::statvfs(folder)
        .map_err(|errno| SysErrno::from(errno).during("look at the room in", folder.display()))?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_room_is_that_of_the_file_system_and_a_missing_folder_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        assert_eq!(free_bytes(Path::new("/proc")).unwrap(), 0);
        assert!(free_bytes(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn a_folder_of_ours_takes_files_and_one_of_the_kernel_does_not() {
        let folder = tempfile::tempdir().unwrap();
        may_make_files_in(folder.path()).unwrap();
        assert!(may_make_files_in(&folder.path().join("missing")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }
}
