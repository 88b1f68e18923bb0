//! A block device that is named itself: what it is, its serial number, and what uses it, as far as the kernel reports it.
//!
//! Not here: what is on it (`blkid` of util-linux knows that), and whether anybody may write to it.

use narrows_model::units::Bytes;

use crate::error::{ProbeError, ProbeErrorKind, Result};
use crate::inventory::{class_folder, entry_of_number};
use crate::mounts::Mounts;
use crate::parse::{block, fields, lines, text};
use crate::root::Root;

/// `/sys` counts sizes in these, whatever the device's own sector is.
const SECTOR_BYTES: u64 = 512;
/// What comes before the number in page 80h of a SCSI disk's vital product data.
const VPD_HEADER_BYTES: usize = 4;
/// More partitions and loop devices than any machine has.
const ENTRIES_MAX: usize = 4096;

/// A block device and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceState {
    /// The kernel's name, as in `/sys/class/block`.
    pub name: String,
    /// Its size.
    pub size_bytes: Bytes,
    /// Its serial number; `None` of a device without one, a partition among them.
    pub serial: Option<String>,
    /// What uses it or forbids to write to it, in words; empty where the kernel reports nothing.
    pub uses: Vec<String>,
}

/// The block device of this number (`major:minor`).
///
/// # Errors
/// When `/sys` does not have it, or what uses it cannot be read.
pub fn block_device(root: &Root, number: &str) -> Result<DeviceState> {
    let entry = entry_of_number(root, number)?;
    let folder = class_folder(&entry);
    let size_path = format!("{folder}/size");
    let sectors = block::count(&root.read(&size_path)?);
    let sectors = sectors.map_err(|bad| ProbeError::malformed(&size_path, &bad))?;
    let serial = serial(root, &folder);
    let mut uses = uses(root, &entry)?;
    uses.extend(
        namesake(root, &entry, serial.as_deref())?.map(|other| {
            format!("its serial number is that of {other} too, so that it names neither of them")
        }),
    );
    let size_bytes = Bytes(sectors.saturating_mul(SECTOR_BYTES));
    Ok(DeviceState { name: entry.replace('!', "/"), size_bytes, serial, uses })
}

/// Another disk with this serial number: of NVM it is the controller's, of MMC the card's, which several disks may share.
fn namesake(root: &Root, entry: &str, serial_number: Option<&str>) -> Result<Option<String>> {
    let Some(serial_number) = serial_number else { return Ok(None) };
    let same = |other: &String| {
        other != entry && serial(root, &class_folder(other)).as_deref() == Some(serial_number)
    };
    Ok(known_names(root, "/sys/block")?.into_iter().find(same))
}

/// The names in a folder; none where the kernel has no such folder.
fn known_names(root: &Root, folder: &str) -> Result<Vec<String>> {
    match root.names(folder) {
        Err(error) if error.kind() == ProbeErrorKind::Missing => Ok(Vec::new()),
        named => named,
    }
}

/// NVM, MMC: of the controller or card; virtio: of the disk; SCSI: page 80h.
fn serial(root: &Root, folder: &str) -> Option<String> {
    let named =
        ["device/serial", "serial"].iter().filter_map(|file| root.text(&format!("{folder}/{file}")).ok());
    let page = || {
        let page = root.read(&format!("{folder}/device/vpd_pg80")).ok()?;
        Some(text(page.get(VPD_HEADER_BYTES..)?.trim_ascii()))
    };
    named.map(|serial| serial.trim_matches('\0').trim().to_owned()).find(|serial| !serial.is_empty()).or_else(
        || {
            page()
                .map(|serial| serial.trim_matches('\0').trim().to_owned())
                .filter(|serial| !serial.is_empty())
        },
    )
}

fn uses(root: &Root, entry: &str) -> Result<Vec<String>> {
    let family = family(root, entry)?;
    let mut uses = Vec::new();
    let folder = class_folder(entry);
    if root.text(&format!("{folder}/ro")).is_ok_and(|flag| flag == "1") {
        uses.push("the kernel has it read-only".to_owned());
    }
    for member in &family {
        let holders = known_names(root, &format!("{}/holders", class_folder(member)))?;
        uses.extend(holders.iter().map(|holder| format!("{holder} is built on {member}")));
    }
    uses.extend(mounted(root, &family)?);
    uses.extend(swapped(root, &family)?);
    uses.extend(looped(root, &family, whole_disk(root, entry).as_ref())?);
    Ok(uses)
}

/// The device and its partitions.
fn family(root: &Root, entry: &str) -> Result<Vec<String>> {
    let mut family = vec![entry.to_owned()];
    for name in root.names(&class_folder(entry))?.into_iter().take(ENTRIES_MAX) {
        if root.exists(&format!("{}/{name}/partition", class_folder(entry))) {
            family.push(name);
        }
    }
    Ok(family)
}

fn mounted(root: &Root, family: &[String]) -> Result<Vec<String>> {
    let mounts = Mounts::read(root)?;
    let numbers: Vec<String> =
        family.iter().filter_map(|member| root.text(&format!("{}/dev", class_folder(member))).ok()).collect();
    let is_of_family = |source: &str| {
        let resolved = root.resolve(source).unwrap_or_else(|_| source.to_owned());
        resolved.strip_prefix("/dev/").is_some_and(|name| family.contains(&name.replace('/', "!")))
    };
    let here = mounts.iter().filter(|mount| numbers.contains(&mount.device) || is_of_family(&mount.source));
    Ok(here.map(|mount| format!("it is mounted at {}", mount.point)).collect())
}

/// The disk that a partition is a part of; `None` of a whole disk.
fn whole_disk(root: &Root, entry: &str) -> Option<String> {
    let folder = class_folder(entry);
    let resolved = root.exists(&format!("{folder}/partition")).then(|| root.resolve(&folder).ok())??;
    resolved.rsplit('/').nth(1).map(str::to_owned)
}

fn swapped(root: &Root, family: &[String]) -> Result<Vec<String>> {
    let table = match root.read("/proc/swaps") {
        Err(error) if error.kind() == ProbeErrorKind::Missing => return Ok(Vec::new()),
        table => table?,
    };
    let names = lines(&table).skip(1).filter_map(|(_, line)| fields(line).next().map(text));
    let used = names.filter(|name| {
        let resolved = root.resolve(name).unwrap_or_else(|_| name.clone());
        resolved.strip_prefix("/dev/").is_some_and(|name| family.contains(&name.replace('/', "!")))
    });
    Ok(used.map(|name| format!("{name} is used for swap")).collect())
}

/// Loop devices whose data is on it, which the kernel does not list as built on it.
fn looped(root: &Root, family: &[String], whole: Option<&String>) -> Result<Vec<String>> {
    let entries = known_names(root, "/sys/block")?;
    let family: Vec<&String> = family.iter().chain(whole).collect();
    let is_of_family = |name: &str| family.iter().any(|member| **member == name.replace('/', "!"));
    let loops = entries.into_iter().filter(|entry| entry.starts_with("loop")).take(ENTRIES_MAX);
    let used = loops.filter(|entry| {
        let file = root.text(&format!("{}/loop/backing_file", class_folder(entry))).unwrap_or_default();
        let resolved = root.resolve(&file).unwrap_or(file);
        resolved.strip_prefix("/dev/").is_some_and(is_of_family)
    });
    Ok(used.map(|entry| format!("its data is that of {entry}")).collect())
}
