//! What makes written blocks differ from each other.
//!
//! Hot path: sixteen bytes written for every part of a block.

/// Bytes of a written block that share one stamp: smaller than any unit of deduplication in use.
pub(super) const STAMP_STRIDE_BYTES: usize = 4096;

/// Makes every part of a block differ from all others written, so that nothing can be stored once for many.
pub(super) fn stamp_block(block: &mut [u8], offset_bytes: u64, stamp: u64) {
    for (index, part) in block.chunks_mut(STAMP_STRIDE_BYTES).enumerate() {
        if let Some(head) = part.get_mut(..16) {
            head[..8].copy_from_slice(&(offset_bytes + index as u64).to_le_bytes());
            head[8..].copy_from_slice(&stamp.to_le_bytes());
        }
    }
}
