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

/// Standard deviations of its part, estimated robustly, beyond which a value is of no mode.
const OF_MODE_DEVIATIONS: f64 = 3.0;
/// A normal standard deviation over the median absolute deviation.
const MAD_FACTOR: f64 = 1.4826;
/// Values this close to a mode's centre are of it, however narrow it is: modes that are closer are one.
const OF_MODE_RATIO: f64 = 1.2;

/// The modes of `values` without the values that are of none of them; those between two modes are a part of their own,
/// with their median and their share.
///
/// # Source
/// A value is of its part's mode within three robust standard deviations (1.4826 times the median absolute deviation) of
/// the logarithms, or a factor of 1.2; Leys et al., J. Experimental Social Psychology 49 (2013) for the median rule.
#[must_use]
pub fn parted(values: &[f64], modes: &[ModeOfValues]) -> Vec<ModeOfValues> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() < values.len() || modes.len() < 2 {
        return modes.to_vec();
    }
    let (mut all, mut between, mut from) = (Vec::new(), Vec::new(), 0);
    for (index, mode) in modes.iter().enumerate() {
        let through: f64 = modes.iter().take(index + 1).map(|mode| mode.share).sum();
        let until = round_to_index(through * sorted.len() as f64).clamp(from, sorted.len());
        let part = sorted.get(from..until).unwrap_or_default();
        from = until;
        let of_mode = limits(part);
        let (own, others): (Vec<f64>, Vec<f64>) = part.iter().partition(|value| of_mode.contains(*value));
        let Some(centre) = median(&own) else { return modes.to_vec() };
        all.push(ModeOfValues { centre, share: own.len() as f64 / sorted.len() as f64 });
        let (low, high) = (index > 0, index + 1 < modes.len());
        // What is beyond the lowest and the highest mode is between none.
        between.extend(others.into_iter().filter(|value| if *value < mode.centre { low } else { high }));
    }
    if let Some(centre) = median(&between) {
        all.push(ModeOfValues { centre, share: between.len() as f64 / sorted.len() as f64 });
        all.sort_by(|a, b| a.centre.total_cmp(&b.centre));
    }
    all
}

/// The values that are of the mode of `part`.
fn limits(part: &[f64]) -> std::ops::RangeInclusive<f64> {
    let centre = median(part).unwrap_or(0.0);
    let distances: Vec<f64> = part.iter().map(|value| (value / centre).ln().abs()).collect();
    let deviation = MAD_FACTOR * median(&distances).unwrap_or(0.0);
    let factor = (OF_MODE_DEVIATIONS * deviation).exp().max(OF_MODE_RATIO);
    centre / factor..=centre * factor
}

/// A count that is a share of another one.
fn round_to_index(value: f64) -> usize {
    usize::try_from(narrows_model::units::round_to_u64(value.round())).unwrap_or(usize::MAX)
}

fn mixture(rates: &[f64]) -> MixtureOutcome {
    if rates.len() < dip::VALUES_MIN {
        return MixtureOutcome::Untold;
    }
    let plan = DipPlan { resample_count: 500, seed: 1, lag1_autocorrelation: 0.0 };
    match dip_test(rates, plan) {
        Err(_) => MixtureOutcome::Untold,
        Ok(test) if test.p_value >= ONE_MODE_PROBABILITY => MixtureOutcome::One,
        Ok(_) => modes(rates)
            .map_or(MixtureOutcome::Untold, |found| MixtureOutcome::Several(parted(rates, &found))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_two_modes_are_a_part_of_their_own() {
        // Fread of 47 clients at the RHIC Computing Facility: 14 over the network, 2 in part, 31 from their cache.
        let mut rates = vec![
            247.37, 270.33, 284.85, 317.45, 359.80, 367.70, 370.16, 380.15, 393.65, 464.71, 493.47, 533.40,
            542.42, 778.24, 1622.72, 22_637.24, 238_095.24, 239_520.96, 245_398.77, 245_398.77, 246_913.58,
            248_447.20, 250_000.0, 250_000.0, 250_000.0, 250_000.0, 251_572.33, 251_572.33, 251_572.33,
        ];
        rates.extend([253_164.56; 12]);
        rates.extend([254_777.07; 6]);
        let MixtureOutcome::Several(found) = ClientSpread::from_rates(&rates).unwrap().mixture else {
            panic!("one mode of {rates:?}")
        };
        let counts: Vec<f64> = found.iter().map(|mode| (mode.share * 47.0).round()).collect();
        assert_eq!(counts, [14.0, 2.0, 31.0], "{found:?}");
        assert!((found[1].centre - 12_129.98).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn values_that_are_all_of_their_modes_make_no_part_more() {
        let values: Vec<f64> =
            (0..40).map(|n| if n < 20 { 100.0 + f64::from(n) } else { 500.0 + f64::from(n) }).collect();
        let modes = [ModeOfValues { centre: 110.0, share: 0.5 }, ModeOfValues { centre: 530.0, share: 0.5 }];
        assert_eq!(parted(&values, &modes).len(), 2);
    }

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
