//! The layout of a unit byte by byte, what is said of a wrong one, and who may have which units at once.

use super::block::UNIT;
use super::*;
use narrows_model::verification::MismatchKind;

const CONTENT: UnitContent = UnitContent { seed: 0x0123_4567_89AB_CDEF, object_index: 3 };

fn bytes(unit: Unit) -> [u8; UNIT] {
    let mut bytes = [0; UNIT];
    unit.write(&mut bytes);
    bytes
}

/// CRC-32 as in ISO 3309, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

#[test]
fn a_unit_is_laid_out_as_documented() {
    let unit = bytes(CONTENT.unit(512 * 9, 258));
    assert_eq!(&unit[..8], b"narrows1");
    assert_eq!(unit[8..16], [0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01]);
    assert_eq!(unit[16..24], [0, 18, 0, 0, 0, 0, 0, 0]);
    assert_eq!(unit[24..32], [3, 0, 0, 0, 2, 1, 0, 0]);
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926, "the check value of CRC-32");
    assert_eq!(unit[508..], crc32(&unit[..508]).to_le_bytes());
}

#[test]
fn no_two_units_share_what_looks_like_chance() {
    let other_seed = UnitContent { seed: 7, ..CONTENT };
    let other_object = UnitContent { object_index: 4, ..CONTENT };
    let units = [
        CONTENT.unit(0, 0),
        CONTENT.unit(512, 0),
        CONTENT.unit(0, 1),
        CONTENT.unit(512, 1),
        other_seed.unit(0, 0),
        other_object.unit(0, 0),
    ];
    let bodies: std::collections::BTreeSet<Vec<u8>> =
        units.iter().map(|unit| bytes(*unit)[32..508].to_vec()).collect();
    assert_eq!(bodies.len(), units.len());
    let body = &bytes(units[0])[32..508];
    let ones: u32 = body.iter().map(|byte| byte.count_ones()).sum();
    // Five standard deviations of 3808 tosses.
    assert!(ones.abs_diff(1904) < 155, "{ones}");
}

#[test]
fn a_block_is_filled_with_the_units_of_its_place() {
    let mut block = vec![0; 3 * UNIT + 100];
    CONTENT.fill(&mut block, 1024, |number| u32::try_from(number).unwrap() * 10);
    for (part, number) in block.chunks_exact(UNIT).zip(2_u32..) {
        assert!(CONTENT.unit(u64::from(number) * 512, number * 10).is(part));
    }
    assert_eq!(block[3 * UNIT..], [0; 100], "a part of a unit stays as it is");
}

