//! The engine that writes an object for a load to read: from its start to its end, as an upload in parts.
//!
//! No load is measured with it: S3 has no write to a range, which the declaration says. It takes writes in their order
//! alone; the object is there once it is closed.

use super::engine::ClientGauges;
use super::failure::S3Failure;
use super::uploads::ObjectWriter;
use narrows_engines::request::{Errno, IoCompletion};
use narrows_engines::{Completions, Engine, EngineError, IoRequest, ProtocolCounters, Slot, Tick};
use narrows_model::{Effective, Op};
use narrows_sys::buffer::AlignedBuffer;
use std::sync::PoisonError;

/// Writes one object.
pub(super) struct S3WriterEngine {
    pub(super) effective: Effective,
    pub(super) server: String,
    pub(super) writer: ObjectWriter,
    pub(super) blocks: Vec<AlignedBuffer>,
    pub(super) gauges: ClientGauges,
    pub(super) queued: Vec<IoRequest>,
    pub(super) done: Vec<IoCompletion>,
    pub(super) failure: Option<S3Failure>,
}

impl S3WriterEngine {
    fn write(&mut self, request: &IoRequest) -> Result<u32, S3Failure> {
        if request.op == Op::Sync {
            return Ok(0);
        }
        if request.op != Op::Write || request.offset_bytes != self.writer.written_bytes {
            return Err(S3Failure::unsupported("an object is written from its start to its end"));
        }
        let block = self.blocks.get(request.slot.0 as usize);
        let bytes = block.and_then(|block| block.get(..request.length_bytes as usize));
        self.writer.append(bytes.unwrap_or_default())?;
        Ok(request.length_bytes)
    }
}

impl Engine for S3WriterEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.blocks[slot.0 as usize]
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        let room = self.blocks.len().saturating_sub(self.queued.len() + self.done.len());
        let taken = room.min(requests.len());
        self.queued.extend_from_slice(&requests[..taken]);
        Ok(taken)
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        for request in std::mem::take(&mut self.queued) {
            let result = self.write(&request).map_err(|failure| {
                let errno = Errno(failure.errno.raw_os_error());
                self.failure = Some(failure);
                errno
            });
            self.done.push(IoCompletion { tag: request.tag, result });
        }
        Ok(())
    }

    fn reap(&mut self, _min: u32, _until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        out.extend_from_slice(&self.done);
        self.done.clear();
        match &self.failure {
            Some(failure) if failure.is_fatal => Err(failure.to_error("write", &self.server)),
            _ => Ok(()),
        }
    }

    fn failure_detail(&mut self, _tag: u32) -> Option<String> {
        self.failure.as_ref().map(|failure| failure.detail.clone())
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        let counts = self.gauges.counts.lock().unwrap_or_else(PoisonError::into_inner);
        (out.request_count, out.reply_count) = counts.totals();
        out.rpc = Some(counts.to_model());
        out.tcp = self.gauges.wire.tcp();
    }

    fn close(mut self: Box<Self>) -> Result<(), EngineError> {
        self.writer.finish().map_err(|failure| failure.to_error("write", &self.server))
    }
}
