//! The engine `stdio`: the C library's buffered streams, as the classic suites use them, one request in flight per
//! worker.
//!
//! A request is one `fwrite` or `fread`, or a `putc` or `getc` for every byte of it. "Complete" means: in the stream's
//! buffer in this process, unless each request is flushed: then in the page cache (`fflush`) or durable (`fdatasync`,
//! `fsync`, and every so many writes). What a stream holds back is written when its worker ends; other workers do not see
//! it before, and what a stream has read ahead may be older than the file.
//! Hot path: no lock but the stream's own; the C library allocates its buffer at the first request.

use crate::contract::{Engine, EngineFactory, OpenSpec, WorkerContext};
use crate::error::EngineError;
use crate::files::{self, Files, Perform, SingleEngine, SingleFlight, SyncCount};
use crate::registry::EngineFacts;
use crate::request::{Errno, Request};
use crate::slots::{SlotBuffers, checked_depth};
use narrows_model::capabilities::{Capabilities, Completion, Support};
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{CacheState, StdioCalls, StdioFlush, StdioWishes, SyncPolicy};
use narrows_model::{Bytes, Effective, Op, Target};
use narrows_sys::stdio::{Stream, StreamMode};
use rustix::fs::{OFlags, fcntl_getfl};
use std::fs::File;
use std::os::fd::BorrowedFd;

#[cfg(test)]
mod tests;

/// What the engine is.
pub const INFO: EngineFacts = EngineFacts {
    id: "stdio",
    title: "the C library's buffered streams: fwrite, fread, putc, getc",
    targets: "PATH file:PATH",
    completion: "read: the bytes were copied from the stream; write: they are in the stream's buffer, or with `flush` \
                 in the page cache (fflush) or durable (fdatasync, fsync)",
    advice: "none: the stream fills its buffer by read(2), and the kernel reads ahead by what it sees",
    source: "fwrite(3), fread(3), putc(3), getc(3), fseeko(3), fflush(3), setvbuf(3)",
    example: "/srv/data",
};

/// A request that the engine was not opened for.
const INVALID: i32 = rustix::io::Errno::INVAL.raw_os_error();
/// Why there is no direct access.
const NO_DIRECT: &str = "a stream's buffer is not aligned as direct access wants it";

/// Makes `stdio` engines.
#[derive(Debug, Clone, Default)]
pub struct StdioFactory {
    files: Files,
}

impl StdioFactory {
    /// Files anywhere the user may go.
    #[must_use]
    pub fn unconfined() -> Self {
        Self { files: Files::unconfined() }
    }

    /// The same for files that are chosen already.
    pub(crate) fn of(files: Files) -> Self {
        Self { files }
    }
}

impl EngineFactory for StdioFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        let mut capabilities = self.files.capabilities(target, INFO.id, 1)?;
        capabilities.ops.retain(|op| *op != Op::Trim);
        Ok(Capabilities {
            direct: Support::No { reason: NO_DIRECT.to_owned() },
            alignment_bytes: Bytes(1),
            write_completion: Completion::InStreamBuffer,
            ..capabilities
        })
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let depth = checked_depth(spec, 1)?;
        files::refuse_direct(spec, NO_DIRECT)?;
        let wishes = spec.workload.stdio;
        let opened = self.files.open(spec)?;
        let streams = opened.files.into_iter().map(|file| stream(file, wishes)).collect::<Result<_, _>>()?;
        Ok(Box::new(SingleEngine {
            effective: Effective {
                write_completion: write_completion(spec),
                ..files::effective(INFO.id, spec, depth, Bytes(1))
            },
            slots: SlotBuffers::new(depth, spec.workload.block_bytes.0, worker.seed)?,
            performer: Stdio {
                streams,
                wishes,
                flushes_each: spec.workload.sync == SyncPolicy::Dsync,
                sync_count: SyncCount::new(spec.workload.sync),
                target: spec.target.to_string(),
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

/// A stream over `file`, for what the file is open for.
fn stream(file: File, wishes: StdioWishes) -> Result<Stream, EngineError> {
    let flags = fcntl_getfl(&file)
        .map_err(|errno| EngineError::from_io("examine", "an open file".to_owned(), errno.into()))?;
    let mode = if flags.contains(OFlags::RDWR) { StreamMode::Update } else { StreamMode::Read };
    Ok(Stream::new(file, mode, wishes.buffer_bytes.map(|bytes| saturate_usize(bytes.0)))?)
}

/// Where written bytes are when a request is complete.
fn write_completion(spec: &OpenSpec) -> Completion {
    match (spec.workload.stdio.flush, spec.workload.sync) {
        (StdioFlush::Fdatasync | StdioFlush::Fsync, _) | (_, SyncPolicy::Dsync | SyncPolicy::Every(1)) => {
            Completion::Durable
        }
        (StdioFlush::Fflush, _) => Completion::InPageCache,
        (StdioFlush::None, _) => Completion::InStreamBuffer,
    }
}

#[derive(Debug)]
struct Stdio {
    streams: Vec<Stream>,
    wishes: StdioWishes,
    /// The file is open so that every write is durable, and so none may stay behind in the stream.
    flushes_each: bool,
    sync_count: SyncCount,
    target: String,
}

impl Perform for Stdio {
    fn perform(&mut self, request: &Request, slots: &mut SlotBuffers) -> Result<u32, Errno> {
        let Some(stream) = self.streams.get_mut(request.object as usize) else { return Err(Errno(INVALID)) };
        let (block, offset_bytes) = (slots.part(request.slot, request.length_bytes), request.offset_bytes);
        let moved = match (request.op, self.wishes.calls) {
            (Op::Read, StdioCalls::Block) => stream.read_at(block, offset_bytes),
            (Op::Read, StdioCalls::Character) => stream.read_chars_at(block, offset_bytes),
            (Op::Write, calls) => {
                let written = match calls {
                    StdioCalls::Block => stream.write_at(block, offset_bytes),
                    StdioCalls::Character => stream.write_chars_at(block, offset_bytes),
                };
                written.and_then(|moved| {
                    flushed(stream, self.wishes.flush)?;
                    if self.sync_count.is_due_after_write() {
                        flushed(stream, StdioFlush::Fdatasync)?;
                    } else if self.flushes_each {
                        stream.flush()?;
                    }
                    Ok(moved)
                })
            }
            (Op::Sync, _) => flushed(stream, StdioFlush::Fdatasync).map(|()| 0),
            _ => return Err(Errno(INVALID)),
        };
        moved.map(|moved| saturate_u32(moved as u64)).map_err(|errno| Errno(errno.raw()))
    }

    fn finish(self) -> Result<(), EngineError> {
        let outcomes: Vec<_> = self.streams.into_iter().map(Stream::close).collect();
        outcomes.into_iter().collect::<Result<(), _>>().map_err(|errno| {
            let source = std::io::Error::from_raw_os_error(errno.raw());
            EngineError::from_io("write what a stream held back to", self.target, source)
        })
    }
}

/// Hands what `stream` holds on, as far as `flush` says.
fn flushed(stream: &mut Stream, flush: StdioFlush) -> Result<(), narrows_sys::Errno> {
    if flush == StdioFlush::None {
        return Ok(());
    }
    stream.flush()?;
    let file: BorrowedFd<'_> = stream.descriptor();
    let synced = match flush {
        StdioFlush::None | StdioFlush::Fflush => Ok(()),
        StdioFlush::Fdatasync => rustix::fs::fdatasync(file),
        StdioFlush::Fsync => rustix::fs::fsync(file),
    };
    synced.map_err(|errno| narrows_sys::Errno::from_raw(errno.raw_os_error()))
}
