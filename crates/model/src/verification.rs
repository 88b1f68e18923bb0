//! What a check of data found: how much was checked, which bytes are not what was written, and what is there instead.
//!
//! Not here: the layout of a block and how it is checked, which are in `run`.

use crate::units::{Bytes, Nanos};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes that are checked as one: the smallest block that a verified load may move, and what every block is a multiple
/// of. No device has smaller sectors, so that one is written whole or not at all.
pub const UNIT_BYTES: u64 = 512;
/// Largest file of a client that can be verified: the generations of its units take four bytes each, 256 MiB for this.
pub const VERIFIED_FILE_BYTES_MAX: Bytes = Bytes(32 << 30);
/// Mismatches of a trial that are kept as they were found; all are counted.
pub const MISMATCHES_KEPT: usize = 8;
/// The name of a mismatch among the failures of a cell.
pub const DATA_MISMATCH: &str = "DATA_MISMATCH";

/// What a unit says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct UnitLabel {
    /// Seed of the trial's data.
    pub seed: u64,
    /// The object, by the client that it belongs to.
    pub object_index: u32,
    /// Where in the object the unit is.
    pub offset_bytes: u64,
    /// How often it was written in the trial; 0 as it was prepared.
    pub generation: u32,
    /// CRC-32 over the rest of the unit.
    pub checksum: u32,
}

impl fmt::Display for UnitLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, object_index, offset_bytes, generation, checksum } = self;
        write!(
            f,
            "seed {seed:016x}, object {object_index}, offset {offset_bytes}, generation {generation}, checksum {checksum:08x}"
        )
    }
}

/// What is in the place of what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MismatchKind {
    /// Nothing but zeros.
    Zeros,
    /// Bytes that were never a unit.
    Foreign,
    /// A whole unit of another trial or run: what this trial wrote is gone.
    OtherTrial,
    /// A whole unit of another object.
    OtherObject,
    /// A whole unit of another place in the object.
    OtherPlace,
    /// A whole unit that was written earlier: a later write was lost.
    OlderGeneration,
    /// A whole unit of a generation that was not written here yet.
    NewerGeneration,
    /// The first part of one generation and the rest of another, or of nothing.
    Torn,
    /// The right unit with some bytes changed.
    Altered,
}

impl MismatchKind {
    /// What it means, in words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            MismatchKind::Zeros => "zeros",
            MismatchKind::Foreign => "bytes that are not a block written by narrows",
            MismatchKind::OtherTrial => "a block of another trial or run",
            MismatchKind::OtherObject => "another object's block",
            MismatchKind::OtherPlace => "a block of another offset",
            MismatchKind::OlderGeneration => "an older generation: a lost write",
            MismatchKind::NewerGeneration => "a generation that was never written there",
            MismatchKind::Torn => "torn: parts of two generations",
            MismatchKind::Altered => "altered bytes",
        }
    }
}

/// Neighbouring bytes that are not what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Mismatch {
    /// The client that read them, from 0.
    pub client_index: u32,
    /// The object's name at its target; empty where the target is the object.
    pub object: String,
    /// Where in the object the first wrong byte is.
    pub offset_bytes: u64,
    /// From the first wrong byte to the last.
    pub length_bytes: u64,
    /// Bits that differ from what was written; `None` where it is not the same data at all.
    pub wrong_bit_count: Option<u64>,
    /// What is there.
    pub kind: MismatchKind,
    /// What was written at the first of the units concerned.
    pub expected: UnitLabel,
    /// What the first unit says of itself; `None` where it says nothing.
    pub found: Option<UnitLabel>,
    /// The checksum of what is there; equal to the one it says where a whole unit is out of its place.
    pub computed_checksum: u32,
    /// Whether it was found when the data was read back after the load.
    pub in_read_back: bool,
}

impl Mismatch {
    /// Which bytes, and what is there: `data-0, byte 4242: altered bytes (1 bit)`.
    #[must_use]
    pub fn describe_location(&self) -> String {
        let object = if self.object.is_empty() { "the target" } else { &self.object };
        let last = self.offset_bytes.saturating_add(self.length_bytes).saturating_sub(1);
        let bytes = match self.length_bytes {
            1 => format!("byte {last}"),
            _ => format!("bytes {} to {last}", self.offset_bytes),
        };
        let when = if self.in_read_back { " (read back after the load)" } else { "" };
        let bits = match self.wrong_bit_count {
            None => String::new(),
            Some(1) => " (1 bit)".to_owned(),
            Some(count) => format!(" ({count} bits)"),
        };
        format!("{object}, {bytes}{when}: {}{bits}", self.kind.meaning())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", self.describe_location(), self.expected)?;
        match &self.found {
            Some(found) => write!(f, "; found {found}, checksum of the bytes {:08x}", self.computed_checksum),
            None => write!(f, "; found no label, checksum of the bytes {:08x}", self.computed_checksum),
        }
    }
}

