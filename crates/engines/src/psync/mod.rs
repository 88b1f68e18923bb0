//! The engine `psync`: `pread` and `pwrite` on a file, one request in flight per worker.
//!
//! "Complete" means: in the page cache (buffered), on the device (`O_DIRECT`), or durable (`O_DSYNC`, and every
//! so many writes with `fdatasync`). What the file system refuses is an error, never done in another way.
//! Hot path: no allocation, no lock; the system call is the work.

use crate::clock::Tick;
use crate::contract::{Engine, EngineFactory, OpenSpec, ProtocolCounters, WorkerContext};
use crate::error::EngineError;
use crate::registry::EngineFacts;
use crate::request::{Completion, Completions, Errno, Request, Slot};
use crate::slots::{SlotBuffers, checked_depth};
use narrows_model::capabilities::{Capabilities, Completion as CompletionMeaning, Support};
use narrows_model::workload::{Access, CacheState, SyncPolicy};
use narrows_model::{Bytes, Effective, Op, Target};
use std::fs::File;
use std::sync::Arc;

mod cache;
mod folder;
mod place;
#[cfg(test)]
mod tests;

pub use folder::{FolderError, TestFolder};
use place::Place;

/// What the engine is.
pub const INFO: EngineFacts = EngineFacts {
    id: "psync",
    title: "pread and pwrite on a file, buffered or direct",
    targets: "PATH file:PATH",
    completion: "in the page cache (buffered), on the device (O_DIRECT), durable (O_DSYNC, fdatasync)",
    source: "pread(2), pwrite(2), open(2)",
    example: "/srv/data",
};

/// A request that the engine was not opened for.
const INVALID: i32 = rustix::io::Errno::INVAL.raw_os_error();

/// Makes `psync` engines.
#[derive(Debug, Clone, Default)]
pub struct PsyncFactory {
    confinement: Option<Arc<File>>,
}

impl PsyncFactory {
    /// Files anywhere the user may go.
    #[must_use]
    pub fn unconfined() -> Self {
        Self { confinement: None }
    }

    /// Files beneath the open `folder` alone; paths of targets are relative to it.
    #[must_use]
    pub fn confined(folder: File) -> Self {
        Self { confinement: Some(Arc::new(folder)) }
    }

    fn place(&self, spec: &OpenSpec, object: &str) -> Result<Place, EngineError> {
        Place::new(self.confinement.as_ref(), &spec.target, object)
    }
}

impl EngineFactory for PsyncFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        let direct = Place::new(self.confinement.as_ref(), target, "")?.direct_support()?;
        Ok(Capabilities {
            engine: INFO.id.to_owned(),
            ops: vec![Op::Read, Op::Write, Op::Sync],
            queue_depth_max: 1,
            alignment_bytes: direct.alignment_bytes,
            direct: direct.support,
            durable_writes: Support::Yes,
            stores_data: true,
            write_completion: CompletionMeaning::InPageCache,
            lockstep: false,
        })
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let depth = checked_depth(spec, 1)?;
        let mut files = Vec::with_capacity(spec.objects.len());
        for object in &spec.objects {
            files.push(self.place(spec, object)?.open(spec)?);
        }
        let alignment_bytes = match (spec.workload.access, files.first()) {
            (Access::Direct, Some(file)) => cache::checked_alignment(file, spec)?,
            _ => Bytes(1),
        };
        Ok(Box::new(PsyncEngine {
            effective: effective(spec, depth, alignment_bytes),
            slots: SlotBuffers::new(depth, spec.workload.block_bytes.0, worker.seed)?,
            files,
            sync_every: match spec.workload.sync {
                SyncPolicy::Every(count) => Some(count.max(1)),
                _ => None,
            },
            writes_since_sync: 0,
            pending: None,
            done: None,
            request_count: 0,
        }))
    }

    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
        let mut shares = Vec::with_capacity(spec.objects.len());
        for object in &spec.objects {
            shares.push(cache::bring_to(&self.place(spec, object)?, state)?);
        }
        let known: Option<Vec<f64>> = shares.into_iter().collect();
        Ok(known
            .filter(|known| !known.is_empty())
            .map(|known| known.iter().sum::<f64>() / known.len() as f64))
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        for object in spec.objects.iter().filter(|object| !object.is_empty()) {
            self.place(spec, object)?.remove()?;
        }
        Ok(())
    }
}

