//! Many tests at once: probabilities adjusted so that all of them together are wrong no oftener than one alone.
//!
//! It deliberately makes no test.

/// The probabilities of tests of one family, each adjusted for the others: all below 0.05 are together right with 95 %.
///
/// # Shape
/// As many as are given, in their order, from the given value up to 1. A value that is no probability counts as 1.
///
/// # Source
/// Holm, Scandinavian Journal of Statistics 6 (1979): of m sorted p-values the i-th, from 1, becomes the largest of
/// (m - j + 1) p(j) over j <= i, at most 1. Any dependence between the tests is allowed, and no test is decided that
/// Bonferroni's m p would leave open without being better founded. Checked against an enumeration of the definition in
/// `NumPy` (`log_ratio.json`).
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let usable = |p: f64| if (0.0..=1.0).contains(&p) { p } else { 1.0 };
    let mut order: Vec<(usize, f64)> = p_values.iter().map(|p| usable(*p)).enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, (index, p)) in order.iter().enumerate() {
        largest = largest.max((order.len() - rank) as f64 * p).min(1.0);
        if let Some(slot) = adjusted.get_mut(*index) {
            *slot = largest;
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn one_test_is_left_as_it_is_and_none_give_none() {
        assert_eq!(holm(&[0.03]), [0.03]);
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }

    #[test]
    fn what_is_no_probability_decides_nothing() {
        assert_eq!(holm(&[f64::NAN, 0.01, 7.0]), [1.0, 0.03, 1.0]);
    }
}
