//! What is reported about a unit that is not the expected one: what is there instead, and which bytes differ.
//!
//! Pure, and off every hot path: it runs where something is wrong.

use super::block::{LABEL_BYTES, UNIT, Unit, UnitContent, checksum, read_label, stored_checksum};
use narrows_model::verification::{MismatchKind, UnitLabel};
use std::ops::Range;

/// Bytes that differ between the right unit and an altered one at most, a half of it: beyond them it is another thing.
const ALTERED_BYTES_MAX: usize = UNIT / 2;

/// Where a torn unit may be torn: both parts are longer than a label, which any bit could turn into another one, and
/// than a few bytes that are zeros by chance.
const TORN_AT: std::ops::RangeInclusive<usize> = LABEL_BYTES + 8..=UNIT - 8;

/// What is wrong with a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnitMismatch {
    pub(crate) kind: MismatchKind,
    /// The wrong bytes, from the first to the last.
    pub(crate) bytes: Range<usize>,
    /// Bits that differ; `None` where it is not the same data at all.
    pub(crate) bit_count: Option<u64>,
    pub(crate) expected: UnitLabel,
    pub(crate) found: Option<UnitLabel>,
    pub(crate) computed_checksum: u32,
}

impl Unit {
    /// What is wrong with `bytes`, which should be this unit and are not.
    pub(crate) fn classify(&self, bytes: &[u8]) -> UnitMismatch {
        let found = read_label(bytes);
        let (kind, place, bit_count) = self.kind(bytes, found);
        let computed_checksum = checksum(bytes);
        UnitMismatch { kind, bytes: place, bit_count, expected: self.label(), found, computed_checksum }
    }

    fn kind(&self, bytes: &[u8], found: Option<UnitLabel>) -> (MismatchKind, Range<usize>, Option<u64>) {
        let whole = |kind| (kind, 0..UNIT, None);
        if bytes.iter().all(|byte| *byte == 0) {
            return whole(MismatchKind::Zeros);
        }
        if let Some(label) = found.filter(|_| stored_checksum(bytes) == checksum(bytes))
            && let Some(kind) = self.misplaced(&label)
        {
            return whole(kind);
        }
        if let Some(torn) = self.torn(bytes, found) {
            return (MismatchKind::Torn, torn, None);
        }
        match difference(bytes, &self.bytes()) {
            Some((range, byte_count, bit_count)) if byte_count <= ALTERED_BYTES_MAX => {
                (MismatchKind::Altered, range, Some(bit_count))
            }
            _ => whole(MismatchKind::Foreign),
        }
    }

    /// What a whole unit with this label is here; `None` for the right one.
    fn misplaced(&self, found: &UnitLabel) -> Option<MismatchKind> {
        if found.seed != self.content.seed {
            return Some(MismatchKind::OtherTrial);
        }
        if found.object_index != self.content.object_index {
            return Some(MismatchKind::OtherObject);
        }
        if found.offset_bytes != self.offset_bytes {
            return Some(MismatchKind::OtherPlace);
        }
        match found.generation.cmp(&self.generation) {
            std::cmp::Ordering::Less => Some(MismatchKind::OlderGeneration),
            std::cmp::Ordering::Greater => Some(MismatchKind::NewerGeneration),
            std::cmp::Ordering::Equal => None,
        }
    }

    /// The part that is not of this unit, where the bytes are the first part of one unit of this place and the rest of
    /// another one, or zeros.
    fn torn(&self, bytes: &[u8], found: Option<UnitLabel>) -> Option<Range<usize>> {
        let labelled = found.map(|label| {
            let content = UnitContent { seed: label.seed, object_index: label.object_index };
            content.unit(label.offset_bytes, label.generation)
        });
        let before = self.content.unit(self.offset_bytes, self.generation.saturating_sub(1));
        // Bounded: at most three beginnings with three ends each.
        let beginnings = [Some(*self), labelled, Some(before)];
        beginnings.into_iter().flatten().find_map(|first| {
            let cut = common_prefix(bytes, &first.bytes());
            let ends = [Some(*self), labelled, Some(before)].into_iter().flatten().map(|unit| unit.bytes());
            let fits = |end: &[u8; UNIT]| end[cut..] == bytes[cut..];
            let torn = TORN_AT.contains(&cut) && ends.chain([[0; UNIT]]).any(|end| fits(&end));
            torn.then(|| if first == *self { cut..UNIT } else { 0..cut })
        })
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// From the first different byte to the last, how many differ between them, and in how many bits; `None` without any.
fn difference(found: &[u8], expected: &[u8]) -> Option<(Range<usize>, usize, u64)> {
    let differ = || found.iter().zip(expected).enumerate().filter(|(_, (a, b))| a != b);
    let (first, _) = differ().next()?;
    let (last, _) = differ().next_back()?;
    let bit_count = differ().map(|(_, (a, b))| u64::from((a ^ b).count_ones())).sum();
    Some((first..last + 1, differ().count(), bit_count))
}
