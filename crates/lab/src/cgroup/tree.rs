//! Finds where a controller's groups are made: its own v1 hierarchy, or the v2 tree if it is enabled there.
//!
//! Groups are made at the top of the hierarchy that this process sees. In a container's v2 tree that needs
//! the right to enable controllers there; without it the kernel's answer is passed on.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::Version;
use crate::error::{Error, Result};

/// One controller's tree of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) root: PathBuf,
    pub(crate) version: Version,
    pub(crate) controller: String,
}

pub(crate) fn mounts() -> Result<String> {
    let path = "/proc/self/mounts";
    fs::read_to_string(path).map_err(|source| Error::os("read", path, source))
}

/// The hierarchy of a controller, by its name on v1 and on v2; a machine may have both versions at once, and
/// then each controller is in one of them.
pub(crate) fn find(mounts: &str, v1_name: &str, v2_name: &str) -> Option<Hierarchy> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (root, kind, options) = (Path::new(fields.next()?), fields.next()?, fields.next()?);
        let found = |version, controller: &str| Hierarchy {
            root: root.to_owned(),
            version,
            controller: controller.to_owned(),
        };
        match kind {
            "cgroup" if options.split(',').any(|option| option == v1_name) => {
                Some(found(Version::V1, v1_name))
            }
            "cgroup2" if offers(root, v2_name) => Some(found(Version::V2, v2_name)),
            _ => None,
        }
    })
}

fn offers(root: &Path, controller: &str) -> bool {
    let offered = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
    offered.split_whitespace().any(|name| name == controller)
}

impl Hierarchy {
    /// Makes the group, unless another controller in the same place already did.
    pub(crate) fn make(&self, name: &str) -> Result<()> {
        if self.version == Version::V2 {
            let switch = self.root.join("cgroup.subtree_control");
            fs::write(&switch, format!("+{}", self.controller)).map_err(|source| {
                Error::os("enable a controller in", switch.display().to_string(), source)
            })?;
        }
        let folder = self.root.join(name);
        match fs::create_dir(&folder) {
            Err(source) if source.kind() != ErrorKind::AlreadyExists => {
                Err(Error::os("make cgroup", folder.display().to_string(), source))
            }
            _ => Ok(()),
        }
    }
}
