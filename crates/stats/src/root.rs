//! Where the upper tail of a distribution has a given probability.

use crate::error::StatsError;

/// Bound of the search; ten are usual, and halving alone passes from any width to neighbouring floats in some thousand.
const STEP_LIMIT: usize = 2200;
/// A relative step below this changes no digit that counts.
const SETTLED_RATIO: f64 = 4.0 * f64::EPSILON;

/// The value between `low` and `high` with the upper tail `target`.
///
/// `tail_and_density` is the probability of more than a value, and the density there. Newton's method on the logarithm of the
/// tail, which is nearly a parabola for the normal law and nearly straight in the logarithm of a heavy tail; where a step
/// leaves the bracket, the bracket is halved.
pub(crate) fn value_with_tail(
    (mut low, mut high): (f64, f64),
    target: f64,
    tail_and_density: impl Fn(f64) -> Result<(f64, f64), StatsError>,
) -> Result<f64, StatsError> {
    let mut at = f64::midpoint(low, high);
    for _ in 0..STEP_LIMIT {
        let (tail, density) = tail_and_density(at)?;
        if tail > target {
            low = at;
        } else {
            high = at;
        }
        let newton = at + (tail / target).ln() * tail / density;
        if (newton - at).abs() <= SETTLED_RATIO * at {
            return Ok(newton);
        }
        let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
        // The bracket ends at neighbouring floats.
        if next <= low || next >= high {
            break;
        }
        at = next;
    }
    Ok(at)
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
