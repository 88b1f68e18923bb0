//! The owner of a session's folder: the marker names the process that made it, and shows later whether it still runs.
//!
//! Folders of processes that are gone are named to who starts a server, never removed here: on shared storage they
//! may belong to another machine.

use narrows_engines::own_folders::{NamedFolder, OwnerProcess, OwnerState, named_folders};
use narrows_model::printable::shell_path;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// First line of a marker.
const MARKER_LINE: &str = "narrows serve made this folder and removes it when its session ends.";

/// Name of the file that marks a folder as made by a server.
pub const SESSION_MARKER: &str = "made-by-narrows-serve";

/// Folders that servers which were killed have left below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeNotice {
    /// The folders.
    pub folders: Vec<PathBuf>,
    /// The root that they are in.
    pub root: PathBuf,
}

impl fmt::Display for ServeNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folders: Vec<String> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
        write!(
            f,
            "narrows serve: a server that was killed left data behind: {}; remove it with: narrows clean {} --remove",
            folders.join(", "),
            shell_path(&self.root.display().to_string())
        )
    }
}

/// What a marker of this process says.
pub(crate) fn marker() -> String {
    format!("{MARKER_LINE}\n{}\n", OwnerProcess::current())
}

/// Whether the server whose folder has the marker `marker` is still there.
#[must_use]
pub fn session_state(marker: &str) -> OwnerState {
    let owner = marker.strip_prefix(MARKER_LINE).and_then(|line| OwnerProcess::parse(line.trim()));
    owner.map_or(OwnerState::Unknown, |owner| owner.state(&OwnerProcess::current()))
}

/// The folders below `root` whose server is gone; `None` without any.
pub(crate) fn find_leftovers(root: &Arc<File>, path: &Path, now_s: u64) -> Option<ServeNotice> {
    // A root that cannot be listed shows nothing, and opening a session in it reports why.
    let named = named_folders(root, path).unwrap_or_default();
    let is_left = |folder: &NamedFolder| {
        let state = folder.marker(SESSION_MARKER).map(|marker| session_state(&marker));
        matches!(state, Some(OwnerState::Gone | OwnerState::OtherBoot))
            || folder.is_unfinished(&[SESSION_MARKER], now_s)
    };
    let folders: Vec<PathBuf> =
        named.iter().filter(|folder| is_left(folder)).map(|folder| folder.path().to_path_buf()).collect();
    (!folders.is_empty()).then(|| ServeNotice { folders, root: path.to_path_buf() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(root: &Path, name: &str, owner: &OwnerProcess) {
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join(SESSION_MARKER), format!("{MARKER_LINE}\n{owner}\n")).unwrap();
    }

    #[test]
    fn only_folders_of_processes_that_are_gone_are_named() {
        let place = tempfile::tempdir().unwrap();
        let own = OwnerProcess::current();
        put(place.path(), ".narrows-alive", &own);
        put(place.path(), ".narrows-other start", &OwnerProcess { started_ticks: 1, ..own.clone() });
        put(place.path(), ".narrows-rebooted", &OwnerProcess { boot_id: "before".into(), ..own.clone() });
        let elsewhere = OwnerProcess { boot_id: "its".into(), hostname: "other".into(), ..own.clone() };
        put(place.path(), ".narrows-elsewhere", &elsewhere);
        put(place.path(), "narrows-other-name", &OwnerProcess { started_ticks: 1, ..own });
        fs::create_dir(place.path().join(".narrows-unmarked")).unwrap();
        fs::write(place.path().join(".narrows-file"), "x").unwrap();
        let notice =
            find_leftovers(&Arc::new(File::open(place.path()).unwrap()), Path::new("/a root"), 0).unwrap();
        assert!(
            notice.to_string().ends_with(
                ": /a root/.narrows-other start, /a root/.narrows-rebooted; remove it with: \
                 narrows clean '/a root' --remove"
            ),
            "{notice}"
        );
    }

    #[test]
    fn a_root_with_nothing_left_has_no_notice() {
        let place = tempfile::tempdir().unwrap();
        put(place.path(), ".narrows-alive", &OwnerProcess::current());
        assert_eq!(find_leftovers(&Arc::new(File::open(place.path()).unwrap()), place.path(), 0), None);
    }
}
