//! Data that the server has only in its memory, kept until a COMMIT: after a restart of the server it is written again.
//!
//! Memory is bounded: a write reserves its cell before it is sent. Hot path: one copy of a small payload, none of a large one;
//! no allocation.

use super::unstable_memory::CellMemory;
use crate::error::EngineError;
use narrows_model::units::saturate_usize;
use narrows_sys::buffer::AlignedBuffer;
use narrows_wire::nfs::block::{ByteRange, WriteVerifier};
use std::collections::{BTreeMap, VecDeque};

/// Most writes that are kept, however small they are.
const CELLS_MAX: u64 = 1 << 15;
/// Writes that are kept at least, as a multiple of those that can be in flight.
const FLIGHTS_MIN: u64 = 4;

/// One write that the server has in its memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnstableWrite {
    pub(super) file: u32,
    pub(super) range: ByteRange,
    pub(super) verifier: WriteVerifier,
    /// Later writes have larger numbers.
    sequence: u64,
}

/// Writes that a COMMIT has not covered yet.
#[derive(Debug)]
pub(super) struct UnstableStore {
    memory: CellMemory,
    cells: Vec<UnstableWrite>,
    free: Vec<u32>,
    /// Cells in use, the oldest write first.
    order: VecDeque<u32>,
    reserved_count: usize,
    next_sequence: u64,
}

impl UnstableStore {
    /// Room for about `keep_bytes` of writes of up to `cell_bytes`, of which `calls_max` can be in flight.
    pub(super) fn new(keep_bytes: u64, cell_bytes: u64, calls_max: u64) -> Result<Self, EngineError> {
        let count = cell_count(keep_bytes, cell_bytes, calls_max);
        Ok(Self::with_memory(CellMemory::copying(count, cell_bytes)?, count))
    }

    /// The same of whole blocks of `block_bytes`, which [`Self::keep_block`] takes without a copy where they are large. `seed` is
    /// that of the content that is given for the first of them.
    pub(super) fn of_blocks(
        keep_bytes: u64,
        block_bytes: u64,
        calls_max: u64,
        seed: u64,
    ) -> Result<Self, EngineError> {
        let count = cell_count(keep_bytes, block_bytes, calls_max);
        Ok(Self::with_memory(CellMemory::of_blocks(count, block_bytes, seed)?, count))
    }

    fn with_memory(memory: CellMemory, count: u64) -> Self {
        let none = UnstableWrite {
            file: 0,
            range: ByteRange { offset_bytes: 0, length_bytes: 0 },
            verifier: [0; 8],
            sequence: 0,
        };
        let cells = saturate_usize(count);
        Self {
            memory,
            cells: vec![none; cells],
            free: (0..u32::try_from(count).unwrap_or(0)).rev().collect(),
            order: VecDeque::with_capacity(cells),
            reserved_count: 0,
            next_sequence: 0,
        }
    }

    /// None at all, for loads that write nothing unstable.
    pub(super) fn none() -> Result<Self, EngineError> {
        Self::new(0, 1, 1)
    }

    /// Whether there is room for one more write, which is reserved.
    pub(super) fn reserve(&mut self) -> bool {
        let has_room = self.reserved_count < self.free.len();
        self.reserved_count += usize::from(has_room);
        has_room
    }

    /// Gives a reservation back.
    pub(super) fn release(&mut self) {
        self.reserved_count = self.reserved_count.saturating_sub(1);
    }

