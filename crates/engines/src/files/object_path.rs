//! Where an object is: a path the user gave, or a path beneath the folder that a server is confined to.
//!
//! Opening and removing one object; not its caches and not its content.

use super::{ConfinedFolder, own};
use crate::block;
use crate::contract::OpenSpec;
use crate::error::{EngineError, ErrorKind};
use narrows_model::capabilities::Support;
use narrows_model::workload::{Access, SyncPolicy};
use narrows_model::{Bytes, Op, Target};
use narrows_sys::file::{self, Caching, Create, OpenMode, WriteDone};
use rustix::fs::AtFlags;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Files that narrows makes are for their user alone.
const PERMISSIONS: u32 = 0o600;

/// Where one object is.
#[derive(Debug)]
pub(crate) struct ObjectPath {
    confinement: Option<ConfinedFolder>,
    path: PathBuf,
    /// The target's folder and the object's name in it; `None` for the target itself.
    in_folder: Option<(PathBuf, String)>,
    /// Whether it is a block device, of which objects are parts.
    is_device: bool,
}

/// Whether a place takes direct access, and at what alignment.
#[derive(Debug)]
pub(crate) struct DirectSupport {
    pub(crate) support: Support,
    pub(crate) alignment_bytes: Bytes,
}

impl ObjectPath {
    /// The place of `object` of `target`; an empty object is the target itself.
    pub(crate) fn new(
        confinement: Option<&ConfinedFolder>,
        target: &Target,
        object: &str,
    ) -> Result<Self, EngineError> {
        let refused = |detail: &str| {
            Err(EngineError::new(ErrorKind::Unsupported, "open", target.to_string()).detail(detail))
        };
        let path = match target {
            Target::File { path } => path,
            Target::Block(_) if confinement.is_some() => {
                return refused("a server does not open its machine's block devices for clients");
            }
            Target::Block(address) => {
                let path = address.path.clone();
                return Ok(Self { confinement: None, path, in_folder: None, is_device: true });
            }
            _ => return refused("this engine supports only files and block devices"),
        };
        let in_folder = (!object.is_empty()).then(|| (path.clone(), object.to_owned()));
        let path = if object.is_empty() { path.clone() } else { path.join(object) };
        Ok(Self { confinement: confinement.cloned(), path, in_folder, is_device: false })
    }

    /// The object, opened as `spec` asks.
    pub(crate) fn open(&self, spec: &OpenSpec) -> Result<File, EngineError> {
        let workload = &spec.workload;
        let mode = OpenMode {
            access: if spec.create || workload.ops().iter().any(|share| share.op != Op::Read) {
                file::FileAccess::ReadWrite
            } else {
                file::FileAccess::Read
            },
            caching: match workload.access {
                Access::Buffered => Caching::Buffered,
                Access::Direct => Caching::Direct,
            },
            write_done: match workload.sync {
                SyncPolicy::Dsync => WriteDone::Durable,
                _ => WriteDone::Accepted,
            },
            create: if spec.create && !self.is_device { Create::IfMissing } else { Create::Never },
        };
        let opened = self.open_with(mode)?;
        if self.is_device && !block::is_device(&opened) {
            return Err(EngineError::new(ErrorKind::Unsupported, "open", self.to_string())
                .detail("it is no block device")
                .hint("give a file or a folder without blk:"));
        }
        Ok(opened)
    }

    /// The object for reading through the page cache.
    pub(crate) fn open_for_reading(&self) -> Result<File, EngineError> {
        self.open_with(OpenMode::default())
    }

    /// The folder that this place is, or that contains it.
    pub(crate) fn open_folder(&self) -> Result<File, EngineError> {
        let opened = self.open_for_reading()?;
        if opened.metadata().is_ok_and(|status| status.is_dir()) {
            return Ok(opened);
        }
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let path = parent.unwrap_or(Path::new(".")).to_path_buf();
        Self { confinement: self.confinement.clone(), path, in_folder: None, is_device: false }
            .open_for_reading()
    }

    /// Our own folder with the object, open, and its name in it; `None` where narrows did not make the folder.
    fn own_folder(&self) -> Result<Option<(File, &Path, &str)>, EngineError> {
        let (None, Some((folder, name))) = (&self.confinement, &self.in_folder) else { return Ok(None) };
        Ok(own::open_own_folder(folder)?.map(|opened| (opened, folder.as_path(), name.as_str())))
    }

