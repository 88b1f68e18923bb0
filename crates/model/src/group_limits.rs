//! What a control group allows its processes of a block device.

use crate::Op;
use crate::inventory::DeviceFacts;
use crate::quantity::{op_rate, storage_rate};
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
pub struct GroupLimits {
    /// Bytes read each second.
    pub read_bytes_per_s: Option<BytesPerSec>,
    /// Bytes written each second.
    pub write_bytes_per_s: Option<BytesPerSec>,
    /// Requests to read each second.
    pub read_ops_per_s: Option<OpsPerSec>,
    /// Requests to write each second.
    pub write_ops_per_s: Option<OpsPerSec>,
}

impl GroupLimits {
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

impl DeviceFacts {
    /// The bytes a second that the control group allows a load of `op`.
    #[must_use]
    pub fn limit_bytes_per_s(&self, op: Op) -> Option<BytesPerSec> {
        match self.group_limits {
            limits if limits.is_empty() => self.throttle_bytes_per_s,
            limits if op.moves_towards_device() => limits.write_bytes_per_s,
            limits => limits.read_bytes_per_s,
        }
    }

    /// The requests a second that the control group allows a load of `op`.
    #[must_use]
    pub fn limit_ops_per_s(&self, op: Op) -> Option<OpsPerSec> {
        let limits = self.group_limits;
        if op.moves_towards_device() { limits.write_ops_per_s } else { limits.read_ops_per_s }
    }

    /// The limits of its control group for people; `None` where none is set.
    #[must_use]
    pub fn limits_text(&self) -> Option<String> {
        let bytes = |op| self.limit_bytes_per_s(op).map(|limit| storage_rate(limit.0));
        let ops = |op| self.limit_ops_per_s(op).map(|limit| op_rate(limit.0));
        let bytes = directions(bytes(Op::Read), bytes(Op::Write));
        let ops = directions(ops(Op::Read), ops(Op::Write));
        let limits: Vec<String> = bytes.into_iter().chain(ops).collect();
        (!limits.is_empty()).then(|| limits.join(" and "))
    }
}

/// A limit of reading and one of writing, said once where they are the same.
fn directions(read: Option<String>, write: Option<String>) -> Option<String> {
    match (read, write) {
        (Some(read), Some(write)) if read == write => Some(read),
        (Some(read), Some(write)) => Some(format!("{read} read, {write} written")),
        (Some(read), None) => Some(format!("{read} read")),
        (None, Some(write)) => Some(format!("{write} written")),
        (None, None) => None,
    }
}
