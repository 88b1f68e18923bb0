//! Names in folders of a server: found, made, listed, removed one by one.

use super::session::{REPLY_BYTES_MAX, RpcSession};
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use narrows_wire::nfs::attributes::{Attributes, FileHandle, FileKind};
use narrows_wire::nfs::block::{ByteRange, Stability, put_read, put_write, read_read, read_write};
use narrows_wire::nfs::calls::{
    ListingPosition, put_create, put_handle, put_list, put_make_folder, put_name,
};
use narrows_wire::nfs::results::{
    CallResult, ListingEnd, LookupResult, ServerSizes, read_attributes, read_changed, read_created,
    read_list, read_lookup, read_server_sizes,
};
use narrows_wire::nfs::xdr::padding;
use narrows_wire::nfs::{Procedure, Status};

/// Files that narrows makes are for their user alone.
pub(super) const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// Reply to one part of a listing.
const LIST_BYTES: u32 = 64 << 10;
/// Names of a folder that are looked at: a listing without an end is none.
pub(super) const NAMES_MAX: usize = 1 << 20;
/// Those of them that are kept, in about 20 MiB.
const KEPT_NAMES_MAX: usize = 1 << 16;
/// Longest small file that is read.
const SMALL_BYTES_MAX: u32 = 4096;

const _: () = assert!(LIST_BYTES as usize + 4096 < REPLY_BYTES_MAX);

/// A name of a folder.
#[derive(Debug, Clone)]
pub(super) struct NamedFile {
    pub(super) name: String,
    pub(super) attributes: Option<Attributes>,
}

impl RpcSession {
    /// The file `name` in `folder`; `None` where there is none.
    pub(super) fn find(
        &mut self,
        folder: &FileHandle,
        name: &str,
    ) -> Result<Option<LookupResult>, EngineError> {
        match self.call("look up", Procedure::Lookup, |out| put_name(out, folder, name), read_lookup)? {
            Ok(found) => Ok(Some(found)),
            Err(Status::NOT_FOUND) => Ok(None),
            Err(status) => Err(self.server.failed("look up", name, status)),
        }
    }

    /// The attributes of a file.
    pub(super) fn attributes(&mut self, file: &FileHandle, name: &str) -> Result<Attributes, EngineError> {
        self.call("examine", Procedure::GetAttributes, |out| put_handle(out, file), read_attributes)?
            .map_err(|status| self.server.failed("examine", name, status))
    }

    /// The sizes that the server supports.
    pub(super) fn sizes(&mut self, root: &FileHandle) -> Result<ServerSizes, EngineError> {
        self.call("ask for sizes", Procedure::ServerInfo, |out| put_handle(out, root), read_server_sizes)?
            .map_err(|status| self.server.failed("ask for sizes", "", status))
    }

    /// The file `name` in `folder`, made where it is missing; with `is_new` it must be.
    pub(super) fn create(
        &mut self,
        folder: &FileHandle,
        name: &str,
        is_new: bool,
    ) -> Result<FileHandle, EngineError> {
        let created = self.call(
            "create",
            Procedure::Create,
            |out| put_create(out, folder, name, FILE_MODE, is_new),
            read_created,
        )?;
        self.made("create", folder, name, created)
    }

    /// The folder `name` in `folder`, made where it is missing if `creates`.
    pub(super) fn open_folder(
        &mut self,
        folder: &FileHandle,
        name: &str,
        creates: bool,
    ) -> Result<FileHandle, EngineError> {
        const NO_FOLDER: Status = Status(20);
        if let Some(found) = self.find(folder, name)? {
            let is_other = found.attributes.is_some_and(|known| known.kind != FileKind::Folder);
            return if is_other {
                Err(self.server.failed("open", name, NO_FOLDER))
            } else {
                Ok(found.handle)
            };
        }
        if !creates {
            return Err(self.server.failed("open", name, Status::NOT_FOUND));
        }
        let made = self.call_make_folder(folder, name)?;
        // Another worker may have made it meanwhile.
        let made = if made == Err(Status::EXISTS) { Ok(None) } else { made };
        self.made("create", folder, name, made)
    }

    /// A new folder `name` in `folder`.
    pub(super) fn make_folder(&mut self, folder: &FileHandle, name: &str) -> Result<FileHandle, EngineError> {
        let made = self.call_make_folder(folder, name)?;
        self.made("create", folder, name, made)
    }

    fn call_make_folder(
        &mut self,
        folder: &FileHandle,
        name: &str,
    ) -> Result<CallResult<Option<FileHandle>>, EngineError> {
        let put = |out: &mut Vec<u8>| put_make_folder(out, folder, name, FOLDER_MODE);
        self.call("create", Procedure::MakeFolder, put, read_created)
    }

