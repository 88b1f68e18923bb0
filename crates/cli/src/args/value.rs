//! Values of options: targets, margins, rates, claims.

use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, BytesPerSec, Target};

pub(super) use narrows_model::typed::{block as parse_block, positive_seconds, window_seconds};

pub(super) fn parse_target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|error: narrows_model::target::TargetError| error.to_string())
}

/// A margin as a ratio: `3%` is 0.03.
pub(super) fn parse_margin(text: &str) -> Result<f64, String> {
    let error = || format!("`{text}` is not a margin from 0% to 100%; write 3% or 0.5%");
    let percent = text.trim().strip_suffix('%').ok_or_else(error)?;
    let ratio = percent.trim().parse::<f64>().map_err(|_| error())? / 100.0;
    if (0.0..=1.0).contains(&ratio) { Ok(ratio) } else { Err(error()) }
}

/// A rate: bytes a second, or with a unit of bytes or bits.
pub(super) fn parse_rate(text: &str) -> Result<BytesPerSec, String> {
    let error =
        || format!("`{text}` is not a rate; write 100Mbit/s, 12MB/s, 11.5MiB/s or 12.5e6 (bytes a second)");
    narrows_model::quantity::parse_rate(text).ok_or_else(error)
}

/// A cap on the bytes a second: a size, or a rate with its unit.
pub(super) fn parse_cap(text: &str) -> Result<Bytes, String> {
    let error = || format!("`{text}` is not a cap; write 10M, 10MiB/s or 100Mbit/s");
    // A number alone is a size, or nothing.
    let has_unit = text.ends_with(|letter: char| letter.is_ascii_alphabetic());
    let rate = || narrows_model::quantity::parse_rate(text).filter(|_| has_unit);
    parse_block(text.strip_suffix("/s").unwrap_or(text))
        .or_else(|_| rate().map(|rate| Bytes(round_to_u64(rate.0))).ok_or_else(error))
}

/// Printed arithmetic: its left side as text, and the result that the source states.
pub(super) fn parse_claim(text: &str) -> Result<(String, f64), String> {
    let error = || {
        format!("`{text}` is not a claim; write \"9*1024/47 = 215\": arithmetic, an equals sign, a number")
    };
    let (left, right) = text.rsplit_once('=').ok_or_else(error)?;
    let right = right.trim().parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(error)?;
    let left = left.trim();
    if left.is_empty() { Err(error()) } else { Ok((left.to_owned(), right)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_is_a_size_or_a_rate_with_its_unit() {
        assert_eq!(parse_cap("10M"), Ok(Bytes(10 << 20)));
        assert_eq!(parse_cap("10MiB/s"), Ok(Bytes(10 << 20)));
        assert_eq!(parse_cap("10M/s"), Ok(Bytes(10 << 20)));
        assert_eq!(parse_cap("100Mbit/s"), Ok(Bytes(12_500_000)));
        assert!(["0", "1.5", "fast", "-1MiB/s", "10 apples/s"].iter().all(|text| parse_cap(text).is_err()));
    }

    #[test]
    fn a_claim_is_arithmetic_and_what_it_is_said_to_come_to() {
        assert_eq!(parse_claim("9*1024/47 = 215"), Ok(("9*1024/47".to_owned(), 215.0)));
        assert!(["215", "= 3", "a = b", "1 ="].iter().all(|text| parse_claim(text).is_err()));
    }
}
