//! The block devices under a mount, from the file system down to the hardware.
//!
//! It finds which devices there are and what is built on what; the facts of each come from `device`.

use std::collections::VecDeque;

use narrows_model::inventory::DeviceFacts;

use super::device::{self, class_folder};
use super::overlay;
use super::throttle::Throttles;
use crate::error::{ProbeErrorKind, Result};
use crate::mounts::Mounts;
use crate::parse::mountinfo::Mount;
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// More devices than any array has; bounds the walk down.
const DEVICES_MAX: usize = 1024;

/// Overlays on overlays, loops on loops: deeper than anybody stacks them.
const LAYERS_MAX: usize = 8;

/// A walk down.
#[derive(Debug)]
pub(super) struct Chain<'walk> {
    root: &'walk Root,
    mounts: &'walk Mounts,
    unknown: &'walk mut UnknownFacts,
}

impl<'walk> Chain<'walk> {
    pub(super) fn new(root: &'walk Root, mounts: &'walk Mounts, unknown: &'walk mut UnknownFacts) -> Self {
        Self { root, mounts, unknown }
    }

    /// The devices under `mount`: breadth first, each once, a device before those that it is built on.
    pub(super) fn below(&mut self, mount: &Mount) -> Vec<DeviceFacts> {
        let top = self.top_devices(mount, 0);
        self.walk(top)
    }

    /// The device of this entry of `/sys/class/block`, and those that it is built on.
    pub(super) fn below_entry(&mut self, entry: String) -> Vec<DeviceFacts> {
        self.walk(vec![entry])
    }

    fn walk(&mut self, top: Vec<String>) -> Vec<DeviceFacts> {
        let mut waiting: VecDeque<String> = top.into();
        if waiting.is_empty() {
            return Vec::new();
        }
        let throttles = Throttles::read(self.root, self.unknown);
        let hypervisor = super::host::hypervisor(self.root).unwrap_or(false);
        let mut seen: Vec<String> = Vec::new();
        let mut devices = Vec::new();
        while let Some(entry) = waiting.pop_front() {
            if seen.contains(&entry) || seen.len() >= DEVICES_MAX {
                continue;
            }
            let mut facts = device::read(self.root, &entry, hypervisor, self.unknown);
            let parents = self.parents(&entry);
            facts.group_limits = throttles.of_device(&facts.device);
            facts.throttle_bytes_per_s = facts.group_limits.lowest_bytes_per_s();
            facts.parents = parents.iter().map(|parent| device::kernel_name(parent)).collect();
            devices.push(facts);
            waiting.extend(parents);
            seen.push(entry);
        }
        devices
    }

    /// Names in `/sys/class/block` of the devices that the mount's file system itself uses.
    fn top_devices(&mut self, mount: &Mount, depth: usize) -> Vec<String> {
        if depth >= LAYERS_MAX {
            self.unknown.add(format!("devices of {}: more than {LAYERS_MAX} layers", mount.point));
            return Vec::new();
        }
        if mount.fs_type == "overlay" {
            return self.overlay_devices(mount, depth);
        }
        if let Ok(folder) = self.root.resolve(&format!("/sys/dev/block/{}", mount.device)) {
            return vec![last_part(&folder).to_owned()];
        }
        // Btrfs and others have a device number of their own (0:N), which /sys/dev/block does not list.
        let by_source: Vec<String> =
            mount.source.split(':').filter_map(|source| self.device_of_source(source)).collect();
        if let (Some(first), "btrfs") = (by_source.first(), mount.fs_type.as_str()) {
            return self.btrfs_devices(first).unwrap_or_else(|| by_source.clone());
        }
        if by_source.is_empty() && (mount.fs_type == "zfs" || mount.source.starts_with("/dev/")) {
            let (fs_type, source) = (&mount.fs_type, &mount.source);
            self.unknown.add(format!("devices of {}: not in /sys ({fs_type} on {source})", mount.point));
        }
        by_source
    }

    /// New data lands in the first layer: the upper folder, or the topmost lower one of a read-only overlay.
    fn overlay_devices(&mut self, mount: &Mount, depth: usize) -> Vec<String> {
        let layers = overlay::layers(mount);
        let Some(layer) = layers.first() else { return Vec::new() };
        match self.mount_of_path(layer) {
            Some(below) if below.id != mount.id => {
                let below = below.clone();
                self.top_devices(&below, depth + 1)
            }
            // In a container the layers' names are those of the host, which is out of sight.
            _ => {
                self.unknown
                    .add(format!("devices under the overlay: its layer {layer} is not visible from here"));
                Vec::new()
            }
        }
    }

    fn mount_of_path(&self, path: &str) -> Option<&'walk Mount> {
        self.mounts.containing(&self.root.resolve(path).ok()?)
    }

    /// The device that a source such as `/dev/sda1` or `/dev/mapper/vg-data` names.
    fn device_of_source(&self, source: &str) -> Option<String> {
        let resolved = self.root.resolve(source).unwrap_or_else(|_| source.to_owned());
        let entry = resolved.strip_prefix("/dev/")?.replace('/', "!");
        if self.root.exists(&class_folder(&entry)) {
            return Some(entry);
        }
        let wanted = resolved.strip_prefix("/dev/mapper/")?;
        let mapped = |entry: &String| {
            let name = self.root.text(&format!("{}/dm/name", class_folder(entry)));
            name.is_ok_and(|name| name == wanted)
        };
        self.root.names("/sys/block").ok()?.into_iter().find(mapped)
    }

    /// All devices of the btrfs file system that `member` belongs to.
    fn btrfs_devices(&self, member: &str) -> Option<Vec<String>> {
        let ids = self.root.names("/sys/fs/btrfs").ok()?;
        let sets = ids.iter().filter_map(|id| self.root.names(&format!("/sys/fs/btrfs/{id}/devices")).ok());
        sets.into_iter().find(|devices| devices.iter().any(|device| device == member))
    }

    /// What the device is a partition of or is built on; empty at the bottom.
    fn parents(&mut self, entry: &str) -> Vec<String> {
        match self.try_parents(entry) {
            Ok(parents) => parents,
            Err(error) => {
                self.unknown.add(format!("device under {entry}: {error}"));
                Vec::new()
            }
        }
    }

    fn try_parents(&mut self, entry: &str) -> Result<Vec<String>> {
        let folder = class_folder(entry);
        if self.root.exists(&format!("{folder}/partition")) {
            let resolved = self.root.resolve(&folder)?;
            let disk = resolved.rsplit_once('/').map_or("", |(disk, _)| disk);
            return Ok(vec![last_part(disk).to_owned()]);
        }
        match self.root.text(&format!("{folder}/loop/backing_file")) {
            Ok(file) => return Ok(self.backing_devices(entry, &file)),
            Err(error) if error.kind() == ProbeErrorKind::Missing => {}
            Err(error) => return Err(error),
        }
        // Device mapper, software RAID and bcache all list the devices that they use here.
        match self.root.names(&format!("{folder}/slaves")) {
            Err(error) if error.kind() == ProbeErrorKind::Missing => Ok(Vec::new()),
            outcome => outcome,
        }
    }

    fn backing_devices(&mut self, entry: &str, file: &str) -> Vec<String> {
        let Some(mount) = self.mount_of_path(file) else {
            self.unknown
                .add(format!("device under {entry}: its backing file {file} is not visible from here"));
            return Vec::new();
        };
        let devices = self.top_devices(mount, 1);
        if devices.is_empty() {
            self.unknown
                .add(format!("device under {entry}: {file} is on {}, not on a device", mount.fs_type));
        }
        devices
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}
