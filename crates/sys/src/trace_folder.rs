//! The kernel's folder of trace events (tracefs), found without mounting anything that others could see.
//!
//! Only its files are read here: which events there are, and where their fields are. Nothing in it is switched on or off; see
//! [`crate::tracepoint`] for how events are recorded.

use std::fs::File;
use std::io::Read as _;

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::error::{Result, SysErrno};

/// Where it is mounted since Linux 4.1, and where it was before.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// A description of an event is a few KiB.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// An open folder of trace events.
#[derive(Debug)]
pub struct TraceFolder {
    folder: OwnedFd,
}

impl TraceFolder {
    /// The folder where the system has it mounted; where it is not mounted, a mount without a place in any tree, which ends with
    /// this value and with the process.
    ///
    /// # Errors
    /// `Denied` for a user who may not read it (root may), `Missing` or `Unsupported` of a kernel without trace events.
    ///
    /// # Source
    /// The kernel's `Documentation/trace/ftrace.rst`; fsopen(2), fsmount(2).
    pub fn open() -> Result<Self> {
        let mut refused = None;
        for path in FOLDERS {
            match openat(CWD, path, folder_flags(), Mode::empty()) {
                // An empty folder is the place for a mount that nobody made.
                Ok(folder) => match openat(&folder, "events", folder_flags(), Mode::empty()) {
                    Ok(_) => return Ok(Self { folder }),
                    Err(Errno::NOENT) => {}
                    Err(errno) => refused = Some(errno),
                },
                Err(Errno::NOENT) => {}
                Err(errno) => refused = Some(errno),
            }
        }
        let failed =
            |errno: Errno| SysErrno::from(errno).during("open", "the kernel's trace events (tracefs)");
        match refused {
            Some(errno) => Err(failed(errno).advising("root may read them")),
            None => Ok(Self { folder: detached_mount().map_err(failed)? }),
        }
    }

    /// The text of the file at `path`, which is relative to the folder; bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    /// `Missing` where the kernel has no such file, `Denied` where this user may not read it.
    pub fn read(&self, path: &str) -> Result<String> {
        let failed = |errno: SysErrno| errno.during("read", format!("{path} of tracefs"));
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(&self.folder, path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let mut bytes = Vec::new();
        let read = File::from(file).take(FILE_BYTES_MAX).read_to_end(&mut bytes);
        read.map_err(|error| failed(error.into()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// A mount of tracefs that is attached nowhere: only the holder of the descriptor sees it.
fn detached_mount() -> std::result::Result<OwnedFd, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn root_reads_descriptions_of_events_and_no_mount_of_it_can_be_seen() {
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let count = |text: &str| text.lines().filter(|line| line.contains("tracefs")).count();
        let before = count(&mounts());
        let folder = match TraceFolder::open() {
            Ok(folder) => folder,
            Err(error) => {
                let kinds = [ErrorKind::Denied, ErrorKind::Missing, ErrorKind::Unsupported];
                assert!(kinds.contains(&error.kind()), "{error}");
                return;
            }
        };
        assert_eq!(count(&mounts()), before);
        let text = folder.read("events/sched/sched_switch/format").unwrap();
        assert!(text.contains("field:"), "{text}");
        assert_eq!(folder.read("events/no/such/file").unwrap_err().kind(), ErrorKind::Missing);
    }
}
