//! Whether the hosts of clients have the folders that their clients load.

use super::Watch;
use crate::exit::CommandFailure;
use crate::hosts::{ClientStart, refusal};
use narrows_model::{Plan, Site, Target};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Fails where a host does not have a folder that clients load in `plan`: on it the same path is no mount of the same file
/// system.
///
/// # Errors
/// That, once for each host, before anything is loaded.
pub(super) fn check_host_folders(
    clients: &ClientStart,
    plan: &Plan,
    watch: &Watch,
) -> Result<(), CommandFailure> {
    let ClientStart::OnHosts(hosts) = clients else { return Ok(()) };
    let cells = plan.cells.iter().filter(|cell| cell.site != Site::Server);
    let targets = cells.flat_map(|cell| std::iter::once(&cell.target).chain(&cell.more_targets));
    let folders = targets.flat_map(|target| target.members().iter()).filter_map(|member| match member {
        Target::File { path } if path.is_dir() => Some(path.clone()),
        _ => None,
    });
    let folders: BTreeSet<PathBuf> = folders.collect();
    if folders.is_empty() {
        return Ok(());
    }
    let folders: Vec<PathBuf> = folders.into_iter().collect();
    hosts.check_folders(&folders, watch.clock.as_ref(), &watch.stop).map_err(|problems| refusal(&problems))
}
