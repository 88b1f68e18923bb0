//! What a worker adds to a load that is verified: makes the blocks that it writes, checks those that it read.
//!
//! A request whose units another one has waits, and nothing is started behind it. Blocks are made before the stamp of
//! their submission and checked after the stamp of their completion, so that neither is in a response time; it is in the
//! worker's CPU time and rate. No allocation but for mismatches.

use super::state::{QueueSlot, WorkerState};
use crate::assignment::Assignment;
use crate::verify::{GenerationTable, Unit, UnitContent, UnitMismatch, WriteOutcome};
use narrows_engines::{Engine, IoRequest, Slot};
use narrows_model::units::saturate_usize;
use narrows_model::verification::{Mismatch, MismatchKind, UNIT_BYTES, Verification};
use narrows_model::{Bytes, Nanos, Op};
use std::ops::Range;
use std::sync::Arc;

/// How long a worker with nothing in flight waits before it asks again for the units of a request: a fraction of what the
/// other worker's request takes on any target that keeps data.
pub(super) const UNITS_WAIT_NS: u64 = 5_000;

/// A worker's part in a load that is verified.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) table: Arc<GenerationTable>,
    content: UnitContent,
    client_index: u32,
    object: String,
    /// The requests in flight, by tag.
    asked: Vec<VerifiedRequest>,
    /// A request that was made and waits for units that another one has locked, with the content of its place.
    waiting: Option<(IoRequest, QueueSlot)>,
    pub(super) found: Verification,
    pub(super) in_read_back: bool,
}

/// What a request in flight has locked.
#[derive(Debug, Clone, Copy)]
struct VerifiedRequest {
    op: Op,
    offset_bytes: u64,
    length_bytes: u32,
}

impl Verifier {
    /// The verifier of a worker with `depth` places.
    pub(super) fn new(assignment: &Assignment, table: Arc<GenerationTable>, depth: u32) -> Self {
        let idle = VerifiedRequest { op: Op::Sync, offset_bytes: 0, length_bytes: 0 };
        let object = assignment.objects.get(assignment.object_index() as usize).cloned();
        Self {
            table,
            content: assignment.content_of(assignment.client_index),
            client_index: assignment.client_index,
            object: object.unwrap_or_default(),
            asked: vec![idle; depth as usize],
            waiting: None,
            found: Verification::default(),
            in_read_back: false,
        }
    }

    /// Locks the units of `request` and makes the block that it writes; false while another request has them.
    pub(super) fn admit(&mut self, request: &IoRequest, engine: &mut dyn Engine) -> bool {
        let IoRequest { op, offset_bytes, length_bytes, .. } = *request;
        let units = self.table.units_of(offset_bytes, length_bytes);
        let has = match op {
            Op::Read => self.table.begin_read(units),
            Op::Write => self.table.begin_write(units),
            _ => true,
        };
        if has {
            self.asked[request.tag as usize] = VerifiedRequest { op, offset_bytes, length_bytes };
        }
        if has && op == Op::Write {
            let block = block(engine, request.slot, length_bytes);
            let table = &self.table;
            self.content.fill(block, offset_bytes, |unit| table.next_generation(unit));
        }
        has
    }

    /// Checks what request `tag` has read and unlocks its units; `moved` says whether all of it was moved. The first
    /// mismatch is returned.
    pub(super) fn completed(&mut self, tag: u32, moved: bool, engine: &mut dyn Engine) -> Option<String> {
        let VerifiedRequest { op, offset_bytes, length_bytes } = self.asked[tag as usize];
        let units = self.table.units_of(offset_bytes, length_bytes);
        match op {
            Op::Read => {
                let block = block(engine, Slot(tag), length_bytes);
                let first = if moved { self.check(block, units.clone()) } else { None };
                self.table.end_read(units);
                first
            }
            Op::Write => {
                let written = if moved { WriteOutcome::Whole } else { WriteOutcome::Perhaps };
                self.table.end_write(units, written);
                None
            }
            _ => None,
        }
    }

