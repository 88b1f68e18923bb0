//! Limits in bytes and operations per second that control groups set on this process's block devices.

use narrows_model::units::{BytesPerSec, OpsPerSec};

use crate::cgroup::{self, ControlGroup};
use crate::error::{ProbeError, Result};
use crate::parse::block::{self, DeviceThrottle, ThrottleUnit};
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// The limits that apply to this process.
#[derive(Debug, Default)]
pub(super) struct Throttles(Vec<DeviceThrottle>);

impl Throttles {
    pub(super) fn read(root: &Root, unknown: &mut UnknownFacts) -> Self {
        unknown.note("block device limits of the control group", read(root)).unwrap_or_default()
    }

    /// The lowest limit on the device `major:minor` in bytes per second, of reading or of writing.
    pub(super) fn bytes_per_s(&self, device: &str) -> Option<BytesPerSec> {
        self.lowest(device, ThrottleUnit::Bytes).map(|limit| BytesPerSec(limit as f64))
    }

    /// The same in operations per second.
    pub(super) fn ops_per_s(&self, device: &str) -> Option<OpsPerSec> {
        self.lowest(device, ThrottleUnit::Operations).map(|limit| OpsPerSec(limit as f64))
    }

    fn lowest(&self, device: &str, unit: ThrottleUnit) -> Option<u64> {
        let limits = self.0.iter().filter(|rule| rule.device == device && rule.unit == unit);
        limits.map(|rule| rule.limit_per_s).min()
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
    for (unit, name) in [(ThrottleUnit::Bytes, "bps"), (ThrottleUnit::Operations, "iops")] {
        for direction in ["read", "write"] {
            let path = format!("{}/blkio.throttle.{direction}_{name}_device", group.folder());
            let bytes = cgroup::optional(root, &path)?.unwrap_or_default();
            limits
                .extend(block::throttle_v1(&bytes, unit).map_err(|bad| ProbeError::malformed(&path, &bad))?);
        }
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
