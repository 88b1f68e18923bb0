//! Reads back and checks, after the load and outside of its time, what a verified load has left.
//!
//! What nobody happened to read again is checked so, and a load that only writes is checked at all. The last of a
//! client's workers to end does it, for then no write is in flight. Bounded in time: what is not read is counted.

use super::state::WorkerState;
use super::{REAP_SLICE_NS, Worker};
use narrows_engines::{Clock, EngineError, IoRequest, Slot, Tick};
use narrows_model::units::saturate_u32;
use narrows_model::verification::DATA_MISMATCH;
use narrows_model::{Bytes, Op};

/// Time after which nothing more is read back: a slow path has then been read for as long as many a trial takes.
const READ_BACK_NS_MAX: u64 = 10_000_000_000;

/// How far the reading back has come.
struct ReadBackProgress {
    next_bytes: u64,
    end_bytes: u64,
    block_bytes: u32,
    deadline_ns: u64,
    in_flight: usize,
    /// Of blocks that could not be asked for, or whose read failed.
    missed_bytes: u64,
}

impl<C: Clock + ?Sized> Worker<'_, C> {
    /// Ends this worker's part in a verified load; the last worker reads back the object's content.
    pub(super) fn verify_the_rest(&mut self, flight: &mut WorkerState, orderly: bool) {
        // Counters of the window end here, whatever follows.
        if flight.at_measure_end.is_none() {
            flight.at_measure_end = Some(self.marks());
        }
        let Some(verifier) = &mut flight.verifier else { return };
        if !verifier.table.ends_last() {
            return;
        }
        verifier.in_read_back = true;
        let mut progress = self.progress();
        let idle = flight.free.len() == flight.places.len();
        if orderly
            && idle
            && let Err(error) = self.read_back(flight, &mut progress)
        {
            flight.faults.note(Op::Read, &error.errno(), &error.to_string());
        }
        if let Some(verifier) = &mut flight.verifier {
            let left_bytes = progress.end_bytes - progress.next_bytes;
            let in_flight_bytes = progress.in_flight as u64 * u64::from(progress.block_bytes);
            verifier.found.unread_bytes = Bytes(left_bytes + in_flight_bytes + progress.missed_bytes);
        }
    }

    /// All blocks that the load could visit are still to be read.
    fn progress(&self) -> ReadBackProgress {
        let block_bytes = self.assignment.cell.workload.block_bytes.0.max(1);
        ReadBackProgress {
            next_bytes: 0,
            end_bytes: self.assignment.object_bytes.0 / block_bytes * block_bytes,
            block_bytes: saturate_u32(block_bytes),
            deadline_ns: self.clock.now().0.saturating_add(READ_BACK_NS_MAX),
            in_flight: 0,
            missed_bytes: 0,
        }
    }

    fn read_back(
        &mut self,
        flight: &mut WorkerState,
        progress: &mut ReadBackProgress,
    ) -> Result<(), EngineError> {
        let give_up_ns = progress.deadline_ns.saturating_add(self.assignment.answer_timeout_ns.0);
        loop {
            let now_ns = self.clock.now().0;
            if self.window.is_cancelled() || now_ns > give_up_ns {
                return Ok(());
            }
            if now_ns < progress.deadline_ns {
                self.ask(flight, progress)?;
            }
            if progress.in_flight == 0 {
                return Ok(());
            }
            flight.completions.clear();
            self.engine.reap(1, Tick(now_ns + REAP_SLICE_NS), &mut flight.completions)?;
            self.check_read_back(flight, progress);
        }
    }

    /// Asks for the next blocks, as many as there are free places.
    fn ask(&mut self, flight: &mut WorkerState, progress: &mut ReadBackProgress) -> Result<(), EngineError> {
        while progress.next_bytes < progress.end_bytes
            && let Some(tag) = flight.free.last().copied()
            && let Some(verifier) = &mut flight.verifier
        {
            let request = IoRequest {
                tag,
                op: Op::Read,
                object: flight.object,
                offset_bytes: progress.next_bytes,
                length_bytes: progress.block_bytes,
                slot: Slot(tag),
            };
            // A worker that gave up may have left a write in flight.
            let free = verifier.admit(&request, self.engine.as_mut());
            if free && self.engine.queue(&[request])? == 0 {
                drop(verifier.completed(tag, false, self.engine.as_mut()));
                break;
            }
            progress.next_bytes += u64::from(progress.block_bytes);
            if free {
                flight.free.pop();
                progress.in_flight += 1;
            } else {
                progress.missed_bytes += u64::from(progress.block_bytes);
            }
        }
        self.engine.commit()
    }

    fn check_read_back(&mut self, flight: &mut WorkerState, progress: &mut ReadBackProgress) {
        let WorkerState { completions, free, faults, verifier, .. } = flight;
        let Some(verifier) = verifier else { return };
        for done in completions.as_slice() {
            free.push(done.tag);
            progress.in_flight -= 1;
            let whole = done.result == Ok(progress.block_bytes);
            if !whole {
                progress.missed_bytes += u64::from(progress.block_bytes);
                let (errno, what) = match done.result {
                    Ok(moved) => {
                        ("SHORT".to_owned(), format!("moved {moved} of {} bytes", progress.block_bytes))
                    }
                    Err(errno) => (errno.name(), "failed".to_owned()),
                };
                let target = self.assignment.target();
                faults.note(Op::Read, &errno, &format!("reading back {what} on {target}"));
            }
            if let Some(mismatch) = verifier.completed(done.tag, whole, self.engine.as_mut()) {
                let target = self.assignment.target();
                faults.note(Op::Read, DATA_MISMATCH, &format!("{mismatch} on {target}"));
            }
        }
    }
}
