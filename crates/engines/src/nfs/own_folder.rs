//! A folder of our own on a server: made with a marker, and removed with all that is in it; and those that killed runs
//! have left.

use super::mount::{MountedFolder, mount};
use super::server::NfsServer;
use super::session::RpcSession;
use crate::connections::StoragePeer;
use crate::contract::{OwnPlace, PlaceRequest};
use crate::error::{EngineError, ErrorKind};
use crate::files::{MARKER, PREFIX, forget_remote, lock_making, note_problem, note_remote};
use crate::stop::StopFlag;
use narrows_model::{EngineId, NfsAddress, Target};
use narrows_wire::nfs::attributes::{Attributes, FileHandle, FileKind};
use std::sync::Arc;

/// A folder without a word in its marker that is older than a new one by more was left by a program that was killed.
const UNFINISHED_AFTER_S: u32 = 2;
/// Wait for each answer while a folder is removed.
const REMOVE_TIMEOUT_NS: u64 = 5_000_000_000;
/// In waits for one answer: how long a folder is removed, and how long those are looked for that killed runs have left.
const REMOVE_TIMEOUTS: u64 = 64;
const LEFT_TIMEOUTS: u64 = 8;
/// What is said of folders that killed runs have left; of more only the number.
const NOTES_MAX: usize = 16;
/// Rights to write for others than the owner.
const OTHERS_WRITE: u32 = 0o022;

/// A marked folder with files of narrows on a server; dropping it removes it.
#[derive(Debug)]
pub(super) struct NfsFolder {
    target: Target,
    name: String,
    server: NfsServer,
    handle: FileHandle,
    /// What killed runs left that was removed, and what could not be.
    notes: Vec<String>,
}

impl NfsFolder {
    /// A new folder in `parent`. Folders of earlier runs that have ended are removed.
    pub(super) fn create(parent: &NfsAddress, request: &PlaceRequest<'_>) -> Result<Self, EngineError> {
        let server = NfsServer {
            address: parent.clone(),
            clock: Arc::clone(&request.clock),
            timeout_ns: request.timeout_ns,
            stop: StopFlag::default(),
        };
        let name = format!("{PREFIX}{:016x}", request.nonce);
        let MountedFolder { mut session, folder } = mount(&server)?;
        let making = lock_making();
        let handle = session.make_folder(&folder, &name)?;
        let target = Target::Scheme { engine: EngineId::Nfs, rest: parent.within(&name).to_string() };
        let mut made = Self { target, name, server, handle, notes: Vec::new() };
        note_remote(&made.key(), made.remover());
        drop(making);
        let marked = session.create(&handle, MARKER, true).and_then(|marker| {
            session.write_small(&marker, MARKER, format!("{}\n", request.owner).as_bytes())
        });
        // Dropping it removes what was made.
        marked?;
        let own = session.attributes(&handle, &made.name)?;
        session.end_within(LEFT_TIMEOUTS);
        made.notes = remove_left(&mut session, &folder, &made.name, &own, request.is_gone);
        Ok(made)
    }

    fn key(&self) -> String {
        self.target.to_string()
    }

    /// Removes it on a connection of its own.
    fn remover(&self) -> Arc<dyn Fn() -> Result<(), String> + Send + Sync> {
        let server = NfsServer {
            timeout_ns: self.server.timeout_ns.min(REMOVE_TIMEOUT_NS),
            stop: StopFlag::default(),
            ..self.server.clone()
        };
        let (name, handle) = (self.name.clone(), self.handle);
        Arc::new(move || {
            let MountedFolder { mut session, folder } = mount(&server).map_err(|error| error.to_string())?;
            session.end_within(REMOVE_TIMEOUTS);
            remove_marked(&mut session, &folder, &name, &handle).map_err(|error| error.to_string())
        })
    }
}

