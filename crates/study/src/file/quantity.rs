//! Quantities as a study gives them: durations, rates, and geometric ranges.
//!
//! Sizes are `model::size`'s. Every quantity but a plain count has its unit with it, so that nobody has to guess.

use narrows_model::size::parse_size;
use narrows_model::units::round_to_u64;

/// Nanoseconds of `300ms`, `1.5s`, `2min`; `None` when it is none of these.
pub(crate) fn duration_ns(text: &str) -> Option<u64> {
    let (number, unit) = number_unit(text)?;
    let factor = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    let nanos = number * factor;
    // Above 2^63 no clock counts; a fraction of a nanosecond is not written by people.
    (nanos < 9.2e18).then(|| round_to_u64(nanos))
}

/// Bytes a second of `10MiB/s`; `None` when it is no size over a second.
pub(crate) fn byte_rate(text: &str) -> Option<u64> {
    let (size, second) = text.split_once('/')?;
    (second.trim() == "s").then(|| parse_size(size.trim()).ok().map(|bytes| bytes.0)).flatten()
}

/// Operations a second of `1000/s` or `1000 ops/s`; `None` when it is neither.
pub(crate) fn op_rate(text: &str) -> Option<f64> {
    let (number, unit) = number_unit(text)?;
    matches!(unit, "/s" | "ops/s").then_some(number)
}

fn number_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    number.is_finite().then(|| (number, unit.trim()))
}

/// A text that looks like a geometric range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RangeText<'a> {
    pub(crate) first: &'a str,
    pub(crate) last: &'a str,
    pub(crate) factor: u64,
}

/// The parts of `FIRST..LAST xFACTOR`; `None` when the text has another form or the factor is below 2.
pub(crate) fn range(text: &str) -> Option<RangeText<'_>> {
    let (first, rest) = text.split_once("..")?;
    let (last, factor) = rest.trim().rsplit_once(' ')?;
    let factor = factor.strip_prefix('x')?.parse().ok().filter(|factor| *factor >= 2)?;
    Some(RangeText { first: first.trim(), last: last.trim(), factor })
}

/// The values from `first` to `last`, each `factor` times the one before; 64 at most, since the factor is 2 or more.
pub(crate) fn spread(first: u64, last: u64, factor: u64) -> Vec<u64> {
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
    fn a_duration_needs_its_unit() {
        assert_eq!(duration_ns("300ms"), Some(300_000_000));
        assert_eq!(duration_ns(" 1.5 s "), Some(1_500_000_000));
        assert_eq!(duration_ns("2min"), Some(120_000_000_000));
        for text in ["5", "", "s", "-1s", "1.2.3s", "5 parsecs", "1e9s", "99999999999h"] {
            assert_eq!(duration_ns(text), None, "{text}");
        }
    }

    #[test]
    fn a_rate_is_over_a_second() {
        assert_eq!(byte_rate("10MiB/s"), Some(10 << 20));
        assert_eq!(byte_rate("10 MB / s"), Some(10_000_000));
        assert_eq!(op_rate("1000/s"), Some(1000.0));
        assert_eq!(op_rate("2.5 ops/s"), Some(2.5));
        assert!(byte_rate("10MiB").is_none() && byte_rate("10MiB/min").is_none());
        assert!(op_rate("1000").is_none() && op_rate("1000/h").is_none());
    }

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
        fn no_text_is_too_strange_for_a_quantity(text in "\\PC*") {
            let _ = (duration_ns(&text), byte_rate(&text), op_rate(&text), range(&text));
        }
    }
}
