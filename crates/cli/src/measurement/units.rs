//! Disks without folders among targets, units of iSCSI targets and block devices of this machine: what is on each, and what
//! of it a run claims.

use super::device::DeviceDisk;
use super::lun::LogicalUnit;
use super::{Announced, Watch, random_u64};
use crate::args::OverwriteArguments;
use crate::exit::CommandFailure;
use narrows_engines::RegionNeed;
use narrows_model::{Bytes, Cell, EngineId, Inventory, IscsiAddress, Plan, Site, Target};
use std::collections::BTreeSet;

/// A disk without folders.
pub(crate) struct UnitSite {
    /// As the study names it.
    target: Target,
    disk: Disk,
}

enum Disk {
    Unit(Box<LogicalUnit>),
    Device(Box<DeviceDisk>),
}

/// The disks among `targets`, examined; `overwrite` names those that may be overwritten.
///
/// # Errors
/// A disk that cannot be reached or read, and a name that none of them has.
pub(crate) fn examine(
    targets: &[Target],
    overwrite: &OverwriteArguments,
    watch: &Watch,
) -> Result<Vec<UnitSite>, CommandFailure> {
    let mut sites: Vec<UnitSite> = Vec::new();
    for target in targets {
        if sites.iter().any(|known| known.target == *target) {
            continue;
        }
        let disk = match target {
            Target::Scheme { engine: EngineId::Iscsi, rest } => {
                let Ok(address) = IscsiAddress::parse(rest) else { continue };
                Disk::Unit(Box::new(LogicalUnit::examine(address, &overwrite.overwrite_lun, watch)?))
            }
            Target::Block(address) => {
                let resolution_ns = watch.clock_resolution_ns;
                let named = &overwrite.overwrite_device;
                Disk::Device(Box::new(DeviceDisk::examine(address, named, resolution_ns)?))
            }
            _ => continue,
        };
        sites.push(UnitSite { target: target.clone(), disk });
    }
    check_named_units(&sites, &overwrite.overwrite_lun)?;
    check_named_devices(&sites, &overwrite.overwrite_device)?;
    Ok(sites)
}

/// Fails for a serial number of no unit: a typing error must not go unnoticed.
fn check_named_units(sites: &[UnitSite], overwrite: &[String]) -> Result<(), CommandFailure> {
    let units = || sites.iter().filter_map(UnitSite::unit);
    let known: BTreeSet<&String> = units().filter_map(LogicalUnit::serial).collect();
    match overwrite
        .iter()
        .chain(units().filter_map(LogicalUnit::named))
        .find(|serial| !known.contains(serial))
    {
        None => Ok(()),
        Some(serial) => {
            let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
            let known = listed(&known, "has no LUN with one");
            Err(CommandFailure::bad_input(format!(
                "no LUN of this run has the serial number {serial}, which is to be overwritten; it {known}"
            )))
        }
    }
}

/// The same for a serial number or size of no device, and for one of several devices.
fn check_named_devices(sites: &[UnitSite], overwrite: &[String]) -> Result<(), CommandFailure> {
    let devices: Vec<&DeviceDisk> = sites.iter().filter_map(UnitSite::device).collect();
    for name in overwrite {
        let named = devices.iter().filter(|device| device.is_named_by(name)).count();
        let names: Vec<String> = devices.iter().map(|device| device.name()).collect();
        let known =
            listed(&names.iter().map(String::as_str).collect::<Vec<_>>(), "has no block device (blk:)");
        match named {
            1 => {}
            0 => {
                return Err(CommandFailure::bad_input(format!(
                    "no block device of this run has the serial number or size {name}, which is to be overwritten; it \
                     {known}"
                )));
            }
            _ => {
                return Err(CommandFailure::bad_input(format!(
                    "{named} block devices of this run are named by {name}, which is to be overwritten; it {known}; \
                     name one in a run by what no other has"
                )));
            }
        }
    }
    Ok(())
}

fn listed(known: &[&str], nothing: &str) -> String {
    if known.is_empty() { nothing.to_owned() } else { format!("has {}", known.join(", ")) }
}

impl UnitSite {
    fn unit(&self) -> Option<&LogicalUnit> {
        match &self.disk {
            Disk::Unit(unit) => Some(unit),
            Disk::Device(_) => None,
        }
    }

