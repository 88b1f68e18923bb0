//! Sizes and numbers as people type them: `4KiB`, `1M`, `100MB`, `65536`.
//!
//! `K`, `M`, `G`, `T` and their `iB` forms are powers of 1024, as storage tools use them; `kB`, `MB`, `GB`, `TB`
//! are powers of 1000. Not here: measured amounts, which are rounded.

use crate::units::Bytes;
use std::fmt;

/// Why a text is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a size; write a whole number with a unit, such as 4096, 4KiB, 64K, 1MiB or 2GB")]
pub struct SizeError {
    /// The text as it was found.
    pub found: String,
}

/// The size that `text` means.
///
/// # Errors
/// When there is no number, it is not whole, the unit is unknown, or the size is above 2^64 - 1 bytes.
pub fn parse_size(text: &str) -> Result<Bytes, SizeError> {
    let error = || SizeError { found: text.to_owned() };
    let trimmed = text.trim();
    let digits_end = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(digits_end);
    let number: u64 = digits.parse().map_err(|_| error())?;
    let factor = unit_bytes(unit.trim()).ok_or_else(error)?;
    number.checked_mul(factor).map(Bytes).ok_or_else(error)
}

fn unit_bytes(unit: &str) -> Option<u64> {
    let factor = match unit {
        "" | "B" => 1,
        "K" | "k" | "KiB" | "kib" | "KIB" => 1 << 10,
        "M" | "m" | "MiB" | "mib" | "MIB" => 1 << 20,
        "G" | "g" | "GiB" | "gib" | "GIB" => 1 << 30,
        "T" | "t" | "TiB" | "tib" | "TIB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    };
    Some(factor)
}

impl fmt::Display for Bytes {
    /// The exact size in the largest binary unit that divides it: `4KiB`, `1MiB`, `1500B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(40_u32, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 >> shift > 0 && self.0.trailing_zeros() >= shift {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn binary_and_decimal_units_differ() {
        assert_eq!(parse_size("1MiB"), Ok(Bytes(1 << 20)));
        assert_eq!(parse_size("1M"), Ok(Bytes(1 << 20)));
        assert_eq!(parse_size("1MB"), Ok(Bytes(1_000_000)));
    }

    #[test]
    fn what_is_no_size_is_refused_with_the_text() {
        for text in ["", "K", "-1", "1.5K", "4 parsecs", "99999999999999T"] {
            assert_eq!(parse_size(text).map_err(|e| e.found), Err(text.to_owned()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_displayed_parses_to_the_same_size(bytes in any::<u64>()) {
            prop_assert_eq!(parse_size(&Bytes(bytes).to_string()), Ok(Bytes(bytes)));
        }
    }
}
