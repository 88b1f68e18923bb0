//! Which devices the targets of a cell are on, from the inventory of the machine that loads them.

use super::SummaryView;
use crate::facts::path_to;
use narrows_model::Target;
use narrows_model::counters::Role;
use narrows_model::inventory::{DeviceFacts, PathFacts};
use narrows_model::summary::CellSummary;

impl SummaryView<'_> {
    /// A device that two targets or members of `cell` have in common, by its name: partitions of one disk are not two
    /// disks. `None` where all differ, and where the devices are not known.
    pub(crate) fn common_device(&self, cell: &CellSummary) -> Option<String> {
        let client = self.summary.hosts.iter().find(|host| host.roles.contains(&Role::Client))?;
        let targets = std::iter::once(&cell.target).chain(&cell.more_targets).flat_map(Target::members);
        let paths: Vec<&PathFacts> =
            targets.filter_map(|target| path_to(&client.inventory, target)).collect();
        let mut pairs = paths
            .iter()
            .enumerate()
            .flat_map(|(index, one)| paths.iter().skip(index + 1).map(move |other| (*one, *other)));
        pairs.find_map(|(one, other)| common(one, other))
    }
}

fn common(one: &PathFacts, other: &PathFacts) -> Option<String> {
    let has = |device: &&DeviceFacts| other.devices.iter().any(|known| known.name == device.name);
    let named = one.devices.iter().find(has).map(|device| device.name.clone());
    // Without a block device, such as on a network mount, the file system is used in its place.
    named.or_else(|| (one.mount.device == other.mount.device).then(|| one.mount.device.clone()))
}
