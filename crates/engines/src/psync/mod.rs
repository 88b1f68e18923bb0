//! The engine `psync`: one system call on a file for a request, one request in flight per worker.
//!
//! A block is moved by `pread` or `pwrite`; on request by `read` or `write` at the file's own position, after an
//! `lseek` where the block is elsewhere, or by `preadv` or `pwritev` from and to several buffers. "Complete" means: in
//! the page cache (buffered), on the device (`O_DIRECT`), or durable (`O_DSYNC`, and every so many writes with
//! `fdatasync`); of a discarded range, that its space was freed. What the file system refuses is an error, never done
//! in another way. Hot path: no allocation, no lock; the system call is the work.

use crate::contract::{Engine, EngineFactory, OpenSpec, WorkerContext};
use crate::error::EngineError;
use crate::files::{
    self, Files, ObjectPart, OpenObjectFiles, Perform, SingleEngine, SingleFlight, SyncCount,
};
use crate::request::{Errno, IoRequest};
use crate::slots::{SlotBuffers, checked_depth};
use narrows_model::capabilities::Capabilities;
use narrows_model::engine::{self, EngineDeclaration};
use narrows_model::units::saturate_usize;
use narrows_model::workload::{CacheState, PsyncCalls, PsyncOptions};
use narrows_model::{Histogram, Op, Target};
use narrows_sys::file::TransferResult;
use std::fs::File;

#[cfg(test)]
mod tests;

pub use crate::files::{FolderError, TestFolder};

/// What the engine declares.
pub const INFO: &EngineDeclaration = &engine::psync::DECLARATION;

/// A request that the engine was not opened for.
const INVALID: i32 = rustix::io::Errno::INVAL.raw_os_error();

/// Makes `psync` engines.
#[derive(Debug, Clone, Default)]
pub struct PsyncFactory {
    files: Files,
}

impl PsyncFactory {
    /// Files anywhere the user may access.
    #[must_use]
    pub fn unconfined() -> Self {
        Self { files: Files::unconfined() }
    }

    /// Files beneath the open `folder` alone; paths of targets are relative to it.
    #[must_use]
    pub fn confined(folder: File) -> Self {
        Self { files: Files::confined(folder.into()) }
    }

    /// The same for files that are chosen already.
    pub(crate) fn with_files(files: Files) -> Self {
        Self { files }
    }
}

impl EngineFactory for PsyncFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        self.files.capabilities(target, INFO)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let depth = checked_depth(spec, INFO.queue_depth_max)?;
        let OpenObjectFiles { files, parts, alignment_bytes } = self.files.open(spec)?;
        Ok(Box::new(SingleEngine {
            effective: files::effective(INFO.name(), spec, depth, alignment_bytes),
            slots: SlotBuffers::new(depth, spec.workload.block_bytes.0, worker.seed)?,
            performer: Psync {
                objects: files
                    .into_iter()
                    .zip(parts)
                    .map(|(file, part)| PsyncFile::new(file, part))
                    .collect(),
                sync_count: SyncCount::new(spec.workload.sync, &worker.clock),
                calls: TransferCalls::from_options(spec.workload.psync),
            },
            flight: SingleFlight::default(),
        }))
    }

    fn files_stay_with_worker(&self) -> bool {
        true
    }

    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
        self.files.bring_cache_to(spec, state)
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        self.files.remove(spec)
    }
}

#[derive(Debug)]
struct Psync {
    objects: Vec<PsyncFile>,
    sync_count: SyncCount,
    calls: TransferCalls,
}

/// A file that this engine has opened for itself.
#[derive(Debug)]
struct PsyncFile {
    file: File,
    /// Which bytes of the file are the object's.
    part: ObjectPart,
    /// Where the file's own position is; `None` after an error.
    position: Option<u64>,
}

impl PsyncFile {
    /// One that was just opened: at its start.
    fn new(file: File, part: ObjectPart) -> Self {
        Self { file, part, position: Some(0) }
    }

