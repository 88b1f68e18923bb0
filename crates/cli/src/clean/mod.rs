//! `narrows clean`: what killed runs and servers left in a folder, listed and, if asked, removed.
//!
//! A test folder, or one of a session, counts as left by its marker alone, and is removed if it belongs to this user and
//! the process that the marker names has ended. One whose marker says that its files were asked to stay is only listed.
//! Not here: records, which are results.

mod staging;

use crate::args::CleanArguments;
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::measurement::{epoch_seconds, test_folder_state};
use narrows_endpoint::{SESSION_MARKER, session_state};
use narrows_engines::own_folders::{MARKER, NamedFolder, OwnerState, is_kept, named_folders};
use narrows_model::printable;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a folder with a name of ours is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FolderFinding {
    /// What made it.
    maker: &'static str,
    /// Name of its marker; none where this user may not look into it, and of one that is unfinished.
    marker: Option<&'static str>,
    state: OwnerState,
    /// Whether its user wants it to stay.
    is_kept: bool,
}

impl FolderFinding {
    fn new(maker: &'static str, marker: Option<&'static str>, state: OwnerState) -> Self {
        Self { maker, marker, state, is_kept: false }
    }
}

/// What became of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CleanOutcome {
    /// It is in use, and stays.
    InUse,
    /// Its user wants it to stay.
    Kept,
    /// It has changed just now, so that it may be in use, and stays.
    Recent,
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
    let found = found(&arguments.dir, arguments.remove).map_err(|error| {
        CommandFailure::bad_input(format!(
            "{}: {error}; give a folder that this user may list",
            arguments.dir.display()
        ))
    })?;
    let is_whole = !found.iter().any(|(_, _, outcome)| matches!(outcome, CleanOutcome::Stays(_)));
    let lines: Vec<String> =
        found.iter().map(|(path, maker, outcome)| describe(path, maker, outcome)).collect();
    // A name with a line break must not pass for another folder.
    let lines: Vec<_> = lines.iter().map(|line| printable::one_line(line)).collect();
    if lines.is_empty() {
        console.result(&format!("nothing is left in {}\n", arguments.dir.display()))?;
    } else {
        console.result(&format!("{}\n", lines.join("\n")))?;
    }
    Ok(if arguments.remove && !is_whole { Exit::Untrustworthy } else { Exit::Done })
}

/// What is left in `dir`, by what it was made, and what became of it; it is removed if that `is_asked` for and allowed.
fn found(dir: &Path, is_asked: bool) -> io::Result<Vec<(PathBuf, &'static str, CleanOutcome)>> {
    // Looked at first: opening a pipe waits for its other end.
    if !std::fs::metadata(dir)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let parent = Arc::new(File::open(dir)?);
    let folders = named_folders(&parent, dir)?;
    let marked = folders.iter().filter_map(|folder| {
        let finding = examine(folder)?;
        Some((folder.path().to_path_buf(), finding.maker, outcome(folder, finding, is_asked)))
    });
    let records = staging::partial_records(&parent, dir, is_asked)?.into_iter();
    Ok(marked.chain(records.map(|(path, outcome)| (path, "unfinished record", outcome))).collect())
}

/// What `folder` is; `None` for one that narrows has not made.
fn examine(folder: &NamedFolder) -> Option<FolderFinding> {
    if !folder.is_open() {
        let hidden = FolderFinding::new("folder", None, OwnerState::Unknown);
        return (!folder.is_of_this_user()).then_some(hidden);
    }
    if folder.is_unfinished(&MARKERS, epoch_seconds()) {
        return Some(FolderFinding::new("unfinished folder", None, OwnerState::Gone));
    }
    if let Some(line) = folder.marker(MARKER) {
        let finding = FolderFinding::new("test folder", Some(MARKER), test_folder_state(&line));
        return Some(FolderFinding { is_kept: is_kept(&line), ..finding });
    }
    let text = folder.marker(SESSION_MARKER)?;
    Some(FolderFinding::new("session of a server", Some(SESSION_MARKER), session_state(&text)))
}

/// What becomes of `folder`; it is removed if that `is_asked` for and allowed.
fn outcome(folder: &NamedFolder, finding: FolderFinding, is_asked: bool) -> CleanOutcome {
    if finding.is_kept {
        return CleanOutcome::Kept;
    }
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
        (OwnerState::OtherBoot, _) => CleanOutcome::Stays(
            "its process ran before this machine was started last, or on another machine of the same name, where it may \
             still run; once it has ended, remove the folder by hand"
                .to_owned(),
        ),
        _ => CleanOutcome::Stays(
            "its process ran on another machine or in another container, where it may still run; give this command there, \
             or remove the folder by hand once the process has ended"
                .to_owned(),
        ),
    }
}

fn describe(path: &Path, maker: &str, outcome: &CleanOutcome) -> String {
    let subject = format!("{} ({maker})", path.display());
    match outcome {
        CleanOutcome::InUse => format!("{subject}: in use, its process runs"),
        CleanOutcome::Recent => {
            format!("{subject}: stays: it may be in use, it changed within the last minute")
        }
        CleanOutcome::Kept => format!("{subject}: kept: its run was asked to leave its files"),
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