impl OwnPlace for NfsFolder {
    fn target(&self) -> &Target {
        &self.target
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn write_proof(&self, name: &str, content: &str) -> Result<Option<String>, EngineError> {
        let MountedFolder { mut session, .. } = mount(&self.server)?;
        session.end_within(LEFT_TIMEOUTS);
        let file = session.create(&self.handle, name, true)?;
        session.write_small(&file, name, content.as_bytes())?;
        Ok(Some(format!("{}/{name}", self.server.address.within(&self.name).path)))
    }
}

impl Drop for NfsFolder {
    fn drop(&mut self) {
        if let Err(why) = self.remover()() {
            note_problem(format!("test folder {}: {why}; the next run there removes it", self.key()));
        }
        forget_remote(&self.key());
    }
}

/// Removes the folder `name`, whose handle is `handle`, with the files in it, the marker last.
fn remove_marked(
    session: &mut RpcSession,
    parent: &FileHandle,
    name: &str,
    handle: &FileHandle,
) -> Result<(), EngineError> {
    match session.find(parent, name)? {
        None => return Ok(()),
        Some(found) if found.handle == *handle => {}
        Some(_) => {
            return Err(EngineError::new(ErrorKind::Io, "remove", session.server.name())
                .detail(format!("{name} was replaced by somebody else, and was not touched")));
        }
    }
    session.empty(handle, &|entry| entry == MARKER)?;
    session.remove(handle, MARKER)?;
    session.remove_folder(parent, name)
}

/// Removes folders that killed runs of this machine have left in `folder`; what was done, in sentences.
fn remove_left(
    session: &mut RpcSession,
    folder: &FileHandle,
    own_name: &str,
    own: &Attributes,
    is_gone: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let named = match session.list(folder, &|name| name.starts_with(PREFIX) && name != own_name) {
        Ok(named) => named,
        Err(error) => return vec![format!("what killed runs left there is not known: {error}")],
    };
    let mut notes = Vec::new();
    for entry in named {
        match remove_if_left(session, folder, &entry.name, own, is_gone) {
            Ok(false) => {}
            Ok(true) => {
                notes.push(format!("removed {}, which a run that was killed had left", entry.name));
            }
            Err(error) => notes.push(format!("{} of a run that was killed stays: {error}", entry.name)),
        }
    }
    if notes.len() > NOTES_MAX {
        let more = notes.len() - NOTES_MAX;
        notes.truncate(NOTES_MAX);
        notes.push(format!("and {more} folders more of runs that were killed"));
    }
    notes
}

/// Whether what has these attributes can be of the user who made `own`, and of nobody else.
///
/// Whoever may rename a folder of others to a name of ours, and put a marker in it, would have its files removed.
fn is_of_same_user(own: &Attributes, found: &Attributes) -> bool {
    found.user_id == own.user_id && found.mode & OTHERS_WRITE == 0
}

/// Whether the folder `name` was one that a killed run had left, and is removed.
fn remove_if_left(
    session: &mut RpcSession,
    folder: &FileHandle,
    name: &str,
    own: &Attributes,
    is_gone: &dyn Fn(&str) -> bool,
) -> Result<bool, EngineError> {
    let Some(found) = session.find(folder, name)? else { return Ok(false) };
    let attributes = session.attributes(&found.handle, name)?;
    if attributes.kind != FileKind::Folder || !is_of_same_user(own, &attributes) {
        return Ok(false);
    }
    let line = match session.find(&found.handle, MARKER)? {
        Some(marker) => {
            let attributes = session.attributes(&marker.handle, MARKER)?;
            if attributes.kind != FileKind::File || !is_of_same_user(own, &attributes) {
                return Ok(false);
            }
            session.read_small(&marker.handle, MARKER)?
        }
        None => Vec::new(),
    };
    let line = String::from_utf8_lossy(&line).trim().to_owned();
    let is_left = if line.is_empty() {
        // Killed while it made the folder: nothing else can be in it.
        let is_old = own.modified_s > attributes.modified_s.saturating_add(UNFINISHED_AFTER_S);
        is_old && session.list(&found.handle, &|entry| entry != MARKER)?.is_empty()
    } else {
        is_gone(&line)
    };
    if is_left {
        remove_marked(session, folder, name, &found.handle)?;
    }
    Ok(is_left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_same_user_alone_may_write_can_be_left_by_a_run() {
        let own =
            Attributes { kind: FileKind::Folder, mode: 0o700, user_id: 7, length_bytes: 0, modified_s: 9 };
        assert!(is_of_same_user(&own, &Attributes { mode: 0o755, ..own }));
        for (user_id, mode) in [(8, 0o700), (7, 0o770), (7, 0o1777), (0, 0o700)] {
            assert!(!is_of_same_user(&own, &Attributes { user_id, mode, ..own }), "{user_id} {mode:o}");
        }
    }
}
