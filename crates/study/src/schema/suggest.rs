//! What to write instead of a value that is not taken: the nearest name, the unit that was meant, the end of the range.
//!
//! Not here: what is taken, which is `scalar`'s.

use super::kind::{self, ValueKind};
use super::nearest::{nearest, nearest_hint};
use super::scalar::scalar;
use super::toml_value::{integer, number, size};
use super::{FileSchema, KeySpec};
use narrows_model::quantity::{exact_duration, parse_byte_rate, parse_duration, parse_op_rate, parse_size};
use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, Nanos, Segment, Target, target};
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

/// What to write for `key`, which is given at `path`, instead of `value`, which `kind` does not take.
pub(super) fn instead(
    schema: &FileSchema,
    key: &KeySpec,
    path: &str,
    kind: ValueKind,
    value: &DeValue<'_>,
) -> String {
    let text = value.as_str();
    if kind == ValueKind::Sync && text.is_some_and(|text| text.trim().starts_with("every")) {
        let (least, most) = (kind::SYNC_EVERY.start(), kind::SYNC_EVERY.end());
        return format!("write a number from {least} to {most} after it, such as \"every 16\"");
    }
    text.and_then(|text| name(kind, text))
        .or_else(|| text.and_then(|text| base_units(kind, text)))
        .or_else(|| out_of_range(schema, key, kind, value))
        .or_else(|| text.and_then(|text| unit(kind, text)))
        .or_else(|| unitless(kind, value))
        .or_else(|| quoting(key, path, value))
        .unwrap_or_else(|| example(key))
}

/// A value that is taken.
pub(super) fn example(key: &KeySpec) -> String {
    format!("write for example {} = {}", key.name(), key.example)
}

/// The nearest of the names that `kind` takes.
pub(super) fn name(kind: ValueKind, text: &str) -> Option<String> {
    match kind {
        ValueKind::Target => near_target(text),
        ValueKind::Segment | ValueKind::Segments | ValueKind::EachSegment(_) => {
            let ids: Vec<&str> = Segment::ALL.iter().map(|segment| segment.id()).collect();
            nearest_hint(text, &ids)
        }
        _ => nearest_hint(text, kind.names()),
    }
}

/// `did you mean ...?` for a target with a slip in its scheme or in the layer of its endpoint; `None` for any other.
fn near_target(found: &str) -> Option<String> {
    let (scheme, rest) = found.split_once(':')?;
    let near = nearest(&scheme.to_lowercase(), target::schemes())?;
    let of_scheme = format!("{near}:{rest}");
    let of_layer = || {
        let (server, layer) = of_scheme.rsplit_once('/')?;
        let layers = ["sink", "source", "memory", "disk"].into_iter();
        Some(format!("{server}/{}", nearest(&layer.to_lowercase(), layers)?))
    };
    let meant = [Some(of_scheme.clone()), of_layer()].into_iter().flatten();
    let whole = meant.into_iter().find(|meant| meant.parse::<Target>().is_ok())?;
    Some(format!("did you mean \"{whole}\"?"))
}

/// The number in base units that a quantity with its unit, or a percentage, is.
fn base_units(kind: ValueKind, text: &str) -> Option<String> {
    let (ValueKind::Number { unit, .. } | ValueKind::Whole { unit, .. }) = kind else { return None };
    let bytes = || parse_size(text).ok().map(Bytes::as_f64);
    let quantity = match unit {
        "bytes/s" => parse_byte_rate(text).map(|rate| rate as f64).or_else(bytes),
        "operations/s" => parse_op_rate(text),
        "seconds" => parse_duration(text).map(Nanos::as_secs_f64),
        "bytes" => bytes(),
        _ => None,
    };
    let finite = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let percent = || text.strip_suffix('%').and_then(finite).map(|percent| percent / 100.0);
    let number = quantity.or_else(|| finite(text)).or_else(percent)?;
    Some(match unit {
        "" => format!("write {number} without quotes"),
        _ => format!("write {number} without quotes and unit ({unit})"),
    })
}

/// From here on a ratio is taken for a percentage: just above 1 it may be either.
const PERCENT_MIN: f64 = 2.0;

/// The end of the range that a value is beyond.
fn out_of_range(schema: &FileSchema, key: &KeySpec, kind: ValueKind, value: &DeValue<'_>) -> Option<String> {
    let beyond = |found: u64, min: u64, max: u64, words: &dyn Fn(u64) -> String| match found {
        _ if found < min => Some(format!("the least is {}", words(min))),
        _ if found > max => Some(format!("the most is {}", words(max))),
        _ => None,
    };
    match kind {
        ValueKind::Count { min, max } => beyond(integer(value)?, min, max, &|count| count.to_string()),
        ValueKind::Size { min, max } => {
            beyond(size(value)?.0, min, max, &|bytes| format!("\"{}\"", Bytes(bytes)))
        }
        ValueKind::Duration { min_ns, max_ns } => {
            let found = parse_duration(value.as_str()?)?.0;
            beyond(found, min_ns, max_ns, &|nanos| format!("\"{}\"", exact_duration(Nanos(nanos))))
        }
        ValueKind::Whole { min, .. } if number(value)? < min as f64 => Some(format!("the least is {min}")),
        ValueKind::Whole { max, .. } if number(value)? <= max as f64 => {
            Some("write a whole number".to_owned())
        }
        ValueKind::Whole { max, .. } => Some(format!("the most is {max}")),
        ValueKind::Number { min, .. } if number(value)? < min => Some(format!("the least is {min}")),
        ValueKind::Number { max, unit, .. } if number(value)? > max => {
            let more = schema.excess_hints.iter().find(|(path, _)| *path == key.path);
            let more = more.map(|(_, hint)| format!("; {hint}")).unwrap_or_default();
            let found = number(value)?;
            let is_percentage = unit.starts_with("ratio, ") && (PERCENT_MIN..=110.0).contains(&found);
            Some(if is_percentage {
                format!("a ratio, not a percentage: write {}{more}", found / 100.0)
            } else {
                format!("the most is {max}{more}")
            })
        }
        _ => None,
    }
}

