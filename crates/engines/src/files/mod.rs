//! What all engines of files share: where an object is, how it is opened, its caches, its removal, what is granted.
//!
//! Not here: how requests are issued, which is what distinguishes those engines.

use crate::block;
use crate::contract::OpenSpec;
use crate::error::{EngineError, ErrorKind};
use narrows_model::capabilities::{Capabilities, Completion};
use narrows_model::engine::{DirectAccess, EngineDeclaration};
use narrows_model::target::BlockAddress;
use narrows_model::workload::{Access, CacheState, SyncPolicy};
use narrows_model::{Bytes, Effective, Op, Target};
use std::fs::File;
use std::ops::Range;

mod cache;
mod confined;
mod displace;
mod folder;
mod marked;
mod object_path;
mod own;
mod own_disks;
mod owner;
mod single;
mod sync_count;

pub use cache::{COLD_RESIDENT_RATIO_MAX, drop_pages, resident_ratio};
pub use confined::ConfinedFolder;
pub use displace::{DummyFile, sync};
pub use folder::{FolderError, TestFolder};
pub use marked::{MARKER, MarkedFolder, NamedFolder, PREFIX, is_kept, named_folders};
pub(crate) use object_path::ObjectPath;
pub(crate) use own::note_replaced;
pub use own::{
    OwnFolder, add_own_folder, find_replaced, first_replaced, own_folder, own_folder_paths,
    remove_own_folders, stop_making_folders, take_problems,
};
pub use own::{forget_remote, lock_making, note_problem, note_remote};
pub use own_disks::{RemoteRemover, keep_disks, uncleared_disks};
pub(crate) use own_disks::{clear_disk, forget_disk, note_disk};
pub use owner::{OwnerProcess, OwnerState};
pub(crate) use single::{Perform, SingleEngine, SingleFlight};
pub use sync_count::SyncCount;

/// The files that an engine may access.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    confinement: Option<ConfinedFolder>,
}

/// The objects of one engine, open, in the order of its spec.
#[derive(Debug)]
pub(crate) struct OpenObjectFiles {
    pub(crate) files: Vec<File>,
    /// Which bytes of each an object is.
    pub(crate) parts: Vec<ObjectPart>,
    /// What offsets and lengths are multiples of.
    pub(crate) alignment_bytes: Bytes,
}

/// The bytes of an open file that an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObjectPart {
    start_bytes: u64,
    end_bytes: u64,
}

impl ObjectPart {
    /// A file of its own, however long it becomes.
    pub(crate) const WHOLE: Self = Self { start_bytes: 0, end_bytes: u64::MAX };

    /// Where in its file a request at `offset_bytes` of the object is; `None` where it leaves the object.
    pub(crate) fn place(self, offset_bytes: u64, length_bytes: u32) -> Option<u64> {
        let start_bytes = self.start_bytes.checked_add(offset_bytes)?;
        let end_bytes = start_bytes.checked_add(u64::from(length_bytes))?;
        (end_bytes <= self.end_bytes).then_some(start_bytes)
    }
}

impl OpenObjectFiles {
    /// The files, each of which is one object as a whole; for an engine that knows no parts of files.
    ///
    /// # Errors
    /// When an object is a part of a device.
    pub(crate) fn whole_files(self, engine: &str, spec: &OpenSpec) -> Result<Vec<File>, EngineError> {
        if self.parts.iter().all(|part| *part == ObjectPart::WHOLE) {
            return Ok(self.files);
        }
        Err(EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string())
            .detail(format!("the engine {engine} opens whole files, and this is a part of a device"))
            .hint("use the engine psync or uring"))
    }
}

/// A part of a block device that was looked at.
struct DeviceBytes<'s> {
    device: &'s BlockAddress,
    /// The device as it was then, open.
    looked_at: File,
    bytes: Range<u64>,
}

/// `outcome`; where it says that something was replaced, the run ends with it.
fn noted(outcome: Result<(), EngineError>) -> Result<(), EngineError> {
    outcome.inspect_err(|error| {
        if error.kind == ErrorKind::Replaced {
            note_replaced(error);
        }
    })
}

impl Files {
    /// Files anywhere the user may access.
    pub(crate) fn unconfined() -> Self {
        Self { confinement: None }
    }

    /// Files beneath `folder` alone; paths of targets are relative to it.
    pub(crate) fn confined(folder: ConfinedFolder) -> Self {
        Self { confinement: Some(folder) }
    }

