//! The path to one folder: its mount, its kind, its room; the parts below come from `chain`, `nfs` and `overlay`.

use narrows_model::inventory::{DeviceFacts, MountFacts, PathFacts, PathKind};
use narrows_model::units::Bytes;

use super::chain::Chain;
use super::{nfs, overlay};
use crate::error::{ProbeError, Result};
use crate::mounts::Mounts;
use crate::parse::mountinfo::Mount;
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// What the path to `path`, absolute, is made of.
pub(super) fn read(root: &Root, path: &str, unknown: &mut UnknownFacts) -> Result<PathFacts> {
    let resolved = root.resolve(path)?;
    let mounts = Mounts::read(root)?;
    let mount = mounts.containing(&resolved);
    let mount = mount.ok_or_else(|| ProbeError::missing(path, "no mount of this process covers it"))?;
    let mut devices = Chain::new(root, &mounts, unknown).below(mount);
    if let Some(backing) = backing(root, &mounts, mount).filter(|_| devices.is_empty()) {
        devices = Chain::new(root, &mounts, unknown).below(backing);
    }
    let capacity = unknown.note("space on the file system", root.capacity(&resolved));
    Ok(PathFacts {
        kind: kind(mount, &devices),
        mount: facts(mount),
        overlay_layers: overlay::layers(mount),
        nfs: is_nfs(mount).then(|| nfs::read(root, mount, unknown)),
        devices,
        free_bytes: capacity.map(|capacity| Bytes(capacity.free_bytes)),
        size_bytes: capacity.map(|capacity| Bytes(capacity.size_bytes)),
        path: resolved,
    })
}

/// The mount with the folder that the daemon of a FUSE mount passes on, as bindfs and others name it as their source;
/// `None` where the source is no folder here, or is itself behind a daemon.
fn backing<'m>(root: &Root, mounts: &'m Mounts, mount: &Mount) -> Option<&'m Mount> {
    let source = mount.source.as_str();
    let is_folder = source.starts_with('/') && !source.starts_with("/dev/") && root.is_folder(source);
    let below = mounts.containing(source).filter(|_| is_folder && is_fuse(mount))?;
    (!is_fuse(below)).then_some(below)
}

fn is_fuse(mount: &Mount) -> bool {
    let fs_type = mount.fs_type.as_str();
    matches!(fs_type, "fuse" | "fuseblk") || fs_type.starts_with("fuse.")
}

fn is_nfs(mount: &Mount) -> bool {
    matches!(mount.fs_type.as_str(), "nfs" | "nfs4")
}

fn kind(mount: &Mount, devices: &[DeviceFacts]) -> PathKind {
    match mount.fs_type.as_str() {
        "nfs" | "nfs4" => PathKind::Nfs,
        "overlay" | "aufs" => PathKind::Overlay,
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => PathKind::Memory,
        "9p" | "afs" | "beegfs" | "ceph" | "cifs" | "coda" | "gpfs" | "lustre" | "orangefs" | "panfs"
        | "pvfs2" | "smb3" | "smbfs" | "wekafs" => PathKind::OtherNetwork,
        // ZFS does not show its devices in /sys, but it has some.
        "zfs" => PathKind::LocalDevice,
        _ if is_fuse(mount) => PathKind::Fuse,
        _ if !devices.is_empty() || mount.source.starts_with("/dev/") => PathKind::LocalDevice,
        _ => PathKind::Other,
    }
}

pub(super) fn facts(mount: &Mount) -> MountFacts {
    let mut options = mount.options.clone();
    options.extend(mount.super_options.iter().filter(|option| !mount.options.contains(option)).cloned());
    let read_only = options.iter().any(|option| option == "ro");
    // A read-only mount of a writable file system, or the other way round, has both words: only `ro` applies.
    options.retain(|option| !(read_only && option == "rw"));
    MountFacts {
        mount_point: mount.point.clone(),
        source: mount.source.clone(),
        fs_type: mount.fs_type.clone(),
        options,
        device: mount.device.clone(),
        read_only,
    }
}
