//! An engine's own buffers: one block per slot, page-aligned, full of entropy.
//!
//! Hot path: handing out a slot neither allocates nor copies.

use crate::contract::OpenSpec;
use crate::error::{EngineError, ErrorKind};
use crate::request::Slot;
use narrows_model::units::saturate_usize;
use narrows_sys::buffer::AlignedBuffer;
use narrows_sys::entropy::member_seed;

/// Blocks start on page boundaries, which satisfies every device's alignment for direct access.
const STRIDE_ALIGNMENT_BYTES: u64 = 4096;

/// One block per slot.
#[derive(Debug)]
pub(crate) struct SlotBuffers {
    memory: AlignedBuffer,
    block_bytes: usize,
    stride_bytes: usize,
}

impl SlotBuffers {
    /// `depth` blocks of `block_bytes`, filled with bytes that cannot be compressed.
    pub(crate) fn new(depth: u32, block_bytes: u64, seed: u64) -> Result<Self, EngineError> {
        let stride = block_bytes.max(1).next_multiple_of(STRIDE_ALIGNMENT_BYTES);
        let total = stride.saturating_mul(u64::from(depth.max(1)));
        let memory = AlignedBuffer::with_entropy(saturate_usize(total), seed)?;
        Ok(Self { memory, block_bytes: saturate_usize(block_bytes), stride_bytes: saturate_usize(stride) })
    }

    /// The block of `slot`.
    pub(crate) fn slot(&mut self, slot: Slot) -> &mut [u8] {
        let start = saturate_usize(u64::from(slot.0)) * self.stride_bytes;
        &mut self.memory[start..start + self.block_bytes]
    }

    /// The first `length_bytes` of the block of `slot`, at most the block.
    pub(crate) fn part(&mut self, slot: Slot, length_bytes: u32) -> &mut [u8] {
        let length = saturate_usize(u64::from(length_bytes)).min(self.block_bytes);
        &mut self.slot(slot)[..length]
    }
}

/// One block of entropy per slot, each in memory of its own.
pub(crate) fn entropy_blocks(
    depth: u32,
    block_bytes: u64,
    seed: u64,
) -> Result<Vec<AlignedBuffer>, EngineError> {
    let block = |slot: u32| {
        Ok(AlignedBuffer::with_entropy(saturate_usize(block_bytes), member_seed(seed, u64::from(slot)))?)
    };
    (0..depth).map(block).collect()
}

/// The depth that `spec` asks for, which must be from 1 to `depth_max`.
pub(crate) fn checked_depth(spec: &OpenSpec, depth_max: u32) -> Result<u32, EngineError> {
    let depth = spec.workload.queue_depth;
    if (1..=depth_max).contains(&depth) {
        return Ok(depth);
    }
    Err(EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string())
        .detail(format!("queue depth {depth} was requested and 1 to {depth_max} are possible"))
        .hint("use another depth, or more workers"))
}
