//! A single value as its kind takes it, or nothing.
//!
//! Not here: lists and tables, and what to say about a value that is not taken.

use super::kind::{self, ValueKind};
use super::toml_value::{integer, number, size};
use super::value::{ArithmeticValue, FileValue};
use narrows_model::quantity::{parse_byte_rate, parse_duration, parse_op_rate};
use narrows_model::units::round_to_u64;
use narrows_model::workload::SyncPolicy;
use narrows_model::{Segment, Target};
use toml::de::DeValue;

impl FileValue {
    /// The single value that `text` is as TOML; `None` where it is no TOML, or nothing that `kind` takes.
    pub(crate) fn from_toml(kind: ValueKind, text: &str) -> Option<Self> {
        scalar(kind, DeValue::parse(text).ok()?.get_ref())
    }
}

/// The value; `None` when it is not what `kind` takes.
pub(super) fn scalar(kind: ValueKind, value: &DeValue<'_>) -> Option<FileValue> {
    match (kind, value) {
        (ValueKind::Text, DeValue::String(text)) => Some(FileValue::Text(text.to_string())),
        (ValueKind::Remark, DeValue::String(text)) => remark(text).map(FileValue::Text),
        (ValueKind::Flag, DeValue::Boolean(flag)) => Some(FileValue::Flag(*flag)),
        (ValueKind::Target, DeValue::String(text)) => text.parse::<Target>().ok().map(FileValue::Target),
        (ValueKind::Choice(names), DeValue::String(text)) => {
            names.iter().find(|name| **name == *text).map(|name| FileValue::Name(name))
        }
        (ValueKind::Sync, DeValue::String(text)) => sync(text).map(FileValue::Sync),
        (ValueKind::Segment, DeValue::String(text)) => Segment::from_id(text).map(FileValue::Segment),
        (ValueKind::Arithmetic, DeValue::String(text)) => {
            arithmetic(text, super::arithmetic::value(text).ok())
        }
        (ValueKind::Arithmetic, value) => {
            number(value).and_then(|number| arithmetic(&number.to_string(), Some(number)))
        }
        _ => quantity(kind, value),
    }
}

fn quantity(kind: ValueKind, value: &DeValue<'_>) -> Option<FileValue> {
    match (kind, value) {
        (ValueKind::Count { min, max }, value) => {
            integer(value).filter(|count| (min..=max).contains(count)).map(FileValue::Count)
        }
        (ValueKind::Whole { min, max, .. }, value) => {
            let whole = number(value).filter(|number| *number >= 0.0 && number.fract().abs() <= 0.0);
            whole.map(round_to_u64).filter(|count| (min..=max).contains(count)).map(FileValue::Count)
        }
        (ValueKind::Number { min, max, .. }, value) => {
            number(value).filter(|number| (min..=max).contains(number)).map(FileValue::Number)
        }
        (ValueKind::Size { min, max }, value) => {
            size(value).filter(|bytes| (min..=max).contains(&bytes.0)).map(FileValue::Size)
        }
        (ValueKind::Duration { min_ns, max_ns }, DeValue::String(text)) => parse_duration(text)
            .filter(|duration| (min_ns..=max_ns).contains(&duration.0))
            .map(FileValue::Duration),
        (ValueKind::ByteRate, DeValue::String(text)) => {
            parse_byte_rate(text).filter(|rate| kind::BYTE_RATE.contains(rate)).map(FileValue::ByteRate)
        }
        (ValueKind::OpRate, value) => {
            let rate = value.as_str().map_or_else(|| number(value), parse_op_rate);
            rate.filter(|rate| kind::OP_RATE.contains(rate)).map(FileValue::OpRate)
        }
        _ => None,
    }
}

fn arithmetic(text: &str, value: Option<f64>) -> Option<FileValue> {
    value.map(|value| FileValue::Arithmetic(ArithmeticValue { text: text.to_owned(), value }))
}

fn sync(text: &str) -> Option<SyncPolicy> {
    match text {
        "none" => Some(SyncPolicy::None),
        "dsync" => Some(SyncPolicy::Dsync),
        "at_end" => Some(SyncPolicy::AtEnd),
        "after_end" => Some(SyncPolicy::AfterEnd),
        _ => {
            let writes: u64 = text.strip_prefix("every ")?.trim().parse().ok()?;
            let writes = Some(writes).filter(|writes| kind::SYNC_EVERY.contains(writes))?;
            u32::try_from(writes).ok().map(SyncPolicy::Every)
        }
    }
}

/// A text that can be printed: not empty, not endless, nothing that steers a terminal.
pub(super) fn remark(text: &str) -> Option<String> {
    let fits = !text.trim().is_empty() && text.chars().count() <= kind::REMARK_CHARS_MAX;
    fits.then(|| narrows_model::located::printable(&text.replace(['\n', '\r'], " ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;

    #[test]
    fn a_default_is_a_value_where_it_is_one_as_toml() {
        let size = ValueKind::Size { min: 0, max: 1 << 20 };
        assert_eq!(FileValue::from_toml(size, "\"64KiB\""), Some(FileValue::Size(Bytes(1 << 16))));
        let choice = ValueKind::Choice(&["whole", "first_byte"]);
        assert_eq!(FileValue::from_toml(choice, "\"whole\""), Some(FileValue::Name("whole")));
        for none in ["the C library's", "one buffer", "\"2MiB\"", ""] {
            assert_eq!(FileValue::from_toml(size, none), None, "{none}");
        }
    }
}
