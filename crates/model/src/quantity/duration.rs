//! Durations as people type them: `300ms`, `1.5s`, `2min`.

use super::number_unit;
use crate::units::{Nanos, round_to_u64};

/// The units of a duration, the largest first.
const UNITS: [(&str, u64); 7] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

/// Longest duration: above 2^63 nanoseconds no clock counts.
const NANOS_MAX: f64 = 9.2e18;

/// The duration that `text` means; `None` when there is no number or no unit of time.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Nanos> {
    let (number, unit) = number_unit(text)?;
    let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let nanos = number * factor as f64;
    // A fraction of a nanosecond is not written by people.
    (nanos < NANOS_MAX).then(|| Nanos(round_to_u64(nanos)))
}

/// The exact duration in its largest whole unit: `300ms`, `2h`, `1500ns`.
#[must_use]
pub fn exact_duration(duration: Nanos) -> String {
    let nanos = duration.0;
    let whole = UNITS
        .into_iter()
        .find(|(name, factor)| *name != "ns" && nanos >= *factor && nanos.is_multiple_of(*factor));
    match whole {
        Some((name, factor)) => format!("{}{name}", nanos / factor),
        None if nanos >= 1_000_000 => format!("{}s", duration.as_secs_f64()),
        None if nanos == 0 => "0s".to_owned(),
        None => format!("{nanos}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_duration_needs_its_unit() {
        assert_eq!(parse_duration("300ms"), Some(Nanos(300_000_000)));
        assert_eq!(parse_duration(" 1.5 s "), Some(Nanos(1_500_000_000)));
        assert_eq!(parse_duration("2min"), Some(Nanos(120_000_000_000)));
        for text in ["5", "", "s", "-1s", "1.2.3s", "5 parsecs", "1e9s", "99999999999h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn an_exact_duration_takes_its_largest_whole_unit() {
        assert_eq!(exact_duration(Nanos(0)), "0s");
        assert_eq!(exact_duration(Nanos(1_500)), "1500ns");
        assert_eq!(exact_duration(Nanos(300_000_000)), "300ms");
        assert_eq!(exact_duration(Nanos(7_200_000_000_000)), "2h");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_for_a_duration(text in "\\PC*") {
            let _ = parse_duration(&text);
        }
    }
}
