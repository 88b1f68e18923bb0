//! Finds the whole block device that a path's file system is on.
//!
//! It does not look below that device (device mapper, loop): the throttle is set on what the kernel names.

use std::fs;
use std::path::Path;

use crate::error::{Error, LabErrorKind, Result};

/// A whole block device, never a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    /// The kernel's name, as in `/proc/diskstats`.
    pub name: String,
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

/// The whole block device under a file or folder.
///
/// # Errors
/// [`LabErrorKind::Missing`] when the path is not there, [`LabErrorKind::Invalid`] when its file system has no block device of
/// its own (tmpfs, overlay, btrfs, a network).
pub fn device_under(path: &Path) -> Result<BlockDevice> {
    let target = path.display().to_string();
    let status = rustix::fs::stat(path).map_err(|errno| Error::os("look at", &target, errno))?;
    let number = format!("{}:{}", rustix::fs::major(status.st_dev), rustix::fs::minor(status.st_dev));
    whole_device(Path::new("/sys/dev/block"), &number).ok_or_else(|| {
        let detail = format!("its file system (device {number}) has no block device of its own");
        Error::new(LabErrorKind::Invalid, "find the block device under", target, detail)
    })
}

/// Follows `root/MAJOR:MINOR`; a partition's folder is inside its disk's.
fn whole_device(root: &Path, number: &str) -> Option<BlockDevice> {
    let folder = fs::canonicalize(root.join(number)).ok()?;
    let disk = if folder.join("partition").exists() { folder.parent()? } else { &folder };
    let numbers = fs::read_to_string(disk.join("dev")).ok()?;
    let (major, minor) = numbers.trim().split_once(':')?;
    let name = disk.file_name()?.to_str()?.to_owned();
    Some(BlockDevice { name, major: major.parse().ok()?, minor: minor.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_leads_to_its_disk() {
        let root = tempfile::tempdir().unwrap();
        let partition = root.path().join("devices/sda/sda2");
        fs::create_dir_all(&partition).unwrap();
        fs::write(partition.join("partition"), "2\n").unwrap();
        fs::write(partition.join("dev"), "8:2\n").unwrap();
        fs::write(root.path().join("devices/sda/dev"), "8:0\n").unwrap();
        std::os::unix::fs::symlink(&partition, root.path().join("8:2")).unwrap();
        let expected = BlockDevice { name: "sda".to_owned(), major: 8, minor: 0 };
        assert_eq!(whole_device(root.path(), "8:2"), Some(expected));
    }

    #[test]
    fn proc_has_no_block_device() {
        assert_eq!(device_under(Path::new("/proc")).unwrap_err().kind(), LabErrorKind::Invalid);
    }
}
