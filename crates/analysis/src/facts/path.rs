//! What an inventory knows of the folder or file that a target names.

use narrows_model::inventory::{PathFacts, PathKind};
use narrows_model::summary::{CellSummary, HostSummary};
use narrows_model::{Cut, Inventory, Role, Target};
use std::path::Path;

/// What the inventory knows of the path to `target`, a folder, file or block device; `None` for another target or an unknown path. Of
/// folders within each other it is the innermost.
pub(crate) fn path_to<'i>(inventory: &'i Inventory, target: &Target) -> Option<&'i PathFacts> {
    let known = inventory.path.iter().chain(&inventory.more_paths);
    let path = target.local_path()?;
    if let Target::Block(_) = target {
        // A link that leads to the device has another name than the device.
        let is_device = |facts: &&PathFacts| facts.kind == PathKind::BlockDevice;
        let devices: Vec<&PathFacts> = known.filter(is_device).collect();
        let same = devices.iter().find(|facts| Path::new(&facts.path) == path);
        return same.or(devices.first().filter(|_| devices.len() == 1)).copied();
    }
    known.filter(|facts| path.starts_with(Path::new(&facts.path))).max_by_key(|facts| facts.path.len())
}

/// The same, else the one path that is known: a folder given from where the command ran is no whole path, and an endpoint's
/// store no folder of this machine.
pub(crate) fn path_or_only<'i>(inventory: &'i Inventory, target: &Target) -> Option<&'i PathFacts> {
    let only = inventory.path.as_ref().filter(|_| inventory.more_paths.is_empty());
    path_to(inventory, target).or(only)
}

/// Whether the files of the load are served by a process of its machine (FUSE).
pub(crate) fn is_behind_daemon(hosts: &[HostSummary], cell: &CellSummary) -> bool {
    is_on(PathKind::Fuse, hosts, cell)
}

/// Whether the files of the load are in the memory of its machine (tmpfs).
pub(crate) fn is_on_memory(hosts: &[HostSummary], cell: &CellSummary) -> bool {
    is_on(PathKind::Memory, hosts, cell)
}

fn is_on(kind: PathKind, hosts: &[HostSummary], cell: &CellSummary) -> bool {
    let is_here = matches!(cell.target, Target::File { .. }) && cell.cut != Cut::ServerStorage;
    let client = hosts.iter().filter(|host| is_here && host.roles.contains(&Role::Client));
    let mut paths = client.filter_map(|host| path_or_only(&host.inventory, &cell.target));
    paths.any(|path| path.kind == kind)
}
