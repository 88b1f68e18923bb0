//! Writing one object from its start, in steps that reach the device, within the time that preparation has.

use super::limit::{FillProgress, PREPARE_NS_MAX};
use super::{BLOCK_BYTES, PrepareContext, REAP_SLICE_NS, open};
use crate::error::RunError;
use crate::verify::UnitContent;
use narrows_engines::{Completions, Engine, EngineError, IoRequest, OpenSpec, Slot, Tick};
use narrows_model::units::saturate_u32;
use narrows_model::workload::Prefill;
use narrows_model::{Bytes, Nanos, Op};

/// Bytes of the first step after which what was written must reach the device: memory takes a whole object in no
/// time, and a slow device would then be waited for long after the time for preparation. One block: over a link that loses
/// packets, more of them would take seconds.
const STEP_BYTES: u64 = BLOCK_BYTES;
/// A step that took less than this part of the time for an object is doubled, so that a fast device hardly notices them.
const STEP_DIVISOR: u64 = 8;

/// Why an object was not filled, and the bytes from its start that are on the device.
#[derive(Debug)]
pub(super) struct FillFailure {
    pub(super) synced: Bytes,
    pub(super) error: RunError,
}

impl<E: Into<RunError>> From<E> for FillFailure {
    fn from(error: E) -> Self {
        Self { synced: Bytes(0), error: error.into() }
    }
}

/// Writes the object of `spec` from its start until it is whole, or large enough when time is up: with generation 0 of
/// `content` where it is to be verified.
pub(super) fn fill(
    spec: &OpenSpec,
    content: Option<UnitContent>,
    needed: Bytes,
    prepare: &PrepareContext<'_>,
) -> Result<Bytes, FillFailure> {
    let mut spec = spec.clone();
    let began_ns = prepare.clock.now().0;
    let engine = open(&mut spec, prepare)?;
    let mut filling = ObjectFiller::new(engine, &spec, content, prepare.clock.now().0);
    let (fill_ns, deadline_ns, needed) = match spec.workload.prefill {
        Prefill::Timed => {
            let fill_ns = prepare.limit.fill_ns(began_ns);
            (fill_ns, began_ns + fill_ns, needed)
        }
        Prefill::Whole | Prefill::Nothing | Prefill::Kept => {
            (PREPARE_NS_MAX, u64::MAX, spec.workload.file_bytes)
        }
    };
    let step_short_ns = fill_ns / STEP_DIVISOR;
    filling
        .write(needed, deadline_ns, step_short_ns, prepare)
        .map_err(|error| FillFailure { synced: filling.synced, error })?;
    filling.engine.close()?;
    Ok(filling.synced)
}

/// An object being filled.
pub(super) struct ObjectFiller {
    pub(super) engine: Box<dyn Engine>,
    content: Option<UnitContent>,
    block_bytes: u64,
    end_bytes: u64,
    step_bytes: u64,
    /// Nothing beyond this is submitted before what is below it is synced.
    step_end_bytes: u64,
    began_ns: u64,
    step_began_ns: u64,
    /// The rate of the step before, 0 in the first.
    step_bytes_per_s: f64,
    submitted_bytes: u64,
    done_bytes: u64,
    /// What of it is on the device.
    synced: Bytes,
    free: Vec<u32>,
    completions: Completions,
    target: String,
}

impl ObjectFiller {
    pub(super) fn new(
        engine: Box<dyn Engine>,
        spec: &OpenSpec,
        content: Option<UnitContent>,
        began_ns: u64,
    ) -> Self {
        let depth = spec.workload.queue_depth;
        Self {
            engine,
            content,
            block_bytes: spec.workload.block_bytes.0,
            end_bytes: spec.workload.file_bytes.0,
            step_bytes: STEP_BYTES,
            step_end_bytes: STEP_BYTES,
            began_ns,
            step_began_ns: began_ns,
            step_bytes_per_s: 0.0,
            submitted_bytes: 0,
            done_bytes: 0,
            synced: Bytes(0),
            free: (0..depth).rev().collect(),
            completions: Completions::with_capacity(depth as usize),
            target: spec.target.to_string(),
        }
    }

    /// Writes until the object is whole, or `needed` when `deadline_ns` has passed; a step that takes less than `short_ns` is
    /// followed by one of twice its size.
    fn write(
        &mut self,
        needed: Bytes,
        deadline_ns: u64,
        short_ns: u64,
        prepare: &PrepareContext<'_>,
    ) -> Result<(), RunError> {
        let depth = self.free.len();
        loop {
            let now_ns = prepare.clock.now().0;
            let enough = now_ns >= deadline_ns && self.submitted_bytes >= needed.0;
            if prepare.stop.is_now() {
                return Err(RunError::Stopped);
            }
            self.check_time(now_ns, needed, prepare)?;
            if !enough {
                self.submit()?;
            }
            if self.free.len() < depth {
                self.reap(now_ns)?;
                continue;
            }
            self.sync(needed, prepare)?;
            self.synced = Bytes(self.done_bytes);
            if enough || self.is_whole() {
                return prepare.limit.check(prepare.clock.now().0);
            }
            self.next_step(prepare.clock.now().0, short_ns);
        }
    }