fn effective(spec: &OpenSpec, queue_depth: u32, alignment_bytes: Bytes) -> Effective {
    let write_completion = match (spec.workload.sync, spec.workload.access) {
        (SyncPolicy::Dsync | SyncPolicy::Every(1), _) => CompletionMeaning::Durable,
        (_, Access::Direct) => CompletionMeaning::OnDevice,
        (_, Access::Buffered) => CompletionMeaning::InPageCache,
    };
    Effective {
        engine: INFO.id.to_owned(),
        access: Some(spec.workload.access),
        queue_depth,
        sync: spec.workload.sync,
        acknowledgement: None,
        write_completion,
        alignment_bytes,
        connection: None,
        ring: None,
    }
}

#[derive(Debug)]
struct PsyncEngine {
    effective: Effective,
    slots: SlotBuffers,
    files: Vec<File>,
    sync_every: Option<u32>,
    writes_since_sync: u32,
    pending: Option<Request>,
    done: Option<Completion>,
    request_count: u64,
}

impl PsyncEngine {
    fn perform(&mut self, request: &Request) -> Result<u32, Errno> {
        let Some(file) = self.files.get(request.object as usize) else { return Err(Errno(INVALID)) };
        match request.op {
            Op::Read => transfer(request.length_bytes, |done| {
                let part = &mut self.slots.part(request.slot, request.length_bytes)[done as usize..];
                narrows_sys::file::pread(file, part, request.offset_bytes + u64::from(done))
            }),
            Op::Write => {
                let written = transfer(request.length_bytes, |done| {
                    let part = &self.slots.part(request.slot, request.length_bytes)[done as usize..];
                    narrows_sys::file::pwrite(file, part, request.offset_bytes + u64::from(done))
                })?;
                self.sync_when_due(request.object)?;
                Ok(written)
            }
            Op::Sync => narrows_sys::file::fdatasync(file).map(|()| 0).map_err(errno),
            _ => Err(Errno(INVALID)),
        }
    }

    fn sync_when_due(&mut self, object: u32) -> Result<(), Errno> {
        let Some(every) = self.sync_every else { return Ok(()) };
        self.writes_since_sync += 1;
        if self.writes_since_sync < every {
            return Ok(());
        }
        self.writes_since_sync = 0;
        match self.files.get(object as usize) {
            Some(file) => narrows_sys::file::fdatasync(file).map_err(errno),
            None => Ok(()),
        }
    }
}

/// Repeats `step` (which is told how much is done) until all is moved or nothing more comes.
fn transfer(
    length_bytes: u32,
    mut step: impl FnMut(u32) -> Result<narrows_sys::file::Transfer, narrows_sys::Errno>,
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

fn errno(error: narrows_sys::Errno) -> Errno {
    Errno(error.raw())
}

impl Engine for PsyncEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.slots.slot(slot)
    }

    fn queue(&mut self, requests: &[Request]) -> Result<usize, EngineError> {
        match (self.pending, self.done, requests.first()) {
            (None, None, Some(first)) => {
                self.pending = Some(*first);
                Ok(1)
            }
            _ => Ok(0),
        }
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        if let Some(request) = self.pending.take() {
            self.request_count += 1;
            let result = self.perform(&request);
            self.done = Some(Completion { tag: request.tag, result });
        }
        Ok(())
    }

    fn reap(&mut self, _min: u32, _until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        if let Some(done) = self.done.take() {
            out.push(done);
        }
        Ok(())
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        out.request_count = self.request_count;
        out.reply_count = self.request_count;
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}
