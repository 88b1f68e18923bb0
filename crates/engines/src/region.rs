//! The part of a disk without folders that a run may write: its mark, and where the data of each client is.
//!
//! The mark is in the first block, data begins at the second MiB. Values and bytes only; how a mark is put on a disk so that
//! one run alone has it is a matter of each kind of disk.

use crate::marker::MARKER;
use narrows_model::Bytes;
use narrows_model::target::UnitClaim;
use std::ops::Range;

/// Where the data of a run begins: what is before is the mark's.
pub(crate) const DATA_AT_BYTES: u64 = 1 << 20;
/// Where marks are looked for.
pub(crate) const LOOK_BYTES: u64 = 4096;
/// Bytes of an owner's line: with all else of a mark, below the smallest block.
const OWNER_BYTES_MAX: usize = 300;

/// What of a disk without folders a run needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionNeed {
    /// Bytes of each client's data.
    pub client_bytes: Bytes,
    /// Clients.
    pub client_count: u32,
}

impl RegionNeed {
    /// Bytes from the beginning of one client's data to that of the next.
    pub(crate) fn stride_bytes(self) -> u64 {
        self.client_bytes.0.max(1).next_multiple_of(1 << 20)
    }

    /// Where the region ends, which begins with the disk.
    #[must_use]
    pub fn end_bytes(self) -> Bytes {
        let data_bytes = self.stride_bytes().saturating_mul(u64::from(self.client_count));
        Bytes(DATA_AT_BYTES.saturating_add(data_bytes))
    }
}

/// The bytes of the data of client `index` under `claim`; `None` beyond any disk.
pub(crate) fn client_bytes(claim: UnitClaim, index: u64, length_bytes: u64) -> Option<Range<u64>> {
    let start = index.checked_mul(claim.stride_bytes)?.checked_add(DATA_AT_BYTES)?;
    let end = start.checked_add(length_bytes)?;
    (length_bytes <= claim.stride_bytes).then_some(start..end)
}

/// The bytes of the object `name` of `length_bytes` under `claim`; `None` of what is no name of an object, or beyond any disk.
pub(crate) fn object_bytes(claim: UnitClaim, name: &str, length_bytes: u64) -> Option<Range<u64>> {
    let index = name.strip_prefix("data-").and_then(|index| index.parse().ok())?;
    client_bytes(claim, index, length_bytes)
}

/// The mark of a claim, as text in the first block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegionMark {
    pub(crate) owner: String,
    pub(crate) nonce: u64,
    pub(crate) end_bytes: u64,
}

impl RegionMark {
    /// The mark as a block of `block_bytes`, with zeroes behind it.
    pub(crate) fn to_block(&self, block_bytes: u64) -> Vec<u8> {
        let mut owner: String = self.owner.chars().filter(|letter| *letter != '\n').collect();
        while owner.len() > OWNER_BYTES_MAX {
            owner.pop();
        }
        let text = format!("{MARKER}\n{owner}\nclaim {:016x}\nend {}\n", self.nonce, self.end_bytes);
        let mut block = text.into_bytes();
        block.resize(usize::try_from(block_bytes).unwrap_or(512).max(512), 0);
        block
    }

    /// The mark at the front of `head`; `None` where there is none, or anything else behind it.
    pub(crate) fn parse(head: &[u8]) -> Option<Self> {
        let length = head.iter().position(|byte| *byte == 0)?;
        let (text, rest) = head.split_at(length);
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        let mut lines = std::str::from_utf8(text).ok()?.lines();
        if lines.next()? != MARKER {
            return None;
        }
        let owner = lines.next()?.to_owned();
        let nonce = u64::from_str_radix(lines.next()?.strip_prefix("claim ")?, 16).ok()?;
        let end_bytes = lines.next()?.strip_prefix("end ")?.parse().ok()?;
        Some(Self { owner, nonce, end_bytes })
    }
}

/// Where the mark of a claim is on a disk: at the front of its first so many bytes.
pub const MARK_BYTES_MAX: u64 = LOOK_BYTES;

/// The nonce of the claim whose mark is at the front of `head`, the first [`MARK_BYTES_MAX`] bytes of a disk; `None` where there
/// is no mark.
#[must_use]
pub fn mark_nonce(head: &[u8]) -> Option<u64> {
    RegionMark::parse(head).map(|mark| mark.nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_clients_does_not_overlap() {
        let claim = UnitClaim { nonce: 1, stride_bytes: 4 << 20 };
        assert_eq!(client_bytes(claim, 0, 4 << 20), Some(1 << 20..5 << 20));
        assert_eq!(client_bytes(claim, 1, 1 << 20), Some(5 << 20..6 << 20));
        assert_eq!(client_bytes(claim, 0, (4 << 20) + 1), None);
        assert_eq!(client_bytes(claim, u64::MAX, 1), None);
    }

    #[test]
    fn a_mark_is_read_as_it_was_written_and_nothing_else_is_one() {
        let mark = RegionMark { owner: "narrows, pid 7".to_owned(), nonce: 0xfeed, end_bytes: 9 << 20 };
        for block_bytes in [512, 4096] {
            let mut head = mark.to_block(block_bytes);
            assert_eq!(head.len() as u64, block_bytes);
            assert_eq!(RegionMark::parse(&head), Some(mark.clone()));
            head[500] = 1;
            assert_eq!(RegionMark::parse(&head), None, "something else is there too");
        }
        let long = RegionMark { owner: "é".repeat(4000), nonce: u64::MAX, end_bytes: u64::MAX };
        assert_eq!(long.to_block(512).len(), 512);
        assert_eq!(RegionMark::parse(&long.to_block(512)).map(|mark| mark.nonce), Some(u64::MAX));
        for text in
            ["", "made-by-narrows\n", "made-by-narrows\nx\nclaim z\nend 1\n\0", "x\ny\nclaim 1\nend 1\n\0"]
        {
            assert_eq!(RegionMark::parse(text.as_bytes()), None, "{text}");
        }
    }
}
