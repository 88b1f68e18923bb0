//! `narrows clean`: what killed runs and servers left in a folder, listed and, if asked, removed.
//!
//! A folder counts as left by its marker alone, and is removed if it belongs to this user and the process that the marker
//! names has ended. Not here: records, which are results and have no marker.

use crate::args::CleanArguments;
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::measurement::{epoch_seconds, test_folder_state};
use narrows_endpoint::{SESSION_MARKER, session_state};
use narrows_engines::own_folders::{MARKER, NamedFolder, OwnerState, named_folders};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What a folder with a name of ours is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FolderFinding {
    /// What made it.
    maker: &'static str,
    /// Name of its marker; none where this user may not look into it, and of one that is unfinished.
    marker: Option<&'static str>,
    state: OwnerState,
}

/// What became of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CleanOutcome {
    /// It is in use, and stays.
    InUse,
    /// It can be removed.
    Removable,
    /// It was removed.
    Removed,
    /// It stays, for this reason.
    Stays(String),
    /// It belongs to this other user, who may remove it: nothing that is to be done here.
    Foreign(String),
}

/// Names of markers.
const MARKERS: [&str; 2] = [MARKER, SESSION_MARKER];

/// Runs the command.
pub(crate) fn run(arguments: &CleanArguments, console: &Console) -> Result<Exit, CommandFailure> {
    let folders = open(&arguments.dir)?;
    let mut lines = Vec::new();
    let mut is_whole = true;
    for folder in &folders {
        let Some(finding) = examine(folder) else { continue };
        let outcome = outcome(folder, finding, arguments.remove);
        is_whole &= !matches!(outcome, CleanOutcome::Stays(_));
        lines.push(describe(folder.path(), finding, &outcome));
    }
    if lines.is_empty() {
        console.result(&format!("nothing is left in {}\n", arguments.dir.display()))?;
    } else {
        console.result(&format!("{}\n", lines.join("\n")))?;
    }
    Ok(if arguments.remove && !is_whole { Exit::Untrustworthy } else { Exit::Done })
}

/// The folders in `dir` that have a name of ours.
fn open(dir: &Path) -> Result<Vec<NamedFolder>, CommandFailure> {
    // Looked at first: opening a pipe waits for its other end.
    let listed = std::fs::metadata(dir).and_then(|found| {
        if !found.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        named_folders(&Arc::new(File::open(dir)?), dir)
    });
    listed.map_err(|error| {
        CommandFailure::bad_input(format!(
            "{}: {error}; give a folder that this user may list",
            dir.display()
        ))
    })
}

/// What `folder` is; `None` for one that narrows has not made.
fn examine(folder: &NamedFolder) -> Option<FolderFinding> {
    if !folder.is_open() {
        let hidden = FolderFinding { maker: "folder", marker: None, state: OwnerState::Unknown };
        return (!folder.is_of_this_user()).then_some(hidden);
    }
    let run = folder.marker(MARKER).map(|line| (MARKER, "test folder", test_folder_state(&line)));
    let session = || {
        folder
            .marker(SESSION_MARKER)
            .map(|text| (SESSION_MARKER, "session of a server", session_state(&text)))
    };
    if folder.is_unfinished(&MARKERS, epoch_seconds()) {
        return Some(FolderFinding { maker: "unfinished folder", marker: None, state: OwnerState::Gone });
    }
    let (marker, maker, state) = run.or_else(session)?;
    Some(FolderFinding { maker, marker: Some(marker), state })
}

/// What becomes of `folder`; it is removed if that `is_asked` for and allowed.
fn outcome(folder: &NamedFolder, finding: FolderFinding, is_asked: bool) -> CleanOutcome {
    if finding.state == OwnerState::Alive {
        return CleanOutcome::InUse;
    }
    if !folder.is_of_this_user() {
        return CleanOutcome::Foreign(user_name(folder.user_id()));
    }
    match (finding.state, finding.marker) {
        (OwnerState::Gone, _) if !is_asked => CleanOutcome::Removable,
        (OwnerState::Gone, marker) => {
            let removed = match marker {
                Some(marker) => folder.remove(marker),
                None => folder.remove_unfinished(&MARKERS),
            };
            match removed {
                Ok(()) => CleanOutcome::Removed,
                Err(why) => CleanOutcome::Stays(why),
            }
        }
        _ => CleanOutcome::Stays(format!(
            "its process ran before this machine was started last, on another machine or in another container, where it \
             may still run; once it has ended, remove the folder with: rm -r {}",
            narrows_model::printable::shell_path(&folder.path().display().to_string())
        )),
    }
}

fn describe(path: &Path, finding: FolderFinding, outcome: &CleanOutcome) -> String {
    let subject = format!("{} ({})", path.display(), finding.maker);
    match outcome {
        CleanOutcome::InUse => format!("{subject}: in use, its process runs"),
        CleanOutcome::Removable => format!("{subject}: its process has ended; --remove removes it"),
        CleanOutcome::Removed => format!("{subject}: removed"),
        CleanOutcome::Stays(why) => format!("{subject}: stays: {why}"),
        CleanOutcome::Foreign(user) => {
            format!("{subject}: stays: it belongs to user {user}, who may remove it")
        }
    }
}

/// The name of the user `id` where this machine's own list has it, else its number.
fn user_name(id: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| id.to_string())
}
