//! Limits in bytes per second that control groups set on this process's block devices.
//!
//! Limits in operations per second are not read: the inventory has no place for them.

use narrows_model::units::BytesPerSec;

use crate::cgroup::{self, ControlGroup};
use crate::error::{ProbeError, Result};
use crate::parse::block;
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// The limits that apply to this process.
#[derive(Debug, Default)]
pub(super) struct Throttles(Vec<(String, u64)>);

impl Throttles {
    pub(super) fn read(root: &Root, unknown: &mut UnknownFacts) -> Self {
        unknown.note("block device limits of the control group", read(root)).unwrap_or_default()
    }

    /// The tightest limit on the device `major:minor`, of reading or of writing.
    pub(super) fn device_limit(&self, device: &str) -> Option<BytesPerSec> {
        let limits = self.0.iter().filter(|(limited, _)| limited == device);
        limits.map(|&(_, limit)| limit).min().map(|limit| BytesPerSec(limit as f64))
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
    for file in ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"] {
        let path = format!("{}/{file}", group.folder());
        let bytes = cgroup::optional(root, &path)?.unwrap_or_default();
        limits.extend(block::throttle_v1(&bytes).map_err(|bad| ProbeError::malformed(&path, &bad))?);
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
