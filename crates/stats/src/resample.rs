//! Indices drawn with replacement, and uniform and normal numbers, from a seed, for everything that resamples.
//!
//! It deliberately draws no seed and offers no other distribution.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::StatsError;
use crate::level::Level;

/// How to resample: how often, from which seed, and for which level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapPlan {
    /// How many resamples are drawn; below [`BootstrapPlan::FEWEST_RESAMPLES`] the plan is refused.
    pub resample_count: usize,
    /// The seed; the same seed and data give the same result.
    pub seed: u64,
    /// The level of the interval; ignored where no interval is made.
    pub level: Level,
}

impl BootstrapPlan {
    /// The fewest resamples accepted: with fewer, 2.5 % of them are under three values and the end is noise.
    pub const FEWEST_RESAMPLES: usize = 100;

    /// A plan of 2000 resamples at 95 %.
    ///
    /// # Source
    /// Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13: 1000 or more for percentile
    /// intervals.
    #[must_use]
    pub fn with_seed(seed: u64) -> Self {
        Self { resample_count: 2000, seed, level: Level::P95 }
    }

    pub(crate) fn checked(self) -> Result<Self, StatsError> {
        if self.resample_count < Self::FEWEST_RESAMPLES {
            return Err(StatsError::BadArgument { requirement: "at least 100 resamples are needed" });
        }
        Ok(self)
    }
}

/// A stream of indices, uniform and independent, determined by its seed.
///
/// # Source
/// xoshiro256++ of Blackman and Vigna (2019), the seed spread by `SplitMix64`; the range reduction is Lemire's
/// multiplication with rejection, ACM TOMACS 29 (2019), so that no index is favoured.
#[derive(Debug, Clone)]
pub struct Resampler {
    generator: Xoshiro256PlusPlus,
}

impl Resampler {
    /// The stream that belongs to `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// An index below `count`; `None` when `count` is 0.
    ///
    /// # Cost
    /// One draw, more with a probability below `count` / 2^64.
    pub fn index_below(&mut self, count: usize) -> Option<usize> {
        let range = u64::try_from(count).ok().filter(|&range| range > 0)?;
        let rejected_below = range.wrapping_neg() % range;
        loop {
            let product = u128::from(self.generator.next_u64()) * u128::from(range);
            let low = u64::try_from(product & u128::from(u64::MAX)).ok()?;
            if low >= rejected_below {
                return usize::try_from(product >> 64).ok();
            }
        }
    }

    /// A number of the open interval from 0 to 1, uniform to 53 bits.
    pub fn uniform(&mut self) -> f64 {
        const STEPS: u64 = 1 << 52;
        ((self.generator.next_u64() >> 12) as f64 + 0.5) / STEPS as f64
    }

    /// A standard normal number.
    ///
    /// # Source
    /// Box and Muller, Annals of Mathematical Statistics 29 (1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Replaces `resample` by as many values as `values` has, each drawn with replacement.
    ///
    /// # Cost
    /// O(n); allocates only while `resample` has less capacity than `values` has values.
    pub fn draw_into(&mut self, values: &[f64], resample: &mut Vec<f64>) {
        resample.clear();
        for _ in 0..values.len() {
            resample.extend(self.index_below(values.len()).and_then(|index| values.get(index)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Resampler;

    #[test]
    fn the_same_seed_gives_the_same_indices_and_another_seed_others() {
        let draw = |seed| {
            let mut resampler = Resampler::new(seed);
            (0..50).filter_map(|_| resampler.index_below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn every_index_comes_about_equally_often() {
        let mut resampler = Resampler::new(11);
        let mut hits = [0_u32; 7];
        for _ in 0..70_000 {
            hits[resampler.index_below(7).unwrap()] += 1;
        }
        // Chi-square with 6 degrees of freedom: 22.46 is passed once in a thousand.
        let chi_square: f64 = hits.iter().map(|&hit| (f64::from(hit) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_square < 22.46, "{chi_square}");
    }

    #[test]
    fn there_is_no_index_below_zero_and_nothing_to_draw_from_nothing() {
        let mut resampler = Resampler::new(1);
        assert_eq!(resampler.index_below(0), None);
        let mut resample = vec![1.0];
        resampler.draw_into(&[], &mut resample);
        assert!(resample.is_empty());
    }

    #[test]
    fn a_resample_contains_as_many_values_all_taken_from_the_source() {
        let source = [1.0, 2.0, 4.0];
        let mut resample = Vec::new();
        Resampler::new(5).draw_into(&source, &mut resample);
        assert_eq!(resample.len(), source.len());
        assert!(resample.iter().all(|value| source.contains(value)));
    }
}
