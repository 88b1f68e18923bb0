//! What a rate limit of the lab means: the notation of `tc` in numbers, and the share that is available to TCP payload.
//!
//! Pure arithmetic; it sets no limit.

use crate::error::{Error, LabErrorKind, Result};

/// Bytes of data in a full segment: MTU 1500 less 20 of IPv4, 20 of TCP and 12 of the timestamp option.
const SEGMENT_PAYLOAD_BYTES: f64 = 1448.0;
/// Bytes that the token bucket counts for it: the MTU and the Ethernet header, without preamble, check
/// sequence and gap, which a virtual link does not have.
const SEGMENT_COUNTED_BYTES: f64 = 1514.0;

/// The bits per second that `tc` understands by a rate such as `100mbit`.
///
/// # Units
/// `bit`, `kbit`, `mbit`, `gbit`: decimal multiples, as in tc(8).
///
/// # Errors
/// [`LabErrorKind::Invalid`] when the text is not a positive whole number with one of these units.
pub fn link_bits_per_s(rate: &str) -> Result<u64> {
    let digits_end = rate.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rate.len());
    let (digits, unit) = rate.split_at(digits_end);
    let multiple: Option<u64> = match unit {
        "bit" => Some(1),
        "kbit" => Some(1_000),
        "mbit" => Some(1_000_000),
        "gbit" => Some(1_000_000_000),
        _ => None,
    };
    let number = digits.parse::<u64>().ok().filter(|&number| number > 0);
    multiple.zip(number).and_then(|(multiple, number)| number.checked_mul(multiple)).ok_or_else(|| {
        Error::new(
            LabErrorKind::Invalid,
            "read the rate",
            rate,
            "write a whole number and bit, kbit, mbit or gbit",
        )
    })
}

/// The highest payload rate that a TCP stream can sustain over a link limited to this rate.
///
/// Of every 1514 bytes that the token bucket counts (MTU 1500, Ethernet header 14) 1448 are data: 20 bytes are
/// the IPv4 header, 20 the TCP header, 12 the timestamp option, which Linux uses by default. A packet that the
/// kernel segments later is counted with the headers of all its segments. Acknowledgements travel the other
/// way, against that direction's own bucket. Not counted: the bucket of 256 KiB that a rested link passes at
/// once, which adds 256 KiB to the first transfer.
///
/// # Units
/// Bits per second in, bytes per second out.
///
/// # Source
/// Linux `net/sched/sch_tbf.c` (charges `qdisc_pkt_len`) and `net/core/dev.c` (`qdisc_pkt_len_init`).
#[must_use]
pub fn payload_bytes_per_s(link_bits_per_s: u64) -> f64 {
    link_bits_per_s as f64 / 8.0 * SEGMENT_PAYLOAD_BYTES / SEGMENT_COUNTED_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_units_are_decimal() {
        assert_eq!(link_bits_per_s("100mbit").unwrap(), 100_000_000);
        assert_eq!(link_bits_per_s("1gbit").unwrap(), 1_000_000_000);
        assert_eq!(link_bits_per_s("64kbit").unwrap(), 64_000);
        assert_eq!(link_bits_per_s("7bit").unwrap(), 7);
    }

    #[test]
    fn a_rate_without_number_or_unit_or_beyond_all_bounds_is_refused() {
        for text in ["", "100", "mbit", "0mbit", "-1mbit", "1.5mbit", "1 mbit", "1mbps", "99999999999gbit"] {
            assert_eq!(link_bits_per_s(text).unwrap_err().kind(), LabErrorKind::Invalid, "{text}");
        }
    }

    #[test]
    fn a_stream_fills_95_64_mbit_of_100() {
        // 100e6 / 8 * 1448 / 1514, by hand: 11 955 085.9 bytes per second.
        assert!((payload_bytes_per_s(100_000_000) - 11_955_085.9).abs() < 0.1);
    }
}
