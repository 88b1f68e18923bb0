//! What to write instead of a key or a value that is not taken.
//!
//! Not here: what is taken.

use super::keys::{FACTOR_SEGMENT, KEYS, Key, TABLES, Table};
use super::kind::Kind;
use super::value::signed;
use crate::file::quantity;
use crate::located::{nearest, nearest_hint};
use narrows_model::size::parse_size;
use narrows_model::units::NANOS_PER_SEC;
use narrows_model::{Bytes, Segment};
use toml::de::DeValue;

/// What others call our keys.
const ELSEWHERE: &[(&str, Table, &str)] = &[
    ("bandwidth", Table::Observation, "bytes_per_s"),
    ("block", Table::Observation, "block_bytes"),
    ("block_size", Table::Observation, "block_bytes"),
    ("bs", Table::Observation, "block_bytes"),
    ("cpu", Table::Observation, "cpu_ratio"),
    ("elapsed", Table::Observation, "elapsed_s"),
    ("factors", Table::Observation, "factor"),
    ("iops", Table::Observation, "ops_per_s"),
    ("latency", Table::Observation, "latency_s"),
    ("name", Table::Observation, "id"),
    ("nprocs", Table::Observation, "clients"),
    ("processes", Table::Observation, "clients"),
    ("queue_depth", Table::Observation, "in_flight_configured"),
    ("rate", Table::Observation, "bytes_per_s"),
    ("reads", Table::Observation, "read_calls"),
    ("runtime", Table::Observation, "elapsed_s"),
    ("segments", Table::Observation, "tcp_segments"),
    ("threads", Table::Observation, "clients"),
    ("throughput", Table::Observation, "bytes_per_s"),
    ("time", Table::Observation, "elapsed_s"),
    ("window", Table::Observation, "window_bytes"),
    ("writes", Table::Observation, "write_calls"),
];

/// Names that may stand in `table`.
pub(super) fn names_in(table: Table) -> Vec<&'static str> {
    let keys = KEYS.iter().filter(|key| key.table == table).map(|key| key.name);
    let tables = TABLES.iter().map(|(inner, _)| inner.name()).chain([FACTOR_SEGMENT]);
    keys.chain(tables.filter(|name| table == Table::Top && !name.is_empty())).collect()
}

