//! The facts of one block device, from its folder in `/sys`.

use narrows_model::IoLimits;
use narrows_model::inventory::{DeviceFacts, DeviceKind};
use narrows_model::units::{Bytes, saturate_u32};

use super::queue;
use crate::error::{ProbeError, ProbeErrorKind, Result};
use crate::parse::{Malformed, block};
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// `/sys` counts sizes in these, whatever the device's own sector is.
const SECTOR_BYTES: u64 = 512;

/// Words in the vendor or model of disks that hypervisors make.
const VIRTUAL_MODELS: [&str; 7] =
    ["QEMU", "VMware", "VBOX", "Msft", "Virtual", "Amazon Elastic Block Store", "PersistentDisk"];

/// The kernel's name of an entry of `/sys/class/block`, which writes `!` for a slash.
pub(super) fn kernel_name(entry: &str) -> String {
    entry.replace('!', "/")
}

/// The facts of the device, except what it is built on and its limits.
pub(super) fn read(root: &Root, entry: &str, hypervisor: bool, unknown: &mut UnknownFacts) -> DeviceFacts {
    let mut folder = DeviceFolder { root, path: class_folder(entry), entry, unknown };
    let kind = folder.kind(hypervisor);
    // A partition has no queue of its own.
    let queued = kind != DeviceKind::Partition;
    let size = folder.fact("size", "size", ReportMissing::Always, block::count);
    let rotational = folder.queue(queued, "rotational", ReportMissing::Always, block::flag);
    let block_bytes = folder.queue(queued, "logical_block_size", ReportMissing::Always, block::count);
    // Layered devices pass requests on and queue none; old kernels do not report the cache.
    let request_count = folder.queue(queued, "nr_requests", ReportMissing::IfPresent, block::count);
    let write_cache = folder.queue(queued, "write_cache", ReportMissing::IfPresent, |bytes| Ok(plain(bytes)));
    let scheduler = folder.queue(queued, "scheduler", ReportMissing::IfPresent, |bytes| {
        block::active_scheduler(bytes).ok_or_else(|| Malformed::new(1, "one scheduler in brackets", bytes))
    });
    DeviceFacts {
        name: kernel_name(entry),
        device: folder
            .fact("device number", "dev", ReportMissing::Always, |bytes| Ok(plain(bytes)))
            .unwrap_or_default(),
        description: folder.description(kind),
        kind,
        size_bytes: size.map(|sectors| Bytes(sectors.saturating_mul(SECTOR_BYTES))),
        rotational,
        scheduler,
        queue_request_count: request_count.map(saturate_u32),
        write_cache,
        logical_block_bytes: block_bytes.map(Bytes),
        queue: queued.then(|| queue::read(root, &class_folder(entry))),
        health: None,
        parents: Vec::new(),
        throttle_bytes_per_s: None,
        group_limits: IoLimits::default(),
    }
}

fn plain(bytes: &[u8]) -> String {
    crate::parse::text(bytes.trim_ascii())
}

/// Whether a missing file is worth reporting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportMissing {
    Always,
    IfPresent,
}

struct DeviceFolder<'read> {
    root: &'read Root,
    path: String,
    entry: &'read str,
    unknown: &'read mut UnknownFacts,
}

