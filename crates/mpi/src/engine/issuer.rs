//! Issues the requests of one rank: one call of MPI-IO each, one in flight.
//!
//! Calls of all ranks are made only where all of them make them (`lockstep`). Hot path: no allocation and no lock of ours.

use super::group::RankGroup;
use super::layout::BlockLayout;
use super::lockstep::Lockstep;
use crate::calls::RankTransfer;
use crate::failure::MpiFailure;
use crate::file::MpiFile;
use narrows_engines::request::{Errno, IoCompletion};
use narrows_engines::sync_count::SyncCount;
use narrows_engines::{Completions, Engine, EngineError, ErrorKind, IoRequest, ProtocolCounters, Slot, Tick};
use narrows_model::{Effective, Op};
use narrows_sys::buffer::AlignedBuffer;

/// A request that the engine was not opened for.
const EINVAL: i32 = 22;

/// One rank's engine.
pub(super) struct MpiioEngine {
    pub(super) effective: Effective,
    pub(super) block: AlignedBuffer,
    pub(super) layout: BlockLayout,
    pub(super) transfer: RankTransfer,
    /// The file; gone once it is closed or left.
    pub(super) file: Option<MpiFile>,
    /// The ranks that share the file; `None` where it is this rank's alone.
    pub(super) shared: Option<SharedFile>,
    pub(super) sync_count: SyncCount,
    /// A sync follows the load, outside of its time.
    pub(super) syncs_after_end: bool,
    pub(super) flight: OneRequest,
    /// For messages.
    pub(super) path: String,
}

/// What ranks that share a file have together.
pub(super) struct SharedFile {
    pub(super) group: RankGroup,
    pub(super) step: Lockstep,
}

/// The one request that is in flight, or done.
#[derive(Default)]
pub(super) struct OneRequest {
    pending: Option<IoRequest>,
    done: Option<IoCompletion>,
    count: u64,
    /// Why the last one failed.
    failure: String,
}

impl MpiioEngine {
    fn failed(&self, operation: &'static str, failure: &MpiFailure) -> EngineError {
        EngineError::new(ErrorKind::Io, operation, self.path.clone()).detail(failure.text.clone())
    }

    /// Whether `request` may be made now: a call of all ranks only where all of them make it.
    fn may_start(&mut self, request: &IoRequest) -> Result<bool, MpiFailure> {
        let is_transfer = matches!(request.op, Op::Read | Op::Write);
        match &mut self.shared {
            Some(shared) if is_transfer && self.transfer == RankTransfer::Collective => {
                shared.step.may_transfer(&mut shared.group)
            }
            _ => Ok(true),
        }
    }

    fn execute(&mut self, request: &IoRequest) -> Result<u32, MpiFailure> {
        match request.op {
            Op::Sync => self.sync().map(|()| 0),
            Op::Read | Op::Write => self.transfer(request),
            _ => Err(MpiFailure { text: format!("{} is no operation of MPI-IO", request.op), errno: EINVAL }),
        }
    }

    fn transfer(&mut self, request: &IoRequest) -> Result<u32, MpiFailure> {
        let Self { file: Some(file), layout, block, transfer, sync_count, .. } = self else {
            return Err(MpiFailure::invalid("the file is closed".to_owned()));
        };
        let length = usize::try_from(request.length_bytes).unwrap_or(usize::MAX).min(block.len());
        let bytes = &mut block[..length];
        // Refused before, so that no rank is left alone in a call of all.
        let offset = layout.call_offset(request.offset_bytes, request.length_bytes).unwrap_or_default();
        if request.op == Op::Read {
            return file.read_at(*transfer, offset, bytes);
        }
        let written = file.write_at(*transfer, offset, bytes);
        // Due on all ranks at once, also where the write of one has failed.
        if sync_count.is_due_after_write() {
            sync_count.time(|| file.sync())?;
        }
        written
    }

    /// Syncs the file; one that is shared once all ranks do.
    fn sync(&mut self) -> Result<(), MpiFailure> {
        let Some(file) = &self.file else { return Ok(()) };
        let may = match &mut self.shared {
            Some(shared) => shared.step.may_sync(&mut shared.group)?,
            None => true,
        };
        if may {
            return file.sync();
        }
        Err(MpiFailure::io(
            "a rank has ended without the sync that all have to make together; see its errors".to_owned(),
        ))
    }

    /// Closes the file; one that is shared once all ranks do. One whose ranks do not come any more is left open.
    fn end(&mut self) -> Result<(), MpiFailure> {
        let synced = if self.syncs_after_end { self.sync() } else { Ok(()) };
        let Some(file) = self.file.take() else { return synced };
        if let Some(shared) = &mut self.shared {
            let met = if shared.group.is_given_up() {
                // The request that found it has failed for that.
                Ok(())
            } else {
                shared.step.wait_for_close(&mut shared.group)
            };
            if met.is_err() || shared.group.is_given_up() {
                file.abandon();
                return synced.and(met);
            }
        }
        synced.and(file.close())
    }
}

impl Engine for MpiioEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, _slot: Slot) -> &mut [u8] {
        &mut self.block
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        let (None, None, Some(first)) = (self.flight.pending, self.flight.done, requests.first()) else {
            return Ok(0);
        };
        if first.op != Op::Sync && self.layout.call_offset(first.offset_bytes, first.length_bytes).is_none() {
            return Err(EngineError::new(ErrorKind::Unsupported, "queue", self.path.clone()).detail(
                format!(
                    "{} bytes at {} are outside of the rank's part",
                    first.length_bytes, first.offset_bytes
                ),
            ));
        }
        if !self.may_start(first).map_err(|failure| self.failed("continue on", &failure))? {
            return Ok(0);
        }
        self.flight.pending = Some(*first);
        Ok(1)
    }

    fn has_ended(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.step.has_ended())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        let Some(request) = self.flight.pending.take() else { return Ok(()) };
        self.flight.count += 1;
        let result = self.execute(&request).map_err(|failure| {
            self.flight.failure = failure.text;
            Errno(failure.errno)
        });
        self.flight.done = Some(IoCompletion { tag: request.tag, result });
        Ok(())
    }

    fn reap(&mut self, _min: u32, _until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        if let Some(done) = self.flight.done.take() {
            out.push(done);
        }
        Ok(())
    }

    fn failure_detail(&mut self, _tag: u32) -> Option<String> {
        Some(self.flight.failure.clone()).filter(|failure| !failure.is_empty())
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        out.request_count = self.flight.count;
        out.reply_count = self.flight.count;
        out.syncs = self.sync_count.times().cloned();
    }

    fn close(mut self: Box<Self>) -> Result<(), EngineError> {
        self.end().map_err(|failure| self.failed("close", &failure))
    }
}

impl Drop for MpiioEngine {
    fn drop(&mut self) {
        // Of an engine that was not closed: the others may not come to close a shared one.
        if let Some(file) = self.file.take().filter(|_| self.shared.is_some()) {
            file.abandon();
        }
    }
}
