//! Operations on whole files: each is the calls that a program would make, and no others.
//!
//! Put: `openat`, a `write` for each block, `close`. Get: `openat`, a `read` for each block, `close`. Append: as put, at the
//! end. Stat: `fstatat`. Rename: `renameat`. Delete: `unlinkat`. Syncs and reads after a stat where they are asked for. Of
//! folders: put `mkdirat`, stat `fstatat`, rename `renameat`, delete `unlinkat` with `AT_REMOVEDIR`.
//! Hot path: no allocation, no lock; but for the C library's `FILE` where streams are asked for.

use super::folders;
use super::names::ObjectNames;
use super::second_names::SecondNames;
use crate::error::EngineError;
use crate::files::Perform;
use crate::request::{Errno, IoRequest, OBJECT_LISTED};
use crate::slots::SlotBuffers;
use narrows_model::Op;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{ObjectCalls, ObjectKind, ObjectSet, ObjectSync};
use narrows_sys::file::Listing;
use narrows_sys::{return_stack, stdio};
use rustix::fs::{AtFlags, Mode, OFlags, fsync, mkdirat, openat, renameat, statat, syncfs, unlinkat};
use rustix::io::{Errno as Call, read, retry_on_intr, write};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Files that narrows makes are for their user alone.
const PERMISSIONS: Mode = Mode::RUSR.union(Mode::WUSR);

/// A link in the place of an object would lead out of what narrows made.
const READ_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What the names contain that a find looks at.
const FOUND: &[u8] = b"01";

/// The objects of one worker's client.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) set: ObjectSet,
    pub(super) names: ObjectNames,
    /// The set's folder in each member of the target.
    pub(super) members: Vec<OwnedFd>,
    /// The folders in them, where they are synced; else they are not kept open.
    pub(super) folders: Vec<OwnedFd>,
    pub(super) second_names: SecondNames,
    pub(super) walk: FolderWalk,
    /// Bytes of each call that writes.
    pub(super) write_block: usize,
    /// Bytes of each call that reads.
    pub(super) read_block: usize,
    /// What streams keep back, one after the other; empty without streams.
    pub(super) stream_buffer: Vec<u8>,
}

/// Visits a set's folders as their file system lists them, one member after the other.
#[derive(Debug, Default)]
pub(super) struct FolderWalk {
    listing: Listing,
    /// What the names begin with that are visited; empty for all.
    prefix: Vec<u8>,
    /// The folder that is listed; `None` before the first.
    folder: Option<OwnedFd>,
    /// Counted through the folders of all members.
    next_folder: u64,
}

impl FolderWalk {
    /// A visit of the names that begin with `prefix`; of all where it is empty.
    pub(super) fn over_names(prefix: Vec<u8>) -> Self {
        Self { prefix, ..Self::default() }
    }

    /// Does `act` with the folder of the next name and the name; `ENOENT` when all have come.
    fn with_next<T>(
        &mut self,
        folder_count: u32,
        members: &[OwnedFd],
        act: impl FnOnce(BorrowedFd<'_>, &CStr) -> Result<T, Call>,
    ) -> Result<T, Call> {
        // Bounded: each turn begins another folder of the set, or passes over a name that it lists.
        loop {
            let Some(folder) = &self.folder else {
                self.folder = Some(self.begin_next(folder_count, members)?);
                continue;
            };
            match self.listing.next_name(folder) {
                Ok(Some(name)) if !name.to_bytes().starts_with(&self.prefix) => {}
                Ok(Some(name)) => return act(folder.as_fd(), name),
                Ok(None) => self.folder = None,
                Err(errno) => return Err(Call::from_raw_os_error(errno.raw())),
            }
        }
    }

    fn begin_next(&mut self, folder_count: u32, members: &[OwnedFd]) -> Result<OwnedFd, Call> {
        let in_member = u64::from(folder_count.max(1));
        let Some(base) = members.get(saturate_usize(self.next_folder / in_member)) else {
            return Err(Call::NOENT);
        };
        let index = saturate_u32(self.next_folder % in_member);
        self.next_folder += 1;
        self.listing.restart();
        match folder_count {
            // A descriptor of its own, which starts at the first name.
            0 => openat(base, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()),
            _ => folders::inner(base, index),
        }
    }
}

impl Objects {
    fn put(&mut self, request: &IoRequest, block: &[u8]) -> Result<u32, Call> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let base = &self.members[self.names.member_of(request.object)];
        if self.set.kind == ObjectKind::Folder {
            return mkdirat(base, self.names.path_of(request.object), folders::PERMISSIONS).map(|()| 0);
        }
        let file = openat(base, self.names.path_of(request.object), flags, PERMISSIONS)?;
        let stored = self.store(file, request, block, true);
        if stored.is_err() {
            // An object is there as a whole or not at all.
            let base = &self.members[self.names.member_of(request.object)];
            let _ = unlinkat(base, self.names.path_of(request.object), AtFlags::empty());
        }
        stored
    }