    /// Has `act` move bytes from `offset_bytes` on; the file's own position is moved there first where it is elsewhere.
    fn transfer_at(
        &mut self,
        offset_bytes: u64,
        act: impl FnOnce(&File) -> Result<TransferResult, narrows_sys::SysErrno>,
    ) -> Result<TransferResult, narrows_sys::SysErrno> {
        if self.position.take() != Some(offset_bytes) {
            narrows_sys::file::seek(&self.file, offset_bytes)?;
        }
        let moved = act(&self.file)?;
        self.position = Some(offset_bytes.saturating_add(moved.done_bytes() as u64));
        Ok(moved)
    }
}

/// The calls that move a block.
#[derive(Debug, Clone, Copy)]
enum TransferCalls {
    AtOffset,
    AtPosition,
    /// From and to so many buffers.
    Vectors(usize),
}

impl TransferCalls {
    fn from_options(options: PsyncOptions) -> Self {
        match (options.vectors, options.calls) {
            (Some(count), _) => Self::Vectors(saturate_usize(u64::from(count))),
            (None, PsyncCalls::AtOffset) => Self::AtOffset,
            (None, PsyncCalls::AtPosition) => Self::AtPosition,
        }
    }

    fn read(
        self,
        object: &mut PsyncFile,
        part: &mut [u8],
        offset_bytes: u64,
    ) -> Result<TransferResult, narrows_sys::SysErrno> {
        match self {
            Self::AtOffset => narrows_sys::file::pread(&object.file, part, offset_bytes),
            Self::AtPosition => object.transfer_at(offset_bytes, |file| narrows_sys::file::read(file, part)),
            Self::Vectors(count) => narrows_sys::file::preadv(&object.file, part, count, offset_bytes),
        }
    }

    fn write(
        self,
        object: &mut PsyncFile,
        part: &[u8],
        offset_bytes: u64,
    ) -> Result<TransferResult, narrows_sys::SysErrno> {
        match self {
            Self::AtOffset => narrows_sys::file::pwrite(&object.file, part, offset_bytes),
            Self::AtPosition => object.transfer_at(offset_bytes, |file| narrows_sys::file::write(file, part)),
            Self::Vectors(count) => narrows_sys::file::pwritev(&object.file, part, count, offset_bytes),
        }
    }
}

impl Perform for Psync {
    fn perform(&mut self, request: &IoRequest, slots: &mut SlotBuffers) -> Result<u32, Errno> {
        let Self { objects, sync_count, calls } = self;
        let Some(object) = objects.get_mut(request.object as usize) else { return Err(Errno(INVALID)) };
        let start_bytes = object.part.place(request.offset_bytes, request.length_bytes);
        let Some(start_bytes) = start_bytes else { return Err(Errno(INVALID)) };
        match request.op {
            Op::Read => transfer(request.length_bytes, |done| {
                let part = &mut slots.part(request.slot, request.length_bytes)[done as usize..];
                calls.read(object, part, start_bytes + u64::from(done))
            }),
            Op::Write => {
                let written = transfer(request.length_bytes, |done| {
                    let part = &slots.part(request.slot, request.length_bytes)[done as usize..];
                    calls.write(object, part, start_bytes + u64::from(done))
                })?;
                if sync_count.is_due_after_write() {
                    sync_count.time(|| narrows_sys::file::fdatasync(&object.file)).map_err(errno)?;
                }
                Ok(written)
            }
            Op::Sync => narrows_sys::file::fdatasync(&object.file).map(|()| 0).map_err(errno),
            Op::Trim => {
                let length_bytes = u64::from(request.length_bytes);
                narrows_sys::file::punch_hole(&object.file, start_bytes, length_bytes)
                    .map(|()| request.length_bytes)
                    .map_err(errno)
            }
            _ => Err(Errno(INVALID)),
        }
    }

    fn sync_times(&self) -> Option<&Histogram> {
        self.sync_count.times()
    }
}

/// Repeats `step` (which receives how much is done) until all is moved or nothing more comes.
fn transfer(
    length_bytes: u32,
    mut step: impl FnMut(u32) -> Result<TransferResult, narrows_sys::SysErrno>,
) -> Result<u32, Errno> {
    let mut done = 0;
    while done < length_bytes {
        match step(done).map_err(errno)?.done_bytes() {
            0 => break,
            moved => done = done.saturating_add(u32::try_from(moved).unwrap_or(u32::MAX)),
        }
    }
    Ok(done)
}

fn errno(error: narrows_sys::SysErrno) -> Errno {
    Errno(error.raw())
}
