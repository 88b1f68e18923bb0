//! How large a unit is, and what it takes at a time.

use super::identity::page_content;

/// What READ CAPACITY returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitCapacity {
    /// Blocks of the unit.
    pub block_count: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Whether blocks can be unmapped.
    pub can_unmap: bool,
    /// Whether unmapped blocks read as zeroes.
    pub unmapped_is_zero: bool,
}

/// What READ CAPACITY(10) returns; `None` of too short an answer, and where READ CAPACITY(16) has to be asked.
#[must_use]
pub fn read_capacity_10(data: &[u8]) -> Option<UnitCapacity> {
    let (last, rest) = data.split_first_chunk::<4>()?;
    let last = u32::from_be_bytes(*last);
    let block_bytes = u32::from_be_bytes(*rest.first_chunk::<4>()?);
    (last != u32::MAX).then(|| UnitCapacity {
        block_count: u64::from(last) + 1,
        block_bytes,
        can_unmap: false,
        unmapped_is_zero: false,
    })
}

/// What READ CAPACITY(16) returns; `None` of too short an answer.
#[must_use]
pub fn read_capacity_16(data: &[u8]) -> Option<UnitCapacity> {
    let (last, rest) = data.split_first_chunk::<8>()?;
    let block_bytes = u32::from_be_bytes(*rest.first_chunk::<4>()?);
    let flags = data.get(14).copied().unwrap_or(0);
    Some(UnitCapacity {
        block_count: u64::from_be_bytes(*last).checked_add(1)?,
        block_bytes,
        can_unmap: flags & 0x80 != 0,
        unmapped_is_zero: flags & 0x40 != 0,
    })
}

/// What the page of block limits (B0h) says; 0 where there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockLimits {
    /// Most blocks of one transfer.
    pub transfer_blocks_max: u32,
    /// Most blocks of one UNMAP.
    pub unmap_blocks_max: u32,
}

/// Reads page B0h; no limits of a page that is none.
#[must_use]
pub fn read_limits(data: &[u8]) -> BlockLimits {
    let content = page_content(data, 0xb0).unwrap_or_default();
    let at = |index: usize| {
        let bytes = content.get(index..).and_then(|rest| rest.first_chunk::<4>());
        bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
    };
    BlockLimits { transfer_blocks_max: at(4), unmap_blocks_max: at(16) }
}