/// What to do about a key `found` in `table` that is not there.
pub(super) fn key(table: Table, found: &str) -> String {
    let lower = found.to_lowercase();
    let here = names_in(table);
    let place = |table: Table, name: &str| match table {
        Table::Top => format!("did you mean `{name}`, above all tables?"),
        _ => format!("did you mean `{name}` in [[{}]]?", table.name()),
    };
    let elsewhere = ELSEWHERE.iter().find(|(theirs, _, _)| *theirs == lower);
    if let Some((_, _, ours)) = elsewhere.filter(|(_, _, ours)| here.contains(ours)) {
        return format!("did you mean `{ours}`?");
    }
    if let Some(near) = nearest(&lower, here.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    if let Some((_, theirs, ours)) = elsewhere {
        return place(*theirs, ours);
    }
    let exact = KEYS.iter().find(|key| key.name == lower);
    let near = nearest(&lower, KEYS.iter().map(|key| key.name));
    match exact.or_else(|| KEYS.iter().find(|key| Some(key.name) == near)) {
        Some(key) => place(key.table, key.name),
        None => "leave it out: no key is called so, and none nearly".to_owned(),
    }
}

/// What to write for `key` instead of `value`, which is none of `kind`.
pub(super) fn instead(key: &Key, kind: Kind, value: &DeValue<'_>) -> String {
    value
        .as_str()
        .and_then(|text| name(kind, text))
        .or_else(|| value.as_str().and_then(|text| bare(kind, text)))
        .or_else(|| beyond(key, kind, value))
        .unwrap_or_else(|| example(key))
}

/// A value that is taken.
pub(super) fn example(key: &Key) -> String {
    format!("write for example {} = {}", key.name, key.example)
}

/// The nearest name or segment.
fn name(kind: Kind, text: &str) -> Option<String> {
    match kind {
        Kind::Name(names) => nearest_hint(text, names),
        Kind::Segment => segment(text),
        _ => None,
    }
}

/// The nearest segment.
pub(super) fn segment(text: &str) -> Option<String> {
    let ids: Vec<&str> = Segment::ALL.iter().map(|segment| segment.id()).collect();
    nearest_hint(text, &ids)
}

/// The number that a quantity with its unit comes to.
fn bare(kind: Kind, text: &str) -> Option<String> {
    let (Kind::Number { unit, .. } | Kind::Whole { unit, .. }) = kind else { return None };
    let seconds = || quantity::duration_ns(text).map(|ns| ns as f64 / NANOS_PER_SEC as f64);
    let bytes = || parse_size(text).ok().map(Bytes::as_f64);
    let meant = match unit {
        "bytes/s" => quantity::byte_rate(text).map(|rate| rate as f64).or_else(bytes),
        "operations/s" => quantity::op_rate(text),
        "seconds" => seconds(),
        "bytes" => bytes(),
        _ => None,
    };
    let percent =
        || text.strip_suffix('%').and_then(|text| text.trim().parse::<f64>().ok()).map(|value| value / 100.0);
    let number = || text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let meant = meant.or_else(number).or_else(percent)?;
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    Some(format!("write {meant} without quotes and unit{unit}"))
}

/// From here on a ratio is taken for a percentage.
const PERCENT_MIN: f64 = 2.0;

/// The end of the range that a number lies beyond.
fn beyond(key: &Key, kind: Kind, value: &DeValue<'_>) -> Option<String> {
    let found = signed(value)?;
    let (min, max, unit) = match kind {
        Kind::Number { min, max, unit } => (min, max, unit),
        Kind::Whole { min, max, unit } => (min as f64, max as f64, unit),
        _ => return None,
    };
    if found < min {
        return Some(format!("the least is {min}"));
    }
    if found <= max {
        return matches!(kind, Kind::Whole { .. }).then(|| "write a whole number".to_owned());
    }
    // Just above the whole it may be either: a percentage, or a share that cannot be.
    let is_percentage = unit.starts_with("ratio, ") && (PERCENT_MIN..=110.0).contains(&found);
    let cores = if key.name == "cpu_ratio" { "; busy cores are written as cpu_cores" } else { "" };
    Some(if is_percentage {
        format!("a ratio, not a percentage: write {}{cores}", found / 100.0)
    } else {
        format!("the most is {max}{cores}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint_for(name: &str, value: &str) -> String {
        let key = Key::of(Table::Observation, name).unwrap();
        instead(key, key.kind, DeValue::parse(value).unwrap().get_ref())
    }

    #[test]
    fn a_quantity_with_its_unit_is_told_as_a_number() {
        for (name, value, meant) in [
            ("bytes_per_s", "\"10MiB/s\"", "10485760 "),
            ("bytes_per_s", "\"1kB\"", "1000 "),
            ("elapsed_s", "\"300ms\"", "0.3 "),
            ("block_bytes", "\"64KiB\"", "65536 "),
            ("ops_per_s", "\"800/s\"", "800 "),
            ("hit_ratio", "\"53 %\"", "0.53 "),
            ("clients", "\"4\"", "4 "),
        ] {
            let hint = hint_for(name, value);
            assert!(hint.starts_with(&format!("write {meant}without quotes")), "{value}: {hint}");
        }
    }

    #[test]
    fn beyond_a_range_its_end_is_told_and_a_percentage_is_known() {
        assert_eq!(hint_for("clients", "0"), "the least is 1");
        assert_eq!(hint_for("bytes_per_s", "-5"), "the least is 0");
        assert_eq!(hint_for("hit_ratio", "53"), "a ratio, not a percentage: write 0.53");
        assert_eq!(hint_for("clients", "1.5"), "write a whole number");
        assert_eq!(hint_for("hit_ratio", "1.2"), "the most is 1.1");
    }

    #[test]
    fn a_share_of_the_cpus_that_is_far_above_all_of_them_is_a_percentage_or_cores() {
        let hint = |value: &str| {
            let key = Key::of(Table::Observation, "cpu_ratio").unwrap();
            let Kind::Each(_, of) = key.kind else { panic!("{key:?}") };
            instead(key, *of, DeValue::parse(value).unwrap().get_ref())
        };
        assert_eq!(hint("77"), "a ratio, not a percentage: write 0.77; busy cores are written as cpu_cores");
        assert_eq!(hint("400"), "the most is 2; busy cores are written as cpu_cores");
    }

    #[test]
    fn a_slip_in_a_key_is_put_right_where_it_is_or_sent_to_its_table() {
        assert_eq!(key(Table::Observation, "byte_per_s"), "did you mean `bytes_per_s`?");
        assert_eq!(key(Table::Observation, "iops"), "did you mean `ops_per_s`?");
        assert_eq!(key(Table::Observation, "scope"), "did you mean `scope` in [[ceiling]]?");
        assert_eq!(key(Table::Top, "observations"), "did you mean `observation`?");
        assert_eq!(key(Table::Ceiling, "title"), "did you mean `title`, above all tables?");
        assert!(key(Table::Claim, "zzzzzzz").starts_with("leave it out"));
        for (_, table, ours) in ELSEWHERE {
            assert!(Key::of(*table, ours).is_some(), "{ours}");
        }
    }
}
