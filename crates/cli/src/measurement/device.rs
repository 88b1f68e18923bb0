//! A block device of this machine (`blk:`): what it is, what uses it, what is on it, and what of it a run claims.
//!
//! A device is only read, unless it is named by its serial number, or its size without one; one that is named and in use, or has anything on
//! it that libblkid knows, is refused (design 0027).

use super::{blkid, owner, smart};
use crate::exit::CommandFailure;
use narrows_engines::RegionNeed;
use narrows_engines::block_devices::{DeviceFailure, DeviceRegion, device_number, know_device};
use narrows_model::quantity::parse_size;
use narrows_model::target::BlockAddress;
use narrows_model::{Bytes, Inventory, Target};
use narrows_probe::{DeviceState, Root, block_device};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A block device.
pub(super) struct DeviceDisk {
    path: PathBuf,
    /// `major:minor`.
    number: String,
    found: DeviceState,
    /// Whether it was named for overwriting.
    is_named: bool,
    inventory: Inventory,
    /// What this run may write of it; `None` until it is claimed.
    region: Option<DeviceRegion>,
}

impl DeviceDisk {
    /// The device at `address`, examined; `overwrite` has serial numbers or sizes of those that may be overwritten.
    ///
    /// # Errors
    /// When it is no block device that this user may read, or is named for overwriting and in use or not empty.
    pub(super) fn examine(
        address: &BlockAddress,
        overwrite: &[String],
        clock_resolution_ns: u64,
    ) -> Result<Self, CommandFailure> {
        let path = address.path.clone();
        if address.claim.is_some() {
            return Err(CommandFailure::bad_input(format!(
                "blk:{address}: a claim is written by narrows; give blk:{}",
                path.display()
            )));
        }
        let number = number(&path)?;
        know_device(&path, &number);
        let found = found(&path, &number)?;
        if found.size_bytes.0 == 0 {
            return Err(CommandFailure::bad_input(format!(
                "{} has no blocks: no medium or no backing file; give a device with blocks",
                path.display()
            )));
        }
        let mut inventory = super::folder::device_machine(&path, &number, clock_resolution_ns)?;
        smart::add_health(&mut inventory);
        let is_named = overwrite.iter().any(|name| names(&found, name));
        let disk = Self { path, number, found, is_named, inventory, region: None };
        match disk.is_named.then(|| problem(&disk.path, &disk.number, &disk.found)) {
            None | Some(Ok(None)) => Ok(disk),
            Some(Ok(Some(why)) | Err(why)) => Err(CommandFailure::bad_input(why)),
        }
    }

    /// Whether `name` is its serial number or size.
    pub(super) fn is_named_by(&self, name: &str) -> bool {
        names(&self.found, name)
    }

    /// The serial number, or the size, by which it is named for overwriting.
    pub(super) fn name(&self) -> String {
        self.found.serial.clone().unwrap_or_else(|| self.found.size_bytes.to_string())
    }

    pub(super) fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    pub(super) fn read_only_reason(&self) -> Option<String> {
        (!self.is_named).then(|| {
            format!(
                "{} is only read; --overwrite-device {} allows its content to be overwritten",
                self.path.display(),
                self.name()
            )
        })
    }

    pub(super) fn length(&self) -> Bytes {
        self.found.size_bytes
    }

    pub(super) fn room(&self) -> Bytes {
        narrows_engines::block_devices::room(self.found.size_bytes)
    }

    pub(super) fn claim(&mut self, need: RegionNeed, nonce: u64) -> Result<Vec<String>, CommandFailure> {
        let still = |opened: &str| {
            if opened == self.number {
                return problem(&self.path, &self.number, &self.found);
            }
            Ok(Some(another_device(&self.path)))
        };
        let region = DeviceRegion::claim(&self.path, need, nonce, &owner::line(), &still);
        let region = region.map_err(|failure| match failure {
            DeviceFailure::Refused(why) => CommandFailure::bad_input(why),
            DeviceFailure::Failed(error) => CommandFailure::could_not_run(error.to_string()),
        })?;
        let mut notes = vec![format!("overwrites the first {} of the device", region.end())];
        notes.extend(region.left_by_run().map(|_| "clears what a run that was killed had left".to_owned()));
        self.region = Some(region);
        Ok(notes)
    }

    pub(super) fn claimed(&self) -> Option<Target> {
        Some(Target::Block(self.region.as_ref()?.address().clone()))
    }

    /// What it is.
    pub(super) fn words(&self) -> String {
        let serial = self.found.serial.as_deref().unwrap_or("none");
        format!("device {}, serial {serial}, {}", self.found.name, self.found.size_bytes)
    }
}

/// Whether `name` is the serial number of the device, or its exact size where it has none: of several equal disks the size
/// names whichever has this name today.
fn names(found: &DeviceState, name: &str) -> bool {
    match &found.serial {
        Some(serial) => serial == name,
        None => parse_size(name).is_ok_and(|size| size == found.size_bytes),
    }
}

/// The number of the block device at `path`, which this user may read.
fn number(path: &Path) -> Result<String, CommandFailure> {
    let shown = path.display();
    let status = std::fs::metadata(path).map_err(|error| {
        CommandFailure::bad_input(format!("blk:{shown}: {error}; give a block device that exists"))
    })?;
    if !status.file_type().is_block_device() {
        return Err(CommandFailure::bad_input(format!(
            "blk:{shown} is no block device; give a folder or file as {shown}, without blk:"
        )));
    }
    device_number(path).map_err(|error| {
        let hint = "run as root, or as a user of the device's group";
        CommandFailure::could_not_run(format!("read blk:{shown}: {error}; {hint}"))
    })
}

fn found(path: &Path, number: &str) -> Result<DeviceState, CommandFailure> {
    block_device(&Root::system(), number)
        .map_err(|error| CommandFailure::could_not_run(format!("find what {} is: {error}", path.display())))
}

fn another_device(path: &Path) -> String {
    format!("{} is another device now than the one that was named; nothing was written", path.display())
}

/// Why the device may not be written, whatever it was named by; `None` where nothing uses it and nothing is on it.
fn problem(path: &Path, number: &str, named: &DeviceState) -> Result<Option<String>, String> {
    let shown = path.display();
    let found = block_device(&Root::system(), number)
        .map_err(|error| format!("find what uses {shown}: {error}; nothing was written"))?;
    if (&found.serial, found.size_bytes) != (&named.serial, named.size_bytes) {
        return Ok(Some(another_device(path)));
    }
    if let Some(uses) = found.uses.first() {
        return Ok(Some(format!(
            "{shown} was named for overwriting and is in use: {uses}; nothing was written; end that use, or name \
             another device"
        )));
    }
    Ok(blkid::signature(path)?.map(|what| {
        format!(
            "{shown} was named for overwriting and has {what} on it; nothing was written; where that is not needed, \
             remove it first (wipefs --all {shown})"
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_its_serial_number_or_without_one_by_its_exact_size() {
        let found = DeviceState {
            name: "sdb".to_owned(),
            size_bytes: Bytes(1 << 30),
            serial: Some("S3Z8".to_owned()),
            uses: Vec::new(),
        };
        assert!(names(&found, "S3Z8"));
        for name in ["s3z8", "S3Z", "", "1GiB", "1073741824"] {
            assert!(!names(&found, name), "{name}");
        }
        let bare = DeviceState { serial: None, ..found };
        for name in ["1GiB", "1073741824"] {
            assert!(names(&bare, name), "{name}");
        }
        for name in ["S3Z8", "1GB", "1073741823"] {
            assert!(!names(&bare, name), "{name}");
        }
    }
}
