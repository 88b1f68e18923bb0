//! Who a test folder belongs to: the process that its marker names, and whether that process is still there.
//!
//! Folders are only named to the user, never removed here: on shared storage the owner may run on another machine. The client
//! of a server's folders removes those whose process of this machine is gone.

use crate::advice::clean_command;
use narrows_engines::own_folders::{OwnerProcess, OwnerState};
use narrows_engines::psync::TestFolder;
use narrows_sys::clock::wall_time;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Start of a marker's line; its process follows.
const PROGRAM: &str = "narrows, ";

/// The line of a marker that names this process.
pub(super) fn line() -> String {
    format!("{PROGRAM}{}", OwnerProcess::current())
}

/// Whether the process that the line `line` of a marker names is still there.
pub(crate) fn test_folder_state(line: &str) -> OwnerState {
    parsed(line).map_or(OwnerState::Unknown, |owner| owner.state(&OwnerProcess::current()))
}

/// The time in seconds of the epoch.
pub(crate) fn epoch_seconds() -> u64 {
    wall_time().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// For each test folder in `parent` whose process is gone: a sentence that names it and the command to remove it.
pub(crate) fn leftovers(parent: &Path) -> Vec<String> {
    let left = TestFolder::left_behind(parent, epoch_seconds()).into_iter();
    left.filter(|(_, owner)| is_gone(owner)).map(|(path, owner)| sentence(parent, &path, &owner)).collect()
}

fn sentence(parent: &Path, path: &Path, owner: &str) -> String {
    let process = parsed(owner).map_or_else(String::new, |owner| format!(" (process {})", owner.pid));
    format!(
        "narrows: a run that was killed{process} left its test folder {} behind; remove it with: {}",
        path.display(),
        clean_command(parent)
    )
}

/// Whether the process named by `line` ran on this machine and has ended, or was killed before it could name itself.
/// Unknown counts as not gone.
pub(super) fn is_gone(line: &str) -> bool {
    line.is_empty() || matches!(test_folder_state(line), OwnerState::Gone | OwnerState::OtherBoot)
}

fn parsed(line: &str) -> Option<OwnerProcess> {
    OwnerProcess::parse(line.strip_prefix(PROGRAM)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_process_is_not_gone_and_neither_is_an_unknown_one() {
        assert!(!is_gone(&line()), "{}", line());
        assert!(!is_gone("some other line"));
        let here = OwnerProcess::current();
        let ended = OwnerProcess { started_ticks: here.started_ticks + 1, ..here };
        assert!(is_gone(&format!("{PROGRAM}{ended}")));
    }
}
