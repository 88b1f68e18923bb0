//! Quantities with their unit in the type, and the only lossy casts of the project.
//!
//! Not here: rendering for people, which is `report`'s, and parsing of what people type, which is [`crate::size`].

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nanoseconds in one second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

macro_rules! integer_unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemas", derive(JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The value as a floating-point number; exact below 2^53.
            #[must_use]
            pub fn as_f64(self) -> f64 {
                self.0 as f64
            }

            /// The sum, stopping at the largest value instead of wrapping.
            #[must_use]
            pub fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// The difference, stopping at zero instead of wrapping.
            #[must_use]
            pub fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }
    };
}

macro_rules! float_unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemas", derive(JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub f64);
    };
}

integer_unit! {
    /// A count of bytes.
    Bytes
}
integer_unit! {
    /// A span of time, or a reading of a monotonic clock, in nanoseconds.
    Nanos
}
float_unit! {
    /// A rate in bytes per second.
    BytesPerSec
}
float_unit! {
    /// A rate in operations per second.
    OpsPerSec
}
float_unit! {
    /// A dimensionless ratio; 1.0 is the whole.
    Ratio
}

impl Nanos {
    /// The span of `seconds`, rounded to the nearest nanosecond; negative and non-finite input gives zero.
    #[must_use]
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self(round_to_u64(seconds * NANOS_PER_SEC as f64))
    }

    /// The span of `millis` milliseconds.
    #[must_use]
    pub fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The span in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
}

impl BytesPerSec {
    /// The rate at which `bytes` pass in `elapsed`; `None` when no time passed.
    #[must_use]
    pub fn over(bytes: Bytes, elapsed: Nanos) -> Option<Self> {
        (elapsed.0 > 0).then(|| Self(bytes.as_f64() / elapsed.as_secs_f64()))
    }
}

impl OpsPerSec {
    /// The rate at which `ops` complete in `elapsed`; `None` when no time passed.
    #[must_use]
    pub fn over(ops: u64, elapsed: Nanos) -> Option<Self> {
        (elapsed.0 > 0).then(|| Self(ops as f64 / elapsed.as_secs_f64()))
    }
}

/// `part / whole`; `None` when `whole` is zero, negative or not a number.
#[must_use]
pub fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0 && part.is_finite()).then(|| part / whole)
}

/// The nearest unsigned integer; zero for negative or not-a-number input, the largest value above the range.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float-to-integer `as` saturates, and the documentation promises just that"
)]
pub fn round_to_u64(value: f64) -> u64 {
    value.round() as u64
}

/// The least common multiple; `None` above the largest value.
#[must_use]
pub fn least_common_multiple(left: u64, right: u64) -> Option<u64> {
    let (mut a, mut b) = (left, right);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    (left / a.max(1)).checked_mul(right)
}

/// `value` as `u32`, stopping at the largest value.
#[must_use]
pub fn saturate_u32(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// `value` as `usize`, stopping at the largest value.
#[must_use]
pub fn saturate_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_common_multiple_is_none_where_it_is_too_large() {
        assert_eq!(least_common_multiple(4, 6), Some(12));
        assert_eq!((least_common_multiple(0, 6), least_common_multiple(0, 0)), (Some(0), Some(0)));
        assert_eq!(least_common_multiple(u64::MAX, u64::MAX - 1), None);
    }

    #[test]
    fn a_rate_over_no_time_is_none() {
        assert_eq!(BytesPerSec::over(Bytes(10), Nanos(0)), None);
        assert_eq!(OpsPerSec::over(10, Nanos(0)), None);
    }

    #[test]
    fn ten_bytes_in_two_seconds_are_five_a_second() {
        let rate = BytesPerSec::over(Bytes(10), Nanos(2 * NANOS_PER_SEC));
        assert!(rate.is_some_and(|rate| (rate.0 - 5.0).abs() < 1e-12));
    }

    #[test]
    fn seconds_below_zero_or_unknown_become_no_time() {
        assert_eq!(Nanos::from_secs_f64(-1.0), Nanos(0));
        assert_eq!(Nanos::from_secs_f64(f64::NAN), Nanos(0));
        assert_eq!(Nanos::from_secs_f64(1.5), Nanos(1_500_000_000));
    }
}
