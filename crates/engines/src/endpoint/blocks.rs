//! The blocks of a connection, one per slot, each in memory of its own so that several can leave in one call.

use crate::error::EngineError;
use narrows_model::Bytes;
use narrows_model::units::saturate_usize;
use narrows_sys::buffer::AlignedBuffer;
use narrows_sys::entropy::member_seed;

/// One block of entropy per slot.
pub(super) fn blocks(depth: u32, block_bytes: Bytes, seed: u64) -> Result<Vec<AlignedBuffer>, EngineError> {
    let length = saturate_usize(block_bytes.0.max(1));
    (0..depth)
        .map(|slot| Ok(AlignedBuffer::with_entropy(length, member_seed(seed, u64::from(slot)))?))
        .collect()
}

/// A number of the wire or of a slot as an index in memory.
pub(super) fn index(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_slots_of_neighbouring_seeds_contain_the_same_bytes() {
        let all: Vec<AlignedBuffer> = (1..4).flat_map(|seed| blocks(4, Bytes(64), seed).unwrap()).collect();
        let distinct: std::collections::BTreeSet<&[u8]> = all.iter().map(|block| &block[..]).collect();
        assert_eq!(distinct.len(), 12);
    }
}
