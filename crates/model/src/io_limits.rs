//! What a control group allows its processes of a block device.

use crate::units::{BytesPerSec, OpsPerSec};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limits that a control group sets for a device; `None` where it sets none.
///
/// # Source
/// The kernel's `Documentation/admin-guide/cgroup-v2.rst` (`io.max`) and `cgroup-v1/blkio-controller.rst`
/// (`blkio.throttle.*`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct IoLimits {
    /// Bytes read each second.
    pub read_bytes_per_s: Option<BytesPerSec>,
    /// Bytes written each second.
    pub write_bytes_per_s: Option<BytesPerSec>,
    /// Requests to read each second.
    pub read_ops_per_s: Option<OpsPerSec>,
    /// Requests to write each second.
    pub write_ops_per_s: Option<OpsPerSec>,
}

impl IoLimits {
    /// Whether it limits nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The lower limit in bytes of reading and of writing.
    #[must_use]
    pub fn lowest_bytes_per_s(&self) -> Option<BytesPerSec> {
        let limits = [self.read_bytes_per_s, self.write_bytes_per_s].into_iter().flatten();
        limits.min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// A limit of reading and one of writing, said once where they are the same.
pub(crate) fn directions(read: Option<String>, write: Option<String>) -> Option<String> {
    match (read, write) {
        (Some(read), Some(write)) if read == write => Some(read),
        (Some(read), Some(write)) => Some(format!("{read} read, {write} written")),
        (Some(read), None) => Some(format!("{read} read")),
        (None, Some(write)) => Some(format!("{write} written")),
        (None, None) => None,
    }
}