    /// Where `object` of `target` is; an empty object is the target itself.
    pub(crate) fn object_path(&self, target: &Target, object: &str) -> Result<ObjectPath, EngineError> {
        ObjectPath::new(self.confinement.as_ref(), target, object)
    }

    /// The folder that `target` is, or that contains it, open.
    pub(crate) fn folder_around(&self, target: &Target) -> Result<File, EngineError> {
        self.object_path(target, "")?.open_folder()
    }

    /// The folder that `target` is, open.
    pub(crate) fn folder(&self, target: &Target) -> Result<File, EngineError> {
        let place = self.object_path(target, "")?;
        let opened = place.open_for_reading()?;
        if opened.metadata().is_ok_and(|status| status.is_dir()) {
            return Ok(opened);
        }
        Err(EngineError::new(ErrorKind::Unsupported, "open", place.to_string())
            .detail("it is a file, and whole files are created in a folder")
            .hint("give a folder"))
    }

    /// What the engine can do with `target`: what it declares, as far as the file system grants it.
    pub(crate) fn capabilities(
        &self,
        target: &Target,
        declared: &EngineDeclaration,
    ) -> Result<Capabilities, EngineError> {
        let place = self.object_path(target, "")?;
        let mut capabilities = declared.capabilities();
        if !place.may_grant_trim()? {
            capabilities.ops.retain(|op| *op != Op::Trim);
        }
        if declared.direct == DirectAccess::ByTarget {
            let direct = place.direct_support()?;
            capabilities.direct = direct.support;
            capabilities.alignment_bytes = direct.alignment_bytes;
        }
        Ok(capabilities)
    }

    /// The objects of `spec`, opened as it asks.
    pub(crate) fn open(&self, spec: &OpenSpec) -> Result<OpenObjectFiles, EngineError> {
        let mut files = Vec::with_capacity(spec.objects.len());
        let mut parts = Vec::with_capacity(spec.objects.len());
        for object in &spec.objects {
            let (file, part) = self.open_object(spec, object)?;
            parts.push(part);
            files.push(file);
        }
        let alignment_bytes = match (spec.workload.access, files.first()) {
            (Access::Direct, Some(file)) => cache::checked_alignment(file, spec)?,
            _ => Bytes(1),
        };
        Ok(OpenObjectFiles { files, parts, alignment_bytes })
    }

    /// One object, open as `spec` asks, and which bytes of the file it is.
    fn open_object(&self, spec: &OpenSpec, object: &str) -> Result<(File, ObjectPart), EngineError> {
        let place = self.object_path(&spec.target, object)?;
        let Some(found) = self.device_bytes(spec, object)? else {
            let file = place.open(spec)?;
            refuse_shrunk(&place, &file, spec)?;
            return Ok((file, ObjectPart::WHOLE));
        };
        let file = place.open(spec)?;
        // What was looked at is still open: its number is no other device's.
        noted(block::check_same(&found.device.path, &found.looked_at, &file))?;
        Ok((file, ObjectPart { start_bytes: found.bytes.start, end_bytes: found.bytes.end }))
    }

    /// The bytes of a block device that `object` is, which are checked against what was claimed; `None` of a file.
    fn device_bytes<'s>(
        &self,
        spec: &'s OpenSpec,
        object: &str,
    ) -> Result<Option<DeviceBytes<'s>>, EngineError> {
        let Some(device) = block::device(&spec.target) else { return Ok(None) };
        let bytes = block::part_of(spec, device, object)?;
        let looked_at = self.object_path(&spec.target, object)?.open_for_reading()?;
        noted(block::check_number(&device.path, &looked_at))?;
        if let Some(claim) = device.claim {
            noted(block::check_claim(device, &looked_at, claim, std::slice::from_ref(&bytes)))?;
        }
        Ok(Some(DeviceBytes { device, looked_at, bytes }))
    }

    fn bytes_of(&self, spec: &OpenSpec, object: &str) -> Result<Option<Range<u64>>, EngineError> {
        Ok(self.device_bytes(spec, object)?.map(|found| found.bytes))
    }

    /// Brings the cached part of every object to `state`; the mean share that is cached then, where that can be seen.
    pub(crate) fn bring_cache_to(
        &self,
        spec: &OpenSpec,
        state: CacheState,
    ) -> Result<Option<f64>, EngineError> {
        if let CacheState::Displaced { scan_bytes } = state {
            self.displace(spec, scan_bytes)?;
        }
        let mut shares = Vec::with_capacity(spec.objects.len());
        for object in &spec.objects {
            let bytes = self.bytes_of(spec, object)?;
            shares.push(cache::bring_to(&self.object_path(&spec.target, object)?, state, bytes)?);
        }
        let known: Option<Vec<f64>> = shares.into_iter().collect();
        Ok(known
            .filter(|known| !known.is_empty())
            .map(|known| known.iter().sum::<f64>() / known.len() as f64))
    }

    /// Brings what was written to the device, then reads a dummy file beside the objects.
    fn displace(&self, spec: &OpenSpec, scan: Bytes) -> Result<(), EngineError> {
        if block::device(&spec.target).is_some() {
            return Err(EngineError::new(
                ErrorKind::Unsupported,
                "displace the cache of",
                spec.target.to_string(),
            )
            .detail("a block device has no folder for a dummy file")
            .hint("use cache = \"cold\" or direct access"));
        }
        let failed = |what, place: &ObjectPath, source| EngineError::from_io(what, place.to_string(), source);
        for object in &spec.objects {
            let place = self.object_path(&spec.target, object)?;
            sync(&place.open_for_reading()?).map_err(|source| failed("sync", &place, source))?;
        }
        let place = self.object_path(&spec.target, "")?;
        let folder = place.open_folder()?;
        let dummy = DummyFile::make(&folder, scan);
        let read = dummy.and_then(|dummy| dummy.read(Bytes(0), scan));
        read.map_err(|source| failed("read a dummy file in", &place, source))
    }

    /// Removes the objects of `spec`; a target that is itself the object stays.
    pub(crate) fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        for object in spec.objects.iter().filter(|object| !object.is_empty()) {
            self.object_path(&spec.target, object)?.remove()?;
        }
        Ok(())
    }
}

