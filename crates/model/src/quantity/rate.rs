//! Rates as people type them: `10MiB/s`, `1000/s`, `100Mbit/s`.

use super::{number_unit, parse_size};
use crate::units::{Bytes, BytesPerSec};

/// Whole bytes a second of `10MiB/s`; `None` when it is no size over a second.
#[must_use]
pub fn parse_byte_rate(text: &str) -> Option<u64> {
    let (size, second) = text.split_once('/')?;
    let Bytes(bytes) = parse_size(size.trim()).ok()?;
    (second.trim() == "s").then_some(bytes)
}

/// Operations a second of `1000/s` or `1000 ops/s`; `None` when it is neither.
#[must_use]
pub fn parse_op_rate(text: &str) -> Option<f64> {
    let (number, unit) = number_unit(text)?;
    matches!(unit, "/s" | "ops/s").then_some(number)
}

/// A rate of bytes or bits: `100Mbit/s`, `11.5MiB/s`, `12.5e6` (bytes a second); `None` when it is none from 1 to 1e18 bytes a
/// second.
#[must_use]
pub fn parse_rate(text: &str) -> Option<BytesPerSec> {
    const UNITS: [(&str, f64); 16] = [
        ("", 1.0),
        ("B", 1.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("bit", 0.125),
        ("kbit", 125.0),
        ("Kbit", 125.0),
        ("Mbit", 125e3),
        ("Gbit", 125e6),
        ("Tbit", 125e9),
        ("TB", 1e12),
    ];
    let bare = text.trim().strip_suffix("/s").unwrap_or(text.trim());
    let (number, unit) = bare.split_at(bare.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
    let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit.trim())?;
    let rate = number.trim().parse::<f64>().ok()? * factor;
    (1.0..=1e18).contains(&rate).then_some(BytesPerSec(rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_rate_is_over_a_second() {
        assert_eq!(parse_byte_rate("10MiB/s"), Some(10 << 20));
        assert_eq!(parse_byte_rate("10 MB / s"), Some(10_000_000));
        assert_eq!(parse_op_rate("1000/s"), Some(1000.0));
        assert_eq!(parse_op_rate("2.5 ops/s"), Some(2.5));
        assert!(parse_byte_rate("10MiB").is_none() && parse_byte_rate("10MiB/min").is_none());
        assert!(parse_op_rate("1000").is_none() && parse_op_rate("1000/h").is_none());
    }

    #[test]
    fn rates_have_units_of_bytes_or_bits() {
        let of = |text: &str| parse_rate(text).map(|rate| rate.0);
        assert_eq!(of("100Mbit/s"), Some(12.5e6));
        assert_eq!(of("12 MB/s"), Some(12e6));
        assert_eq!(of("1GiB"), Some(1_073_741_824.0));
        assert_eq!(of("12.5e6"), Some(12.5e6));
        for none in ["", "fast", "0", "-1", "1e300", "10 furlongs/s", "nan"] {
            assert!(of(none).is_none(), "{none}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_for_a_rate(text in "\\PC*") {
            let _ = (parse_byte_rate(&text), parse_op_rate(&text), parse_rate(&text));
        }
    }
}
