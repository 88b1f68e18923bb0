//! The folders that narrows has made, as what they were when they were made: every opening of a file in one of them is
//! compared with it.
//!
//! One table a process, because a file is the same one for every engine. A client process gets the entries of its targets
//! with its assignment. Not here: the folders' life, which is `folder`'s.

use super::marked::{MARKER, MarkedFolder};
use super::own_disks::{self, RemoteRemover};
use crate::block;
use crate::error::{EngineError, ErrorKind};
use narrows_sys::file::{self, Create, FileIdentity, OpenMode};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files that narrows makes are for their user alone.
const PERMISSIONS: u32 = 0o600;

/// A folder that narrows has made, and the files that it has made in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFolder {
    /// What it is.
    pub identity: FileIdentity,
    /// Its files by their names.
    pub files: BTreeMap<String, FileIdentity>,
}

struct OwnFolders {
    folders: BTreeMap<PathBuf, OwnFolder>,
    /// Folders on servers, by what people call them.
    remote: BTreeMap<String, RemoteRemover>,
    problems: Vec<String>,
    /// One of them was found replaced.
    is_replaced: bool,
}

static OWN: Mutex<OwnFolders> = Mutex::new(OwnFolders {
    folders: BTreeMap::new(),
    remote: BTreeMap::new(),
    problems: Vec::new(),
    is_replaced: false,
});

/// Locked while a folder is made, until it is in the table. The removal of all locks it for ever: what is made
/// afterwards would stay.
static MAKING: Mutex<()> = Mutex::new(());

/// The lock for making a folder, to be kept until the folder is added; waits for ever once all are being removed.
pub fn lock_making() -> MutexGuard<'static, ()> {
    MAKING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn table() -> MutexGuard<'static, OwnFolders> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What this process knows of the folder at `path`; `None` for one that narrows has not made.
#[must_use]
pub fn own_folder(path: &Path) -> Option<OwnFolder> {
    table().folders.get(path).cloned()
}

/// Where the folders are that this process has made and not removed; `None` if a thread that waits for a file system keeps
/// the table.
#[must_use]
pub fn own_folder_paths() -> Option<Vec<PathBuf>> {
    Some(OWN.try_lock().ok()?.folders.keys().cloned().collect())
}

/// From now on the folder at `path` is compared with `folder`.
pub fn add_own_folder(path: &Path, folder: OwnFolder) {
    table().folders.insert(path.to_path_buf(), folder);
}

/// The folder at `path` is gone.
pub(super) fn forget(path: &Path) {
    table().folders.remove(path);
}

/// This process has made the folder `name` on a server, which `remover` removes.
pub fn note_remote(name: &str, remover: RemoteRemover) {
    table().remote.insert(name.to_owned(), remover);
}

/// The folder `name` on a server is gone, or is left to the next run.
pub fn forget_remote(name: &str) {
    table().remote.remove(name);
}

/// Waits until no folder is half made, and lets none be made from now on: for a process that ends.
pub fn stop_making_folders() {
    // Never given back.
    std::mem::forget(lock_making());
}

/// Removes the folders that this process has made, all that is in them included, and clears what it has claimed of disks;
/// returns what stays, in sentences.
///
/// One that is being made meanwhile is not among them: see [`stop_making_folders`].
#[must_use]
pub fn remove_own_folders() -> Vec<String> {
    let made = table().folders.clone();
    let failed = made.iter().filter_map(|(path, own)| {
        let why = remove_own_folder(path, own).err()?;
        Some(format!("test folder {}: {why}", path.display()))
    });
    let failed: Vec<String> = failed.collect();
    let remote = table().remote.clone();
    let remote = remote.iter().filter_map(|(name, remover)| {
        let why = remover().err()?;
        Some(format!("test folder {name}: {why}; the next run there removes it"))
    });
    failed.into_iter().chain(remote).chain(own_disks::clear_disks()).collect()
}

fn remove_own_folder(path: &Path, own: &OwnFolder) -> Result<(), String> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) else {
        return Err("it has no name".to_owned());
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let parent = File::open(parent).map_err(|error| error.to_string())?;
    let folder = file::open_folder_in(&parent, OsStr::new(name)).map_err(|error| error.to_string())?;
    if FileIdentity::from_file(&folder).ok() != Some(own.identity) {
        return Err("it was moved or replaced by somebody else, and was not touched".to_owned());
    }
    let marked = MarkedFolder { parent: &parent, name, folder: &folder, marker: MARKER };
    let is_foreign = |name: &OsStr| {
        name.to_str()
            .and_then(|name| own.files.get(name))
            .is_some_and(|identity| file::is_made_name(&folder, OsStr::new(name), *identity) == Ok(false))
    };
    marked.remove(&is_foreign)
}

/// Whether a folder or file that this process has made, or a device that it works on, is not what it was, now or at an
/// earlier look; what is found is a problem. A file that is gone is none: client processes remove files too.
#[must_use]
pub fn find_replaced() -> bool {
    let made = table().folders.clone();
    for (path, own) in &made {
        // A folder that was replaced is noted there.
        let Ok(Some(folder)) = open_own_folder(path) else { continue };
        for (name, identity) in &own.files {
            if file::is_made_name(&folder, OsStr::new(name), *identity) == Ok(false) {
                drop(replaced(path, Some(name)));
            }
        }
    }
    block::replaced_devices().iter().for_each(note_replaced);
    table().is_replaced
}

