//! Figures as the classic benchmarks make them from several trials.

/// A mean, and how it was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrimmedMean {
    /// The mean.
    pub mean: f64,
    /// Trials that it is of.
    pub kept_count: usize,
    /// Trials that were left out: the least and the greatest, or none.
    pub dropped_count: usize,
}

/// The mean of `values` without one least and one greatest of them; with fewer than 3 the mean of all. `None` without
/// any.
///
/// # Units
/// Those of the values.
///
/// # Shape
/// Of equal values it is that value; of several least or greatest ones a single one is left out.
///
/// # Source
/// The published Jovian-2 figures: means with the minimum and the maximum dropped.
#[must_use]
pub fn trimmed_mean(values: &[f64]) -> Option<TrimmedMean> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let kept = if sorted.len() < 3 { &sorted[..] } else { &sorted[1..sorted.len() - 1] };
    let mean = |kept: &[f64]| kept.iter().sum::<f64>() / kept.len() as f64;
    (!kept.is_empty()).then(|| TrimmedMean {
        mean: mean(kept),
        kept_count: kept.len(),
        dropped_count: sorted.len() - kept.len(),
    })
}

/// Bytes of the MB of published tables.
pub(crate) const MB: f64 = 1_048_576.0;

/// `rate` in the MB/s of published tables: 1,048,576 bytes a second, two digits after the point below 100, else one.
#[must_use]
pub fn mb_per_s(rate: f64) -> String {
    let value = rate / MB;
    if value < 99.995 { format!("{value:.2}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_greatest_are_left_out_of_three_and_more() {
        // By hand: of 1, 2, 4, 9, 30 the mean of 2, 4, 9 is 5.
        assert_eq!(
            trimmed_mean(&[30.0, 2.0, 9.0, 1.0, 4.0]),
            Some(TrimmedMean { mean: 5.0, kept_count: 3, dropped_count: 2 })
        );
        assert_eq!(
            trimmed_mean(&[3.0, 1.0, 2.0]),
            Some(TrimmedMean { mean: 2.0, kept_count: 1, dropped_count: 2 })
        );
    }

    #[test]
    fn of_fewer_than_three_the_plain_mean_is_reported() {
        assert_eq!(
            trimmed_mean(&[1.0, 2.0]),
            Some(TrimmedMean { mean: 1.5, kept_count: 2, dropped_count: 0 })
        );
        assert_eq!(trimmed_mean(&[7.0]), Some(TrimmedMean { mean: 7.0, kept_count: 1, dropped_count: 0 }));
        assert_eq!(trimmed_mean(&[]), None);
    }

    #[test]
    fn one_of_several_equal_extremes_is_left_out() {
        assert_eq!(trimmed_mean(&[1.0, 1.0, 1.0, 4.0]).map(|made| made.mean), Some(1.0));
        assert_eq!(trimmed_mean(&[5.0; 5]).map(|made| made.mean), Some(5.0));
    }

    #[test]
    fn rates_are_reported_in_millions_of_bytes() {
        assert_eq!(mb_per_s(5.44 * MB), "5.44");
        assert_eq!(mb_per_s(99.996 * MB), "100.0");
    }
}