    /// The folder that a server is confined to and the object's name, for an object that is directly in it.
    fn confined(&self) -> Option<(&ConfinedFolder, &str)> {
        let (confined, (folder, name)) = (self.confinement.as_ref()?, self.in_folder.as_ref()?);
        (folder == Path::new(".")).then_some((confined, name))
    }

    fn open_with(&self, mode: OpenMode) -> Result<File, EngineError> {
        if self.confinement.is_none()
            && self.in_folder.is_none()
            && let Some(folder) = own::open_own_folder(&self.path)?
        {
            return Ok(folder);
        }
        if let Some((folder, path, name)) = self.own_folder()? {
            return own::open_in(&folder, path, name, mode)?
                .map_err(|error| refused(error, mode, &self.path));
        }
        let opened = match (&self.confinement, self.confined()) {
            (_, Some((confined, name))) => confined.made.open(&confined.folder, name, mode, PERMISSIONS),
            (Some(confined), None) => file::open_beneath(&confined.folder, &self.path, mode, PERMISSIONS),
            (None, None) => file::open(&self.path, mode, PERMISSIONS),
        };
        opened.map_err(|error| refused(error, mode, &self.path))
    }

    /// Removes the object.
    pub(crate) fn remove(&self) -> Result<(), EngineError> {
        if self.is_device {
            // What was claimed of it is cleared as a whole when the run ends.
            return Ok(());
        }
        let failed = |source| EngineError::from_io("remove", self.path.display().to_string(), source);
        if let Some((folder, path, name)) = self.own_folder()? {
            return own::remove_in(&folder, path, name);
        }
        if let Some((confined, name)) = self.confined() {
            return Ok(confined.made.remove(&confined.folder, name)?);
        }
        let Some(ConfinedFolder { folder, .. }) = &self.confinement else {
            return std::fs::remove_file(&self.path).map_err(failed);
        };
        let Some(name) = self.path.file_name() else {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()));
        };
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = file::open_beneath(folder, parent.unwrap_or(Path::new(".")), OpenMode::default(), 0)?;
        rustix::fs::unlinkat(parent, name, AtFlags::empty()).map_err(|errno| failed(errno.into()))
    }

    /// Whether a range can be discarded here, as far as is known without touching what others made: in a folder by a
    /// trial on a separate nameless file; a file is assumed to grant it until it refuses (`EOPNOTSUPP`).
    pub(crate) fn may_grant_trim(&self) -> Result<bool, EngineError> {
        let opened = self.open_for_reading()?;
        let is_folder = opened.metadata().is_ok_and(|status| status.is_dir());
        Ok(!is_folder || file::grants_holes(&opened).unwrap_or(true))
    }

    /// A file for trying direct access of `length_bytes` on, and whether it may be written: a device, in a folder, and beside a file
    /// that is shorter, one without a name. `None` where there can be none.
    pub(crate) fn open_to_try(&self, length_bytes: u64) -> Result<Option<(File, bool)>, EngineError> {
        let status = self.open_for_reading()?.metadata();
        let is_long = status.is_ok_and(|status| status.is_file() && status.len() >= length_bytes);
        if self.is_device || is_long {
            let mode = OpenMode { caching: Caching::Direct, ..OpenMode::default() };
            return Ok(self.open_with(mode).ok().map(|file| (file, false)));
        }
        Ok(file::nameless(&self.open_folder()?, Caching::Direct).ok().map(|file| (file, true)))
    }

    /// Whether this place, a file or a folder, takes direct access.
    pub(crate) fn direct_support(&self) -> Result<DirectSupport, EngineError> {
        let opened = self.open_for_reading()?;
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

impl std::fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

fn refused(error: narrows_sys::Error, mode: OpenMode, path: &Path) -> EngineError {
    if mode.caching == Caching::Direct && error.errno().raw() == rustix::io::Errno::INVAL.raw_os_error() {
        return EngineError::new(ErrorKind::Unsupported, "open", path.display().to_string())
            .detail("its file system refuses O_DIRECT")
            .hint("use buffered access, or give a folder on a file system that supports direct access");
    }
    error.into()
}
