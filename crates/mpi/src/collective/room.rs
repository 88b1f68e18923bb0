//! Whether the files of a suite fit where they are to be made, before any of them is; and whether one is there as a whole
//! afterwards: not every library reports that a collective write has failed.
//!
//! Files of ranks on one host that are on one file system add up. Not here: a file system that several hosts share, for which
//! each host is looked at alone.

use super::SuiteFailure;
use crate::gathered::{agreed, gathered};
use mpi::topology::SimpleCommunicator;
use narrows_model::Bytes;
use narrows_model::quantity::amount;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What one rank makes, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RankNeed {
    host: String,
    /// The file system, by the number that its host gives it.
    device: u64,
    needed_bytes: u64,
    free_bytes: u64,
}

/// Refuses files that do not fit; `needed_bytes` are those that this rank makes in `folder`.
pub(super) fn check_room(
    world: &SimpleCommunicator,
    folder: &Path,
    needed_bytes: u64,
) -> Result<(), SuiteFailure> {
    let own = agreed(world, rank_need(folder, needed_bytes)).map_err(SuiteFailure::BadInput)?;
    let all = gathered(world, serde_json::to_vec(&own).unwrap_or_default());
    let all: Vec<RankNeed> = all.iter().filter_map(|one| serde_json::from_slice(one).ok()).collect();
    match shortage(&all) {
        None => Ok(()),
        Some(what) => Err(SuiteFailure::BadInput(format!(
            "{}: {what}; nothing was written; make less with smaller sizes, or free space",
            folder.display()
        ))),
    }
}

/// Refuses what costs more on a host than is done without `--yes`; `moved_bytes` are those that this rank moves.
pub(super) fn check_costs(world: &SimpleCommunicator, moved_bytes: u64) -> Result<(), SuiteFailure> {
    let own = RankBytes { host: hostname(), moved_bytes };
    let all = gathered(world, serde_json::to_vec(&own).unwrap_or_default());
    let all: Vec<RankBytes> = all.iter().filter_map(|one| serde_json::from_slice(one).ok()).collect();
    let here = all.iter().filter(|rank| rank.host == own.host);
    let here = here.fold(0, |sum: u64, rank| sum.saturating_add(rank.moved_bytes));
    let refusal = narrows::refusal_of_bytes(Bytes(here));
    agreed(world, refusal.map_or(Ok(()), Err)).map_err(SuiteFailure::BadInput)
}

/// What one rank moves.
#[derive(Debug, Serialize, Deserialize)]
struct RankBytes {
    host: String,
    moved_bytes: u64,
}

fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Fails where a file that was written is shorter than it must be.
pub(super) fn check_length(path: &Path, expected_bytes: u64) -> Result<(), String> {
    let found = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?.len();
    if found >= expected_bytes {
        return Ok(());
    }
    Err(format!(
        "{} has {found} bytes, and {expected_bytes} were written: the MPI library reported no error; is the file system full, \
         or a limit of file sizes set?",
        path.display()
    ))
}

fn rank_need(folder: &Path, needed_bytes: u64) -> Result<RankNeed, String> {
    let device = std::fs::metadata(folder).map_err(|error| format!("{}: {error}", folder.display()))?.dev();
    let free_bytes = narrows_sys::access::free_bytes(folder).map_err(|error| error.to_string())?;
    Ok(RankNeed { host: hostname(), device, needed_bytes, free_bytes })
}

/// What does not fit; `None` where all does.
fn shortage(all: &[RankNeed]) -> Option<String> {
    all.iter().find_map(|rank| {
        let here = all.iter().filter(|other| (&other.host, other.device) == (&rank.host, rank.device));
        let needed = here.fold(0, |sum: u64, other| sum.saturating_add(other.needed_bytes));
        (needed > rank.free_bytes).then(|| {
            let (needed, free) = (amount(Bytes(needed)), amount(Bytes(rank.free_bytes)));
            format!("{needed} are needed on {}, and {free} are free there", rank.host)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_short_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, [0; 8]).unwrap();
        assert_eq!(check_length(&path, 8), Ok(()));
        assert!(check_length(&path, 9).unwrap_err().contains("has 8 bytes, and 9 were written"));
        assert!(check_length(&folder.path().join("none"), 0).is_err());
    }

    #[test]
    fn files_of_one_host_on_one_file_system_add_up_and_others_do_not() {
        let need = |host: &str, device, needed_bytes| RankNeed {
            host: host.to_owned(),
            device,
            needed_bytes,
            free_bytes: 3 << 20,
        };
        let mib = 1 << 20;
        let fitting =
            [need("a", 1, mib), need("a", 1, 2 * mib), need("a", 2, 3 * mib), need("b", 1, 3 * mib)];
        assert_eq!(shortage(&fitting), None);
        let short = shortage(&[need("a", 1, 2 * mib), need("b", 1, mib), need("a", 1, 2 * mib)]).unwrap();
        assert_eq!(short, "4.00 MiB are needed on a, and 3.00 MiB are free there");
    }
}
