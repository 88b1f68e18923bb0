//! The path to a block device that is named itself: its node, and the devices that it is built on.

use narrows_model::inventory::{PathFacts, PathKind};

use super::chain::Chain;
use super::device::entry_of_number;
use super::mount;
use crate::error::{ProbeError, Result};
use crate::mounts::Mounts;
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// What the path to the device of `number` (`major:minor`) at the node `path` is made of.
pub(super) fn read(root: &Root, path: &str, number: &str, unknown: &mut UnknownFacts) -> Result<PathFacts> {
    let resolved = root.resolve(path)?;
    let mounts = Mounts::read(root)?;
    let mount = mounts.containing(&resolved);
    let mount = mount.ok_or_else(|| ProbeError::missing(path, "no mount of this process covers it"))?;
    let devices = Chain::new(root, &mounts, unknown).below_entry(entry_of_number(root, number)?);
    Ok(PathFacts {
        kind: PathKind::BlockDevice,
        mount: mount::facts(mount),
        overlay_layers: Vec::new(),
        nfs: None,
        free_bytes: None,
        size_bytes: devices.first().and_then(|device| device.size_bytes),
        devices,
        path: resolved,
    })
}