    /// Whether no further block fits the object.
    fn is_whole(&self) -> bool {
        self.submitted_bytes + self.block_bytes > self.end_bytes
    }

    /// Fails where no time is left, or where the rest of the `needed` bytes will not be done in it even if the step that is on
    /// its way is done now.
    fn check_time(&self, now_ns: u64, needed: Bytes, prepare: &PrepareContext<'_>) -> Result<(), RunError> {
        prepare.limit.check(now_ns)?;
        let elapsed_ns = now_ns.saturating_sub(self.began_ns).max(1);
        let mean = self.step_end_bytes as f64 / Nanos(elapsed_ns).as_secs_f64();
        let progress = FillProgress {
            began_ns: self.began_ns,
            rest_bytes: needed.0.saturating_sub(self.step_end_bytes),
            bytes_per_s: mean.max(self.step_bytes_per_s),
        };
        prepare.limit.check_rate(now_ns, progress)
    }

    /// Begins the step after one that is on the device: twice as large where that took less than `short_ns`.
    fn next_step(&mut self, now_ns: u64, short_ns: u64) {
        let step_ns = now_ns.saturating_sub(self.step_began_ns);
        self.step_bytes_per_s = self.step_bytes as f64 / Nanos(step_ns.max(1)).as_secs_f64();
        if step_ns < short_ns {
            self.step_bytes = self.step_bytes.saturating_mul(2);
        }
        self.step_began_ns = now_ns;
        self.step_end_bytes = self.submitted_bytes.saturating_add(self.step_bytes);
    }

    fn submit(&mut self) -> Result<(), EngineError> {
        while !self.is_whole() && self.submitted_bytes < self.step_end_bytes {
            let Some(tag) = self.free.last().copied() else { break };
            let block = self.engine.buffer(Slot(tag));
            match self.content {
                Some(content) => content.fill(block, self.submitted_bytes, |_| 0),
                None => number_parts(block, self.submitted_bytes),
            }
            let request = IoRequest {
                tag,
                op: Op::Write,
                object: 0,
                offset_bytes: self.submitted_bytes,
                length_bytes: saturate_u32(self.block_bytes),
                slot: Slot(tag),
            };
            if self.engine.queue(&[request])? == 0 {
                break;
            }
            self.free.pop();
            self.submitted_bytes += self.block_bytes;
        }
        self.engine.commit()
    }

    fn reap(&mut self, now_ns: u64) -> Result<(), EngineError> {
        self.completions.clear();
        self.engine.reap(1, Tick(now_ns + REAP_SLICE_NS), &mut self.completions)?;
        for done in self.completions.as_slice() {
            self.free.push(done.tag);
            match done.result {
                Ok(moved) => self.done_bytes += u64::from(moved),
                Err(errno) => {
                    let source = std::io::Error::from_raw_os_error(errno.0);
                    let error = EngineError::from_io("prepare", self.target.clone(), source);
                    return Err(error.detail(self.engine.failure_detail(done.tag).unwrap_or_default()));
                }
            }
        }
        Ok(())
    }

    pub(super) fn sync(&mut self, needed: Bytes, prepare: &PrepareContext<'_>) -> Result<(), RunError> {
        let request =
            IoRequest { tag: 0, op: Op::Sync, object: 0, offset_bytes: 0, length_bytes: 0, slot: Slot(0) };
        self.engine.queue(&[request])?;
        self.engine.commit()?;
        self.completions.clear();
        while self.completions.is_empty() {
            if prepare.stop.is_now() {
                return Err(RunError::Stopped);
            }
            let now = prepare.clock.now();
            self.engine.reap(1, now.after(REAP_SLICE_NS), &mut self.completions)?;
            if self.completions.is_empty() {
                self.check_time(now.0, needed, prepare)?;
            }
        }
        match self.completions.as_slice().first().map(|done| done.result) {
            Some(Err(errno)) => {
                let source = std::io::Error::from_raw_os_error(errno.0);
                Err(EngineError::from_io("sync", self.target.clone(), source).into())
            }
            _ => Ok(()),
        }
    }
}

/// Makes every part of a block differ from all others.
fn number_parts(block: &mut [u8], offset_bytes: u64) {
    for (index, part) in block.chunks_mut(4096).enumerate() {
        if let Some(head) = part.get_mut(..8) {
            head.copy_from_slice(&(offset_bytes + index as u64).to_le_bytes());
        }
    }
}