/// Fails where a file whose data were laid down ends before the last whole block that the load visits: what it would find
/// there are holes, or nothing.
fn refuse_shrunk(place: &ObjectPath, file: &File, spec: &OpenSpec) -> Result<(), EngineError> {
    let status =
        file.metadata().map_err(|source| EngineError::from_io("examine", place.to_string(), source))?;
    let visited_bytes = spec.object_bytes.0 - spec.object_bytes.0 % spec.workload.block_bytes.0.max(1);
    if !spec.laid_down || !status.is_file() || status.len() >= visited_bytes {
        return Ok(());
    }
    Err(EngineError::new(ErrorKind::Io, "open", place.to_string())
        .detail(format!(
            "it has {} and had {}: it was truncated meanwhile",
            Bytes(status.len()),
            spec.object_bytes
        ))
        .hint("run again, and make sure that nothing else changes the files of a run"))
}

/// Fails where direct access is asked of an engine that has none, for the reason `why`.
pub(crate) fn refuse_direct(spec: &OpenSpec, why: &str) -> Result<(), EngineError> {
    if spec.workload.access != Access::Direct {
        return Ok(());
    }
    Err(EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string())
        .detail(why)
        .hint("use buffered access, or the engine psync or uring"))
}

/// What was granted to an engine of files, whatever issues its requests.
pub(crate) fn effective(
    engine: &str,
    spec: &OpenSpec,
    queue_depth: u32,
    alignment_bytes: Bytes,
) -> Effective {
    let write_completion = match (spec.workload.sync, spec.workload.access) {
        (SyncPolicy::Dsync | SyncPolicy::Every(1), _) => Completion::Durable,
        (_, Access::Direct) => Completion::OnDevice,
        (_, Access::Buffered) => Completion::InPageCache,
    };
    Effective {
        engine: engine.to_owned(),
        access: Some(spec.workload.access),
        queue_depth,
        sync: spec.workload.sync,
        acknowledgement: None,
        write_completion,
        alignment_bytes,
        connection: None,
        ring: None,
        has_own_file_table: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_of_whole_files_refuses_parts_of_devices() {
        let spec = OpenSpec {
            target: "blk:/dev/x".parse().unwrap(),
            workload: narrows_model::Workload::default(),
            objects: vec![String::new()],
            object_bytes: Bytes(1),
            create: false,
            laid_down: false,
            token: None,
            session: None,
            answer_timeout_ns: 1,
        };
        let opened = |part| OpenObjectFiles {
            files: vec![tempfile::tempfile().unwrap()],
            parts: vec![part],
            alignment_bytes: Bytes(1),
        };
        assert_eq!(opened(ObjectPart::WHOLE).whole_files("stdio", &spec).unwrap().len(), 1);
        let part = ObjectPart { start_bytes: 1 << 20, end_bytes: 2 << 20 };
        let message = opened(part).whole_files("stdio", &spec).unwrap_err().to_string();
        assert!(message.contains("the engine stdio opens whole files"), "{message}");
    }
}