/// The same number with the unit that was meant.
fn unit(kind: ValueKind, text: &str) -> Option<String> {
    let (text, per_second) = match kind {
        ValueKind::ByteRate => (text.split_once('/').map_or(text, |(amount, _)| amount), "/s"),
        ValueKind::OpRate => return taken(kind, &format!("{}/s", leading_number(text)?.0)),
        ValueKind::Size { .. } | ValueKind::Duration { .. } => (text, ""),
        _ => return None,
    };
    let (digits, found) = leading_number(text)?;
    let amount: f64 = digits.parse().ok()?;
    if matches!(kind, ValueKind::Duration { .. }) {
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
fn taken(kind: ValueKind, text: &str) -> Option<String> {
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
fn unitless(kind: ValueKind, value: &DeValue<'_>) -> Option<String> {
    let found = number(value).filter(|found| *found >= 0.0)?;
    match kind {
        ValueKind::Duration { .. } => {
            let seconds = exact_duration(Nanos::from_secs_f64(found));
            taken(kind, &seconds).map(|meant| format!("a duration has its unit: {meant}"))
        }
        ValueKind::ByteRate => taken(kind, &format!("{}/s", Bytes(round_to_u64(found))))
            .map(|meant| format!("a rate has its unit: {meant}")),
        _ => None,
    }
}

fn quoting(key: &KeySpec, path: &str, value: &DeValue<'_>) -> Option<String> {
    let needs_no_quotes = |text: &str| match key.kind {
        ValueKind::Count { .. } => text.parse::<f64>().is_ok(),
        ValueKind::Flag => text == "true" || text == "false",
        _ => false,
    };
    match value {
        DeValue::String(text) if needs_no_quotes(text) => Some(format!("write {text} without quotes")),
        DeValue::Array(_) if key.swept && !path.starts_with("sweep.") => {
            Some(format!("several values are a factor: write them as {} below [sweep]", key.factor()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint_of(schema: &FileSchema, path: &str, value: &str) -> String {
        let value = DeValue::parse(value).unwrap();
        let key = schema.key(path).unwrap();
        let kind = match key.kind {
            ValueKind::Each(_, of) => *of,
            kind => kind,
        };
        instead(schema, key, path, kind, value.get_ref())
    }

    fn hint_for(path: &str, value: &str) -> String {
        hint_of(crate::file::schema(), path, value)
    }

    fn observation_hint(name: &str, value: &str) -> String {
        hint_of(crate::observations::schema(), &format!("observation.{name}"), value)
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
    fn beyond_a_range_its_end_is_suggested() {
        assert_eq!(hint_for("workload.block", "\"1GiB\""), "the most is \"64MiB\"");
        assert_eq!(hint_for("workload.depth", "0"), "the least is 1");
        assert_eq!(hint_for("stop.measure", "\"1ms\""), "the least is \"10ms\"");
        assert_eq!(hint_for("repeat.level", "95"), "the most is 0.999");
    }

    #[test]
    fn a_number_in_quotes_is_suggested_without_them() {
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

    #[test]
    fn a_quantity_with_its_unit_is_suggested_as_a_number_in_base_units() {
        for (name, value, meant) in [
            ("bytes_per_s", "\"10MiB/s\"", "10485760 "),
            ("bytes_per_s", "\"1kB\"", "1000 "),
            ("elapsed_s", "\"300ms\"", "0.3 "),
            ("block_bytes", "\"64KiB\"", "65536 "),
            ("ops_per_s", "\"800/s\"", "800 "),
            ("hit_ratio", "\"53 %\"", "0.53 "),
            ("clients", "\"4\"", "4 "),
        ] {
            let hint = observation_hint(name, value);
            assert!(hint.starts_with(&format!("write {meant}without quotes")), "{value}: {hint}");
        }
    }

    #[test]
    fn a_percentage_is_suggested_as_a_ratio() {
        assert_eq!(observation_hint("clients", "0"), "the least is 1");
        assert_eq!(observation_hint("bytes_per_s", "-5"), "the least is 0");
        assert_eq!(observation_hint("hit_ratio", "53"), "a ratio, not a percentage: write 0.53");
        assert_eq!(observation_hint("clients", "1.5"), "write a whole number");
        assert_eq!(observation_hint("hit_ratio", "1.2"), "the most is 1.1");
    }

    #[test]
    fn a_share_of_the_cpus_that_is_far_above_all_of_them_is_a_percentage_or_cores() {
        let cores = "; busy cores are written as cpu_cores";
        let percentage = format!("a ratio, not a percentage: write 0.77{cores}");
        assert_eq!(observation_hint("cpu_ratio", "77"), percentage);
        assert_eq!(observation_hint("cpu_ratio", "400"), format!("the most is 2{cores}"));
    }

    #[test]
    fn a_slip_in_a_target_is_suggested_only_where_the_rest_is_one() {
        assert_eq!(name(ValueKind::Target, "nul:").as_deref(), Some("did you mean \"null:\"?"));
        assert_eq!(name(ValueKind::Target, "ftp://x"), None);
    }
}
