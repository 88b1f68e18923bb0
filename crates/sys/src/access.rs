//! Whether this user may make something in a folder, without making it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_ours_takes_files_and_one_of_the_kernel_does_not() {
        let folder = tempfile::tempdir().unwrap();
        may_make_files_in(folder.path()).unwrap();
        assert!(may_make_files_in(&folder.path().join("missing")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }
}