    fn device(&self) -> Option<&DeviceDisk> {
        match &self.disk {
            Disk::Unit(_) => None,
            Disk::Device(device) => Some(device),
        }
    }

    pub(crate) fn is_at(&self, target: &Target) -> bool {
        self.target == *target
    }

    /// This machine and the path to the device; `None` of what is on another machine.
    pub(crate) fn inventory(&self) -> Option<&Inventory> {
        self.device().map(DeviceDisk::inventory)
    }

    /// Why it is only read; `None` where it may be written.
    pub(crate) fn read_only_reason(&self) -> Option<String> {
        match &self.disk {
            Disk::Unit(unit) => unit.read_only_reason(),
            Disk::Device(device) => device.read_only_reason(),
        }
    }

    /// Its length where it is only read.
    pub(crate) fn read_length(&self) -> Option<Bytes> {
        self.read_only_reason().map(|_| match &self.disk {
            Disk::Unit(unit) => unit.length(),
            Disk::Device(device) => device.length(),
        })
    }

    /// Bytes that a run may fill.
    pub(crate) fn room(&self) -> Bytes {
        match &self.disk {
            Disk::Unit(unit) => unit.room(),
            Disk::Device(device) => device.room(),
        }
    }

    /// Claims what the cells of `plan` write, which writes to the disk, and returns what was done for that, in sentences.
    pub(crate) fn claim(
        &mut self,
        plan: &Plan,
        watch: &Watch,
        _announced: &Announced,
    ) -> Result<Vec<String>, CommandFailure> {
        let Some(need) = self.need(plan) else { return Ok(Vec::new()) };
        let nonce = random_u64()?;
        let notes = match &mut self.disk {
            Disk::Unit(unit) => unit.claim(need, nonce, watch)?,
            Disk::Device(device) => device.claim(need, nonce)?,
        };
        Ok(notes.iter().map(|note| format!("narrows: {}: {note}", self.target)).collect())
    }

    /// The length of a unit of a target and the nonce of the mark that this run has put on it; `None` of one without a mark.
    pub(crate) fn unit_mark(&self) -> Option<(Bytes, u64)> {
        let unit = self.unit()?;
        Some((unit.length(), unit.claim_nonce()?))
    }

    /// The target that engines work on.
    pub(crate) fn claimed(&self) -> Target {
        let claimed = match &self.disk {
            Disk::Unit(unit) => unit.claimed(),
            Disk::Device(device) => device.claimed(),
        };
        claimed.unwrap_or_else(|| self.target.clone())
    }

    /// `text` with the user's target in place of what was claimed.
    pub(crate) fn with_user_target(&self, text: &str) -> String {
        text.replace(&self.claimed().to_string(), &self.target.to_string())
    }

    fn cells<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = &'a Cell> {
        let is_here = |cell: &&Cell| {
            let targets = std::iter::once(&cell.target).chain(&cell.more_targets);
            cell.site == Site::Client && targets.into_iter().any(|target| *target == self.target)
        };
        plan.cells.iter().filter(is_here)
    }

    /// What the cells of `plan` write there; `None` where they only read.
    fn need(&self, plan: &Plan) -> Option<RegionNeed> {
        let written = || self.cells(plan).filter(|cell| !cell.read_only);
        let client_bytes = written().map(|cell| cell.workload.file_bytes).max()?;
        let client_count = written().map(|cell| cell.workload.clients.max(1)).max()?;
        Some(RegionNeed { client_bytes, client_count })
    }

    /// Adds to `plan` what of the disk is written or read.
    pub(crate) fn describe(&self, plan: &mut Plan) {
        let name = self.target.to_string();
        let (what, overwritten) = match &self.disk {
            Disk::Unit(unit) => unit.words(),
            Disk::Device(device) => (device.words(), Some("what is there".to_owned())),
        };
        let words = match self.need(plan) {
            None => format!("{name} ({what}: only read)"),
            Some(need) => {
                let end = need.end_bytes();
                let before = overwritten.map_or_else(String::new, |words| format!("OVERWRITING {words}: "));
                format!("{name} ({what}: {before}the first {end} are written, and are zeroes at the end)")
            }
        };
        let touches = &mut plan.load.touches;
        let folder = format!("a separate test folder in {name}");
        touches.retain(|place| *place != name && *place != folder);
        touches.push(words);
    }
}
