//! The one error of this crate, and the checks of input that every module shares.
//!
//! It deliberately names no target or operation: the caller knows what the numbers were.

use thiserror::Error;

/// Why a statistic has no value for the input given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StatsError {
    /// More observations would help.
    #[error("{needed_count} values are needed, {given_count} were given: measure more")]
    TooFew {
        /// The fewest values for which the statistic is defined.
        needed_count: usize,
        /// How many values were given.
        given_count: usize,
    },
    /// A value is NaN or infinite.
    #[error("value {value_index} is not a finite number: drop it or record it as missing")]
    NotFinite {
        /// Position of the first such value.
        value_index: usize,
    },
    /// A value is finite but outside the range in which the statistic is defined.
    #[error("value {value_index} is out of range: {requirement}")]
    OutOfRange {
        /// Position of the first such value.
        value_index: usize,
        /// What the value must satisfy.
        requirement: &'static str,
    },
    /// An argument that is not data is outside its range.
    #[error("argument out of range: {requirement}")]
    BadArgument {
        /// What the argument must satisfy.
        requirement: &'static str,
    },
    /// The values are valid but do not determine the result.
    #[error("the values do not determine the result: {reason}")]
    Degenerate {
        /// What makes the values insufficient.
        reason: &'static str,
    },
    /// An iteration ended without reaching its tolerance.
    #[error("no convergence within {iteration_count} iterations: regularise, or give more data")]
    NoConvergence {
        /// How many iterations were made.
        iteration_count: usize,
    },
}

/// Accepts values that are all finite and at least `needed_count` in number.
///
/// # Errors
/// The first value that is not finite, or too few of them.
pub fn require_finite(
    values: impl ExactSizeIterator<Item = f64>,
    needed_count: usize,
) -> Result<(), StatsError> {
    let given_count = values.len();
    for (value_index, value) in values.enumerate() {
        if !value.is_finite() {
            return Err(StatsError::NotFinite { value_index });
        }
    }
    if given_count < needed_count {
        return Err(StatsError::TooFew { needed_count, given_count });
    }
    Ok(())
}

/// `true` when both numbers are the same; zero equals negative zero, and NaN equals nothing.
pub(crate) fn same(left: f64, right: f64) -> bool {
    left.partial_cmp(&right) == Some(std::cmp::Ordering::Equal)
}
