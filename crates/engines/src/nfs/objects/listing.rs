//! The names of a set's objects in the order in which the server lists them, one folder after the other.
//!
//! A part of a listing (READDIRPLUS) is asked for where the names of the one before have all been visited, in the time of the
//! load. Hot path: no allocation once a part of each length has come.

use super::call_end::CallEnd;
use super::calls::SerialCalls;
use super::folders::SetFolders;
use narrows_wire::nfs::attributes::FileHandle;
use narrows_wire::nfs::calls::{ListingPosition, put_list};
use narrows_wire::nfs::results::read_list;
use narrows_wire::nfs::{Procedure, Status};

/// Reply to one part of a listing.
pub(super) const PART_BYTES: u32 = 64 << 10;
/// Names of one part, of which each takes more bytes than this divides it by.
const NAME_COUNT: usize = PART_BYTES as usize / 24;
/// Parts in a row without the name of an object, after which the listing counts as one without an end.
const EMPTY_PARTS_MAX: u32 = 64;

/// Whether names stay where they are while a folder is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListedNames {
    /// They do.
    Stay,
    /// Each is deleted before the next is visited, so that a server may pass over others.
    Disappear,
}

/// An object as its folder lists it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedObject<'a> {
    pub(super) folder: FileHandle,
    pub(super) name: &'a str,
    /// Its handle, where the server says it.
    pub(super) handle: Option<FileHandle>,
}

/// A walk through the folders of a set.
#[derive(Debug)]
pub(super) struct ServerListing {
    /// Folders that are behind the walk.
    folder_index: usize,
    folder: Option<FileHandle>,
    position: ListingPosition,
    is_end: bool,
    /// Whether the present pass through the folder has found a name.
    has_found: bool,
    /// The names of the last part, one behind the other, and where each ends.
    names: Vec<u8>,
    ends: Vec<usize>,
    /// Their handles, as far as the server says them.
    handles: Vec<Option<FileHandle>>,
    /// Names of the last part that were visited.
    visited: usize,
}

impl ServerListing {
    pub(super) fn new() -> Self {
        Self {
            folder_index: 0,
            folder: None,
            position: ListingPosition::default(),
            is_end: false,
            has_found: false,
            names: Vec::with_capacity(PART_BYTES as usize),
            ends: Vec::with_capacity(NAME_COUNT),
            handles: Vec::with_capacity(NAME_COUNT),
            visited: 0,
        }
    }

    /// The next object; `NFS3ERR_NOENT` when all have come.
    pub(super) fn next(
        &mut self,
        calls: &mut SerialCalls,
        folders: &SetFolders,
        names: ListedNames,
    ) -> Result<ListedObject<'_>, CallEnd> {
        let mut empty_count = 0;
        // Bounded: each turn begins another folder, or asks for another part of which few in a row may be empty.
        let folder = loop {
            let Some(folder) = self.folder else {
                self.begin_next(folders)?;
                continue;
            };
            if self.visited < self.ends.len() {
                break folder;
            }
            if !self.is_end {
                self.fetch(calls, &folder, names)?;
                empty_count = if self.ends.is_empty() { empty_count + 1 } else { 0 };
                if empty_count > EMPTY_PARTS_MAX {
                    return Err(calls.malformed("a listing has no names and no end"));
                }
            } else if names == ListedNames::Disappear && self.has_found {
                self.begin_pass();
            } else {
                self.folder = None;
            }
        };
        let start = self.visited.checked_sub(1).map_or(0, |before| self.ends[before]);
        // Those of narrows are digits and letters.
        let name = std::str::from_utf8(&self.names[start..self.ends[self.visited]]).unwrap_or_default();
        let handle = self.handles[self.visited];
        self.visited += 1;
        Ok(ListedObject { folder, name, handle })
    }

    fn begin_next(&mut self, folders: &SetFolders) -> Result<(), CallEnd> {
        self.folder = folders.listed(self.folder_index);
        self.folder_index += 1;
        self.begin_pass();
        if self.folder.is_some() { Ok(()) } else { Err(CallEnd::Status(Status::NOT_FOUND)) }
    }

    /// Starts at the folder's first name.
    fn begin_pass(&mut self) {
        (self.position, self.is_end, self.has_found) = (ListingPosition::default(), false, false);
        self.forget_part();
    }

    fn forget_part(&mut self) {
        self.names.clear();
        self.ends.clear();
        self.handles.clear();
        self.visited = 0;
    }

    /// Asks for the next part of a folder's listing.
    fn fetch(
        &mut self,
        calls: &mut SerialCalls,
        folder: &FileHandle,
        names: ListedNames,
    ) -> Result<(), CallEnd> {
        const BAD_COOKIE: Status = Status(10_003);
        self.forget_part();
        let from = self.position;
        let (texts, ends, handles) = (&mut self.names, &mut self.ends, &mut self.handles);
        let put = |out: &mut Vec<u8>| put_list(out, folder, from, PART_BYTES);
        let reply = calls.call(Procedure::ReadFolderPlus, &[], put, |reader| {
            read_list(reader, &mut |listed| {
                if !matches!(listed.name, b"." | b"..") {
                    texts.extend_from_slice(listed.name);
                    ends.push(texts.len());
                    handles.push(listed.handle);
                }
            })
        })?;
        match reply.value {
            Ok(end) if end.next == from && !end.is_end => {
                Err(calls.malformed("a part of a listing ends where it began"))
            }
            Ok(end) => {
                self.has_found |= !self.ends.is_empty();
                (self.position, self.is_end) = (end.next, end.is_end);
                Ok(())
            }
            // Where names disappear, so may the place at which a server continues.
            Err(BAD_COOKIE) if names == ListedNames::Disappear && self.has_found => {
                self.begin_pass();
                Ok(())
            }
            Err(status) => Err(CallEnd::Status(status)),
        }
    }
}
