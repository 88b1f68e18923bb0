//! The file system: one folder with a file for each image, read, written and flushed with the delays of a disk.
//!
//! A file's content is that of its image; no file can be created, removed or resized. A write is in its image when it
//! arrives and is answered when its delay has passed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use narrows_lab::clock::monotonic_ns;

use crate::replies::{Reply, ReplyScheduler};
use crate::timing::{Operation, Timing};

/// Nothing changes but by the kernel's own writes.
const VALID: Duration = Duration::from_hours(1);
/// Requests that the kernel may have under way beyond those that a process waits for: more than any disk here serves.
const BACKGROUND_COUNT: u16 = 512;
const BLOCK_BYTES: u64 = 512;

/// The images of a folder as files that answer late.
pub(crate) struct DelayedFiles {
    images: Vec<Image>,
    timing: Mutex<Timing>,
    replies: ReplyScheduler,
}

struct Image {
    name: OsString,
    file: Arc<File>,
    bytes: u64,
}

impl DelayedFiles {
    /// Opens the images of a folder, in the order of their names; `timing` gets their number.
    pub(crate) fn open(folder: &Path, timing: impl FnOnce(usize) -> Timing) -> io::Result<Self> {
        let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut images = Vec::new();
        for entry in entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
            let file = File::options().read(true).write(true).open(entry.path())?;
            let bytes = file.metadata()?.len();
            images.push(Image { name: entry.file_name(), file: Arc::new(file), bytes });
        }
        let timing = Mutex::new(timing(images.len()));
        Ok(Self { images, timing, replies: ReplyScheduler::start()? })
    }

    /// The image behind an inode: the folder is 1, the images follow.
    fn image(&self, ino: INodeNo) -> Option<(usize, &Image)> {
        let index = usize::try_from(ino.0).ok()?.checked_sub(2)?;
        Some((index, self.images.get(index)?))
    }

    fn attributes(&self, ino: INodeNo) -> Option<FileAttr> {
        let image = self.image(ino);
        if image.is_none() && ino != INodeNo::ROOT {
            return None;
        }
        let bytes = image.map_or(0, |(_, image)| image.bytes);
        Some(FileAttr {
            ino,
            size: bytes,
            blocks: bytes.div_ceil(BLOCK_BYTES),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if image.is_some() { FileType::RegularFile } else { FileType::Directory },
            perm: if image.is_some() { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    /// Lets a reply wait until the disk has served its request.
    fn serve(&self, disk_index: usize, operation: Operation, bytes: u64, reply: Reply) {
        let mut timing = self.timing.lock().unwrap_or_else(PoisonError::into_inner);
        let at_ns = timing.admit(monotonic_ns(), disk_index, operation, bytes);
        drop(timing);
        self.replies.give_at(at_ns, reply);
    }
}

fn inode(index: usize) -> INodeNo {
    INodeNo(index as u64 + 2)
}

/// The kernel's number of an error; its own errors of reading and writing an image are passed on unchanged.
fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_i32)
}

#[allow(clippy::too_many_arguments, reason = "the trait's own signatures")]
impl Filesystem for DelayedFiles {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let refused = |what: &str| io::Error::other(format!("the kernel does not have {what}"));
        // Without it the kernel sends direct requests of a loop device one after the other.
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(|_| refused("FUSE_ASYNC_DIO"))?;
        config.set_max_background(BACKGROUND_COUNT).map_err(|_| refused("so many requests"))?;
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let index = self.images.iter().position(|image| image.name == name && parent == INodeNo::ROOT);
        match index.and_then(|index| self.attributes(inode(index))) {
            Some(attributes) => reply.entry(&VALID, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, ino: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(ino) {
            Some(attributes) => reply.attr(&VALID, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Times and rights stay as they are, and so does the size: the kernel asks for nothing else of an open image.
    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if size.is_some() {
            return reply.error(Errno::EPERM);
        }
        self.getattr(request, ino, handle, reply);
    }

    fn open(&self, _request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.image(ino) {
            Some(_) => reply.opened(FileHandle(0), FopenFlags::empty()),
            None => reply.error(Errno::EISDIR),
        }
    }

    fn readdir(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let folders = [".", ".."].map(|name| (INodeNo::ROOT, FileType::Directory, OsStr::new(name)));
        let files = self.images.iter().enumerate();
        let files = files.map(|(index, image)| (inode(index), FileType::RegularFile, image.name.as_os_str()));
        for (next, (ino, kind, name)) in (1..).zip(folders.into_iter().chain(files)) {
            if next > offset && reply.add(ino, next, kind, name) {
                break; // Full: the kernel asks again from there.
            }
        }
        reply.ok();
    }

    fn read(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some((index, image)) = self.image(ino) else { return reply.error(Errno::EISDIR) };
        let length = u64::from(size).min(image.bytes.saturating_sub(offset));
        let file = Arc::clone(&image.file);
        let answer = move || {
            // At most 1 MiB, the kernel's largest request.
            let mut data = vec![0; usize::try_from(length).unwrap_or(0)];
            match file.read_exact_at(&mut data, offset) {
                Ok(()) => reply.data(&data),
                Err(error) => reply.error(errno(&error)),
            }
        };
        self.serve(index, Operation::Read, length, Box::new(answer));
    }

    fn write(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let Some((index, image)) = self.image(ino) else { return reply.error(Errno::EISDIR) };
        let bytes = data.len() as u64;
        if offset.saturating_add(bytes) > image.bytes {
            return reply.error(Errno::ENOSPC);
        }
        let written = image.file.write_all_at(data, offset);
        let count = u32::try_from(bytes).unwrap_or(u32::MAX);
        let answer = move || match written {
            Ok(()) => reply.written(count),
            Err(error) => reply.error(errno(&error)),
        };
        self.serve(index, Operation::Write, bytes, Box::new(answer));
    }

    fn fsync(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        match self.image(ino) {
            Some((index, _)) => self.serve(index, Operation::Flush, 0, Box::new(move || reply.ok())),
            None => reply.ok(),
        }
    }

    /// Closing a file flushes no disk.
    fn flush(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }
}
