//! Folders of a server emptied and removed with all that narrows has made in them, a part of their listing after the other.

use super::session::RpcSession;
use super::tree::{NAMES_MAX, NamedFile};
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use crate::objects::SET_PREFIX;
use narrows_model::workload::OBJECT_COUNT_MAX;
use narrows_wire::nfs::attributes::{FileHandle, FileKind};
use narrows_wire::nfs::calls::ListingPosition;

/// Names that are removed from a folder: more than any load makes.
const REMOVED_NAMES_MAX: u64 = 4 * OBJECT_COUNT_MAX;
/// Folders of a set of objects in each other: its own, and those that its objects are spread over.
pub(super) const SET_DEPTH: u32 = 2;

impl RpcSession {
    /// Removes the files in `folder` but those for which `stays` is true, and sets of objects with all that is in them; other
    /// folders in it are none of ours and stay.
    pub(super) fn empty(
        &mut self,
        folder: &FileHandle,
        stays: &dyn Fn(&str) -> bool,
    ) -> Result<(), EngineError> {
        self.empty_with(folder, stays, &|name| if name.starts_with(SET_PREFIX) { SET_DEPTH } else { 0 })
    }

    /// Removes the folder `name` in `parent` with all that is in it, at most `depth` folders in each other; one that is not
    /// there counts as removed.
    pub(super) fn remove_tree(
        &mut self,
        parent: &FileHandle,
        name: &str,
        depth: u32,
    ) -> Result<(), EngineError> {
        let Some(found) = self.find(parent, name)? else { return Ok(()) };
        self.empty_with(&found.handle, &|_| false, &|_| depth.saturating_sub(1))?;
        self.remove_folder(parent, name)
    }

    /// Removes what is in `folder` but that for which `stays` is true; of a folder in it, `depth` gives how many in each other
    /// are removed, none where that is 0.
    fn empty_with(
        &mut self,
        folder: &FileHandle,
        stays: &dyn Fn(&str) -> bool,
        depth: &dyn Fn(&str) -> u32,
    ) -> Result<(), EngineError> {
        let (mut from, mut seen_count, mut removed_count) = (ListingPosition::default(), 0, 0_u64);
        loop {
            let (names, end) = self.list_part(folder, from, &mut seen_count, &|name| !stays(name))?;
            if names.is_empty() && end.is_end {
                return Ok(());
            }
            removed_count += names.len() as u64;
            let is_stuck = names.is_empty() && (end.next == from || seen_count > NAMES_MAX);
            if is_stuck || removed_count > REMOVED_NAMES_MAX {
                return Err(self.endless(seen_count));
            }
            // Where names disappear, a server may pass over others: from the beginning again.
            from = if names.is_empty() { end.next } else { ListingPosition::default() };
            seen_count = if names.is_empty() { seen_count } else { 0 };
            for entry in names {
                self.remove_entry(folder, &entry, depth(&entry.name))?;
            }
        }
    }

    fn remove_entry(
        &mut self,
        folder: &FileHandle,
        entry: &NamedFile,
        depth: u32,
    ) -> Result<(), EngineError> {
        let known = match entry.attributes {
            Some(known) => Some(known),
            None => match self.find(folder, &entry.name)? {
                Some(found) => Some(self.attributes(&found.handle, &entry.name)?),
                None => None,
            },
        };
        if known.is_none_or(|known| known.kind != FileKind::Folder) {
            return self.remove(folder, &entry.name);
        }
        if depth == 0 {
            return Err(EngineError::new(ErrorKind::Io, "remove", self.server.name())
                .detail(format!("{} in it is a folder that narrows did not make", entry.name)));
        }
        self.remove_tree(folder, &entry.name, depth)
    }
}
