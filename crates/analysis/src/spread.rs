//! What several clients make of a load together: sum, spread, fairness, and whether there are several kinds of them.

use crate::thresholds::ONE_MODE_PROBABILITY;
use narrows_model::units::ratio;
use narrows_stats::dip::{self, DipPlan, dip_test};
use narrows_stats::modes::{ModeOfValues, modes};
use narrows_stats::moments::coefficient_of_variation;
use narrows_stats::quantile::median;

/// Rates of clients that ran together.
///
/// # Units
/// Those of the rates.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientSpread {
    /// What they transfer together.
    pub sum: f64,
    /// The median of them.
    pub median: f64,
    /// The least of them.
    pub min: f64,
    /// The greatest of them.
    pub max: f64,
    /// Standard deviation over mean.
    pub variation: f64,
    /// Jain's index: 1 for equal shares, 1/n for one process that has it all.
    pub fairness: f64,
    /// Whether there are several kinds of them.
    pub mixture: MixtureOutcome,
}

/// What the mixture test says.
#[derive(Debug, Clone, PartialEq)]
pub enum MixtureOutcome {
    /// Too few values to decide.
    Untold,
    /// One mode will do.
    One,
    /// Several, by rising centre.
    Several(Vec<ModeOfValues>),
}

impl ClientSpread {
    /// That of `rates`; `None` for fewer than two, or without any that is above 0.
    ///
    /// # Source
    /// Jain, Chiu and Hawe (1984) for the index, Hartigan and Hartigan (1985) for the mixture test.
    #[must_use]
    pub fn from_rates(rates: &[f64]) -> Option<Self> {
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

fn mixture(rates: &[f64]) -> MixtureOutcome {
    if rates.len() < dip::VALUES_MIN {
        return MixtureOutcome::Untold;
    }
    let plan = DipPlan { resample_count: 500, seed: 1, lag1_autocorrelation: 0.0 };
    match dip_test(rates, plan) {
        Err(_) => MixtureOutcome::Untold,
        Ok(test) if test.p_value >= ONE_MODE_PROBABILITY => MixtureOutcome::One,
        Ok(_) => modes(rates).map_or(MixtureOutcome::Untold, MixtureOutcome::Several),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_fair_and_one_that_has_all_is_not() {
        let spread = ClientSpread::from_rates(&[5.0; 4]).unwrap();
        assert_eq!((spread.sum, spread.median, spread.variation, spread.fairness), (20.0, 5.0, 0.0, 1.0));
        assert_eq!(spread.mixture, MixtureOutcome::Untold);
        let unfair = ClientSpread::from_rates(&[8.0, 0.0, 0.0, 0.0]).unwrap();
        assert!((unfair.fairness - 0.25).abs() < 1e-12);
        assert_eq!(ClientSpread::from_rates(&[1.0]), None);
    }
}
