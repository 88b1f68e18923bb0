//! Where the upper tail of a distribution has a given probability.
//!
//! Not here: any distribution, and which bracket contains the value.

use crate::error::StatsError;

/// Bound of the search; ten steps are usual, and halving alone needs about 1100 from the widest bracket to neighbouring floats.
const STEP_LIMIT: usize = 2200;
/// A relative step below this is rounding error.
const SETTLED_RATIO: f64 = 4.0 * f64::EPSILON;

/// The value between `low` and `high` with the upper tail `target`.
///
/// # Shape
/// 0 <= `low` < `high`, `target` above 0; `tail_and_density` is the probability of more than a value, and the density there.
/// Where the tail at `high` is still above `target`, the result is about `high`.
///
/// # Errors
/// Those of `tail_and_density`.
///
/// # Source
/// Newton's method on the logarithm of the tail, which is nearly a parabola for the normal law; that of a heavy tail is nearly
/// straight in the logarithm of the value. Where a step leaves the bracket, or is not a number, the bracket is halved.
pub(crate) fn value_with_tail(
    (mut low, mut high): (f64, f64),
    target: f64,
    tail_and_density: impl Fn(f64) -> Result<(f64, f64), StatsError>,
) -> Result<f64, StatsError> {
    debug_assert!(0.0 <= low && low < high && target > 0.0, "{low} to {high} for {target}");
    let mut value = f64::midpoint(low, high);
    for _ in 0..STEP_LIMIT {
        let (tail, density) = tail_and_density(value)?;
        if tail > target {
            low = value;
        } else {
            high = value;
        }
        let newton = value + (tail / target).ln() * tail / density;
        if (newton - value).abs() <= SETTLED_RATIO * value {
            return Ok(newton);
        }
        let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
        // The bracket ends at neighbouring floats.
        if next <= low || next >= high {
            break;
        }
        value = next;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::value_with_tail;
    use crate::error::StatsError;

    #[test]
    fn an_exponential_tail_is_found_anywhere() {
        let law = |value: f64| Ok(((-value).exp(), (-value).exp()));
        for exact in [1e-9_f64, 0.1, 1.0, 37.0, 500.0, 700.0] {
            let found = value_with_tail((0.0, 740.0), (-exact).exp(), law).unwrap();
            assert!((found - exact).abs() <= 1e-14 * exact.max(0.1), "{found} for {exact}");
        }
    }

    #[test]
    fn a_tail_that_is_zero_on_half_of_the_bracket_is_halved_away() {
        let uniform = |value: f64| Ok(if value < 1.0 { (1.0 - value, 1.0) } else { (0.0, 0.0) });
        let found = value_with_tail((0.0, 1000.0), 0.25, uniform).unwrap();
        assert!((found - 0.75).abs() < 1e-14, "{found}");
    }

    #[test]
    fn an_error_of_the_tail_ends_the_search() {
        let broken = |_: f64| Err(StatsError::BadArgument { requirement: "a test" });
        assert!(value_with_tail((0.0, 1.0), 0.25, broken).is_err());
    }
}
