//! Where the data of unstable writes is kept: copied into one buffer, or in blocks that change places with those of the load.
//!
//! A copy of 128 KiB was a fifth of the CPU time of a load that writes as fast as it can. Hot path: no allocation.

use crate::error::EngineError;
use crate::slots::entropy_blocks;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_sys::buffer::AlignedBuffer;

/// Blocks of this size or more change places: smaller ones are copied in less than a microsecond.
const EXCHANGED_BYTES_MIN: u64 = 32 << 10;
/// More blocks than this are copied: each is a mapping of its own, of which a process has some tens of thousands.
const EXCHANGED_BLOCKS_MAX: u64 = 4096;

/// Memory of cells of one size.
#[derive(Debug)]
pub(super) enum CellMemory {
    /// All of them, one behind the other.
    Copied {
        /// All cells.
        memory: AlignedBuffer,
        /// Bytes of each.
        cell_bytes: usize,
    },
    /// A block each.
    Exchanged(Vec<AlignedBuffer>),
}

impl CellMemory {
    /// `count` cells of `cell_bytes` into which data is copied.
    pub(super) fn copying(count: u64, cell_bytes: u64) -> Result<Self, EngineError> {
        let cell_bytes = cell_bytes.max(1);
        let memory = AlignedBuffer::new(saturate_usize(count.saturating_mul(cell_bytes)))?;
        Ok(Self::Copied { memory, cell_bytes: saturate_usize(cell_bytes) })
    }

    /// `count` cells of `block_bytes`, with content from `seed` where they change places with the load's blocks.
    pub(super) fn of_blocks(count: u64, block_bytes: u64, seed: u64) -> Result<Self, EngineError> {
        if block_bytes < EXCHANGED_BYTES_MIN || count > EXCHANGED_BLOCKS_MAX {
            return Self::copying(count, block_bytes);
        }
        // The content of a block that comes back must not be that of a slot.
        Ok(Self::Exchanged(entropy_blocks(saturate_u32(count), block_bytes, !seed)?))
    }

    /// What is in a cell, to its end.
    pub(super) fn cell(&self, cell: usize) -> &[u8] {
        match self {
            Self::Copied { memory, cell_bytes } => &memory[cell * cell_bytes..][..*cell_bytes],
            Self::Exchanged(blocks) => &blocks[cell],
        }
    }

    /// Copies `data` into a cell.
    pub(super) fn copy(&mut self, cell: usize, data: &[u8]) {
        let into = match self {
            Self::Copied { memory, cell_bytes } => &mut memory[cell * *cell_bytes..],
            Self::Exchanged(blocks) => &mut blocks[cell],
        };
        into[..data.len()].copy_from_slice(data);
    }

    /// Puts all of `block` into a cell; what is in `block` afterwards is its content or that of an earlier one.
    pub(super) fn take(&mut self, cell: usize, block: &mut AlignedBuffer) {
        match self {
            Self::Copied { .. } => self.copy(cell, block),
            Self::Exchanged(blocks) => std::mem::swap(&mut blocks[cell], block),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(byte: u8, bytes: u64) -> AlignedBuffer {
        let mut block = AlignedBuffer::new(saturate_usize(bytes)).unwrap();
        block.fill(byte);
        block
    }

    #[test]
    fn a_large_block_changes_places_and_a_small_one_or_a_part_is_copied() {
        let mut memory = CellMemory::of_blocks(2, EXCHANGED_BYTES_MIN, 1).unwrap();
        let mut written = block(7, EXCHANGED_BYTES_MIN);
        let (address, first) = (written.as_ptr(), memory.cell(1).to_vec());
        memory.take(1, &mut written);
        assert_eq!((memory.cell(1).as_ptr(), memory.cell(1)[4095]), (address, 7));
        assert_eq!(written[..], first[..], "it has entropy, which no server stores once for many");
        assert_ne!(first[..4096], first[4096..8192]);
        memory.copy(0, &[9; 16]);
        assert_eq!((memory.cell(0)[15], memory.cell(0).len()), (9, written.len()));

        let mut small = CellMemory::of_blocks(2, 4096, 1).unwrap();
        let mut written = block(7, 4096);
        let address = written.as_ptr();
        small.take(1, &mut written);
        assert_eq!((small.cell(1)[4095], written.as_ptr()), (7, address));
        let many = CellMemory::of_blocks(EXCHANGED_BLOCKS_MAX + 1, EXCHANGED_BYTES_MIN, 1).unwrap();
        assert!(matches!(many, CellMemory::Copied { .. }), "a process has a limited number of mappings");
    }
}
