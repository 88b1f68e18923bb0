//! The normal distribution: probabilities and their inverse.
//!
//! It deliberately knows the standard one alone: mean 0, variance 1.

use crate::chi_square;
use crate::error::StatsError;
use crate::root::value_with_tail;

/// Nothing representable is beyond it: the tail there is below 1e-300.
const SEARCH_LIMIT: f64 = 38.0;

/// The probability that a standard normal variable exceeds `value`.
///
/// # Errors
/// [`StatsError::BadArgument`] for NaN.
///
/// # Source
/// Half of the chi-square tail of its square with one degree of freedom. Checked against `scipy.stats.norm.sf`
/// (`goodness.json`).
pub fn upper_tail(value: f64) -> Result<f64, StatsError> {
    let tail = chi_square::upper_tail(value * value, 1.0)? / 2.0;
    Ok(if value < 0.0 { 1.0 - tail } else { tail })
}

/// The value below which a standard normal variable falls with the given probability.
///
/// # Shape
/// `probability` strictly between 0 and 1.
///
/// # Errors
/// [`StatsError::BadArgument`] for a probability outside.
///
/// # Cost
/// Some ten tails. Student's inverse with many degrees of freedom costs a thousand times as much.
///
/// # Source
/// Newton's method on [`upper_tail`]. Checked against `scipy.stats.norm.ppf` (`goodness.json`), to a relative 1e-9.
pub fn quantile(probability: f64) -> Result<f64, StatsError> {
    if !(probability > 0.0 && probability < 1.0) {
        return Err(StatsError::BadArgument { requirement: "the probability must be between 0 and 1" });
    }
    let upper_half = probability > 0.5;
    let tail = if upper_half { 1.0 - probability } else { probability };
    let density = |value: f64| (-0.5 * value * value).exp() / std::f64::consts::TAU.sqrt();
    let size = value_with_tail((0.0, SEARCH_LIMIT), tail, |value| Ok((upper_tail(value)?, density(value))))?;
    Ok(if upper_half { size } else { -size })
}

#[cfg(test)]
mod tests {
    use super::{quantile, upper_tail};

    #[test]
    fn both_sides_of_zero_mirror_each_other() {
        assert!(quantile(0.5).unwrap().abs() < 1e-9);
        assert!((quantile(0.975).unwrap() + quantile(0.025).unwrap()).abs() < 1e-9);
        assert!((upper_tail(1.5).unwrap() + upper_tail(-1.5).unwrap() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn arguments_out_of_range_are_refused() {
        for probability in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(quantile(probability).is_err());
        }
        assert!(upper_tail(f64::NAN).is_err());
    }
}