    /// Whether a COMMIT should be sent before there is no room left.
    pub(super) fn is_nearly_full(&self) -> bool {
        self.order.len() * 4 >= self.cells.len() * 3
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The file of the oldest write.
    pub(super) fn oldest_file(&self) -> Option<u32> {
        self.order.front().map(|cell| self.cells[*cell as usize].file)
    }

    /// The number that the next write gets: a COMMIT that is sent now covers all before it.
    pub(super) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Keeps a write whose room was reserved.
    pub(super) fn keep(&mut self, file: u32, range: ByteRange, verifier: WriteVerifier, data: &[u8]) {
        if let Some(cell) = self.take_cell(file, range, verifier) {
            self.memory.copy(cell as usize, data);
        }
    }

    /// The same of a write of the whole `block`, which has the content of some earlier write afterwards.
    pub(super) fn keep_block(
        &mut self,
        file: u32,
        range: ByteRange,
        verifier: WriteVerifier,
        block: &mut AlignedBuffer,
    ) {
        if let Some(cell) = self.take_cell(file, range, verifier) {
            self.memory.take(cell as usize, block);
        }
    }

    /// A free cell for a write whose room was reserved.
    fn take_cell(&mut self, file: u32, range: ByteRange, verifier: WriteVerifier) -> Option<u32> {
        self.release();
        let cell = self.free.pop()?;
        self.cells[cell as usize] = UnstableWrite { file, range, verifier, sequence: self.next_sequence };
        self.next_sequence += 1;
        self.order.push_back(cell);
        Some(cell)
    }

    /// A kept write.
    pub(super) fn write(&self, cell: u32) -> &UnstableWrite {
        &self.cells[cell as usize]
    }

    /// Its data.
    pub(super) fn data(&self, cell: u32) -> &[u8] {
        &self.memory.cell(cell as usize)[..self.cells[cell as usize].range.length_bytes as usize]
    }

    /// A kept write was written again.
    pub(super) fn rewritten(&mut self, cell: u32, verifier: WriteVerifier) {
        self.cells[cell as usize].verifier = verifier;
    }

    /// Forgets the writes of `file` before `sequence` that a COMMIT with `verifier` covers; whether it covers all of them.
    pub(super) fn commit(&mut self, file: u32, sequence: u64, verifier: WriteVerifier) -> bool {
        let (cells, free) = (&self.cells, &mut self.free);
        let mut covers_all = true;
        self.order.retain(|cell| {
            let write = &cells[*cell as usize];
            if write.file != file || write.sequence >= sequence {
                return true;
            }
            let is_covered = write.verifier == verifier;
            covers_all &= is_covered;
            if is_covered {
                free.push(*cell);
            }
            !is_covered
        });
        covers_all
    }

    /// Forgets all writes of `file`, which is gone with its data.
    pub(super) fn forget(&mut self, file: u32) {
        let (cells, free) = (&self.cells, &mut self.free);
        self.order.retain(|cell| {
            let stays = cells[*cell as usize].file != file;
            if !stays {
                free.push(*cell);
            }
            stays
        });
    }

    /// Whether a write is kept whose verifier is another one.
    pub(super) fn has_other_than(&self, verifier: WriteVerifier) -> bool {
        self.order.iter().any(|cell| self.cells[*cell as usize].verifier != verifier)
    }

    /// The writes to send again after the verifier has become `verifier`, the oldest first, and whether they must be sent
    /// one after the other. What a later write covers is not sent, and forgotten: it would overwrite it.
    pub(super) fn lost(&mut self, verifier: WriteVerifier) -> (Vec<u32>, bool) {
        let mut latest: BTreeMap<(u32, u64), u32> = BTreeMap::new();
        let mut covered = Vec::new();
        for cell in self.order.iter().rev() {
            let write = &self.cells[*cell as usize];
            let length = latest.entry((write.file, write.range.offset_bytes)).or_insert(0);
            if write.verifier != verifier && *length >= write.range.length_bytes {
                covered.push(*cell);
            }
            *length = (*length).max(write.range.length_bytes);
        }
        self.order.retain(|cell| !covered.contains(cell));
        self.free.append(&mut covered);
        let is_lost = |cell: &u32| self.cells[*cell as usize].verifier != verifier;
        if !self.any_overlap() {
            return (self.order.iter().copied().filter(is_lost).collect(), false);
        }
        // Later writes lie over parts of earlier ones: all from the first lost one on, in their order.
        (self.order.iter().copied().skip_while(|cell| !is_lost(cell)).collect(), true)
    }

    /// Whether any two kept writes have a byte in common.
    fn any_overlap(&self) -> bool {
        let mut ranges: Vec<(u32, u64, u64)> = self
            .order
            .iter()
            .map(|cell| {
                let write = &self.cells[*cell as usize];
                let start = write.range.offset_bytes;
                (write.file, start, start.saturating_add(write.range.length_bytes.into()))
            })
            .collect();
        ranges.sort_unstable();
        ranges.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[1].1 < pair[0].2)
    }
}

/// Writes of up to `cell_bytes` for which `keep_bytes` are room, and for those in flight at the least.
fn cell_count(keep_bytes: u64, cell_bytes: u64, calls_max: u64) -> u64 {
    (keep_bytes / cell_bytes.max(1)).min(CELLS_MAX).max(calls_max.saturating_mul(FLIGHTS_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(offset_bytes: u64, length_bytes: u32) -> ByteRange {
        ByteRange { offset_bytes, length_bytes }
    }

    fn keep(store: &mut UnstableStore, offset: u64, byte: u8, verifier: u8) {
        assert!(store.reserve());
        store.keep(0, range(offset, 4), [verifier; 8], &[byte; 4]);
    }

    fn store() -> UnstableStore {
        UnstableStore::new(32, 4, 1).unwrap()
    }

    #[test]
    fn no_more_is_reserved_than_there_is_room_and_a_commit_makes_room() {
        let mut store = store();
        (0..8).for_each(|offset| keep(&mut store, offset * 4, 1, 1));
        assert!(!store.reserve() && store.is_nearly_full());
        let sequence = store.next_sequence();
        assert!(store.commit(0, sequence, [1; 8]));
        assert!(store.is_empty() && store.reserve());
    }

    #[test]
    fn a_commit_covers_only_earlier_writes_of_its_file_and_verifier() {
        let mut store = store();
        keep(&mut store, 0, 1, 1);
        keep(&mut store, 4, 2, 2);
        let sequence = store.next_sequence();
        keep(&mut store, 8, 3, 2);
        assert!(!store.commit(0, sequence, [2; 8]), "the first is of another verifier");
        assert!(store.has_other_than([2; 8]));
        assert_eq!(store.lost([2; 8]), (vec![0], false));
        store.rewritten(0, [2; 8]);
        assert!(store.commit(1, u64::MAX, [2; 8]) && !store.is_empty(), "another file");
        assert!(store.commit(0, u64::MAX, [2; 8]) && store.is_empty());
    }

    #[test]
    fn writes_of_a_file_that_is_gone_are_forgotten_and_make_room() {
        let mut store = store();
        (0..8).for_each(|offset| keep(&mut store, offset * 4, 1, 1));
        store.forget(1);
        assert!(!store.reserve(), "it had none");
        store.forget(0);
        assert!(store.is_empty() && store.reserve());
    }

    #[test]
    fn what_a_later_write_covers_is_not_written_again() {
        let mut store = store();
        keep(&mut store, 0, 1, 1);
        keep(&mut store, 4, 2, 1);
        keep(&mut store, 0, 3, 2);
        let (cells, is_serial) = store.lost([2; 8]);
        assert_eq!((cells.len(), is_serial), (1, false));
        assert_eq!(store.data(cells[0]), [2; 4]);
        // Parts of each other: in order, the later one too.
        keep(&mut store, 6, 4, 2);
        let (cells, is_serial) = store.lost([2; 8]);
        let bytes: Vec<u8> = cells.iter().map(|cell| store.data(*cell)[0]).collect();
        assert_eq!((bytes, is_serial), (vec![2, 3, 4], true));
    }
}
