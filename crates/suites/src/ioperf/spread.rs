//! What several processes make of a test together: sum, spread, fairness, and whether there are several kinds of them.

use narrows_model::units::ratio;
use narrows_stats::dip::{self, DipPlan, dip_test};
use narrows_stats::modes::{ModeOfValues, modes};
use narrows_stats::moments::coefficient_of_variation;
use narrows_stats::quantile::median;

/// Below this probability a single mode is not believed.
const LEVEL: f64 = 0.05;

/// Rates of processes that ran together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spread {
    pub(super) sum: f64,
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// Standard deviation over mean.
    pub(super) variation: f64,
    /// Jain's index: 1 for equal shares, 1/n for one process that has it all.
    pub(super) fairness: f64,
    pub(super) mixture: Mixture,
}

/// What the mixture test says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Mixture {
    /// Too few values to tell.
    Untold,
    /// One mode will do.
    One,
    /// Several, by rising centre.
    Several(Vec<ModeOfValues>),
}

impl Spread {
    /// That of `rates`; `None` for fewer than two, or without any that is above 0.
    ///
    /// # Source
    /// Jain, Chiu and Hawe (1984) for the index, Hartigan and Hartigan (1985) for the mixture test.
    pub(super) fn of(rates: &[f64]) -> Option<Self> {
        let sum: f64 = rates.iter().sum();
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        Some(Self {
            sum,
            median: median(rates)?,
            min: rates.iter().copied().min_by(f64::total_cmp)?,
            max: rates.iter().copied().max_by(f64::total_cmp)?,
            variation: coefficient_of_variation(rates)?,
            fairness: ratio(sum * sum, rates.len() as f64 * squares)?,
            mixture: mixture(rates),
        })
    }
}

fn mixture(rates: &[f64]) -> Mixture {
    if rates.len() < dip::VALUES_MIN {
        return Mixture::Untold;
    }
    let plan = DipPlan { resample_count: 500, seed: 1, lag1_autocorrelation: 0.0 };
    match dip_test(rates, plan) {
        Err(_) => Mixture::Untold,
        Ok(test) if test.p_value >= LEVEL => Mixture::One,
        Ok(_) => modes(rates).map_or(Mixture::Untold, Mixture::Several),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::published;
    use super::*;

    /// Rates of the 47 published hosts in one test.
    fn hosts(test: usize) -> Vec<f64> {
        let hosts = published().into_iter().filter(|row| row.row.starts_with("rcas6"));
        hosts.map(|host| host.figures[test].kb_per_s.unwrap()).collect()
    }

    #[test]
    fn the_47_published_writers_are_told_with_their_sum() {
        let spread = Spread::of(&hosts(0)).unwrap();
        // CLASSICS: sum of rates 8824 KB/s, mean 187.75.
        assert!((spread.sum - 8824.0).abs() < 1.0, "{spread:?}");
        assert!(spread.fairness > 0.9 && spread.min < spread.median && spread.median < spread.max);
    }

    #[test]
    fn the_47_published_readers_are_a_mixture_of_cached_and_remote_ones() {
        let Mixture::Several(found) = Spread::of(&hosts(1)).unwrap().mixture else { panic!("one mode") };
        // 14 of 47 were truly remote, at 247 to 778 KB/s, and 31 at the speed of their memory.
        assert!(found[0].centre < 1000.0 && found.last().unwrap().centre > 200_000.0, "{found:?}");
        assert!((0.25..0.4).contains(&found[0].share), "{found:?}");
    }

    #[test]
    fn equal_shares_are_fair_and_one_that_has_all_is_not() {
        let spread = Spread::of(&[5.0; 4]).unwrap();
        assert_eq!((spread.sum, spread.median, spread.variation, spread.fairness), (20.0, 5.0, 0.0, 1.0));
        assert_eq!(spread.mixture, Mixture::Untold);
        let unfair = Spread::of(&[8.0, 0.0, 0.0, 0.0]).unwrap();
        assert!((unfair.fairness - 0.25).abs() < 1e-12);
        assert_eq!(Spread::of(&[1.0]), None);
    }
}
