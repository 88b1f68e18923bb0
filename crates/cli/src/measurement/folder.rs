//! Paths on this machine: what one is, the folder of our own in it, and the inventory around it.

use super::endpoint::CONNECT_TIMEOUT_NS;
use super::owner;
use crate::exit::CommandFailure;
use crate::registry::registry;
use narrows_engines::iscsi::{UnitRegion, UnitSurvey};
use narrows_engines::psync::TestFolder;
use narrows_engines::{Clock, OwnPlace, PlaceFound, PlaceRequest, RegionNeed};
use narrows_model::quantity::amount;
use narrows_model::{Bytes, Inventory, IscsiAddress, Target};
use narrows_probe::Root;
use narrows_probe::inventory::{ProcessFacts, device_inventory, inventory};
use narrows_sys::file::{FileExtent, allocated_extents};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

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

/// Why a path is no target.
#[derive(Debug)]
pub(crate) enum PathProblem {
    /// Another one must be given: what was found, and what to do.
    Named { found: String, hint: &'static str },
    /// It may not be used by this user, and why.
    Refused(String),
}

/// What paths of targets are.
pub(crate) const PATHS_ALLOWED: &str = "a folder, or a file with content that this user may read";

/// What `path` is.
///
/// # Errors
/// When it is not there, may not be read, is an empty or sparse file, or is neither a file nor a folder.
pub(crate) fn examine(path: &Path) -> Result<PathFound, CommandFailure> {
    look_at(path).map_err(|wrong| match wrong {
        PathProblem::Named { found, hint } => CommandFailure::bad_input(format!("{found}; {hint}")),
        PathProblem::Refused(words) => CommandFailure::could_not_run(words),
    })
}

/// As [`examine`], with what is wrong in its parts.
///
/// # Errors
/// As those of [`examine`].
pub(crate) fn look_at(path: &Path) -> Result<PathFound, PathProblem> {
    let shown = path.display();
    let named = |found: String, hint| Err(PathProblem::Named { found, hint });
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let hint = "check this user's permissions on it and on its parent folders";
            return Err(PathProblem::Refused(format!("{shown}: {error}; {hint}")));
        }
        Err(error) => return named(format!("{shown}: {error}"), "give a folder or file that exists"),
    };
    if metadata.is_dir() {
        return Ok(PathFound::Folder);
    }
    if !metadata.is_file() {
        if metadata.file_type().is_block_device() {
            return named(format!("{shown} is a block device"), "give it as blk:PATH, such as blk:/dev/sdb");
        }
        let hint = "give a folder or a file";
        return named(format!("{shown} is neither a file nor a folder"), hint);
    }
    if metadata.len() == 0 {
        return named(
            format!("{shown} is empty: there is nothing to read"),
            "give a file with content, or a folder",
        );
    }
    let file = std::fs::File::open(path).map_err(|error| {
        PathProblem::Refused(format!("read {shown}: {error}; give a file that this user may read"))
    })?;
    let length = Bytes(metadata.len());
    if let Some(data) = data_of_sparse(&file, length) {
        return named(
            format!("{shown} has {data}: reads of its holes reach no storage"),
            "give a file with content in all of it, or a folder",
        );
    }
    Ok(PathFound::File { length })
}

/// A file with data in less than this share of its front measures the kernel's zeros.
const DATA_MIN_RATIO: f64 = 0.5;

/// The front of a file, which loads read: a large one is never read as a whole.
const FRONT_BYTES: u64 = 8 << 30;

/// Parts of a file that are looked at: over a network each takes two round trips.
const EXTENT_COUNT_MAX: usize = 256;

/// How much of the front of a file was ever written, for people; `None` where that is most of it, or it is not known.
fn data_of_sparse(file: &std::fs::File, length: Bytes) -> Option<String> {
    let front_bytes = length.0.min(FRONT_BYTES);
    let map = allocated_extents(file, EXTENT_COUNT_MAX).ok()?;
    let is_seen = map.complete || map.extents.last().is_some_and(|last| last.offset_bytes >= front_bytes);
    let in_front = |extent: &FileExtent| {
        let end_bytes = extent.offset_bytes.saturating_add(extent.length_bytes).min(front_bytes);
        end_bytes.saturating_sub(extent.offset_bytes)
    };
    let data_bytes: u64 = map.extents.iter().map(in_front).sum();
    let is_sparse = is_seen && (data_bytes as f64) < front_bytes as f64 * DATA_MIN_RATIO;
    let place = if front_bytes < length.0 { "the first " } else { "" };
    is_sparse
        .then(|| format!("{} of data in {place}{}", amount(Bytes(data_bytes)), amount(Bytes(front_bytes))))
}

