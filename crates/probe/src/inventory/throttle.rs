//! Limits in bytes and operations per second that control groups set on this process's block devices.

use narrows_model::IoLimits;
use narrows_model::units::{BytesPerSec, OpsPerSec};

use crate::cgroup::{self, ControlGroup};
use crate::error::{ProbeError, Result};
use crate::parse::block::{self, DeviceThrottle, ThrottleKind};
use crate::root::Root;
use crate::unknown::UnknownFacts;

const FILES_OF_VERSION_1: [(ThrottleKind, &str); 4] = [
    (ThrottleKind::ReadBytes, "read_bps"),
    (ThrottleKind::WriteBytes, "write_bps"),
    (ThrottleKind::ReadOps, "read_iops"),
    (ThrottleKind::WriteOps, "write_iops"),
];

/// The limits that apply to this process.
#[derive(Debug, Default)]
pub(super) struct Throttles(Vec<DeviceThrottle>);

impl Throttles {
    pub(super) fn read(root: &Root, unknown: &mut UnknownFacts) -> Self {
        unknown.note("block device limits of the control group", read(root)).unwrap_or_default()
    }

    /// The lowest limits on the device `major:minor`.
    pub(super) fn of_device(&self, device: &str) -> IoLimits {
        let lowest = |kind: ThrottleKind| {
            let limits = self.0.iter().filter(|rule| rule.device == device && rule.kind == kind);
            limits.map(|rule| rule.limit_per_s).min().map(|limit| limit as f64)
        };
        IoLimits {
            read_bytes_per_s: lowest(ThrottleKind::ReadBytes).map(BytesPerSec),
            write_bytes_per_s: lowest(ThrottleKind::WriteBytes).map(BytesPerSec),
            read_ops_per_s: lowest(ThrottleKind::ReadOps).map(OpsPerSec),
            write_ops_per_s: lowest(ThrottleKind::WriteOps).map(OpsPerSec),
        }
    }
}

fn read(root: &Root) -> Result<Throttles> {
    if let Some(group) = cgroup::find(root, "self", "blkio")?.filter(|group| group.version == 1) {
        return version_1(root, &group);
    }
    match cgroup::find(root, "self", "io")? {
        Some(group) => version_2(root, &group),
        None => Ok(Throttles::default()),
    }
}

/// Version 1 applies the rules of the process's own group alone.
fn version_1(root: &Root, group: &ControlGroup) -> Result<Throttles> {
    let mut limits = Vec::new();
    for (kind, name) in FILES_OF_VERSION_1 {
        let path = format!("{}/blkio.throttle.{name}_device", group.folder());
        let bytes = cgroup::optional(root, &path)?.unwrap_or_default();
        limits.extend(block::throttle_v1(&bytes, kind).map_err(|bad| ProbeError::malformed(&path, &bad))?);
    }
    Ok(Throttles(limits))
}

/// Version 2 applies the rules of every ancestor.
fn version_2(root: &Root, group: &ControlGroup) -> Result<Throttles> {
    let mut limits = Vec::new();
    for folder in group.folders_upward() {
        let path = format!("{folder}/io.max");
        let bytes = cgroup::optional(root, &path)?.unwrap_or_default();
        limits.extend(block::throttle_v2(&bytes).map_err(|bad| ProbeError::malformed(&path, &bad))?);
    }
    Ok(Throttles(limits))
}
