//! Which generation each unit of a client's object has, shared by the client's workers.
//!
//! A request locks its units before it starts and unlocks them when it has completed: a write exclusively, reads
//! shared. So each read has exactly one right answer, and what would be a race from the target's point of view is never
//! reported as its error: a file system may return a mixture of old and new to a read that a write overtakes. A request
//! that cannot lock its units waits, as it would in an application that relies on what it reads.
//!
//! Memory: four bytes for each unit of 512. No locks: a unit is one atomic word, taken in rising order, so that of two
//! requests that want the same units one always gets them.

use narrows_model::Bytes;
use narrows_model::units::saturate_usize;
use narrows_model::verification::UNIT_BYTES;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Generations before they start again: a unit that is 16 million writes behind could not be distinguished from the
/// right one.
const GENERATION_MASK: u32 = (1 << 24) - 1;
/// One reader, and the bits that count them.
const READER: u32 = 1 << 24;
const READERS_MASK: u32 = 0x3F << 24;
/// A write is in flight.
const WRITER: u32 = 1 << 30;
/// A write has failed: the content of the unit is not known.
const UNDECIDED: u32 = 1 << 31;

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    /// The target has taken all of it.
    Whole,
    /// It failed: old and new are both right.
    Perhaps,
}

/// The generations of one object's units.
#[derive(Debug)]
pub(crate) struct GenerationTable {
    units: Box<[AtomicU32]>,
    /// Workers whose load has not ended.
    loading: AtomicU32,
}

impl GenerationTable {
    /// All of an object of `object_bytes` in generation 0, with room for one block of `block_bytes` even if the object
    /// is smaller, for `worker_count` workers.
    pub(crate) fn new(object_bytes: Bytes, block_bytes: Bytes, worker_count: u32) -> Self {
        let count = object_bytes.0.max(block_bytes.0).div_ceil(UNIT_BYTES);
        Self { units: (0..count).map(|_| AtomicU32::new(0)).collect(), loading: AtomicU32::new(worker_count) }
    }

    /// The numbers of the units of a request, as far as there are any.
    pub(crate) fn units_of(&self, offset_bytes: u64, length_bytes: u32) -> Range<usize> {
        let end_bytes = offset_bytes.saturating_add(u64::from(length_bytes));
        let bound = |bytes: u64| saturate_usize(bytes / UNIT_BYTES).min(self.units.len());
        bound(offset_bytes)..bound(end_bytes)
    }

    /// Locks `units` for a read, shared with other reads; false when a write has one of them.
    pub(crate) fn begin_read(&self, units: Range<usize>) -> bool {
        self.take(units, WRITER, READER, Self::end_read)
    }

    /// Locks `units` for a write; false when another request has one of them.
    pub(crate) fn begin_write(&self, units: Range<usize>) -> bool {
        self.take(units, WRITER | READERS_MASK, WRITER, Self::drop_write)
    }

    /// Adds `mark` to all of `units`, or to none where one has a bit of `barred` set or no room for the mark.
    fn take(
        &self,
        units: Range<usize>,
        barred: u32,
        mark: u32,
        let_go: impl Fn(&Self, Range<usize>),
    ) -> bool {
        for (index, unit) in units.clone().zip(&self.units[units.clone()]) {
            let taken = unit.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| {
                let full = mark == READER && word & READERS_MASK == READERS_MASK;
                (word & barred == 0 && !full).then(|| word + mark)
            });
            if taken.is_err() {
                let_go(self, units.start..index);
                return false;
            }
        }
        true
    }

    /// Releases what [`GenerationTable::begin_read`] took.
    pub(crate) fn end_read(&self, units: Range<usize>) {
        for unit in &self.units[units] {
            unit.fetch_sub(READER, Ordering::Release);
        }
    }

    fn drop_write(&self, units: Range<usize>) {
        for unit in &self.units[units] {
            unit.fetch_sub(WRITER, Ordering::Release);
        }
    }

    /// Releases what [`GenerationTable::begin_write`] took; the units have their next generation, or perhaps have.
    pub(crate) fn end_write(&self, units: Range<usize>, written: WriteOutcome) {
        for (number, unit) in units.clone().zip(&self.units[units]) {
            let mark = if written == WriteOutcome::Whole { 0 } else { UNDECIDED };
            unit.store(self.next_generation(number) | mark, Ordering::Release);
        }
    }

    /// The generation of a unit that the caller has locked; `None` where a write to it has failed.
    pub(crate) fn generation(&self, unit: usize) -> Option<u32> {
        let word = self.units[unit].load(Ordering::Relaxed);
        (word & UNDECIDED == 0).then_some(word & GENERATION_MASK)
    }

    /// The generation that a write gives to a unit that the caller has locked. After a failed write it is above both of
    /// those that may be there.
    pub(crate) fn next_generation(&self, unit: usize) -> u32 {
        (self.units[unit].load(Ordering::Relaxed) & GENERATION_MASK).wrapping_add(1) & GENERATION_MASK
    }

    /// Notes that a worker's load has ended; true for the last of them.
    pub(crate) fn ends_last(&self) -> bool {
        self.loading.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
