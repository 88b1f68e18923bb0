//! The engine `objects`: whole files in a folder made, read, appended to, looked at, renamed and deleted by their names, one
//! request in flight per worker; or folders made, looked at, renamed and deleted.
//!
//! "Complete" means that all calls of the operation have returned: its data is in the page cache, or durable with `fsync`.
//! What exists already is not overwritten; a put that fails leaves nothing behind. Over a stripe of folders each file is in
//! one of them, which follows from its number.
//! Hot path: no allocation, no lock; names are made in a buffer that is reused. The C library allocates its `FILE` where
//! streams are asked for.

use crate::contract::{Engine, EngineFactory, OpenSpec, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::files::{self, Files, SingleEngine, SingleFlight};
use crate::slots::{SlotBuffers, checked_depth};
use names::ObjectNames;
use narrows_model::capabilities::{Capabilities, Completion};
use narrows_model::engine::{self, EngineDeclaration};
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{CacheState, ObjectCalls, ObjectSet, ObjectSync, SYNCED_FOLDERS_MAX};
use narrows_model::{Bytes, Effective, Target};
use perform::{FolderWalk, Objects};
use rustix::fs::fstat;
use second_names::SecondNames;
use std::os::fd::OwnedFd;

mod folders;
mod name_parts;
pub mod names;
mod perform;
pub(crate) mod second_names;
#[cfg(test)]
mod tests;
mod tree_names;

pub(crate) use folders::set_name;

/// What the names of the folders of sets begin with, in the folder of our own that contains them.
pub const SET_PREFIX: &str = "objects-";

/// What the engine declares.
pub const INFO: &EngineDeclaration = &engine::objects::DECLARATION;

/// Makes `objects` engines.
#[derive(Debug, Clone, Default)]
pub struct ObjectsFactory {
    files: Files,
}

impl ObjectsFactory {
    /// Folders anywhere the user may access.
    #[must_use]
    pub fn unconfined() -> Self {
        Self { files: Files::unconfined() }
    }

    /// The same for files that are chosen already.
    pub(crate) fn with_files(files: Files) -> Self {
        Self { files }
    }
}

impl EngineFactory for ObjectsFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        // A file may be given in place of its folder; to be opened, a target must be a folder.
        target.members().iter().try_for_each(|member| self.files.folder_around(member).map(drop))?;
        Ok(INFO.capabilities())
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let depth = checked_depth(spec, INFO.queue_depth_max)?;
        files::refuse_direct(spec, INFO.no_direct_reason())?;
        let set = checked_set(spec)?;
        let members = folders::open_set_folders(&self.files, spec, set.folders)?;
        let write_block = spec.workload.block_bytes.0.max(1);
        let read_block = set.read_block_bytes.map_or(write_block, |bytes| bytes.0.max(1));
        let write_completion =
            if set.sync == ObjectSync::None { Completion::InPageCache } else { Completion::Durable };
        Ok(Box::new(SingleEngine {
            effective: Effective { write_completion, ..files::effective(INFO.name(), spec, depth, Bytes(1)) },
            slots: SlotBuffers::new(depth, write_block.max(read_block), worker.seed)?,
            performer: Objects {
                names: ObjectNames::over_members(
                    &set,
                    saturate_u32(members.len() as u64),
                    worker.client_index,
                ),
                folders: synced_folders(spec, &set, &members)?,
                second_names: SecondNames::none(),
                walk: FolderWalk::over_names(if set.shared_folder {
                    names::own_prefix(set.kind, worker.client_index)
                } else {
                    Vec::new()
                }),
                write_block: saturate_usize(write_block),
                read_block: saturate_usize(read_block),
                stream_buffer: stream_buffer(spec, &set, &members),
                members,
                set,
            },
            flight: SingleFlight::default(),
        }))
    }

    fn files_stay_with_worker(&self) -> bool {
        true
    }

    fn bring_cache_to(&self, _spec: &OpenSpec, _state: CacheState) -> Result<Option<f64>, EngineError> {
        // Cached names and attributes cannot be measured, nor dropped for some files alone.
        Ok(None)
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        folders::remove(&self.files, spec)
    }
}

/// The objects that `spec` is about, which must be such as can be loaded.
fn checked_set(spec: &OpenSpec) -> Result<ObjectSet, EngineError> {
    let refused =
        |why: String| EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string()).detail(why);
    let set = spec.workload.objects.ok_or_else(|| {
        refused("the engine objects supports only operations on whole objects".to_owned())
            .hint("use put, get, append, stat, rename or delete, or the engine psync")
    })?;
    check_set(spec, &set).map(|()| set)
}

/// Fails where `set` is not such as can be loaded on the target of `spec`.
pub(crate) fn check_set(spec: &OpenSpec, set: &ObjectSet) -> Result<(), EngineError> {
    match set.problem().or_else(|| members_problem(set, spec.target.members().len())) {
        None => Ok(()),
        Some(problem) => {
            Err(EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string()).detail(problem))
        }
    }
}

/// What is wrong with `set` over so many members, as a phrase.
fn members_problem(set: &ObjectSet, member_count: usize) -> Option<String> {
    let weight_count = set.member_weights.as_slice().len();
    if weight_count != 0 && weight_count != member_count {
        return Some(format!("{weight_count} weights for {member_count} folders"));
    }
    let folders = u64::from(set.folders).saturating_mul(member_count as u64);
    (set.sync == ObjectSync::DataAndFolder && folders > u64::from(SYNCED_FOLDERS_MAX)).then(|| {
        format!("{folders} folders in all; at most {SYNCED_FOLDERS_MAX} are possible with this sync")
    })
}

/// The set's folders, open, where they are synced: those of one member after those of the other.
fn synced_folders(
    spec: &OpenSpec,
    set: &ObjectSet,
    members: &[OwnedFd],
) -> Result<Vec<OwnedFd>, EngineError> {
    let count = if set.sync == ObjectSync::DataAndFolder { set.folders } else { 0 };
    let of_member = |base| (0..count).map(move |folder| folders::inner(base, folder));
    let opened = members.iter().flat_map(of_member).collect::<Result<_, _>>();
    opened.map_err(|errno| {
        EngineError::from_io("open a folder of objects in", spec.target.to_string(), errno.into())
    })
}

/// The buffer of streams: of the size that the C library would give them, the block of the first folder's file system, or as
/// asked.
fn stream_buffer(spec: &OpenSpec, set: &ObjectSet, members: &[OwnedFd]) -> Vec<u8> {
    if set.calls != ObjectCalls::Streams {
        return Vec::new();
    }
    let status = members.first().and_then(|base| fstat(base).ok());
    let usual = || status.map_or(0, |status| u64::try_from(status.st_blksize).unwrap_or(0));
    let bytes = spec.workload.stdio.buffer_bytes.map_or_else(usual, |bytes| bytes.0);
    vec![0; saturate_usize(bytes)]
}
