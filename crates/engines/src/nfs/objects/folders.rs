//! The folder of a set of objects on a server and the folders in it: found or made before the load, their handles kept.

use super::super::session::RpcSession;
use crate::contract::OpenSpec;
use crate::error::EngineError;
use crate::objects::names::{FOLDER_BYTES, folder_path};
use crate::objects::set_name;
use narrows_wire::nfs::attributes::FileHandle;

/// The folders of a set.
#[derive(Debug)]
pub(super) struct SetFolders {
    /// The set's own.
    base: FileHandle,
    /// Those in it that objects are spread over; none where they are in the set's own.
    inner: Vec<FileHandle>,
}

impl SetFolders {
    /// Those of the set of `spec` in `parent`, of which `count` are in the set's own; made where they are missing and may be.
    pub(super) fn open(
        session: &mut RpcSession,
        parent: &FileHandle,
        spec: &OpenSpec,
        count: u32,
    ) -> Result<Self, EngineError> {
        let base = session.open_folder(parent, set_name(spec)?, spec.create)?;
        let inner = (0..count).map(|folder| {
            let path = folder_path(folder);
            let name = std::str::from_utf8(&path[..FOLDER_BYTES - 1]).unwrap_or_default();
            session.open_folder(&base, name, spec.create)
        });
        let inner = inner.collect::<Result<_, _>>()?;
        Ok(Self { base, inner })
    }

    /// The folder of this index, or the set's own.
    pub(super) fn folder(&self, index: Option<u32>) -> FileHandle {
        index.and_then(|index| self.inner.get(index as usize)).copied().unwrap_or(self.base)
    }

    /// The folder that is listed after `index` others; `None` where there are no more.
    pub(super) fn listed(&self, index: usize) -> Option<FileHandle> {
        if self.inner.is_empty() { (index == 0).then_some(self.base) } else { self.inner.get(index).copied() }
    }
}