    fn append(&mut self, request: &IoRequest, block: &[u8]) -> Result<u32, Call> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let base = &self.members[self.names.member_of(request.object)];
        let file = openat(base, self.names.path_of(request.object), flags, Mode::empty())?;
        self.store(file, request, block, false)
    }

    /// Writes what `request` asks for to its open file and closes it; its folder is synced where it was `made`.
    fn store(&mut self, file: OwnedFd, request: &IoRequest, block: &[u8], made: bool) -> Result<u32, Call> {
        let length_bytes = request.length_bytes;
        if length_bytes == 0 && self.set.sync == ObjectSync::None {
            return close(file).map(|()| 0);
        }
        let mut stream_buffer = std::mem::take(&mut self.stream_buffer);
        let folder = if made { self.synced_folder(request.object) } else { None };
        let sync = |file: BorrowedFd<'_>| {
            fsync(file)?;
            folder.map_or(Ok(()), fsync)
        };
        let synced = self.set.sync != ObjectSync::None;
        let stored = if self.set.calls == ObjectCalls::System || length_bytes == 0 {
            write_blocks(file, block, length_bytes, synced.then_some(sync))
        } else {
            let mut sync = |file: BorrowedFd<'_>| sync(file).map_err(narrows_sys::SysErrno::from);
            let sync: Option<stdio::SyncFn<'_>> = if synced { Some(&mut sync) } else { None };
            stdio::write_whole(file, &mut stream_buffer, block, u64::from(length_bytes), sync)
                .map(saturate_u32)
                .map_err(from_sys)
        };
        self.stream_buffer = stream_buffer;
        stored
    }

    fn get(&mut self, request: &IoRequest, block: &mut [u8]) -> Result<u32, Call> {
        let base = &self.members[self.names.member_of(request.object)];
        let file = openat(base, self.names.path_of(request.object), READ_FLAGS, Mode::empty())?;
        load(self.set.calls, &mut self.stream_buffer, file, request.length_bytes, block)
    }

    fn stat(&mut self, request: &IoRequest, block: &mut [u8]) -> Result<u32, Call> {
        let Self { set, names, members, walk, stream_buffer, .. } = self;
        let mut look = |folder: BorrowedFd<'_>, name: &CStr| {
            if set.stat_finds && !is_found(name) {
                return Ok(0);
            }
            let status = statat(folder, name, AtFlags::empty())?;
            let length_bytes = saturate_u32(u64::try_from(status.st_size).unwrap_or(0));
            if !set.stat_reads || length_bytes == 0 {
                return Ok(0);
            }
            let file = openat(folder, name, READ_FLAGS, Mode::empty())?;
            load(set.calls, stream_buffer, file, length_bytes, block)
        };
        match request.object {
            OBJECT_LISTED => walk.with_next(set.folders, members, look),
            number => look(members[names.member_of(number)].as_fd(), names.path_of(number)),
        }
    }

    fn delete(&mut self, request: &IoRequest) -> Result<u32, Call> {
        let syncs = self.set.sync == ObjectSync::DataAndFolder;
        let flags = match self.set.kind {
            ObjectKind::File => AtFlags::empty(),
            ObjectKind::Folder => AtFlags::REMOVEDIR,
        };
        if request.object == OBJECT_LISTED {
            return self.walk.with_next(self.set.folders, &self.members, |folder, name| {
                unlinkat(folder, name, flags)?;
                if syncs { fsync(folder).map(|()| 0) } else { Ok(0) }
            });
        }
        let base = &self.members[self.names.member_of(request.object)];
        unlinkat(base, self.names.path_of(request.object), flags)?;
        self.synced_folder(request.object).map_or(Ok(()), fsync).map(|()| 0)
    }

    /// Gives an object its second name, or its own back where it has that; whichever name is new is synced as a new object's.
    fn rename(&mut self, number: u32) -> Result<u32, Call> {
        let base = &self.members[self.names.member_of(number)];
        let second = self.names.second_path_of(number);
        let own = self.names.path_of(number);
        let (from, to) =
            if self.second_names.has(number) { (second.as_c_str(), own) } else { (own, second.as_c_str()) };
        renameat(base, from, base, to)?;
        self.second_names.renamed(number);
        self.synced_folder(number).map_or(Ok(()), fsync).map(|()| 0)
    }

    /// The folder to sync after an object was made, renamed or deleted; `None` where none is.
    fn synced_folder(&self, number: u32) -> Option<&OwnedFd> {
        if self.set.sync != ObjectSync::DataAndFolder {
            return None;
        }
        let member = self.names.member_of(number);
        let Some(folder) = self.names.folder_of(number) else { return self.members.get(member) };
        self.folders.get(member * self.set.folders as usize + folder as usize)
    }
}

