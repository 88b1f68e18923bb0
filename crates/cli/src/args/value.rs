//! Values of options: targets, sizes, times.

use narrows_model::size::parse_size;
use narrows_model::{Bytes, BytesPerSec, Target};
use std::fmt::Display;
use std::str::FromStr;

pub(super) fn parse_target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|error: narrows_model::target::TargetError| error.to_string())
}

pub(super) fn parse_block(text: &str) -> Result<Bytes, String> {
    match parse_size(text) {
        Ok(Bytes(0)) => Err("must be above 0".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}

/// The length of a measured window, within the range that a study may give it.
pub(super) fn window_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err(format!("`{text}` is not a time from 0.01 to 86400 seconds")),
    }
}

pub(super) fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 && seconds <= 1e7 => Ok(seconds),
        _ => Err(format!("`{text}` is not a time above 0 seconds")),
    }
}

/// A whole number; one that is none says from where to where it may be. Whether it is within is for who knows the rest.
pub(super) fn whole<T: FromStr + Display + Copy>(
    least: T,
    most: T,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    let allowed = format!("from {least} to {most}");
    move |text| text.parse().map_err(|_| format!("`{text}` is not a whole number {allowed}"))
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
    let error =
        || format!("`{text}` is not a rate; write 100Mbit/s, 12MB/s, 11.5MiB/s or 12.5e6 (bytes a second)");
    let bare = text.trim().strip_suffix("/s").unwrap_or(text.trim());
    let unit_start = bare.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let (number, unit) = bare.split_at(unit_start);
    let factor =
        UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, factor)| *factor).ok_or_else(error)?;
    let rate = number.trim().parse::<f64>().map_err(|_| error())? * factor;
    if (1.0..=1e18).contains(&rate) { Ok(BytesPerSec(rate)) } else { Err(error()) }
}

/// Printed arithmetic: its left side as it stands, and the number that it is said to come to.
pub(super) fn parse_claim(text: &str) -> Result<(String, f64), String> {
    let error =
        || format!("`{text}` is no claim; write \"9*1024/47 = 215\": arithmetic, an equals sign, a number");
    let (left, right) = text.rsplit_once('=').ok_or_else(error)?;
    let right = right.trim().parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(error)?;
    let left = left.trim();
    if left.is_empty() { Err(error()) } else { Ok((left.to_owned(), right)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units_of_bytes_or_bits() {
        let of = |text: &str| parse_rate(text).map(|rate| rate.0);
        assert_eq!(of("100Mbit/s"), Ok(12.5e6));
        assert_eq!(of("12 MB/s"), Ok(12e6));
        assert_eq!(of("1GiB"), Ok(1_073_741_824.0));
        assert_eq!(of("12.5e6"), Ok(12.5e6));
        for none in ["", "fast", "0", "-1", "1e300", "10 furlongs/s", "nan"] {
            assert!(of(none).is_err(), "{none}");
        }
    }

    #[test]
    fn a_claim_is_arithmetic_and_what_it_is_said_to_come_to() {
        assert_eq!(parse_claim("9*1024/47 = 215"), Ok(("9*1024/47".to_owned(), 215.0)));
        assert!(["215", "= 3", "a = b", "1 ="].iter().all(|text| parse_claim(text).is_err()));
    }
}
