//! The engine `null`: every request completes at once; with `copy`, after one copy of its block in memory.
//!
//! It measures the load generator itself. "Complete" means: nothing was done (`null:`), or the block was copied
//! once (`null:copy`). Hot path: no allocation, no lock, no system call.

use crate::clock::Tick;
use crate::contract::{Engine, EngineFactory, OpenSpec, ProtocolCounters, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::request::{Completions, Errno, IoCompletion, IoRequest, Slot};
use crate::slots::{SlotBuffers, checked_depth};
use narrows_model::capabilities::{Capabilities, Completion};
use narrows_model::engine::{self, EngineDeclaration};
use narrows_model::workload::CacheState;
use narrows_model::{Bytes, Effective, Target};
use region::Region;
use ring::CompletionRing;

mod region;
mod ring;
#[cfg(test)]
mod tests;

/// What the engine declares.
pub const INFO: &EngineDeclaration = &engine::null::DECLARATION;

/// Makes `null` engines.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullFactory;

impl EngineFactory for NullFactory {
    fn capabilities(&self, _target: &Target) -> Result<Capabilities, EngineError> {
        Ok(INFO.capabilities())
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let Target::Null { copy } = spec.target else {
            return Err(EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string())
                .detail("the engine null supports only null:"));
        };
        let depth = checked_depth(spec, INFO.queue_depth_max)?;
        let block_bytes = spec.workload.block_bytes.0;
        let other_side = if copy { Some(Region::new(spec, worker)?) } else { None };
        let effective = Effective {
            engine: INFO.name().to_owned(),
            access: None,
            queue_depth: depth,
            sync: narrows_model::workload::SyncPolicy::None,
            acknowledgement: None,
            write_completion: Completion::Nothing,
            alignment_bytes: Bytes(1),
            connection: None,
            ring: None,
            has_own_file_table: false,
        };
        Ok(Box::new(NullEngine {
            effective,
            slots: SlotBuffers::new(depth, block_bytes, worker.seed)?,
            other_side,
            queued: CompletionRing::with_capacity(depth as usize),
            request_count: 0,
        }))
    }

    fn bring_cache_to(&self, _spec: &OpenSpec, _state: CacheState) -> Result<Option<f64>, EngineError> {
        Ok(None)
    }

    fn remove(&self, _spec: &OpenSpec) -> Result<(), EngineError> {
        Ok(())
    }
}

#[derive(Debug)]
struct NullEngine {
    effective: Effective,
    slots: SlotBuffers,
    other_side: Option<Region>,
    queued: CompletionRing,
    request_count: u64,
}

impl NullEngine {
    fn copy(&mut self, request: &IoRequest) {
        let Some(other) = &mut self.other_side else { return };
        let own = self.slots.part(request.slot, request.length_bytes);
        if request.op.moves_towards_device() {
            narrows_sys::memory::black_box_copy(other.write(request.length_bytes), own);
        } else {
            narrows_sys::memory::black_box_copy(own, other.read(request.length_bytes));
        }
    }
}

impl Engine for NullEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.slots.slot(slot)
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        let taken = &requests[..requests.len().min(self.queued.room())];
        if self.other_side.is_some() {
            for request in taken {
                self.copy(request);
            }
        }
        for request in taken {
            self.queued.push(IoCompletion { tag: request.tag, result: Ok(request.length_bytes) });
        }
        self.request_count += taken.len() as u64;
        Ok(taken.len())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        self.queued.commit();
        Ok(())
    }

    /// No more than asked for: a real engine hands over about as many completions as are waited for, and the
    /// generator must be measured at that pace, not at one turn of its loop for a whole queue. A look without waiting
    /// (`min` of zero) sees all that are done.
    fn reap(&mut self, min: u32, _until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let asked = if min == 0 { usize::MAX } else { min as usize };
        for part in self.queued.take(asked) {
            out.extend_from_slice(part);
        }
        Ok(())
    }

    fn perform(&mut self, request: &IoRequest) -> Option<Result<u32, Errno>> {
        if self.effective.queue_depth != 1 {
            return None;
        }
        self.copy(request);
        self.request_count += 1;
        Some(Ok(request.length_bytes))
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        out.request_count = self.request_count;
        out.reply_count = self.request_count;
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}