    /// Checks a block of which the units are these; returns the first mismatch in words.
    fn check(&mut self, block: &[u8], units: Range<usize>) -> Option<String> {
        let (mut undecided_count, mut places) = (0, WrongRanges::default());
        let unit_count = units.len() as u64;
        for (part, number) in block.chunks_exact(saturate_usize(UNIT_BYTES)).zip(units) {
            let Some(generation) = self.table.generation(number) else {
                undecided_count += 1;
                continue;
            };
            let unit = self.content.unit(number as u64 * UNIT_BYTES, generation);
            if !unit.is(part) {
                places.add(&unit, unit.classify(part));
            }
        }
        let checked = Bytes((unit_count - undecided_count) * UNIT_BYTES);
        let found = &mut self.found;
        let counted = if self.in_read_back { &mut found.read_back_bytes } else { &mut found.checked_bytes };
        *counted = counted.saturating_add(checked);
        found.undecided_bytes = found.undecided_bytes.saturating_add(Bytes(undecided_count * UNIT_BYTES));
        found.wrong_bytes = found.wrong_bytes.saturating_add(Bytes(places.unit_count * UNIT_BYTES));
        found.mismatch_count += places.all.len() as u64;
        self.keep(places.all)
    }

    #[cold]
    fn keep(&mut self, places: Vec<WrongBytes>) -> Option<String> {
        let mut first = None;
        for WrongBytes { kind, bytes, wrong } in places {
            let mismatch = Mismatch {
                client_index: self.client_index,
                object: self.object.clone(),
                offset_bytes: bytes.start,
                length_bytes: bytes.end - bytes.start,
                wrong_bit_count: wrong.bit_count,
                kind,
                expected: wrong.expected,
                found: wrong.found,
                computed_checksum: wrong.computed_checksum,
                in_read_back: self.in_read_back,
            };
            first.get_or_insert_with(|| mismatch.to_string());
            self.found.keep(mismatch);
        }
        first
    }
}

/// The first `length_bytes` of a slot's block.
fn block(engine: &mut dyn Engine, slot: Slot, length_bytes: u32) -> &mut [u8] {
    let block = engine.buffer(slot);
    let length = block.len().min(length_bytes as usize);
    &mut block[..length]
}

/// Wrong bytes of one request, neighbours that are wrong in the same way together.
#[derive(Default)]
struct WrongRanges {
    all: Vec<WrongBytes>,
    unit_count: u64,
}

/// Neighbouring wrong bytes, with what is wrong with the first unit of them.
struct WrongBytes {
    kind: MismatchKind,
    bytes: Range<u64>,
    wrong: UnitMismatch,
}

impl WrongRanges {
    #[cold]
    fn add(&mut self, unit: &Unit, wrong: UnitMismatch) {
        self.unit_count += 1;
        let at = |byte: usize| unit.offset_bytes + byte as u64;
        let bytes = at(wrong.bytes.start)..at(wrong.bytes.end);
        match self.all.last_mut() {
            Some(last) if last.kind == wrong.kind && last.bytes.end == bytes.start => {
                last.bytes.end = bytes.end;
            }
            _ => self.all.push(WrongBytes { kind: wrong.kind, bytes, wrong }),
        }
    }
}

impl WorkerState {
    /// Adds a request that was made to the batch; false where it is deferred until it can lock its units, its place
    /// free.
    pub(super) fn admit(&mut self, request: IoRequest, engine: &mut dyn Engine) -> bool {
        let Some(verifier) = &mut self.verifier else { return true };
        if verifier.admit(&request, engine) {
            self.batch.push(request);
            return true;
        }
        verifier.waiting = Some((request, self.places[request.tag as usize]));
        self.free.push(request.tag);
        false
    }

    /// Offers the deferred request again, in any free place; false while it is still deferred.
    pub(super) fn admit_waiting(&mut self, engine: &mut dyn Engine) -> bool {
        let Some((request, place)) = self.verifier.as_mut().and_then(|verifier| verifier.waiting.take())
        else {
            return true;
        };
        // It left a place free, and nothing was started since.
        let Some(tag) = self.free.pop() else { return true };
        self.places[tag as usize] = place;
        self.admit(IoRequest { tag, slot: Slot(tag), ..request }, engine)
    }

    /// Whether a request waits for units that another one has.
    pub(super) fn has_waiting(&self) -> bool {
        self.verifier.as_ref().is_some_and(|verifier| verifier.waiting.is_some())
    }

    /// Counts the time that making or checking blocks took, if it is in the measured window.
    pub(super) fn count_cost(&mut self, from_ns: u64, to_ns: u64) {
        let measuring = self.measuring && self.at_measure_end.is_none();
        if let Some(verifier) = self.verifier.as_mut().filter(|_| measuring) {
            let cost_ns = &mut verifier.found.cost_ns;
            *cost_ns = cost_ns.saturating_add(Nanos(to_ns.saturating_sub(from_ns)));
        }
    }
}
