//! What to write instead of a value that is not taken: the nearest name, the unit that was meant, the end of the range.
//!
//! Not here: what is taken, which is `value`'s.

use super::keys::Key;
use super::kind::{self, Kind};
use super::quantity;
use super::value::{scalar, size};
use crate::located::{integer, nearest, nearest_hint, number};
use narrows_model::size::parse_size;
use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, Nanos};
use toml::de::DeValue;

const SIZE_UNITS: &[&str] = &["B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB"];
const TIME_UNITS: &[&str] = &["ns", "us", "ms", "s", "min", "h"];
/// Words that people write for units.
const WORDS: &[(&str, &str)] = &[
    ("nsec", "ns"),
    ("usec", "us"),
    ("msec", "ms"),
    ("millis", "ms"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("m", "min"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hour", "h"),
    ("hours", "h"),
    ("byte", "B"),
    ("bytes", "B"),
];

/// What to write for `key`, which stands at `path`, instead of `value`.
pub(super) fn instead(key: &Key, path: &str, value: &DeValue<'_>) -> String {
    if matches!(key.kind, Kind::Sync) && value.as_str().is_some_and(|text| text.trim().starts_with("every")) {
        let (least, most) = (kind::SYNC_EVERY.start(), kind::SYNC_EVERY.end());
        return format!("write a number from {least} to {most} after it, such as \"every 16\"");
    }
    value
        .as_str()
        .and_then(|text| nearest_hint(text, key.kind.names()))
        .or_else(|| out_of_range(key.kind, value))
        .or_else(|| value.as_str().and_then(|text| unit(key.kind, text)))
        .or_else(|| unitless(key, value))
        .or_else(|| quoting(key, path, value))
        .unwrap_or_else(|| example(key))
}

/// A value that is taken.
pub(super) fn example(key: &Key) -> String {
    format!("write for example {} = {}", key.name(), key.example)
}

/// The end of the range that a value lies beyond.
fn out_of_range(kind: Kind, value: &DeValue<'_>) -> Option<String> {
    let end = |least: bool, words: String| {
        let which = if least { "least" } else { "most" };
        Some(format!("the {which} is {words}"))
    };
    let of = |found: u64, (min, max): (u64, u64), words: &dyn Fn(u64) -> String| {
        if found < min {
            end(true, words(min))
        } else if found > max {
            end(false, words(max))
        } else {
            None
        }
    };
    match kind {
        Kind::Count { min, max } => of(integer(value)?, (min, max), &|count| count.to_string()),
        Kind::Size { min, max } => of(size(value)?.0, (min, max), &|bytes| format!("\"{}\"", Bytes(bytes))),
        Kind::Duration { min_ns, max_ns } => {
            of(quantity::duration_ns(value.as_str()?)?, (min_ns, max_ns), &|nanos| {
                format!("\"{}\"", kind::time(nanos))
            })
        }
        Kind::Number { min, max, .. } => match number(value)? {
            found if found < min => end(true, min.to_string()),
            found if found > max => end(false, max.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// The same number with the unit that was meant.
fn unit(kind: Kind, text: &str) -> Option<String> {
    let (text, per_second) = match kind {
        Kind::ByteRate => (text.split_once('/').map_or(text, |(amount, _)| amount), "/s"),
        Kind::OpRate => return taken(kind, &format!("{}/s", leading_number(text)?.0)),
        Kind::Size { .. } | Kind::Duration { .. } => (text, ""),
        _ => return None,
    };
    let (digits, found) = leading_number(text)?;
    let amount: f64 = digits.parse().ok()?;
    if matches!(kind, Kind::Duration { .. }) {
        let unit = if found.is_empty() { "s" } else { meant(found, TIME_UNITS)? };
        return taken(kind, &format!("{digits}{unit}"));
    }
    let unit = if found.is_empty() { "B" } else { meant(found, SIZE_UNITS)? };
    let one = parse_size(&format!("1{unit}")).ok()?;
    // A part of a unit is a whole number of a smaller one.
    let bytes = Bytes(round_to_u64(amount * one.as_f64()));
    let whole = if digits.contains('.') { bytes.to_string() } else { format!("{digits}{unit}") };
    taken(kind, &format!("{whole}{per_second}"))
}

/// `text` as a suggestion, if it would be taken.
fn taken(kind: Kind, text: &str) -> Option<String> {
    scalar(kind, &DeValue::String(text.into()))?;
    Some(format!("did you mean \"{text}\"?"))
}

fn leading_number(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    (!digits.is_empty()).then(|| (digits, unit.trim()))
}

fn meant(found: &str, units: &[&'static str]) -> Option<&'static str> {
    let lower = found.to_lowercase();
    let word = WORDS.iter().find(|(word, _)| *word == lower).map(|(_, unit)| *unit);
    let same = units.iter().find(|unit| unit.to_lowercase() == lower).copied();
    same.or(word.filter(|word| units.contains(word))).or_else(|| nearest(found, units.iter().copied()))
}

/// A number where a quantity with its unit belongs.
fn unitless(key: &Key, value: &DeValue<'_>) -> Option<String> {
    let found = number(value).filter(|found| *found >= 0.0)?;
    match key.kind {
        Kind::Duration { .. } => {
            let seconds = kind::time(Nanos::from_secs_f64(found).0);
            taken(key.kind, &seconds).map(|meant| format!("a duration has its unit: {meant}"))
        }
        Kind::ByteRate => taken(key.kind, &format!("{}/s", Bytes(round_to_u64(found))))
            .map(|meant| format!("a rate has its unit: {meant}")),
        _ => None,
    }
}

fn quoting(key: &Key, path: &str, value: &DeValue<'_>) -> Option<String> {
    let bare = |text: &str| match key.kind {
        Kind::Count { .. } | Kind::Number { .. } => text.parse::<f64>().is_ok(),
        Kind::Flag => text == "true" || text == "false",
        _ => false,
    };
    match value {
        DeValue::String(text) if bare(text) => Some(format!("write {text} without quotes")),
        DeValue::Array(_) if key.swept && !path.starts_with("sweep.") => {
            Some(format!("several values are a factor: write them as {} below [sweep]", key.factor()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint_for(path: &str, value: &str) -> String {
        let value = DeValue::parse(value).unwrap();
        instead(Key::of(path).unwrap(), path, value.get_ref())
    }

    #[test]
    fn the_unit_that_was_meant_is_put_to_the_number() {
        for (path, value, meant) in [
            ("workload.block", "\"64kib \"", "64KiB"),
            ("workload.block", "\"64KiBs\"", "64KiB"),
            ("workload.block", "\"64 kilobytes\"", ""),
            ("workload.block", "\"1.5MiB\"", "1536KiB"),
            ("stop.measure", "\"5 seconds\"", "5s"),
            ("stop.measure", "\"5\"", "5s"),
            ("stop.measure", "5", "5s"),
            ("stop.measure", "0.25", "250ms"),
            ("workload.max_rate", "\"10MiB\"", "10MiB/s"),
            ("workload.max_rate", "\"10Mib/sec\"", "10MiB/s"),
            ("workload.max_rate", "1048576", "1MiB/s"),
            ("workload.offered", "\"1000\"", "1000/s"),
            ("workload.offered", "\"1000/min\"", "1000/s"),
        ] {
            let hint = hint_for(path, value);
            let wanted = format!("did you mean \"{meant}\"?");
            assert!(hint.ends_with(&wanted) || meant.is_empty(), "{value}: {hint}");
        }
    }

    #[test]
    fn beyond_a_range_its_end_is_told() {
        assert_eq!(hint_for("workload.block", "\"1GiB\""), "the most is \"64MiB\"");
        assert_eq!(hint_for("workload.depth", "0"), "the least is 1");
        assert_eq!(hint_for("stop.measure", "\"1ms\""), "the least is \"10ms\"");
        assert_eq!(hint_for("repeat.level", "95"), "the most is 0.999");
    }

    #[test]
    fn a_number_in_quotes_is_told_to_lose_them() {
        assert_eq!(hint_for("workload.depth", "\"16\""), "write 16 without quotes");
        assert_eq!(hint_for("together", "\"true\""), "write true without quotes");
    }

    #[test]
    fn a_list_is_sent_to_the_sweep() {
        assert!(hint_for("workload.depth", "[1, 2]").contains("depth below [sweep]"));
    }

    #[test]
    fn a_name_in_other_letters_is_known() {
        assert_eq!(hint_for("workload.op", "\"READ\""), "did you mean \"read\"?");
    }
}
