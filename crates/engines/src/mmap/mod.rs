//! The engine `mmap`: copies from and into a file that is mapped into memory, one request in flight per worker.
//!
//! "Complete" means: copied from the mapping, or into it (in the page cache), or durable (`msync` with `MS_SYNC`, after
//! each write, every so many, or when asked). A page that is not available is an `EIO` of that request. A new file
//! grows when it is opened, with its space reserved, since a full device could not be reported during a copy; a file
//! system that cannot reserve leaves a hole there, and a lack of space is then an `EIO` of the write. One whose data
//! were laid down never grows. Hot path: no allocation, no lock, no system call but for syncs.

use crate::contract::{Engine, EngineFactory, OpenSpec, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::files::{self, Files, Perform, SingleEngine, SingleFlight, SyncCount};
use crate::request::{Errno, IoRequest};
use crate::slots::{SlotBuffers, checked_depth};
use narrows_model::capabilities::Capabilities;
use narrows_model::engine::{self, EngineDeclaration};
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{CacheState, Order, SyncPolicy};
use narrows_model::{Bytes, Histogram, Op, Target};
use narrows_sys::file::reserve;
use narrows_sys::mapping::{FileMapping, MappingAccess, VisitOrder};
use std::fs::File;

#[cfg(test)]
mod tests;

/// What the engine declares.
pub const INFO: &EngineDeclaration = &engine::mmap::DECLARATION;

/// A request that the engine was not opened for.
const INVALID: i32 = rustix::io::Errno::INVAL.raw_os_error();
/// The file system cannot reserve room.
const NOT_OFFERED: i32 = rustix::io::Errno::OPNOTSUPP.raw_os_error();

/// Makes `mmap` engines.
#[derive(Debug, Clone, Default)]
pub struct MmapFactory {
    files: Files,
}

impl MmapFactory {
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

impl EngineFactory for MmapFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        self.files.capabilities(target, INFO)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let depth = checked_depth(spec, INFO.queue_depth_max)?;
        files::refuse_direct(spec, INFO.no_direct_reason())?;
        let opened = self.files.open(spec)?.whole_files(INFO.name(), spec)?;
        let mappings = opened.into_iter().map(|file| map(file, spec)).collect::<Result<_, _>>()?;
        Ok(Box::new(SingleEngine {
            effective: files::effective(INFO.name(), spec, depth, Bytes(1)),
            slots: SlotBuffers::new(depth, spec.workload.block_bytes.0, worker.seed)?,
            performer: Mmap {
                mappings,
                sync_each: spec.workload.sync == SyncPolicy::Dsync,
                sync_count: SyncCount::new(spec.workload.sync, &worker.clock),
            },
            flight: SingleFlight::default(),
        }))
    }

    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
        self.files.bring_cache_to(spec, state)
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        self.files.remove(spec)
    }
}

/// `file` as a whole in memory, grown to the size of objects where they may be made and contain no data yet.
fn map(file: File, spec: &OpenSpec) -> Result<FileMapping, EngineError> {
    let failed = |operation, source| EngineError::from_io(operation, spec.target.to_string(), source);
    let mut length_bytes = file.metadata().map_err(|error| failed("examine", error))?.len();
    if spec.create && !spec.laid_down && length_bytes < spec.object_bytes.0 {
        grow(&file, length_bytes, spec.object_bytes.0).map_err(|error| failed("reserve space in", error))?;
        length_bytes = spec.object_bytes.0;
    }
    if length_bytes == 0 {
        return Err(EngineError::new(ErrorKind::Unsupported, "map", spec.target.to_string())
            .detail("an empty file cannot be mapped")
            .hint("give a file with content, or use the engine psync"));
    }
    let reads_alone = !spec.create && spec.workload.ops().iter().all(|share| share.op == Op::Read);
    let access = if reads_alone { MappingAccess::Read } else { MappingAccess::ReadWrite };
    let mut mapping = FileMapping::new(file, length_bytes, access).map_err(|error| {
        EngineError::from(error).hint("if this file system does not support mmap, use the engine psync")
    })?;
    mapping.advise(visit_order(spec.workload.order)).map_err(|errno| failed("advise on", errno.into()))?;
    Ok(mapping)
}

/// The access order that the kernel is given: random alone forbids reading ahead, for backward and strides it may.
fn visit_order(order: Order) -> VisitOrder {
    match order {
        Order::Sequential => VisitOrder::Sequential,
        Order::Random | Order::RandomWithReplacement | Order::Zipf { .. } => VisitOrder::Random,
        Order::Backward | Order::Stride { .. } | Order::OneBlock | Order::Listing => VisitOrder::Normal,
    }
}

/// Grows `file` from `from_bytes` to `to_bytes`, with its room where the file system can reserve it.
fn grow(file: &File, from_bytes: u64, to_bytes: u64) -> std::io::Result<()> {
    match reserve(file, to_bytes) {
        Ok(()) => Ok(()),
        Err(errno) if errno.raw() == NOT_OFFERED => file.set_len(to_bytes),
        Err(errno) => {
            // A partial reservation is of no use; if giving it back fails too, the error of the reservation is
            // reported.
            drop(file.set_len(from_bytes));
            Err(errno.into())
        }
    }
}

#[derive(Debug)]
struct Mmap {
    mappings: Vec<FileMapping>,
    sync_each: bool,
    sync_count: SyncCount,
}

impl Perform for Mmap {
    fn perform(&mut self, request: &IoRequest, slots: &mut SlotBuffers) -> Result<u32, Errno> {
        let Some(mapping) = self.mappings.get_mut(request.object as usize) else {
            return Err(Errno(INVALID));
        };
        let (offset_bytes, length_bytes) = (request.offset_bytes, u64::from(request.length_bytes));
        let moved = match request.op {
            Op::Read => mapping.copy_out(offset_bytes, slots.part(request.slot, request.length_bytes)),
            Op::Write => {
                let block = slots.part(request.slot, request.length_bytes);
                mapping.copy_in(offset_bytes, block).and_then(|moved| {
                    if self.sync_each {
                        mapping.sync(offset_bytes, length_bytes)?;
                    } else if self.sync_count.is_due_after_write() {
                        self.sync_count.time(|| mapping.sync(0, 0))?;
                    }
                    Ok(moved)
                })
            }
            Op::Sync => mapping.sync(offset_bytes, length_bytes).map(|()| 0),
            Op::Trim => mapping.punch_hole(offset_bytes, length_bytes).map(|()| saturate_usize(length_bytes)),
            _ => return Err(Errno(INVALID)),
        };
        moved.map(|moved| saturate_u32(moved as u64)).map_err(|errno| Errno(errno.raw()))
    }

    fn sync_times(&self) -> Option<&Histogram> {
        self.sync_count.times()
    }
}