/// A marked folder of our own in `path`, named from `nonce`.
///
/// # Errors
/// When this user may not write there.
pub(crate) fn make(path: &Path, nonce: u64) -> Result<TestFolder, CommandFailure> {
    TestFolder::create(path, nonce, &owner::line())
        .map_err(|error| CommandFailure::could_not_run(error.to_string()))
}

/// A place of our own in `target`, which is no path of this machine; `None` where it needs none. What killed runs have left
/// there is removed.
///
/// # Errors
/// When the server cannot be reached, or does not let this user write there.
pub(crate) fn make_place(
    target: &Target,
    nonce: u64,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Box<dyn OwnPlace>>, CommandFailure> {
    let line = owner::line();
    let request = PlaceRequest {
        nonce,
        owner: &line,
        is_gone: &owner::is_gone,
        clock: Arc::clone(clock),
        timeout_ns: CONNECT_TIMEOUT_NS,
    };
    registry()
        .factory(target, None)
        .and_then(|factory| factory.own_place(target, &request))
        .map_err(|error| CommandFailure::could_not_run(error.to_string()))
}

/// What the unit at `address` is; nothing is changed.
///
/// # Errors
/// When it cannot be reached or read.
pub(super) fn survey_unit(
    address: &IscsiAddress,
    clock: &Arc<dyn Clock>,
) -> Result<UnitSurvey, CommandFailure> {
    narrows_engines::iscsi::survey(address, &owner::is_gone, Arc::clone(clock), CONNECT_TIMEOUT_NS)
        .map_err(|error| CommandFailure::could_not_run(error.to_string()))
}

/// What `need` states of the unit at `address`, claimed; what a killed run has left there is cleared.
///
/// # Errors
/// When it cannot be reached, is too small, or holds something that was not named for overwriting.
pub(super) fn claim_unit(
    address: &IscsiAddress,
    need: RegionNeed,
    nonce: u64,
    clock: &Arc<dyn Clock>,
) -> Result<UnitRegion, CommandFailure> {
    let (line, clock) = (owner::line(), Arc::clone(clock));
    UnitRegion::claim(address, need, nonce, &line, &owner::is_gone, clock, CONNECT_TIMEOUT_NS)
        .map_err(|error| CommandFailure::could_not_run(error.to_string()))
}

/// What is at `target`, which is no path of this machine.
///
/// # Errors
/// When the server cannot be reached or does not let this user look.
pub(crate) fn examine_place(target: &Target, clock: &Arc<dyn Clock>) -> Result<PlaceFound, CommandFailure> {
    registry()
        .factory(target, None)
        .and_then(|factory| factory.examine(target, Arc::clone(clock), CONNECT_TIMEOUT_NS))
        .map_err(|error| CommandFailure::could_not_run(error.to_string()))
}

/// The inventory of this machine and of the path to `path`.
///
/// # Errors
/// When the machine does not report it.
pub(crate) fn machine(path: Option<&Path>, clock_resolution_ns: u64) -> Result<Inventory, CommandFailure> {
    inventory(&Root::system(), &process_facts(clock_resolution_ns), path)
        .map_err(|error| CommandFailure::could_not_run(format!("find the layers of the path: {error}")))
}

/// The inventory of this machine and of the path to the block device of `number` (`major:minor`) at the node `path`.
///
/// # Errors
/// When the machine does not report it.
pub(super) fn device_machine(
    path: &Path,
    number: &str,
    clock_resolution_ns: u64,
) -> Result<Inventory, CommandFailure> {
    device_inventory(&Root::system(), &process_facts(clock_resolution_ns), path, number)
        .map_err(|error| CommandFailure::could_not_run(format!("find the layers of the path: {error}")))
}

fn process_facts(clock_resolution_ns: u64) -> ProcessFacts {
    ProcessFacts { affinity_cpus: own_cpus(), clock_resolution_ns: Some(clock_resolution_ns) }
}

fn own_cpus() -> Vec<u32> {
    let cpus = narrows_sys::process::affinity().unwrap_or_default();
    cpus.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}
