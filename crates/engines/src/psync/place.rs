//! Where an object lies: a path the user gave, or a path beneath the folder that a server is confined to.
//!
//! Opening and removing one object; not its caches and not its content.

use crate::contract::OpenSpec;
use crate::error::{EngineError, ErrorKind};
use narrows_model::capabilities::Support;
use narrows_model::workload::{Access, SyncPolicy};
use narrows_model::{Bytes, Op, Target};
use narrows_sys::file::{self, Caching, Create, OpenMode, WriteDone};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Files that narrows makes are for their user alone.
const PERMISSIONS: u32 = 0o600;

/// Where one object lies.
#[derive(Debug)]
pub(super) struct Place {
    confinement: Option<PathBuf>,
    path: PathBuf,
}

/// Whether a place takes direct access, and at what alignment.
#[derive(Debug)]
pub(super) struct DirectSupport {
    pub(super) support: Support,
    pub(super) alignment_bytes: Bytes,
}

impl Place {
    /// The place of `object` of `target`; an empty object is the target itself.
    pub(super) fn new(
        confinement: Option<&Path>,
        target: &Target,
        object: &str,
    ) -> Result<Self, EngineError> {
        let Target::File { path } = target else {
            return Err(EngineError::new(ErrorKind::Unsupported, "open", target.to_string())
                .detail("the engine psync serves files alone"));
        };
        let path = if object.is_empty() { path.clone() } else { path.join(object) };
        Ok(Self { confinement: confinement.map(Path::to_path_buf), path })
    }

    /// The object, opened as `spec` asks.
    pub(super) fn open(&self, spec: &OpenSpec) -> Result<File, EngineError> {
        let workload = &spec.workload;
        let mode = OpenMode {
            access: match (workload.op, spec.create) {
                (Op::Read, false) => file::Access::Read,
                _ => file::Access::ReadWrite,
            },
            caching: match workload.access {
                Access::Buffered => Caching::Buffered,
                Access::Direct => Caching::Direct,
            },
            write_done: match workload.sync {
                SyncPolicy::Dsync => WriteDone::Durable,
                _ => WriteDone::Accepted,
            },
            create: if spec.create { Create::IfMissing } else { Create::Never },
        };
        self.open_with(mode)
    }

    /// The object for reading through the page cache.
    pub(super) fn open_for_reading(&self) -> Result<File, EngineError> {
        self.open_with(OpenMode::default())
    }

    fn open_with(&self, mode: OpenMode) -> Result<File, EngineError> {
        let opened = match &self.confinement {
            None => file::open(&self.path, mode, PERMISSIONS),
            Some(folder) => file::open_beneath(open_folder(folder)?, &self.path, mode, PERMISSIONS),
        };
        opened.map_err(|error| refused(error, mode, &self.path))
    }

    /// Removes the object.
    pub(super) fn remove(&self) -> Result<(), EngineError> {
        let failed = |source| EngineError::from_io("remove", self.path.display().to_string(), source);
        let Some(folder) = &self.confinement else {
            return std::fs::remove_file(&self.path).map_err(failed);
        };
        // Opening it beneath the folder proves where the name leads before the name is used.
        self.open_for_reading()?;
        std::fs::remove_file(folder.join(&self.path)).map_err(failed)
    }

    /// Whether this place, a file or a folder, takes direct access.
    pub(super) fn direct_support(&self) -> Result<DirectSupport, EngineError> {
        let place = match &self.confinement {
            None => self.path.clone(),
            Some(folder) => folder.join(&self.path),
        };
        let opened = File::open(&place)
            .map_err(|source| EngineError::from_io("open", place.display().to_string(), source))?;
        Ok(match file::direct_alignment(&opened) {
            Ok(alignment) => DirectSupport {
                support: Support::Yes,
                alignment_bytes: Bytes(u64::from(alignment.offset_bytes.max(alignment.memory_bytes))),
            },
            Err(error) => DirectSupport {
                support: Support::No { reason: error.to_string() },
                alignment_bytes: Bytes(1),
            },
        })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

fn open_folder(folder: &Path) -> Result<File, EngineError> {
    File::open(folder).map_err(|source| EngineError::from_io("open", folder.display().to_string(), source))
}

fn refused(error: narrows_sys::Error, mode: OpenMode, path: &Path) -> EngineError {
    if mode.caching == Caching::Direct && error.errno().raw() == rustix::io::Errno::INVAL.raw_os_error() {
        return EngineError::new(ErrorKind::Unsupported, "open", path.display().to_string())
            .detail("its file system refuses O_DIRECT")
            .hint("measure buffered, or give a folder on a file system that takes direct access");
    }
    error.into()
}
