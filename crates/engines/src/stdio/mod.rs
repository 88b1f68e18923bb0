//! The engine `stdio`: the C library's buffered streams, as the classic suites use them, one request in flight per
//! worker.
//!
//! A request is one `fwrite` or `fread`, or a `putc` or `getc` for every byte of it. "Complete" means: in the stream's
//! buffer in this process, unless each request is flushed: then in the page cache (`fflush`) or durable (`fdatasync`,
//! `fsync`, and every so many writes). What a stream has buffered is written when its worker ends; other workers do not
//! see it before, and what a stream has read ahead may be older than the file. Hot path: no lock but the stream's own;
//! the C library allocates its buffer at the first request.

use crate::contract::{Engine, EngineFactory, OpenSpec, WorkerContext};
use crate::error::EngineError;
use crate::files::{self, Files, Perform, SingleEngine, SingleFlight, SyncCount};
use crate::request::{Errno, IoRequest};
use crate::slots::{SlotBuffers, checked_depth};
use narrows_model::capabilities::{Capabilities, Completion};
use narrows_model::engine::{self, EngineDeclaration};
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{CacheState, StdioCalls, StdioFlush, StdioOptions, SyncPolicy};
use narrows_model::{Bytes, Effective, Histogram, Op, Target};
use narrows_sys::stdio::{StdioStream, StreamMode};
use rustix::fs::{OFlags, fcntl_getfl};
use std::fs::File;
use std::os::fd::BorrowedFd;

#[cfg(test)]
mod tests;

/// What the engine declares.
pub const INFO: &EngineDeclaration = &engine::stdio::DECLARATION;

/// A request that the engine was not opened for.
const INVALID: i32 = rustix::io::Errno::INVAL.raw_os_error();

/// Makes `stdio` engines.
#[derive(Debug, Clone, Default)]
pub struct StdioFactory {
    files: Files,
}

impl StdioFactory {
    /// Files anywhere the user may access.
    #[must_use]
    pub fn unconfined() -> Self {
        Self { files: Files::unconfined() }
    }

    /// The same for files that are chosen already.
    pub(crate) fn with_files(files: Files) -> Self {
        Self { files }
    }
}

impl EngineFactory for StdioFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        self.files.capabilities(target, INFO)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let depth = checked_depth(spec, INFO.queue_depth_max)?;
        files::refuse_direct(spec, INFO.no_direct_reason())?;
        let options = spec.workload.stdio;
        let opened = self.files.open(spec)?.whole_files(INFO.name(), spec)?;
        let streams = opened.into_iter().map(|file| stream(file, options)).collect::<Result<_, _>>()?;
        Ok(Box::new(SingleEngine {
            effective: Effective {
                write_completion: write_completion(spec),
                ..files::effective(INFO.name(), spec, depth, Bytes(1))
            },
            slots: SlotBuffers::new(depth, spec.workload.block_bytes.0, worker.seed)?,
            performer: Stdio {
                streams,
                options,
                flushes_each: spec.workload.sync == SyncPolicy::Dsync,
                sync_count: SyncCount::new(spec.workload.sync, &worker.clock),
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
fn stream(file: File, options: StdioOptions) -> Result<StdioStream, EngineError> {
    let flags = fcntl_getfl(&file)
        .map_err(|errno| EngineError::from_io("examine", "an open file".to_owned(), errno.into()))?;
    let mode = if flags.contains(OFlags::RDWR) { StreamMode::Update } else { StreamMode::Read };
    Ok(StdioStream::new(file, mode, options.buffer_bytes.map(|bytes| saturate_usize(bytes.0)))?)
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
    streams: Vec<StdioStream>,
    options: StdioOptions,
    /// The file is open so that every write is durable, and so none may stay behind in the stream.
    flushes_each: bool,
    sync_count: SyncCount,
    target: String,
}

impl Perform for Stdio {
    fn perform(&mut self, request: &IoRequest, slots: &mut SlotBuffers) -> Result<u32, Errno> {
        let Some(stream) = self.streams.get_mut(request.object as usize) else { return Err(Errno(INVALID)) };
        let (block, offset_bytes) = (slots.part(request.slot, request.length_bytes), request.offset_bytes);
        let moved = match (request.op, self.options.calls) {
            (Op::Read, StdioCalls::Block) => stream.read_at(block, offset_bytes),
            (Op::Read, StdioCalls::Character) => stream.read_chars_at(block, offset_bytes),
            (Op::Write, calls) => {
                let written = match calls {
                    StdioCalls::Block => stream.write_at(block, offset_bytes),
                    StdioCalls::Character => stream.write_chars_at(block, offset_bytes),
                };
                written.and_then(|moved| {
                    flush_stream(stream, self.options.flush)?;
                    if self.sync_count.is_due_after_write() {
                        self.sync_count.time(|| flush_stream(stream, StdioFlush::Fdatasync))?;
                    } else if self.flushes_each {
                        stream.flush()?;
                    }
                    Ok(moved)
                })
            }
            (Op::Sync, _) => flush_stream(stream, StdioFlush::Fdatasync).map(|()| 0),
            _ => return Err(Errno(INVALID)),
        };
        moved.map(|moved| saturate_u32(moved as u64)).map_err(|errno| Errno(errno.raw()))
    }

    fn sync_times(&self) -> Option<&Histogram> {
        self.sync_count.times()
    }

    fn finish(self) -> Result<(), EngineError> {
        let outcomes: Vec<_> = self.streams.into_iter().map(StdioStream::close).collect();
        outcomes.into_iter().collect::<Result<(), _>>().map_err(|errno| {
            let source = std::io::Error::from_raw_os_error(errno.raw());
            EngineError::from_io("flush a stream's buffer to", self.target, source)
        })
    }
}

/// Writes out what `stream` has buffered, as far as `flush` asks.
fn flush_stream(stream: &mut StdioStream, flush: StdioFlush) -> Result<(), narrows_sys::SysErrno> {
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
    synced.map_err(|errno| narrows_sys::SysErrno::from_raw(errno.raw_os_error()))
}