    /// The handle of what was made: a server may leave it out of its reply.
    fn made(
        &mut self,
        operation: &'static str,
        folder: &FileHandle,
        name: &str,
        made: CallResult<Option<FileHandle>>,
    ) -> Result<FileHandle, EngineError> {
        match made {
            Ok(Some(handle)) => Ok(handle),
            Ok(None) => match self.find(folder, name)? {
                Some(found) => Ok(found.handle),
                None => Err(self.server.failed(operation, name, Status::NOT_FOUND)),
            },
            Err(status) => Err(self.server.failed(operation, name, status)),
        }
    }

    /// Removes the file `name`; one that is not there counts as removed.
    pub(super) fn remove(&mut self, folder: &FileHandle, name: &str) -> Result<(), EngineError> {
        self.removed(Procedure::Remove, folder, name)
    }

    /// Removes the empty folder `name`; one that is not there counts as removed.
    pub(super) fn remove_folder(&mut self, folder: &FileHandle, name: &str) -> Result<(), EngineError> {
        self.removed(Procedure::RemoveFolder, folder, name)
    }

    fn removed(&mut self, procedure: Procedure, folder: &FileHandle, name: &str) -> Result<(), EngineError> {
        match self.call("remove", procedure, |out| put_name(out, folder, name), read_changed)? {
            Ok(()) | Err(Status::NOT_FOUND) => Ok(()),
            Err(status) => Err(self.server.failed("remove", name, status)),
        }
    }

    /// The names in `folder` that `is_meant` accepts, without `.` and `..`, and what is no text.
    pub(super) fn list(
        &mut self,
        folder: &FileHandle,
        is_meant: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<NamedFile>, EngineError> {
        let (mut from, mut seen_count) = (ListingPosition::default(), 0_usize);
        let mut names = Vec::new();
        loop {
            let (part, end) = self.list_part(folder, from, &mut seen_count, is_meant)?;
            names.extend(part);
            if end.is_end {
                return Ok(names);
            }
            if seen_count > NAMES_MAX || names.len() > KEPT_NAMES_MAX || end.next == from {
                return Err(self.endless(seen_count));
            }
            from = end.next;
        }
    }

    /// The error that a listing goes on and on.
    pub(super) fn endless(&self, seen_count: usize) -> EngineError {
        EngineError::new(ErrorKind::Protocol, "list", self.server.name())
            .detail(format!("its listing has no end after {seen_count} names"))
    }

    /// One part of a listing: the names of it that `is_meant` accepts, and its end; all names are counted.
    pub(super) fn list_part(
        &mut self,
        folder: &FileHandle,
        from: ListingPosition,
        seen_count: &mut usize,
        is_meant: &dyn Fn(&str) -> bool,
    ) -> Result<(Vec<NamedFile>, ListingEnd), EngineError> {
        let mut names = Vec::new();
        let part = self.call(
            "list",
            Procedure::ReadFolderPlus,
            |out| put_list(out, folder, from, LIST_BYTES),
            |reader| {
                read_list(reader, &mut |listed| {
                    *seen_count += 1;
                    match std::str::from_utf8(listed.name) {
                        Ok(name) if ![".", ".."].contains(&name) && is_meant(name) => {
                            names.push(NamedFile { name: name.to_owned(), attributes: listed.attributes });
                        }
                        _ => {}
                    }
                })
            },
        )?;
        let end = part.map_err(|status| self.server.failed("list", "", status))?;
        Ok((names, end))
    }

    /// The content of a small file: its first 4 KiB.
    pub(super) fn read_small(&mut self, file: &FileHandle, name: &str) -> Result<Vec<u8>, EngineError> {
        let range = ByteRange { offset_bytes: 0, length_bytes: SMALL_BYTES_MAX };
        self.call(
            "read",
            Procedure::Read,
            |out| put_read(out, file, range),
            |reader| {
                let head = read_read(reader)?;
                if !head.status.is_ok() {
                    return Ok(Err(head.status));
                }
                let length = usize::try_from(head.payload_bytes).unwrap_or(usize::MAX);
                let content = reader.take(length)?.to_vec();
                reader.take(padding(length))?;
                Ok(Ok(content))
            },
        )?
        .map_err(|status| self.server.failed("read", name, status))
    }

    /// Writes a small file durably.
    pub(super) fn write_small(
        &mut self,
        file: &FileHandle,
        name: &str,
        content: &[u8],
    ) -> Result<(), EngineError> {
        let length_bytes = u32::try_from(content.len()).unwrap_or(SMALL_BYTES_MAX);
        let range = ByteRange { offset_bytes: 0, length_bytes };
        let put = |out: &mut Vec<u8>| {
            put_write(out, file, range, Stability::FileSync);
            out.extend_from_slice(content);
            out.extend_from_slice(&[0; 3][..padding(content.len())]);
        };
        let written = self
            .call("write", Procedure::Write, put, read_write)?
            .map_err(|status| self.server.failed("write", name, status))?;
        if written.count == length_bytes {
            return Ok(());
        }
        Err(EngineError::new(ErrorKind::NoSpace, "write", self.server.name())
            .detail(format!("only {} of {length_bytes} bytes of {name} were written", written.count)))
    }
}
