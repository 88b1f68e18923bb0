//! The verified unit: 512 bytes that say on their own what they are and whether they are whole.
//!
//! | bytes | what they contain, numbers in little-endian order |
//! |---|---|
//! | 0 to 7 | `narrows` and the version of this layout, `1` |
//! | 8 to 15 | seed of the trial's data |
//! | 16 to 23 | where in the object the unit is, in bytes |
//! | 24 to 27 | the object, by the client that it belongs to |
//! | 28 to 31 | generation: how often the unit was written in this trial, 0 as prepared |
//! | 32 to 507 | bytes that follow from all of the above and look like chance |
//! | 508 to 511 | CRC-32 of bytes 0 to 507 |
//!
//! No two units are alike, so that nothing can be compressed or deduplicated. The checksum shows whether a unit is
//! whole without knowing what it should be; the label shows which one it is. Not here: what is reported about a unit
//! that is not the expected one, which is in `classify`.

use narrows_model::units::saturate_usize;
use narrows_model::verification::{UNIT_BYTES, UnitLabel};
use narrows_sys::entropy::{fill_entropy, member_seed};
use std::ops::Range;

/// Length of a unit in memory.
pub(crate) const UNIT: usize = 512;
const _: () = assert!(UNIT as u64 == UNIT_BYTES, "one length of a unit");
/// Where the checksum is; it covers all bytes before it.
const CHECKSUM_AT: usize = UNIT - 4;
/// Length of what a unit says of itself.
pub(super) const LABEL_BYTES: usize = 32;
/// What a unit begins with.
const MAGIC: [u8; 8] = *b"narrows1";

/// What is written where: all properties of a unit except its generation and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnitContent {
    /// Seed of the trial's data.
    pub(crate) seed: u64,
    /// The object, by the client that it belongs to.
    pub(crate) object_index: u32,
}

/// One unit: the content of a place in a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) content: UnitContent,
    pub(crate) offset_bytes: u64,
    pub(crate) generation: u32,
}

impl UnitContent {
    /// The unit of a place in a generation.
    pub(crate) fn unit(self, offset_bytes: u64, generation: u32) -> Unit {
        Unit { content: self, offset_bytes, generation }
    }

    /// Fills `block`, which is at `offset_bytes` in its object, with units of the generations that `generation` returns
    /// for the unit's number in the object; a part of a unit at the end stays as it is.
    pub(crate) fn fill(self, block: &mut [u8], offset_bytes: u64, generation: impl Fn(usize) -> u32) {
        for (part, number) in block.chunks_exact_mut(UNIT).zip(saturate_usize(offset_bytes / UNIT_BYTES)..) {
            self.unit(number as u64 * UNIT_BYTES, generation(number)).write(part);
        }
    }
}

impl Unit {
    /// Writes the unit into `bytes`, which are as long as it.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        bytes[..LABEL_BYTES].copy_from_slice(&self.label_bytes());
        fill_entropy(&mut bytes[LABEL_BYTES..CHECKSUM_AT], self.body_seed());
        let checksum = checksum(bytes);
        bytes[CHECKSUM_AT..UNIT].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Whether `bytes` are whole and say that they are this unit.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        bytes[..LABEL_BYTES] == self.label_bytes() && stored_checksum(bytes) == checksum(bytes)
    }

    /// The unit's bytes.
    pub(super) fn bytes(&self) -> [u8; UNIT] {
        let mut bytes = [0; UNIT];
        self.write(&mut bytes);
        bytes
    }

    /// What the unit says of itself.
    pub(super) fn label(&self) -> UnitLabel {
        UnitLabel {
            seed: self.content.seed,
            object_index: self.content.object_index,
            offset_bytes: self.offset_bytes,
            generation: self.generation,
            checksum: stored_checksum(&self.bytes()),
        }
    }

    fn label_bytes(&self) -> [u8; LABEL_BYTES] {
        let mut bytes = [0; LABEL_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.content.seed.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset_bytes.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.content.object_index.to_le_bytes());
        bytes[28..].copy_from_slice(&self.generation.to_le_bytes());
        bytes
    }

    /// The seed of the bytes that look like chance: of one family for an object, of one below it for a place.
    fn body_seed(&self) -> u64 {
        let object = member_seed(self.content.seed, u64::from(self.content.object_index));
        member_seed(member_seed(object, self.offset_bytes), u64::from(self.generation))
    }
}

/// The checksum stored in `unit`.
pub(super) fn stored_checksum(unit: &[u8]) -> u32 {
    u32::from_le_bytes(word(unit, CHECKSUM_AT..UNIT))
}

/// The checksum of the content of `unit`.
pub(super) fn checksum(unit: &[u8]) -> u32 {
    crc32fast::hash(&unit[..CHECKSUM_AT])
}

/// What `unit` says of itself; `None` where it does not begin as one.
pub(super) fn read_label(unit: &[u8]) -> Option<UnitLabel> {
    (unit[..8] == MAGIC).then(|| UnitLabel {
        seed: u64::from_le_bytes(word(unit, 8..16)),
        offset_bytes: u64::from_le_bytes(word(unit, 16..24)),
        object_index: u32::from_le_bytes(word(unit, 24..28)),
        generation: u32::from_le_bytes(word(unit, 28..32)),
        checksum: stored_checksum(unit),
    })
}

/// The bytes of `range`, which is as long as the word.
fn word<const N: usize>(unit: &[u8], range: Range<usize>) -> [u8; N] {
    let mut word = [0; N];
    word.copy_from_slice(&unit[range]);
    word
}
