//! The memory that `null:copy` copies from and to in place of an object: beyond the caches of common CPUs, as the file of a
//! path is, since a copy within a cache is no ceiling of one.
//!
//! Hot path: handing out a block neither allocates nor copies.

use crate::contract::{OpenSpec, WorkerContext};
use crate::error::EngineError;
use narrows_model::units::saturate_usize;
use narrows_sys::buffer::AlignedBuffer;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Bytes that are copied from; those that the workers of a client copy to are as many together.
const REGION_BYTES: u64 = 64 << 20;

/// What the workers of this process read: each reads all of it. Separate parts would fit into caches where there are
/// more workers than CPUs.
static SHARED: Mutex<Weak<AlignedBuffer>> = Mutex::new(Weak::new());

/// The other side of a worker's copies.
#[derive(Debug)]
pub(super) struct Region {
    source: Arc<AlignedBuffer>,
    sink: AlignedBuffer,
    block_bytes: usize,
    /// Blocks handed out.
    block_count: usize,
}

impl Region {
    /// A region for the load of `spec`, no larger than its object; workers start at places of their own.
    ///
    /// # Errors
    /// When memory ran out.
    pub(super) fn new(spec: &OpenSpec, worker: &WorkerContext) -> Result<Self, EngineError> {
        let load = &spec.workload;
        let block = load.block_bytes.0.max(1);
        let object = REGION_BYTES.min(load.file_bytes.0);
        let writes = load.ops().iter().any(|share| share.op.moves_towards_device());
        let sink = if writes { object / u64::from(load.workers.max(1)) } else { block };
        let apart = object / block / u64::from(load.workers.max(1));
        Ok(Self {
            source: shared(saturate_usize(object.max(block)), worker.seed)?,
            sink: AlignedBuffer::new(saturate_usize(sink.max(block)))?,
            block_bytes: saturate_usize(block),
            block_count: saturate_usize(apart.saturating_mul(u64::from(worker.worker_index))),
        })
    }

    /// The next block to be read, or its first bytes.
    pub(super) fn read(&mut self, length_bytes: u32) -> &[u8] {
        let place = self.next(length_bytes, self.source.len());
        &self.source[place]
    }

    /// The next block to be written, or its first bytes.
    pub(super) fn write(&mut self, length_bytes: u32) -> &mut [u8] {
        let place = self.next(length_bytes, self.sink.len());
        &mut self.sink[place]
    }

    /// Where the next block is in a region: the one touched longest ago, whatever part of its object a worker visits.
    fn next(&mut self, length_bytes: u32, region_bytes: usize) -> std::ops::Range<usize> {
        let count = (region_bytes / self.block_bytes).max(1);
        let start = self.block_count % count * self.block_bytes;
        self.block_count = self.block_count.wrapping_add(1);
        start..start + saturate_usize(u64::from(length_bytes)).min(self.block_bytes)
    }
}

/// The process's region, made anew where there is none that is as large.
fn shared(length_bytes: usize, seed: u64) -> Result<Arc<AlignedBuffer>, EngineError> {
    let mut known = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.upgrade().filter(|found| found.len() == length_bytes) {
        return Ok(found);
    }
    let mut made = AlignedBuffer::with_entropy(length_bytes, seed)?;
    // Small pages cost a copy up to half its rate in lookups, which a file in huge pages would not pay.
    made.gather_pages();
    let made = Arc::new(made);
    *known = Arc::downgrade(&made);
    Ok(made)
}