/// What the check of a trial's data found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Verification {
    /// Bytes of reads that were checked while the load ran, warm-up and drain included.
    pub checked_bytes: Bytes,
    /// Bytes that were read back and checked after the load.
    pub read_back_bytes: Bytes,
    /// Bytes that were not read back: the time for it was up, the trial was stopped, or requests were still in flight.
    pub unread_bytes: Bytes,
    /// Bytes that were read and could not be checked: a write to them failed, so that either content is right.
    pub undecided_bytes: Bytes,
    /// Bytes of units that are not what was written, each as often as it was read.
    pub wrong_bytes: Bytes,
    /// Places with wrong bytes: neighbours of one request that are wrong in the same way are one.
    pub mismatch_count: u64,
    /// The first of them, [`MISMATCHES_KEPT`] at most.
    pub mismatches: Vec<Mismatch>,
    /// Time that workers spent in the measured window on making blocks and checking them.
    pub cost_ns: Nanos,
}

impl Verification {
    /// Adds what another worker or trial found.
    pub fn add(&mut self, other: &Self) {
        self.checked_bytes = self.checked_bytes.saturating_add(other.checked_bytes);
        self.read_back_bytes = self.read_back_bytes.saturating_add(other.read_back_bytes);
        self.unread_bytes = self.unread_bytes.saturating_add(other.unread_bytes);
        self.undecided_bytes = self.undecided_bytes.saturating_add(other.undecided_bytes);
        self.wrong_bytes = self.wrong_bytes.saturating_add(other.wrong_bytes);
        self.mismatch_count = self.mismatch_count.saturating_add(other.mismatch_count);
        self.cost_ns = self.cost_ns.saturating_add(other.cost_ns);
        for mismatch in &other.mismatches {
            self.keep(mismatch.clone());
        }
    }

    /// Keeps a mismatch among the first ones, if there is room; counts nothing.
    pub fn keep(&mut self, mismatch: Mismatch) {
        if self.mismatches.len() < MISMATCHES_KEPT {
            self.mismatches.push(mismatch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mismatch(offset_bytes: u64) -> Mismatch {
        let expected = UnitLabel { seed: 7, object_index: 0, offset_bytes, generation: 3, checksum: 0x1A };
        Mismatch {
            client_index: 0,
            object: "data-0".to_owned(),
            offset_bytes,
            length_bytes: 512,
            wrong_bit_count: None,
            kind: MismatchKind::OlderGeneration,
            expected,
            found: Some(UnitLabel { generation: 2, checksum: 0x2B, ..expected }),
            computed_checksum: 0x2B,
            in_read_back: false,
        }
    }

    #[test]
    fn all_mismatches_are_counted_and_the_first_eight_are_kept() {
        let one = |offset| Verification {
            mismatch_count: 1,
            wrong_bytes: Bytes(512),
            mismatches: vec![mismatch(offset)],
            ..Verification::default()
        };
        let mut all = Verification::default();
        (0..20).for_each(|index| all.add(&one(index * 512)));
        assert_eq!((all.mismatch_count, all.wrong_bytes.0, all.mismatches.len()), (20, 20 * 512, 8));
        assert_eq!(all.mismatches[7].offset_bytes, 7 * 512);
    }

    #[test]
    fn a_mismatch_says_which_bytes_what_was_expected_and_what_was_found() {
        let text = mismatch(1024).to_string();
        assert_eq!(
            text,
            "data-0, bytes 1024 to 1535: an older generation: a lost write; expected seed 0000000000000007, object 0, \
             offset 1024, generation 3, checksum 0000001a; found seed 0000000000000007, object 0, offset 1024, \
             generation 2, checksum 0000002b, checksum of the bytes 0000002b"
        );
        let none = Mismatch { found: None, kind: MismatchKind::Zeros, in_read_back: true, ..mismatch(0) };
        assert!(none.to_string().contains("(read back after the load): zeros; expected"), "{none}");
        assert!(none.to_string().contains("found no label"), "{none}");
    }
}
