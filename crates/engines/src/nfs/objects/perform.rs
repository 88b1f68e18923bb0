//! Operations on whole objects by NFS calls: those that a client without caches makes, and no others.
//!
//! Put: CREATE, a WRITE for each block. Get: LOOKUP, a READ for each block. Append: LOOKUP, a WRITE for each block at the end.
//! Stat: LOOKUP, or GETATTR of a handle that is known. Rename: RENAME. Delete: REMOVE. A COMMIT where data is synced; GETATTR
//! where an answer leaves out the attributes that are needed, LOOKUP where that to a CREATE leaves out the handle.
//! Hot path: no allocation, no lock.

use super::super::tree::FILE_MODE;
use super::call_end::CallEnd;
use super::calls::SerialCalls;
use super::folders::SetFolders;
use super::handles::KeptHandles;
use super::listing::{ListedNames, ServerListing};
use super::unsaved::WrittenObject;
use crate::connections::StoragePeer;
use crate::contract::ProtocolCounters;
use crate::error::{EngineError, ErrorKind};
use crate::files::Perform;
use crate::objects::names::ObjectNames;
use crate::objects::second_names::SecondNames;
use crate::request::{Errno, IoRequest, OBJECT_LISTED};
use crate::slots::SlotBuffers;
use narrows_model::Op;
use narrows_model::engine::nfs::StatCall;
use narrows_model::units::saturate_u32;
use narrows_model::workload::{ObjectSet, ObjectSync};
use narrows_wire::nfs::attributes::{Attributes, FileHandle};
use narrows_wire::nfs::block::{ByteRange, put_read, read_read};
use narrows_wire::nfs::calls::{put_create, put_handle, put_name, put_rename};
use narrows_wire::nfs::results::{
    LookupResult, read_attributes, read_changed, read_created, read_lookup, read_renamed,
};
use narrows_wire::nfs::xdr::{XdrError, XdrReader, padding};
use narrows_wire::nfs::{Procedure, Status};

/// The objects of one worker's client.
#[derive(Debug)]
pub(super) struct NfsObjects {
    pub(super) set: ObjectSet,
    pub(super) names: ObjectNames,
    pub(super) second_names: SecondNames,
    pub(super) folders: SetFolders,
    pub(super) handles: KeptHandles,
    pub(super) stat_call: StatCall,
    pub(super) calls: SerialCalls,
    pub(super) listing: ServerListing,
    /// Bytes of each block that is written and of each that is read.
    pub(super) write_block: usize,
    pub(super) read_block: usize,
    /// Most bytes of a READ.
    pub(super) read_bytes_max: usize,
    /// Why the last request failed.
    pub(super) failed: Option<CallEnd>,
}

impl NfsObjects {
    fn put(&mut self, request: &IoRequest, block: &[u8]) -> Result<u32, CallEnd> {
        let number = request.object;
        let folder = self.folders.folder(self.names.folder_of(number));
        let handle = create(&mut self.calls, &folder, self.names.name_of(number))?;
        let stored = self.store(request, handle, 0, block);
        if stored.is_ok() {
            self.handles.keep(number, &handle);
        } else {
            // An object is there as a whole or not at all.
            self.calls.unsaved.forget_object(number);
            let _ = remove(&mut self.calls, &folder, self.names.name_of(number));
        }
        stored
    }

    fn append(&mut self, request: &IoRequest, block: &[u8]) -> Result<u32, CallEnd> {
        let found = self.look_up(request.object)?;
        let start_bytes = attributes(&mut self.calls, &found)?.length_bytes;
        self.store(request, found.handle, start_bytes, block)
    }

    fn store(
        &mut self,
        request: &IoRequest,
        handle: FileHandle,
        start_bytes: u64,
        block: &[u8],
    ) -> Result<u32, CallEnd> {
        let length_bytes = request.length_bytes;
        let object = WrittenObject { handle, number: request.object, start_bytes, length_bytes };
        self.calls.write_object(object, block, self.set.sync != ObjectSync::None)?;
        Ok(length_bytes)
    }

    fn get(&mut self, request: &IoRequest, block: &mut [u8]) -> Result<u32, CallEnd> {
        let found = self.look_up(request.object)?;
        self.load(&found.handle, request.length_bytes, block)
    }

    fn stat(&mut self, request: &IoRequest, block: &mut [u8]) -> Result<u32, CallEnd> {
        let (handle, attributes) = if request.object == OBJECT_LISTED {
            self.examine_listed()?
        } else {
            self.examine(request.object)?
        };
        let length_bytes = saturate_u32(attributes.length_bytes);
        if !self.set.stat_reads || length_bytes == 0 {
            return Ok(0);
        }
        self.load(&handle, length_bytes, block)
    }

