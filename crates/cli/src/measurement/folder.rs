//! Paths on this machine: what one is, the folder of our own in it, and the inventory around it.

use super::owner;
use crate::exit::Failure;
use narrows_engines::psync::TestFolder;
use narrows_model::{Bytes, Inventory};
use narrows_probe::Root;
use narrows_probe::inventory::{ProcessFacts, inventory};
use std::path::Path;

pub(crate) use super::owner::leftovers;

/// What a path turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathFound {
    /// A folder.
    Folder,
    /// A file with something in it that this user may read.
    File {
        /// Its length.
        length: Bytes,
    },
}

/// What `path` is.
///
/// # Errors
/// When it is not there, may not be read, is an empty file, or is neither a file nor a folder.
pub(crate) fn examine(path: &Path) -> Result<PathFound, Failure> {
    let metadata = std::fs::metadata(path).map_err(|error| not_found(path, &error))?;
    if metadata.is_dir() {
        return Ok(PathFound::Folder);
    }
    if !metadata.is_file() {
        return Err(Failure::bad_input(format!(
            "{} is neither a file nor a folder; raw devices are not read or written by this version",
            path.display()
        )));
    }
    if metadata.len() == 0 {
        return Err(Failure::bad_input(format!("{} is empty: there is nothing to read", path.display())));
    }
    std::fs::File::open(path).map_err(|error| {
        let hint = "give a file that this user may read";
        Failure::could_not_run(format!("read {}: {error}; {hint}", path.display()))
    })?;
    Ok(PathFound::File { length: Bytes(metadata.len()) })
}

fn not_found(path: &Path, error: &std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        let hint = "check the rights of this user on it and on the folders above it";
        return Failure::could_not_run(format!("{}: {error}; {hint}", path.display()));
    }
    Failure::bad_input(format!("{}: {error}; give a folder or file that exists", path.display()))
}

/// A marked folder of our own in `path`, named from `nonce`.
///
/// # Errors
/// When this user may not write there.
pub(crate) fn make(path: &Path, nonce: u64) -> Result<TestFolder, Failure> {
    TestFolder::create(path, nonce, &owner::line()).map_err(|error| Failure::could_not_run(error.to_string()))
}

/// The inventory of this machine and of the path to `path`.
///
/// # Errors
/// When the machine does not tell.
pub(crate) fn machine(path: Option<&Path>, clock_resolution_ns: u64) -> Result<Inventory, Failure> {
    let facts = ProcessFacts { affinity_cpus: own_cpus(), clock_resolution_ns: Some(clock_resolution_ns) };
    inventory(&Root::system(), &facts, path)
        .map_err(|error| Failure::could_not_run(format!("find out what the path is made of: {error}")))
}

fn own_cpus() -> Vec<u32> {
    let cpus = narrows_sys::process::affinity().unwrap_or_default();
    cpus.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}
