//! What an inventory knows of the folder or file that a target names.

use narrows_model::inventory::{PathFacts, PathKind};
use narrows_model::summary::{CellSummary, HostSummary};
use narrows_model::{Inventory, Role, Target};
use std::path::Path;

/// What the inventory knows of the path to `target`, a folder or file; `None` for another target or an unknown path. Of
/// folders within each other it is the innermost.
pub(crate) fn path_to<'i>(inventory: &'i Inventory, target: &Target) -> Option<&'i PathFacts> {
    let Target::File { path } = target else { return None };
    let known = inventory.path.iter().chain(&inventory.more_paths);
    known.filter(|facts| path.starts_with(Path::new(&facts.path))).max_by_key(|facts| facts.path.len())
}

/// Whether the files of the load are served by a process of its machine (FUSE).
pub(crate) fn is_behind_daemon(hosts: &[HostSummary], cell: &CellSummary) -> bool {
    let client = hosts.iter().filter(|host| host.roles.contains(&Role::Client));
    let mut paths = client.filter_map(|host| path_to(&host.inventory, &cell.target));
    paths.any(|path| path.kind == PathKind::Fuse)
}