    /// The handle and the attributes of an object: by GETATTR where its handle is kept, else by LOOKUP.
    fn examine(&mut self, number: u32) -> Result<(FileHandle, Attributes), CallEnd> {
        if let Some(handle) = self.handles.find(number) {
            match attributes_of(&mut self.calls, &handle) {
                // It was deleted as a folder lists it, and may have been made again.
                Err(CallEnd::Status(Status::STALE)) => self.handles.forget(number),
                examined => return Ok((handle, examined?)),
            }
        }
        let found = self.look_up(number)?;
        self.handles.keep(number, &found.handle);
        Ok((found.handle, attributes(&mut self.calls, &found)?))
    }

    /// The same of the object that is listed next.
    fn examine_listed(&mut self) -> Result<(FileHandle, Attributes), CallEnd> {
        let listed = self.listing.next(&mut self.calls, &self.folders, ListedNames::Stay)?;
        match listed.handle {
            Some(handle) if self.stat_call == StatCall::Getattr => {
                Ok((handle, attributes_of(&mut self.calls, &handle)?))
            }
            _ => {
                let found = look_up(&mut self.calls, &listed.folder, listed.name)?;
                Ok((found.handle, attributes(&mut self.calls, &found)?))
            }
        }
    }

    fn delete(&mut self, request: &IoRequest) -> Result<u32, CallEnd> {
        let number = request.object;
        if number == OBJECT_LISTED {
            let listed = self.listing.next(&mut self.calls, &self.folders, ListedNames::Disappear)?;
            return remove(&mut self.calls, &listed.folder, listed.name).map(|()| 0);
        }
        let folder = self.folders.folder(self.names.folder_of(number));
        remove(&mut self.calls, &folder, self.names.name_of(number))?;
        self.calls.unsaved.forget_object(number);
        self.handles.forget(number);
        Ok(0)
    }

    /// Gives an object its second name, or its own back where it has that.
    fn rename(&mut self, number: u32) -> Result<u32, CallEnd> {
        let folder = self.folders.folder(self.names.folder_of(number));
        let second = self.names.second_path_of(number);
        let second = self.names.name_in(second.as_c_str());
        let own = self.names.name_of(number);
        let (from, to) = if self.second_names.has(number) { (second, own) } else { (own, second) };
        rename(&mut self.calls, &folder, from, to)?;
        self.second_names.renamed(number);
        Ok(0)
    }

    /// Gives all objects that have their second name their own back.
    fn name_back(&mut self) -> Result<(), CallEnd> {
        let mut outcome = Ok(());
        for number in self.second_names.numbers() {
            // All are tried; the first failure is reported.
            outcome = outcome.and(self.rename(number).map(drop));
        }
        outcome
    }

    fn look_up(&mut self, number: u32) -> Result<LookupResult, CallEnd> {
        let folder = self.folders.folder(self.names.folder_of(number));
        look_up(&mut self.calls, &folder, self.names.name_of(number))
    }

    /// Reads `length_bytes` of a file, or what there is of it, a block after the other.
    fn load(&mut self, file: &FileHandle, length_bytes: u32, block: &mut [u8]) -> Result<u32, CallEnd> {
        let mut done_bytes = 0;
        while done_bytes < length_bytes {
            let left = (length_bytes - done_bytes) as usize;
            let rest = &mut block[done_bytes as usize % self.read_block..];
            let asked = rest.len().min(left).min(self.read_bytes_max);
            let range =
                ByteRange { offset_bytes: u64::from(done_bytes), length_bytes: saturate_u32(asked as u64) };
            let (moved, is_end) = read(&mut self.calls, file, range, &mut rest[..asked])?;
            done_bytes += moved;
            if moved == 0 || is_end {
                break;
            }
            self.calls.counts.short_reads += u64::from(moved < range.length_bytes);
        }
        Ok(done_bytes)
    }
}

/// A new file; one whose name is taken is refused, as `O_CREAT | O_EXCL` refuses it.
///
/// GUARDED and not EXCLUSIVE, which takes a SETATTR more for the file's mode. What EXCLUSIVE is for is known here too: a call
/// that was sent again finds the file that it has made itself, in a folder where nobody else makes any.
fn create(calls: &mut SerialCalls, folder: &FileHandle, name: &str) -> Result<FileHandle, CallEnd> {
    let put = |out: &mut Vec<u8>| put_create(out, folder, name, FILE_MODE, true);
    let created = calls.call(Procedure::Create, &[], put, read_created)?;
    match created.value {
        Ok(Some(handle)) => Ok(handle),
        Ok(None) => look_up(calls, folder, name).map(|found| found.handle),
        Err(Status::EXISTS) if created.was_repeated => {
            calls.counts.done_before += 1;
            look_up(calls, folder, name).map(|found| found.handle)
        }
        Err(status) => Err(CallEnd::Status(status)),
    }
}

