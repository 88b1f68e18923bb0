//! Values as they are typed on a command line: what a text means, or why it is refused, in words for its user.
//!
//! Not here: which option takes which value.

use crate::size::parse_size;
use crate::units::Bytes;
use std::fmt::Display;
use std::str::FromStr;

/// What a SIZE may be, for the help of commands that take one.
pub const SIZES: &str = "SIZE: bytes as a whole number, or with a unit: 64KiB (also 64K or 64k), 48MiB, 1GiB; kB, MB \
    and GB are powers of 1000";

/// A size above 0.
///
/// # Errors
/// When `text` is no size, or 0.
pub fn block(text: &str) -> Result<Bytes, String> {
    match parse_size(text) {
        Ok(Bytes(0)) => Err("must be above 0".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}

/// The length of a measured window in seconds, within the range that a study may give it.
///
/// # Errors
/// When `text` is no number from 0.01 to 86400.
pub fn window_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err(format!("`{text}` is not a time from 0.01 to 86400 seconds")),
    }
}

/// A time above 0 seconds.
///
/// # Errors
/// When `text` is no number above 0, or larger than any run.
pub fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 && seconds <= 1e7 => Ok(seconds),
        _ => Err(format!("`{text}` is not a time above 0 seconds")),
    }
}

/// Reads a whole number; the refusal of a text that is none names the range `least` to `most`, which is checked elsewhere.
pub fn whole<T: FromStr + Display + Copy>(
    least: T,
    most: T,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    let allowed = format!("from {least} to {most}");
    move |text| text.parse().map_err(|_| format!("`{text}` is not a whole number {allowed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_above_zero() {
        assert_eq!(block("64k"), Ok(Bytes(65_536)));
        assert_eq!(block("0"), Err("must be above 0".to_owned()));
        assert!(block("x").unwrap_err().contains("is not a size"));
    }

    #[test]
    fn times_have_their_ranges() {
        assert_eq!((window_seconds("0.01"), positive_seconds("1e7")), (Ok(0.01), Ok(1e7)));
        for none in ["0", "-1", "inf", "nan", "x"] {
            assert!(window_seconds(none).is_err() && positive_seconds(none).is_err(), "{none}");
        }
    }

    #[test]
    fn a_whole_number_is_read_and_its_range_is_named() {
        assert_eq!(whole(1_u32, 9)("300"), Ok(300));
        assert_eq!(whole(1_u32, 9)("1.5"), Err("`1.5` is not a whole number from 1 to 9".to_owned()));
    }
}
