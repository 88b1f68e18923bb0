//! Geometric ranges: one text for the values from a first to a last one.
//!
//! Single quantities are `model::quantity`'s.

use super::read::FileReader;
use super::toml_value::FoundValue;
use super::value::{FileValue, LocatedValue};
use super::{Complaint, KeySpec, ValueKind};
use narrows_model::Bytes;
use narrows_model::quantity::parse_size;

impl ValueKind {
    /// Whether `text` is meant as a range of values of this kind.
    pub(crate) fn is_range(self, text: &str) -> bool {
        matches!(self, Self::Size { .. } | Self::Count { .. }) && text.contains("..")
    }
}

impl FileReader<'_, '_> {
    /// The values that one element of a list means: itself, or the values of a range; empty after a complaint at `path`.
    pub(crate) fn range_or_value(
        &mut self,
        key: &'static KeySpec,
        path: &str,
        found: FoundValue<'_, '_>,
    ) -> Vec<LocatedValue> {
        let Some(text) = found.get_ref().as_str().filter(|text| key.kind.is_range(text)) else {
            return self.value(key, path, found).into_iter().collect();
        };
        let at = found.span();
        let values = range(text).and_then(|range| values(key.kind, range)).unwrap_or_default();
        if values.is_empty() {
            let is_size = matches!(key.kind, ValueKind::Size { .. });
            let example = if is_size { "\"4KiB..1MiB x4\"" } else { "\"1..64 x4\"" };
            let allowed = format!(
                "FIRST..LAST xFACTOR, FIRST no more than LAST, FACTOR 2 or more, each {}",
                key.kind.allowed()
            );
            let found = self.findings.excerpt(&at);
            self.complain(&at, Complaint::new(path, found, allowed, format!("write for example {example}")));
        }
        values.into_iter().map(|value| LocatedValue { value, at: at.clone() }).collect()
    }
}

/// The values of a range; `None` where an end is not taken.
fn values(kind: ValueKind, range: RangeText<'_>) -> Option<Vec<FileValue>> {
    let (ValueKind::Size { min, max } | ValueKind::Count { min, max }) = kind else { return None };
    let is_size = matches!(kind, ValueKind::Size { .. });
    let end = |text: &str| {
        let end = if is_size { parse_size(text).ok()?.0 } else { text.parse().ok()? };
        Some(end).filter(|end| (min..=max).contains(end))
    };
    let spread = spread(end(range.first)?, end(range.last)?, range.factor).into_iter();
    let value = |value| if is_size { FileValue::Size(Bytes(value)) } else { FileValue::Count(value) };
    Some(spread.map(value).collect())
}

/// A text that looks like a geometric range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RangeText<'a> {
    first: &'a str,
    last: &'a str,
    factor: u64,
}

/// The parts of `FIRST..LAST xFACTOR`; `None` when the text has another form or the factor is below 2.
fn range(text: &str) -> Option<RangeText<'_>> {
    let (first, rest) = text.split_once("..")?;
    let (last, factor) = rest.trim().rsplit_once(' ')?;
    let factor = factor.strip_prefix('x')?.parse().ok().filter(|factor| *factor >= 2)?;
    Some(RangeText { first: first.trim(), last: last.trim(), factor })
}

/// The values from `first` to `last`, each `factor` times the one before; 64 at most, since the factor is 2 or more.
fn spread(first: u64, last: u64, factor: u64) -> Vec<u64> {
    let mut values = Vec::new();
    let mut next = Some(first).filter(|first| *first > 0);
    while let Some(value) = next.filter(|value| *value <= last) {
        values.push(value);
        next = value.checked_mul(factor.max(2));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_doubles_to_its_end_and_never_beyond() {
        let parts = range("4KiB..1MiB x2").unwrap();
        assert_eq!(parts, RangeText { first: "4KiB", last: "1MiB", factor: 2 });
        assert_eq!(spread(4, 32, 2), [4, 8, 16, 32]);
        assert_eq!(spread(4, 31, 2), [4, 8, 16]);
        assert_eq!(spread(0, 31, 2), Vec::<u64>::new());
        assert_eq!(spread(1, u64::MAX, 2).len(), 64);
        for text in ["4..8", "4..8 x1", "4..8 2", "..", "a..b x", "4KiB"] {
            assert_eq!(range(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_for_a_range(text in "\\PC*") {
            let _ = range(&text);
        }
    }
}