/// Removes a file; where the call was sent again, one that is gone was removed by the first.
fn remove(calls: &mut SerialCalls, folder: &FileHandle, name: &str) -> Result<(), CallEnd> {
    let removed = calls.call(Procedure::Remove, &[], |out| put_name(out, folder, name), read_changed)?;
    match removed.value {
        Err(Status::NOT_FOUND) if removed.was_repeated => {
            calls.counts.done_before += 1;
            Ok(())
        }
        value => value.map_err(CallEnd::Status),
    }
}

/// Renames a file in its folder; where the call was sent again, one that is gone was renamed by the first.
fn rename(calls: &mut SerialCalls, folder: &FileHandle, from: &str, to: &str) -> Result<(), CallEnd> {
    let put = |out: &mut Vec<u8>| put_rename(out, folder, from, to);
    let renamed = calls.call(Procedure::Rename, &[], put, read_renamed)?;
    match renamed.value {
        Err(Status::NOT_FOUND) if renamed.was_repeated => {
            calls.counts.done_before += 1;
            Ok(())
        }
        value => value.map_err(CallEnd::Status),
    }
}

fn look_up(calls: &mut SerialCalls, folder: &FileHandle, name: &str) -> Result<LookupResult, CallEnd> {
    let found = calls.call(Procedure::Lookup, &[], |out| put_name(out, folder, name), read_lookup)?;
    found.value.map_err(CallEnd::Status)
}

/// The attributes of a file that was looked up.
fn attributes(calls: &mut SerialCalls, found: &LookupResult) -> Result<Attributes, CallEnd> {
    found.attributes.map_or_else(|| attributes_of(calls, &found.handle), Ok)
}

/// The attributes of the file of this handle.
fn attributes_of(calls: &mut SerialCalls, file: &FileHandle) -> Result<Attributes, CallEnd> {
    let put = |out: &mut Vec<u8>| put_handle(out, file);
    calls.call(Procedure::GetAttributes, &[], put, read_attributes)?.value.map_err(CallEnd::Status)
}

/// One READ into `data`, which has the length of `range`; how many bytes came, and whether they are the last.
fn read(
    calls: &mut SerialCalls,
    file: &FileHandle,
    range: ByteRange,
    data: &mut [u8],
) -> Result<(u32, bool), CallEnd> {
    let put = |out: &mut Vec<u8>| put_read(out, file, range);
    let reply = calls.call(Procedure::Read, &[], put, |reader: &mut XdrReader<'_>| {
        let head = read_read(reader)?;
        if !head.status.is_ok() {
            return Ok(Err(head.status));
        }
        let length = head.payload_bytes as usize;
        let room =
            data.get_mut(..length).ok_or(XdrError::Malformed("a READ returned more than was asked for"))?;
        room.copy_from_slice(reader.take(length)?);
        reader.take(padding(length))?;
        Ok(Ok((head.payload_bytes, head.is_end)))
    })?;
    reply.value.map_err(CallEnd::Status)
}

impl Perform for NfsObjects {
    fn perform(&mut self, request: &IoRequest, slots: &mut SlotBuffers) -> Result<u32, Errno> {
        const EINVAL: Status = Status(22);
        let block = slots.slot(request.slot);
        // Both fit: the slot was made for the larger one.
        let (written, read) = (self.write_block.min(block.len()), self.read_block.min(block.len()));
        let done = match request.op {
            Op::Put => self.put(request, &block[..written]),
            Op::Get => self.get(request, &mut block[..read]),
            Op::Append => self.append(request, &block[..written]),
            Op::Stat => self.stat(request, &mut block[..read]),
            Op::Delete => self.delete(request),
            Op::Rename => self.rename(request.object),
            Op::Sync => self.calls.commit_all().map(|()| 0),
            _ => Err(CallEnd::Status(EINVAL)),
        };
        done.map_err(|end| self.failed.insert(end).errno())
    }

    fn has_failed(&self) -> bool {
        self.calls.has_failed()
    }

    fn take_failure(&mut self) -> Option<EngineError> {
        self.calls.take_failure()
    }

    fn failure_detail(&mut self) -> Option<String> {
        self.failed.take().and_then(|end| end.words())
    }

    fn count_protocol(&self, out: &mut ProtocolCounters) {
        self.calls.count(out);
    }

    fn finish(mut self) -> Result<(), EngineError> {
        let named = if self.calls.is_left() { Ok(()) } else { self.name_back() };
        let failure = named.map_err(|end| {
            // Where nothing can be called any more, the failure of all calls says why.
            self.calls.take_failure().unwrap_or_else(|| {
                EngineError::new(
                    ErrorKind::Io,
                    "give objects their own names back on",
                    self.calls.server.name(),
                )
                .detail(end.words().unwrap_or_default())
            })
        });
        let closed = self.calls.close();
        failure.and(closed)
    }
}