#[test]
fn every_single_bit_that_turns_is_seen_and_its_byte_named() {
    let unit = CONTENT.unit(4096, 5);
    let mut found = bytes(unit);
    assert!(unit.is(&found));
    for bit in 0..UNIT * 8 {
        found[bit / 8] ^= 1 << (bit % 8);
        assert!(!unit.is(&found), "bit {bit}");
        let wrong = unit.classify(&found);
        let expected = (MismatchKind::Altered, bit / 8..bit / 8 + 1, Some(1));
        assert_eq!((wrong.kind, wrong.bytes, wrong.bit_count), expected, "bit {bit}");
        found[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn what_is_in_the_place_of_a_unit_is_named() {
    let right = CONTENT.unit(4096, 5);
    let other_seed = UnitContent { seed: 7, ..CONTENT };
    let other_object = UnitContent { object_index: 4, ..CONTENT };
    let cases = [
        (bytes(CONTENT.unit(4096, 4)), MismatchKind::OlderGeneration),
        (bytes(CONTENT.unit(4096, 6)), MismatchKind::NewerGeneration),
        (bytes(CONTENT.unit(8192, 5)), MismatchKind::OtherPlace),
        (bytes(other_object.unit(4096, 5)), MismatchKind::OtherObject),
        (bytes(other_seed.unit(4096, 5)), MismatchKind::OtherTrial),
        ([0; UNIT], MismatchKind::Zeros),
        ([0xA5; UNIT], MismatchKind::Foreign),
    ];
    for (found, kind) in cases {
        assert!(!right.is(&found));
        let wrong = right.classify(&found);
        assert_eq!((wrong.kind, wrong.bytes, wrong.bit_count), (kind, 0..UNIT, None));
        assert_eq!((wrong.expected.offset_bytes, wrong.expected.generation), (4096, 5));
        let says = !matches!(kind, MismatchKind::Zeros | MismatchKind::Foreign);
        assert_eq!(wrong.found.is_some(), says, "{kind:?}");
        if let Some(label) = wrong.found {
            assert_eq!(label.checksum, wrong.computed_checksum, "a whole unit out of its place");
        }
    }
}

#[test]
fn a_unit_of_two_generations_or_with_an_end_of_zeros_is_torn() {
    let right = CONTENT.unit(4096, 5);
    let (new, old) = (bytes(right), bytes(CONTENT.unit(4096, 4)));
    let joined = |first: [u8; UNIT], rest: [u8; UNIT], cut: usize| {
        let mut unit = first;
        unit[cut..].copy_from_slice(&rest[cut..]);
        unit
    };
    for cut in [64, 100, 256, 500] {
        let wrong = right.classify(&joined(new, old, cut));
        assert_eq!(wrong.kind, MismatchKind::Torn);
        // Bytes that both have by chance belong to the first.
        assert!(wrong.bytes.start >= cut && wrong.bytes.start < cut + 8, "{:?} at {cut}", wrong.bytes);
        let wrong = right.classify(&joined(old, new, cut));
        assert_eq!((wrong.kind, wrong.bytes.start), (MismatchKind::Torn, 0));
        assert_eq!(right.classify(&joined(new, [0; UNIT], cut)).kind, MismatchKind::Torn);
    }
}

#[test]
fn reads_share_units_and_a_write_has_them_alone() {
    let table = GenerationTable::new(Bytes(8192), Bytes(4096), 2);
    let (first, overlap) = (table.units_of(0, 4096), table.units_of(2048, 4096));
    assert_eq!((first.clone(), overlap.clone()), (0..8, 4..12));
    assert!(table.begin_read(first.clone()) && table.begin_read(overlap.clone()));
    assert!(!table.begin_write(overlap.clone()));
    table.end_read(first.clone());
    assert!(!table.begin_write(first.clone()), "the other read still has a part");
    table.end_read(overlap.clone());
    assert!(table.begin_write(first.clone()));
    assert!(!table.begin_read(overlap.clone()) && !table.begin_write(overlap.clone()));
    // A refused request has locked nothing.
    assert!(table.begin_write(8..16));
    table.end_write(8..16, WriteOutcome::Whole);
    table.end_write(first, WriteOutcome::Whole);
    assert!(table.begin_read(overlap));
    assert_eq!([0, 7, 8, 15].map(|unit| table.generation(unit)), [Some(1); 4]);
}

#[test]
fn no_more_reads_have_a_unit_than_can_be_counted() {
    let table = GenerationTable::new(Bytes(512), Bytes(512), 1);
    let taken = (0..100).filter(|_| table.begin_read(0..1)).count();
    assert_eq!(taken, 63);
    (0..taken).for_each(|_| table.end_read(0..1));
    assert!(table.begin_write(0..1));
}

#[test]
fn after_a_failed_write_nothing_is_known_until_the_next_one() {
    let table = GenerationTable::new(Bytes(512), Bytes(512), 1);
    assert!(table.begin_write(0..1));
    assert_eq!(table.next_generation(0), 1);
    table.end_write(0..1, WriteOutcome::Perhaps);
    assert_eq!(table.generation(0), None);
    assert!(table.begin_write(0..1));
    assert_eq!(table.next_generation(0), 2, "neither of those that may be there");
    table.end_write(0..1, WriteOutcome::Whole);
    assert_eq!(table.generation(0), Some(2));
}

#[test]
fn only_the_last_worker_ends_last() {
    let table = GenerationTable::new(Bytes(512), Bytes(512), 3);
    assert_eq!([(); 3].map(|()| table.ends_last()), [false, false, true]);
}