/// The first of what this process has found replaced, in a sentence; `None` where it found nothing.
#[must_use]
pub fn first_replaced() -> Option<String> {
    let table = table();
    table.problems.first().filter(|_| table.is_replaced).cloned()
}

/// Takes what this process has found replaced, or could not remove of what it has made: sentences, each once.
#[must_use]
pub fn take_problems() -> Vec<String> {
    std::mem::take(&mut table().problems)
}

/// Notes a problem that the user is to see when the process ends.
pub fn note_problem(sentence: String) {
    let mut table = table();
    if !table.problems.contains(&sentence) {
        table.problems.push(sentence);
    }
}

/// The folder at `path`, open, if narrows has made it and it is still that one; `None` for a folder of others.
///
/// # Errors
/// When it is another one now, or cannot be opened.
pub(super) fn open_own_folder(path: &Path) -> Result<Option<File>, EngineError> {
    let Some(known) = own_folder(path) else { return Ok(None) };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(CWD, path, flags, Mode::empty()) {
        Ok(opened) => File::from(opened),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Err(replaced(path, None)),
        // Others say nothing about what is there.
        Err(errno) => return Err(EngineError::from_io("open", path.display().to_string(), errno.into())),
    };
    if FileIdentity::from_file(&opened).ok() == Some(known.identity) {
        return Ok(Some(opened));
    }
    Err(replaced(path, None))
}

/// The file `name` in `folder`, which is our own at `path`: made where it is new, else the one that was made.
///
/// # Errors
/// When another file has its name, or the system refuses.
pub(super) fn open_in(
    folder: &File,
    path: &Path,
    name: &str,
    mode: OpenMode,
) -> Result<Result<File, narrows_sys::Error>, EngineError> {
    let known = own_folder(path).and_then(|own| own.files.get(name).copied());
    let os_name = OsStr::new(name);
    // Several workers may open a new file at once: the table is locked until it is known.
    let Some(known) = known else {
        let mut table = table();
        let known = table.folders.get(path).and_then(|own| own.files.get(name).copied());
        if let Some(known) = known {
            drop(table);
            return open_known(folder, path, name, mode, known);
        }
        if mode.create == Create::Never {
            drop(table);
            return Ok(file::open_own(folder, os_name, mode, 0));
        }
        let new = OpenMode { create: Create::New, ..mode };
        let made = match file::open_own(folder, os_name, new, PERMISSIONS) {
            Err(error) if error.errno().raw() == rustix::io::Errno::EXIST.raw_os_error() => {
                drop(table);
                return Err(replaced(path, Some(name)));
            }
            Err(error) => return Ok(Err(error)),
            Ok(made) => made,
        };
        if let (Ok(identity), Some(own)) = (FileIdentity::from_file(&made), table.folders.get_mut(path)) {
            own.files.insert(name.to_owned(), identity);
        }
        return Ok(Ok(made));
    };
    open_known(folder, path, name, mode, known)
}

fn open_known(
    folder: &File,
    path: &Path,
    name: &str,
    mode: OpenMode,
    known: FileIdentity,
) -> Result<Result<File, narrows_sys::Error>, EngineError> {
    // Looked at before it is opened: to open a device or a pipe of somebody else may do something.
    if file::is_made_name(folder, OsStr::new(name), known) == Ok(false) {
        return Err(replaced(path, Some(name)));
    }
    let opened = match file::open_own(folder, OsStr::new(name), OpenMode { create: Create::Never, ..mode }, 0)
    {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    if file::is_made_file(folder, &opened, known) != Ok(true) {
        return Err(replaced(path, Some(name)));
    }
    Ok(Ok(opened))
}

/// Removes the file `name` of `folder`, which is our own at `path`; one that another file has taken the name of stays.
pub(super) fn remove_in(folder: &File, path: &Path, name: &str) -> Result<(), EngineError> {
    let failed =
        |source: io::Error| EngineError::from_io("remove", path.join(name).display().to_string(), source);
    let known = own_folder(path).and_then(|own| own.files.get(name).copied());
    if let Some(known) = known
        && !file::is_made_name(folder, OsStr::new(name), known).map_err(|errno| failed(errno.into()))?
    {
        return Err(replaced(path, Some(name)));
    }
    unlinkat(folder, name, AtFlags::empty()).map_err(|errno| failed(errno.into()))?;
    if let Some(own) = table().folders.get_mut(path) {
        own.files.remove(name);
    }
    Ok(())
}

/// Notes that `path`, or `name` in it, is not what narrows has made.
fn replaced(path: &Path, name: Option<&str>) -> EngineError {
    let whole = name.map_or_else(|| path.to_path_buf(), |name| path.join(name)).display().to_string();
    let error = EngineError::new(ErrorKind::Replaced, "open", whole)
        .detail(
            "it was replaced, moved or removed by somebody else since narrows made it, and was not touched",
        )
        .hint("measure in a folder in which nobody else may write");
    note_replaced(&error);
    error
}

/// Notes `error`, which says that something else is in the place of what this process works on: the run ends with it.
pub(crate) fn note_replaced(error: &EngineError) {
    note_problem(error.to_string());
    table().is_replaced = true;
}
