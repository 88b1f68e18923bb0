//! The one place where a floating-point position becomes an index.
//!
//! It deliberately clamps instead of failing: callers have checked their range already.

/// The largest index not above `position`, clamped between 0 and `last_index`; NaN gives 0.
pub(crate) fn floor_index(position: f64, last_index: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float-to-integer `as` saturates, sends NaN to 0, and the result is clamped below"
    )]
    let index = position as usize;
    index.min(last_index)
}

#[cfg(test)]
mod tests {
    use super::floor_index;

    #[test]
    fn positions_outside_the_range_are_limited_to_its_ends() {
        assert_eq!(floor_index(-3.5, 4), 0);
        assert_eq!(floor_index(2.999, 4), 2);
        assert_eq!(floor_index(1e300, 4), 4);
        assert_eq!(floor_index(f64::NAN, 4), 0);
    }
}
