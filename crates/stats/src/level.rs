//! The level of an interval.

use crate::error::StatsError;

/// A confidence level, strictly between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Level(f64);

impl Level {
    /// 95 %.
    pub const P95: Self = Self(0.95);

    /// The level `ratio`, 0.95 for 95 %.
    ///
    /// # Errors
    /// [`StatsError::BadArgument`] unless `ratio` is strictly between 0 and 1.
    pub fn new(ratio: f64) -> Result<Self, StatsError> {
        if ratio > 0.0 && ratio < 1.0 {
            Ok(Self(ratio))
        } else {
            Err(StatsError::BadArgument { requirement: "a level must be between 0 and 1" })
        }
    }

    /// The level as a ratio, 0.95 for 95 %.
    #[must_use]
    pub fn ratio(self) -> f64 {
        self.0
    }

    /// The probability left above a two-sided interval, 0.025 for 95 %.
    #[must_use]
    pub fn upper_tail(self) -> f64 {
        (1.0 - self.0) / 2.0
    }
}
