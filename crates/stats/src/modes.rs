//! Where the modes of values are, once a test has shown that there is more than one.
//!
//! It deliberately decides nothing: [`crate::dip`] does that.

use crate::error::{StatsError, require_finite};
use crate::index::floor_index;
use crate::quantile::quantile_of_sorted;

/// Most modes distinguished: a density of more has none worth naming.
const MODES_MAX: usize = 5;
/// Points at which the density is looked at; modes closer than a two hundredth of the range are one.
const GRID: usize = 256;
/// Halvings of the search for a bandwidth: from a factor of a hundred to one of 1.001.
const SEARCH_STEPS: usize = 12;

/// One mode: a part of the values between two valleys of their density.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModeOfValues {
    /// The median of its values.
    pub centre: f64,
    /// Share of all values, 0 to 1.
    pub share: f64,
}

/// The modes of values in any order, by rising centre: the number of modes that lasts longest as the density is
/// smoothed less and less.
///
/// # Shape
/// At least two finite values; two to five modes, whose shares sum to 1. Equal values are the only ones with a single
/// mode here.
///
/// # Errors
/// [`StatsError::TooFew`] below two values, [`StatsError::NotFinite`] for NaN or infinity.
///
/// # Cost
/// O(n log n), and some hundred densities on a grid of 256 points, whatever n.
///
/// # Source
/// Silverman, J. Royal Statistical Society B 43 (1981): the number of modes of a Gaussian kernel density falls as its
/// bandwidth grows; `h_k` is the smallest bandwidth with at most k modes. Taken is the k from 2 to 5 with the largest
/// `h_(k-1)` / `h_k` (Minnotte and Scott, J. Computational and Graphical Statistics 2, 1993: the modes that last), and the
/// density halfway, at the geometric mean of the two. Critical bandwidths are checked against `SciPy`'s kernel densities
/// (`mixture.json`).
pub fn modes(values: &[f64]) -> Result<Vec<ModeOfValues>, StatsError> {
    require_finite(values.iter().copied(), 2)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(grid) = Grid::from_sorted(&sorted) else {
        return Ok(sorted.first().map(|&centre| ModeOfValues { centre, share: 1.0 }).into_iter().collect());
    };
    let bandwidths: Vec<f64> = (1..=MODES_MAX).map(|count| grid.critical_bandwidth(count)).collect();
    let lasts = |pair: &[f64]| pair[0] / pair[1];
    let longest = bandwidths.windows(2).max_by(|a, b| lasts(a).total_cmp(&lasts(b)));
    let bandwidth = longest.map_or(grid.range, |pair| (pair[0] * pair[1]).sqrt());
    Ok(parts(&sorted, &grid.valleys(bandwidth)))
}

