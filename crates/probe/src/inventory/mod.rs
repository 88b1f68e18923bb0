//! What a machine is and what the path to a folder on it is made of: facts read once.
//!
//! No fact is evaluated here, and none is guessed: what a machine does not report is `None` and listed.

mod block;
mod chain;
mod cpu_cache;
mod device;
mod host;
mod mount;
mod nfs;
mod nic;
mod overlay;
mod queue;
mod server;
mod throttle;

pub use cpu_cache::{CpuCache, largest_cpu_cache};
pub use server::mount_server;

use std::path::Path;

use narrows_model::inventory::{HostFacts, Inventory, PathFacts};

pub(crate) use device::{class_folder, entry_of_number};

use crate::error::{ProbeError, Result};
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// Facts of the reading process that are in no file of [`Root`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessFacts {
    /// CPUs that it may run on.
    pub affinity_cpus: Vec<u32>,
    /// Resolution of its clock, measured.
    pub clock_resolution_ns: Option<u64>,
}

/// The machine, the path to `path` on it where one is given, and all that could not be read.
///
/// # Errors
/// As [`path`](fn@path).
pub fn inventory(root: &Root, process: &ProcessFacts, path: Option<&Path>) -> Result<Inventory> {
    let mut unknown = UnknownFacts::default();
    let host = host::read(root, process, &mut unknown);
    let path = path.map(|path| read_path(root, path, &mut unknown)).transpose()?;
    Ok(of_path(host, path, &unknown))
}

/// The machine, and the path to the block device of `number` (`major:minor`) at the node `path`.
///
/// # Errors
/// As [`path`](fn@path), and when `/sys` does not have the device.
pub fn device_inventory(root: &Root, process: &ProcessFacts, path: &Path, number: &str) -> Result<Inventory> {
    let mut unknown = UnknownFacts::default();
    let host = host::read(root, process, &mut unknown);
    let path = Some(block::read(root, &absolute_name(path)?, number, &mut unknown)?);
    Ok(of_path(host, path, &unknown))
}

/// The inventory of one path at most, by one process.
fn of_path(host: HostFacts, path: Option<PathFacts>, unknown: &UnknownFacts) -> Inventory {
    let unknown = unknown.sentences().to_vec();
    Inventory::new(host, path, unknown)
}

/// The machine, and what of it could not be read, for people.
#[must_use]
pub fn host(root: &Root, process: &ProcessFacts) -> (HostFacts, Vec<String>) {
    let mut unknown = UnknownFacts::default();
    let host = host::read(root, process, &mut unknown);
    (host, unknown.sentences().to_vec())
}

/// What the path to the folder or file `path` is made of.
///
/// What could not be read is `None`; [`inventory`](fn@inventory) lists it too.
///
/// # Errors
/// `Missing` when `path` is not there, `Denied` when this user has no access, `Malformed` for a name that is no
/// UTF-8 or mounts that cannot be understood.
pub fn path(root: &Root, path: &Path) -> Result<PathFacts> {
    read_path(root, path, &mut UnknownFacts::default())
}

fn read_path(root: &Root, path: &Path, unknown: &mut UnknownFacts) -> Result<PathFacts> {
    mount::read(root, &absolute_name(path)?, unknown)
}

fn absolute_name(path: &Path) -> Result<String> {
    let shown = || path.display().to_string();
    let absolute = std::path::absolute(path).map_err(|error| ProbeError::reading(shown(), error))?;
    absolute.to_str().map(str::to_owned).ok_or_else(|| {
        ProbeError::unusable(
            shown(),
            "its name is not UTF-8; use a symbolic link with a plain name for the folder",
        )
    })
}
