//! What is kept of a damaged file, and what is said of the rest.

use super::*;
use proptest::prelude::*;

fn file(numbers: &[u64]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut one = Vec::new();
    for number in numbers {
        line::encode(&mut one, *number, None, format!("\"data of {number}\"").as_bytes());
        text.extend_from_slice(&one);
    }
    text
}

fn read(bytes: &[u8]) -> (Vec<String>, Vec<Damage>) {
    let mut lines = Lines::new(bytes, "events.jsonl");
    let mut kept = Vec::new();
    while let Some(header) = lines.advance().unwrap() {
        kept.push(lines.data(&header).to_owned());
    }
    (kept, lines.damage().listed().to_vec())
}

fn ends(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

fn kinds(damage: &[Damage]) -> Vec<(u64, DamageKind)> {
    damage.iter().map(|damage| (damage.line, damage.kind.clone())).collect()
}

#[test]
fn a_whole_file_has_no_damage() {
    let (kept, damage) = read(&file(&[0, 1, 2]));
    assert_eq!((kept.len(), damage), (3, vec![]));
}

#[test]
fn a_missing_line_is_listed_and_the_rest_kept() {
    let (kept, damage) = read(&file(&[0, 1, 3, 4]));
    assert_eq!(kept.len(), 4);
    assert_eq!(kinds(&damage), [(3, DamageKind::LinesMissing { count: 1 })]);
}

#[test]
fn lines_missing_before_the_last_are_listed() {
    assert_eq!(kinds(&read(&file(&[0, 9])).1), [(2, DamageKind::LinesMissing { count: 8 })]);
}

#[test]
fn a_damaged_number_is_distinguished_from_missing_lines() {
    let (kept, damage) = read(&file(&[0, 1, 92, 3, 4]));
    assert_eq!(kept.len(), 5);
    assert_eq!(kinds(&damage), [(3, DamageKind::SequenceNumber { found: 92, expected: 2 })]);
}

#[test]
fn a_repeated_line_counts_once() {
    let (kept, damage) = read(&file(&[0, 1, 1, 2]));
    assert_eq!(kept.len(), 3);
    assert_eq!(kinds(&damage), [(3, DamageKind::Repeated { found: 1 })]);
}

#[test]
fn a_line_with_changed_data_is_dropped_and_not_also_missing() {
    let mut bytes = file(&[0, 1, 2]);
    let place = String::from_utf8(bytes.clone()).unwrap().find("data of 1").unwrap();
    bytes[place] = b'D';
    let (kept, damage) = read(&bytes);
    assert_eq!(kept, ["\"data of 0\"", "\"data of 2\""]);
    assert!(matches!(kinds(&damage)[..], [(2, DamageKind::Checksum { .. })]), "{damage:?}");
}

#[test]
fn a_torn_last_line_is_dropped_with_its_length() {
    let mut bytes = file(&[0, 1]);
    bytes.truncate(bytes.len() - 5);
    let (kept, damage) = read(&bytes);
    assert_eq!(kept.len(), 1);
    let whole = file(&[0]).len();
    let dropped_bytes = u64::try_from(bytes.len() - whole).unwrap();
    assert_eq!(kinds(&damage), [(2, DamageKind::TornEnd { dropped_bytes })]);
}

#[test]
fn of_a_large_file_of_bad_lines_a_thousand_are_listed_and_all_counted() {
    const NEWLINES: u64 = 200_000;
    let mut bytes = file(&[0]);
    bytes.resize(bytes.len() + 200_000, b'\n');
    bytes.extend_from_slice(&file(&[0])[..5]);
    let mut lines = Lines::new(bytes.as_slice(), "events.jsonl");
    let mut kept = 0;
    while lines.advance().unwrap().is_some() {
        kept += 1;
    }
    assert_eq!(kept, 1);
    // One more is the torn end.
    assert_eq!((lines.damage().listed().len(), lines.damage().count()), (1000, NEWLINES + 1));
    let places = lines.damage().listed().iter().map(|damage| damage.line);
    assert!(places.eq(2..1002), "the first ones are listed");
}

#[test]
fn what_is_said_of_a_long_line_is_short() {
    let long = "x".repeat(1 << 20);
    for line in [format!("\"{long}\"\n"), format!("{{\"seq\":0,\"crc32\":\"{long}\",\"data\":1}}\n")] {
        let damage = read(line.as_bytes()).1;
        let [Damage { kind: DamageKind::NotALine { problem }, .. }] = &damage[..] else {
            panic!("{} places", damage.len())
        };
        assert_eq!(problem.chars().count(), 200);
    }
}

proptest! {
    #[test]
    fn a_cut_keeps_every_whole_line_before_it(count in 0_u64..20, share in 0.0_f64..1.0) {
        let bytes = file(&(0..count).collect::<Vec<_>>());
        let cut = narrows_model::units::saturate_usize(narrows_model::units::round_to_u64(bytes.len() as f64 * share));
        let whole = ends(&bytes[..cut]);
        let (kept, damage) = read(&bytes[..cut]);
        prop_assert_eq!(kept.len(), whole);
        prop_assert_eq!(damage.is_empty(), bytes[..cut].last().is_none_or(|last| *last == b'\n'));
    }

    #[test]
    fn a_changed_byte_is_seen_and_costs_at_most_its_line_and_the_next(
        count in 1_u64..20, place in any::<prop::sample::Index>(), value in any::<u8>(),
    ) {
        let mut bytes = file(&(0..count).collect::<Vec<_>>());
        let whole = read(&bytes).0;
        let place = place.index(bytes.len());
        prop_assume!(bytes[place] != value);
        let before = ends(&bytes[..place]);
        bytes[place] = value;
        let (kept, damage) = read(&bytes);
        prop_assert_eq!(&kept[..before], &whole[..before]);
        prop_assert!(kept.len() + 2 >= whole.len());
        for line in &kept { prop_assert!(whole.contains(line)); }
        // Only white space between the parts of a line, or the case of a CRC's digits, means the same as before.
        let same = kept == whole && (value.is_ascii_whitespace() || value.is_ascii_hexdigit() || value == b'+');
        prop_assert!(!damage.is_empty() || same, "{:?}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (kept, damage) = read(&bytes);
        prop_assert!(kept.len() + damage.len() > 0 || bytes.is_empty());
    }
}