impl DeviceFolder<'_> {
    fn queue<T>(
        &mut self,
        queued: bool,
        file: &str,
        need: ReportMissing,
        parse: impl FnOnce(&[u8]) -> std::result::Result<T, Malformed>,
    ) -> Option<T> {
        if queued { self.fact(file, &format!("queue/{file}"), need, parse) } else { None }
    }

    fn fact<T>(
        &mut self,
        fact: &str,
        file: &str,
        need: ReportMissing,
        parse: impl FnOnce(&[u8]) -> std::result::Result<T, Malformed>,
    ) -> Option<T> {
        let path = format!("{}/{file}", self.path);
        let outcome: Result<T> = self
            .root
            .read(&path)
            .and_then(|bytes| parse(&bytes).map_err(|bad| ProbeError::malformed(&path, &bad)));
        match outcome {
            Err(error) if need == ReportMissing::IfPresent && error.kind() == ProbeErrorKind::Missing => None,
            outcome => self.unknown.note(&format!("{fact} of {}", self.entry), outcome),
        }
    }

    fn has(&self, file: &str) -> bool {
        self.root.exists(&format!("{}/{file}", self.path))
    }

    fn text(&self, file: &str) -> Option<String> {
        self.root.text(&format!("{}/{file}", self.path)).ok().filter(|text| !text.is_empty())
    }

    fn kind(&self, hypervisor: bool) -> DeviceKind {
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| self.entry.starts_with(prefix));
        if self.has("partition") {
            DeviceKind::Partition
        } else if starts(&["loop"]) {
            DeviceKind::Loop
        } else if self.has("dm") || starts(&["bcache"]) {
            DeviceKind::Mapper
        } else if self.has("md") {
            DeviceKind::Raid
        } else if starts(&["nbd", "rbd", "drbd"]) || self.is_behind_network() {
            DeviceKind::NetworkBlock
        } else if starts(&["ram", "zram"]) {
            DeviceKind::Memory
        } else if hypervisor && self.is_virtual() {
            DeviceKind::Virtual
        } else {
            DeviceKind::Disk
        }
    }

    /// Disks of iSCSI sessions and of NVM fabrics show the transport in their place in the device tree.
    fn is_behind_network(&self) -> bool {
        let place = self.root.resolve(&self.path).unwrap_or_default();
        place.split('/').any(|part| part == "nvme-fabrics" || is_session(part))
    }

    fn is_virtual(&self) -> bool {
        let place = self.root.resolve(&self.path).unwrap_or_default();
        let model = self.model().unwrap_or_default();
        self.entry.starts_with("xvd")
            || place.split('/').any(|part| part.starts_with("virtio"))
            || VIRTUAL_MODELS.iter().any(|word| model.contains(word))
    }

    fn model(&self) -> Option<String> {
        let parts = [self.text("device/vendor"), self.text("device/model")];
        // A number of the PCI bus (virtio, NVM) is no name for people.
        let words: Vec<_> = parts.into_iter().flatten().filter(|part| !part.starts_with("0x")).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    fn description(&self, kind: DeviceKind) -> Option<String> {
        match kind {
            DeviceKind::Loop => self.text("loop/backing_file"),
            DeviceKind::Raid => self.text("md/level"),
            DeviceKind::Mapper if self.entry.starts_with("bcache") => Some("bcache".to_owned()),
            DeviceKind::Mapper => self.mapping(),
            DeviceKind::Partition => None,
            _ => self.model(),
        }
    }

    /// The mapping's name, and its maker: the word before the first dash of its id (`LVM`, `CRYPT`, `mpath`).
    fn mapping(&self) -> Option<String> {
        let name = self.text("dm/name")?;
        let maker = self.text("dm/uuid").and_then(|id| id.split_once('-').map(|(maker, _)| maker.to_owned()));
        Some(maker.map_or_else(|| name.clone(), |maker| format!("{maker} {name}")))
    }
}

fn is_session(part: &str) -> bool {
    part.strip_prefix("session").is_some_and(|rest| crate::parse::number(rest.as_bytes()).is_some())
}

/// Where `/sys` describes a block device, partitions included.
pub(crate) fn class_folder(entry: &str) -> String {
    format!("/sys/class/block/{entry}")
}

/// The entry of `/sys/class/block` for the device of this number (`major:minor`).
pub(crate) fn entry_of_number(root: &Root, number: &str) -> Result<String> {
    let resolved = root.resolve(&format!("/sys/dev/block/{number}"))?;
    Ok(resolved.rsplit_once('/').map_or(resolved.as_str(), |(_, last)| last).to_owned())
}
