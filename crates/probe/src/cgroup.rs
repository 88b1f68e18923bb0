//! Where a process's control group is, per controller, and its limits: version 1, version 2, and both at once.
//!
//! A limit of any ancestor binds, so limits are the smallest on the way up. What is above the mount's root, outside a
//! container, cannot be seen from inside and is not reported.

use crate::error::{ProbeError, Result};
use crate::mounts::Mounts;
use crate::parse::{cgroup as text, mountinfo};
use crate::root::Root;

/// Deeper nesting than any service manager makes; bounds the walk up.
const ANCESTORS_MAX: usize = 64;

/// A control group as far as one controller is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ControlGroup {
    /// 1 or 2.
    pub(crate) version: u8,
    /// The group's path below its hierarchy, as the process sees it.
    pub(crate) path: String,
    mount_point: String,
    /// Path below the mount point, without a slash at either end; empty for the mount point itself.
    relative: String,
}

impl ControlGroup {
    /// The group's own folder.
    pub(crate) fn folder(&self) -> String {
        join(&self.mount_point, &self.relative)
    }

    /// The group's folder, then its ancestors' up to the mount point.
    pub(crate) fn folders_upward(&self) -> Vec<String> {
        let mut relative = self.relative.as_str();
        let mut folders = vec![self.folder()];
        while !relative.is_empty() && folders.len() < ANCESTORS_MAX {
            relative = relative.rsplit_once('/').map_or("", |(parent, _)| parent);
            folders.push(join(&self.mount_point, relative));
        }
        folders
    }
}

/// The group that `controller` puts the process `pid` (a number or `self`) into; `None` where nothing mounts it.
///
/// # Errors
/// When `/proc/[pid]/cgroup` or `mountinfo` cannot be read or is malformed.
pub(crate) fn find(root: &Root, pid: &str, controller: &str) -> Result<Option<ControlGroup>> {
    let memberships_path = format!("/proc/{pid}/cgroup");
    let memberships = match root.read(&memberships_path) {
        Ok(bytes) => text::parse(&bytes).map_err(|bad| ProbeError::malformed(&memberships_path, &bad))?,
        // A kernel built without control groups has no such file.
        Err(error) if error.kind() == crate::ProbeErrorKind::Missing => return Ok(None),
        Err(error) => return Err(error),
    };
    let mounts = Mounts::read(root)?;
    let owner = |membership: &&text::Membership| membership.controllers.iter().any(|name| name == controller);
    if let Some(membership) = memberships.iter().find(owner) {
        let has_controller = |mount: &&mountinfo::Mount| {
            mount.fs_type == "cgroup" && mount.super_options.iter().any(|option| option == controller)
        };
        return Ok(mounts.iter().filter(has_controller).find_map(|mount| below(1, mount, &membership.path)));
    }
    let Some(unified) = memberships.iter().find(|membership| membership.controllers.is_empty()) else {
        return Ok(None);
    };
    let mut unified_mounts = mounts.iter().filter(|mount| mount.fs_type == "cgroup2");
    Ok(unified_mounts.find_map(|mount| below(2, mount, &unified.path)))
}

/// CPUs that the quotas of the group and its ancestors allow, with the folder of the tightest.
///
/// # Errors
/// When a quota's file cannot be read or is malformed; a group without the file has no quota.
pub(crate) fn cpu_quota(root: &Root, group: &ControlGroup) -> Result<Option<(f64, String)>> {
    let mut tightest: Option<(f64, String)> = None;
    for folder in group.folders_upward() {
        let quota = if group.version == 1 { quota_v1(root, &folder)? } else { quota_v2(root, &folder)? };
        if let Some(quota) = quota
            && tightest.as_ref().is_none_or(|(smallest, _)| quota < *smallest)
        {
            tightest = Some((quota, folder));
        }
    }
    Ok(tightest)
}

/// The file's bytes; `None` where the group has no such file.
pub(crate) fn optional(root: &Root, path: &str) -> Result<Option<Vec<u8>>> {
    match root.read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == crate::ProbeErrorKind::Missing => Ok(None),
        Err(error) => Err(error),
    }
}

fn quota_v1(root: &Root, folder: &str) -> Result<Option<f64>> {
    let read = |name: &str| -> Result<Option<u64>> {
        let path = format!("{folder}/{name}");
        let Some(bytes) = optional(root, &path)? else { return Ok(None) };
        text::limit(bytes.trim_ascii()).map_err(|bad| ProbeError::malformed(&path, &bad))
    };
    Ok(text::quota_cpus(read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?))
}

fn quota_v2(root: &Root, folder: &str) -> Result<Option<f64>> {
    let path = format!("{folder}/cpu.max");
    let Some(bytes) = optional(root, &path)? else { return Ok(None) };
    text::cpu_max(&bytes).map_err(|bad| ProbeError::malformed(&path, &bad))
}

/// The group of `path` as this mount shows it; `None` when the mount's root is not an ancestor of it.
fn below(version: u8, mount: &mountinfo::Mount, path: &str) -> Option<ControlGroup> {
    let relative = if mount.root == "/" {
        path
    } else {
        path.strip_prefix(mount.root.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))?
    };
    // `/../x`: the group is outside this namespace.
    if relative.split('/').any(|part| part == "..") {
        return None;
    }
    let relative = relative.trim_matches('/').to_owned();
    Some(ControlGroup { version, path: path.to_owned(), mount_point: mount.point.clone(), relative })
}

fn join(mount_point: &str, relative: &str) -> String {
    if relative.is_empty() { mount_point.to_owned() } else { format!("{mount_point}/{relative}") }
}