/// The parts between the valleys of the density with the bandwidth of the rule of thumb, by rising centre; one part where
/// it shows no valley. A fraction of the cost of [`modes`], and mostly more parts: noise makes small ones.
///
/// # Errors
/// As [`modes`].
///
/// # Source
/// Silverman, Density Estimation (1986), equation 3.31: h = 0.9 min(s, IQR / 1.34) n^(-1/5). Two modes d apart have s
/// of about d / 2, so h is far below the d / 2 at which they would merge.
pub fn parts_at_first_sight(values: &[f64]) -> Result<Vec<ModeOfValues>, StatsError> {
    require_finite(values.iter().copied(), 2)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(grid) = Grid::from_sorted(&sorted) else { return Ok(parts(&sorted, &[])) };
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let deviation = (sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let quartile = |share| quantile_of_sorted(&sorted, share).unwrap_or(mean);
    let spread = (quartile(0.75) - quartile(0.25)) / 1.34;
    let narrower = if spread > 0.0 { deviation.min(spread) } else { deviation };
    let bandwidth = (0.9 * narrower * count.powf(-0.2)).max(grid.step);
    Ok(parts(&sorted, &grid.valleys(bandwidth)))
}

/// The smallest bandwidth of a Gaussian kernel density with at most `mode_count` modes.
///
/// # Errors
/// As [`modes`], and [`StatsError::Degenerate`] for equal values, which have one mode at any bandwidth.
///
/// # Source
/// As [`modes`]; to about one percent, and not below a hundredth of the values' range.
pub fn critical_bandwidth(values: &[f64], mode_count: usize) -> Result<f64, StatsError> {
    require_finite(values.iter().copied(), 2)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let grid = Grid::from_sorted(&sorted).ok_or(StatsError::Degenerate { reason: "all values are equal" })?;
    Ok(grid.critical_bandwidth(mode_count.max(1)))
}

/// The values counted on a grid that reaches beyond them, each shared between its two neighbours.
struct Grid {
    weights: Vec<f64>,
    start: f64,
    step: f64,
    range: f64,
}

impl Grid {
    /// `None` for values that are all equal.
    fn from_sorted(sorted: &[f64]) -> Option<Self> {
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let range = last - first;
        if range <= 0.0 || !range.is_finite() {
            return None;
        }
        let (start, step) = (first - 0.1 * range, 1.2 * range / (GRID - 1) as f64);
        let mut weights = vec![0.0; GRID];
        for value in sorted {
            let position = (value - start) / step;
            let index = floor_index(position, GRID - 2);
            let part = position - index as f64;
            weights[index] += 1.0 - part;
            weights[index + 1] += part;
        }
        Some(Self { weights, start, step, range })
    }

    /// The density at every point of the grid, not normalised.
    fn density(&self, bandwidth: f64) -> Vec<f64> {
        let kernel: Vec<f64> = (0..2 * GRID)
            .map(|index| {
                let scaled = index.abs_diff(GRID) as f64 * self.step / bandwidth;
                (-0.5 * scaled * scaled).exp()
            })
            .collect();
        let mut density = vec![0.0; GRID];
        for (index, weight) in self.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let around = &kernel[GRID - index..2 * GRID - index];
            density.iter_mut().zip(around).for_each(|(sum, part)| *sum += weight * part);
        }
        density
    }

    /// Where the density is lowest between two of its modes.
    fn valleys(&self, bandwidth: f64) -> Vec<f64> {
        let density = self.density(bandwidth);
        let rises: Vec<bool> = density.windows(2).map(|pair| pair[1] > pair[0]).collect();
        let turns_up = |(index, pair): (usize, &[bool])| (!pair[0] && pair[1]).then_some(index + 1);
        let valleys = rises.windows(2).enumerate().filter_map(turns_up);
        valleys.map(|index| self.start + index as f64 * self.step).collect()
    }

    fn critical_bandwidth(&self, mode_count: usize) -> f64 {
        let (mut low, mut high) = (self.range / 100.0, self.range);
        if self.valleys(low).len() < mode_count {
            return low;
        }
        for _ in 0..SEARCH_STEPS {
            let middle = (low * high).sqrt();
            if self.valleys(middle).len() < mode_count {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }
}

/// The values between valleys; parts without any value are left out.
fn parts(sorted: &[f64], valleys: &[f64]) -> Vec<ModeOfValues> {
    let mut found = Vec::with_capacity(valleys.len() + 1);
    let mut from = 0;
    let ends = valleys.iter().map(|valley| sorted.partition_point(|value| value < valley));
    for to in ends.chain([sorted.len()]) {
        let part = sorted.get(from..to).unwrap_or(&[]);
        if let Some(centre) = quantile_of_sorted(part, 0.5) {
            found.push(ModeOfValues { centre, share: part.len() as f64 / sorted.len() as f64 });
        }
        from = to;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{critical_bandwidth, modes, parts_at_first_sight};
    use crate::error::StatsError;
    use crate::resample::Resampler;

    #[test]
    fn modes_are_where_they_were_put_and_contain_what_was_put_there() {
        let mut resampler = Resampler::new(4);
        let mut values: Vec<f64> = (0..300).map(|_| 100.0 + 3.0 * resampler.normal()).collect();
        values.extend((0..100).map(|_| 160.0 + 6.0 * resampler.normal()));
        let found = modes(&values).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!((found[0].centre - 100.0).abs() < 1.0 && (found[1].centre - 160.0).abs() < 2.5, "{found:?}");
        assert!((found[0].share - 0.75).abs() < 0.01, "{found:?}");
        values.extend((0..200).map(|_| 300.0 + 4.0 * resampler.normal()));
        assert_eq!(modes(&values).unwrap().len(), 3);
    }

    #[test]
    fn a_twentieth_far_away_is_a_part_at_first_sight_and_a_bell_is_one() {
        let mut resampler = Resampler::new(7);
        let bell: Vec<f64> = (0..400).map(|_| resampler.normal()).collect();
        let mut two: Vec<f64> = bell.iter().take(380).copied().collect();
        two.extend((0..20).map(|_| 12.0 + resampler.normal()));
        let large = |values: &[f64]| {
            parts_at_first_sight(values).unwrap().iter().filter(|part| part.share > 0.025).count()
        };
        assert_eq!((large(&two), large(&bell), large(&[3.0; 9])), (2, 1, 1));
    }

    #[test]
    fn two_points_are_two_modes_and_equal_values_one() {
        let found = modes(&[1.0, 1.0, 5.0]).unwrap();
        assert_eq!(found.iter().map(|mode| mode.centre).collect::<Vec<_>>(), [1.0, 5.0]);
        assert_eq!(modes(&[2.5; 9]).unwrap().len(), 1);
    }

    #[test]
    fn more_modes_take_less_smoothing() {
        let values: Vec<f64> = (0..40).map(|i| f64::from(i / 10) * 10.0 + f64::from(i % 10)).collect();
        let first = critical_bandwidth(&values, 1).unwrap();
        assert!(first >= critical_bandwidth(&values, 2).unwrap());
    }

    #[test]
    fn input_without_modes_is_named() {
        assert!(matches!(modes(&[1.0]), Err(StatsError::TooFew { .. })));
        assert!(matches!(modes(&[1.0, f64::NAN]), Err(StatsError::NotFinite { value_index: 1 })));
        assert!(matches!(critical_bandwidth(&[1.0; 4], 1), Err(StatsError::Degenerate { .. })));
    }
}
