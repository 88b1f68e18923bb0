//! Blocks that a worker changes and writes back to where it has just read them, after every so many reads.
//!
//! Both are requests of their own with separate times. What is written back belongs to its read: the bounds of the
//! window count only the reads, and a block that is due is written before anything else is read. One request is in
//! flight, so that its buffer still contains what was read. Hot path: no allocation.

use super::Worker;
use super::state::{QueueSlot, WorkerState};
use crate::assignment::Assignment;
use narrows_engines::{Clock, IoCompletion, IoRequest, Slot};
use narrows_model::Op;
use narrows_model::units::saturate_u32;

/// Index of the kind of requests that read, among those of such a load.
const READ: u32 = 0;
/// Index of the kind that writes back.
const WRITE: u32 = 1;

/// When a block is due, and where it is.
#[derive(Debug)]
pub(super) struct WriteBack {
    every: u32,
    length_bytes: u32,
    /// Reads since the last block that became due.
    read_count: u32,
    /// The offset of the last request.
    offset_bytes: u64,
    is_due: bool,
}

impl WriteBack {
    /// That of the assignment's workload; `None` where nothing is written back.
    pub(super) fn new(assignment: &Assignment) -> Option<Self> {
        let workload = &assignment.cell.workload;
        Some(Self {
            every: workload.write_back_every?.max(1),
            length_bytes: saturate_u32(workload.block_bytes.0),
            read_count: 0,
            offset_bytes: 0,
            is_due: false,
        })
    }

    /// Notes what completed: a block that was read whole may be due now.
    pub(super) fn note(&mut self, completions: &[IoCompletion], places: &[QueueSlot]) {
        for done in completions {
            if places[done.tag as usize].kind != READ || done.result != Ok(self.length_bytes) {
                continue;
            }
            self.read_count += 1;
            if self.read_count == self.every {
                (self.read_count, self.is_due) = (0, true);
            }
        }
    }
}

/// Whether a request of this kind belongs to one that the bounds have counted.
pub(super) fn is_uncounted(write_back: Option<&WriteBack>, kind: u32) -> bool {
    write_back.is_some() && kind == WRITE
}

impl WorkerState {
    /// The request that writes back what is due, in the place that is free.
    fn due(&mut self) -> Option<IoRequest> {
        let write_back = self.write_back.as_mut().filter(|write_back| write_back.is_due)?;
        let tag = self.free.pop()?;
        write_back.is_due = false;
        self.places[tag as usize].kind = WRITE;
        Some(IoRequest {
            tag,
            op: Op::Write,
            object: self.object,
            offset_bytes: write_back.offset_bytes,
            length_bytes: write_back.length_bytes,
            slot: Slot(tag),
        })
    }
}

impl<C: Clock + ?Sized> Worker<'_, C> {
    /// Makes the next request: what is due to be written back, or else a read.
    pub(super) fn fill_writing_back(&mut self, flight: &mut WorkerState) {
        if let Some(request) = flight.due() {
            self.stamp(&request, flight.stamp);
            flight.batch.push(request);
            return;
        }
        self.fill_batch::<false>(flight);
        if let (Some(write_back), Some(request)) = (&mut flight.write_back, flight.batch.last()) {
            write_back.offset_bytes = request.offset_bytes;
        }
    }
}
