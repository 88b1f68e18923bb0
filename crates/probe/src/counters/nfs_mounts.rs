//! What the kernel's NFS client counts of single mounts, from `/proc/self/mountstats`.
//!
//! Limits: times are sums of whole milliseconds, and calls that are under way are not in them.

use super::counter_file::CounterFile;
use crate::error::Result;
use crate::parse::mountstats;
use crate::root::Root;
use narrows_model::Bytes;
use narrows_model::nfs_mount::NfsMountCounters;

/// The mounts at some points.
#[derive(Debug)]
pub(super) struct NfsMounts {
    source: CounterFile,
    points: Vec<String>,
}

impl NfsMounts {
    /// The mounts at `points`.
    pub(super) fn open(root: &Root, points: &[String]) -> Result<Self> {
        Ok(Self { source: CounterFile::open(root, "/proc/self/mountstats")?, points: points.to_vec() })
    }

    /// Their counters now; of several mounts at one point those of the last, which is on top.
    pub(super) fn read(&self, buffer: &mut Vec<u8>) -> Result<Vec<NfsMountCounters>> {
        let mounts = self.source.parse(buffer, |bytes| Ok(mountstats::parse(bytes)))?;
        let at = |point: &String| mounts.iter().rev().find(|mount| mount.point == *point);
        let counters = |mount: &mountstats::NfsStats| NfsMountCounters {
            mount_point: mount.point.clone(),
            read_bytes: Bytes(mount.read_bytes),
            write_bytes: Bytes(mount.write_bytes),
            procedures: mount.procedures.clone(),
        };
        Ok(self.points.iter().filter_map(at).map(counters).collect())
    }
}