/// Whether a name is of those that a find looks at: `*01*`.
fn is_found(name: &CStr) -> bool {
    name.to_bytes().windows(FOUND.len()).any(|part| part == FOUND)
}

/// Writes `length_bytes` to `file`, a block after the other, syncs it as asked and closes it.
fn write_blocks(
    file: OwnedFd,
    block: &[u8],
    length_bytes: u32,
    sync: Option<impl Fn(BorrowedFd<'_>) -> Result<(), Call>>,
) -> Result<u32, Call> {
    let mut left = length_bytes;
    while left > 0 {
        let part = saturate_usize(u64::from(left)).min(block.len());
        left -= saturate_u32(retry_on_intr(|| write(&file, &block[..part]))? as u64);
    }
    if let Some(sync) = sync {
        sync(file.as_fd())?;
    }
    close(file).map(|()| length_bytes)
}

/// Reads `length_bytes` of `file`, or what there is of it, and closes it.
fn load(
    calls: ObjectCalls,
    stream_buffer: &mut [u8],
    file: OwnedFd,
    length_bytes: u32,
    block: &mut [u8],
) -> Result<u32, Call> {
    if calls == ObjectCalls::Streams && length_bytes > 0 {
        let loaded = stdio::read_whole(file, stream_buffer, block, u64::from(length_bytes));
        return loaded.map(saturate_u32).map_err(from_sys);
    }
    let mut left = length_bytes;
    while left > 0 {
        let part = saturate_usize(u64::from(left)).min(block.len());
        match retry_on_intr(|| read(&file, &mut block[..part]))? {
            0 => break,
            moved => left -= saturate_u32(moved as u64),
        }
    }
    close(file).map(|()| length_bytes - left)
}

/// Closes `file` and reports errors that a remote file system has delayed until then.
fn close(file: OwnedFd) -> Result<(), Call> {
    narrows_sys::file::close(file).map_err(from_sys)
}

fn from_sys(errno: narrows_sys::SysErrno) -> Call {
    Call::from_raw_os_error(errno.raw())
}

impl Perform for Objects {
    fn perform(&mut self, request: &IoRequest, slots: &mut SlotBuffers) -> Result<u32, Errno> {
        let block = slots.slot(request.slot);
        // Both fit: the slot was made for the larger one.
        let (written, read) = (self.write_block.min(block.len()), self.read_block.min(block.len()));
        let done = match request.op {
            Op::Put => self.put(request, &block[..written]),
            Op::Get | Op::Append if self.set.kind == ObjectKind::Folder => Err(Call::ISDIR),
            Op::Get => self.get(request, &mut block[..read]),
            Op::Append => self.append(request, &block[..written]),
            Op::Stat => self.stat(request, &mut block[..read]),
            Op::Delete => self.delete(request),
            // Second names have no room for the folders of a tree.
            Op::Rename if self.set.tree.is_some() => Err(Call::INVAL),
            Op::Rename => self.rename(request.object),
            // Names have no file of their own to be synced by.
            Op::Sync => self.members.iter().try_for_each(syncfs).map(|()| 0),
            _ => Err(Call::INVAL),
        };
        // Once an operation, in front of the returns that lead back to the load; more often gained nothing.
        return_stack::refill();
        done.map_err(|errno| Errno(errno.raw_os_error()))
    }

    fn finish(mut self) -> Result<(), EngineError> {
        let mut outcome = Ok(());
        for number in self.second_names.numbers() {
            let named = self.rename(number).map(drop).map_err(|errno| {
                let name = self.names.path_of(number).to_string_lossy().into_owned();
                EngineError::from_io("give its own name back to", name, errno.into())
            });
            // All are tried; the first failure is reported.
            outcome = outcome.and(named);
        }
        outcome
    }
}
