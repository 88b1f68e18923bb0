//! How sure it is which of several groups comes first.
//!
//! It deliberately does not turn the share into a confidence: that needs calibration (see [`crate::logistic`]).

use std::cmp::Ordering;

use crate::error::{StatsError, require_finite};
use crate::resample::{BootstrapPlan, Resampler};

/// Which end of the order counts as first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// The group with the largest statistic.
    Largest,
    /// The group with the smallest statistic.
    Smallest,
}

/// For each group, the share of resamples in which its statistic ranks first.
///
/// # Shape
/// One slice of independent values for each group, none empty, of any lengths; as many shares, in the same order, which sum
/// to 1. Groups that tie for first in a resample share it equally. A group of a single value never moves: its share
/// shows only how the others move, so callers should not take it for certainty. One group has share 1.
///
/// # Errors
/// [`StatsError::TooFew`] for no groups or an empty one, [`StatsError::NotFinite`] for NaN or infinity,
/// [`StatsError::BadArgument`] for too few resamples, [`StatsError::Degenerate`] when the statistic is undefined on a
/// resample.
///
/// # Cost
/// `resample_count` evaluations of the statistic for each group.
///
/// # Source
/// The bootstrap of Efron (1979), each group resampled on its own. Checked against the exact enumeration of all
/// resamples in Python (`rank.json`), within the noise of resampling.
pub fn first_rank_shares(
    groups: &[&[f64]],
    statistic: impl Fn(&[f64]) -> Option<f64>,
    first: First,
    plan: BootstrapPlan,
) -> Result<Vec<f64>, StatsError> {
    let plan = plan.checked()?;
    if groups.is_empty() {
        return Err(StatsError::TooFew { needed_count: 1, given_count: 0 });
    }
    for group in groups {
        require_finite(group.iter().copied(), 1)?;
    }
    let undefined = StatsError::Degenerate { reason: "the statistic is undefined on a resample" };
    let mut resampler = Resampler::new(plan.seed);
    let mut resample = Vec::new();
    let mut statistics = Vec::with_capacity(groups.len());
    let mut shares = vec![0.0; groups.len()];
    for _ in 0..plan.resample_count {
        statistics.clear();
        for group in groups {
            resampler.draw_into(group, &mut resample);
            statistics.push(statistic(&resample).filter(|value| value.is_finite()).ok_or(undefined)?);
        }
        credit_first(&statistics, first, &mut shares);
    }
    let total = plan.resample_count as f64;
    Ok(shares.into_iter().map(|share| share / total).collect())
}

/// Adds one credit, split equally among the groups that come first.
fn credit_first(statistics: &[f64], first: First, shares: &mut [f64]) {
    let better = |left: f64, right: f64| {
        let order = left.partial_cmp(&right).unwrap_or(Ordering::Equal);
        match first {
            First::Largest => order,
            First::Smallest => order.reverse(),
        }
    };
    let Some(best) = statistics.iter().copied().max_by(|&left, &right| better(left, right)) else { return };
    let is_first = |value: f64| better(value, best) == Ordering::Equal;
    let tied_count = statistics.iter().filter(|&&value| is_first(value)).count();
    for (share, &value) in shares.iter_mut().zip(statistics) {
        if is_first(value) {
            *share += 1.0 / tied_count as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{First, first_rank_shares};
    use crate::error::StatsError;
    use crate::moments::mean;
    use crate::resample::BootstrapPlan;

    fn shares(groups: &[&[f64]], first: First) -> Result<Vec<f64>, StatsError> {
        first_rank_shares(groups, mean, first, BootstrapPlan::with_seed(3))
    }

    #[test]
    fn groups_far_apart_leave_no_doubt() {
        let groups: [&[f64]; 3] = [&[1.0, 1.1, 0.9], &[9.0, 9.1, 8.9], &[5.0, 5.1]];
        assert_eq!(shares(&groups, First::Largest), Ok(vec![0.0, 1.0, 0.0]));
        assert_eq!(shares(&groups, First::Smallest), Ok(vec![1.0, 0.0, 0.0]));
    }

    #[test]
    fn groups_that_tie_share_the_rank() {
        let groups: [&[f64]; 2] = [&[2.0, 2.0], &[2.0]];
        assert_eq!(shares(&groups, First::Largest), Ok(vec![0.5, 0.5]));
    }

    #[test]
    fn the_only_group_is_always_first() {
        assert_eq!(shares(&[&[1.0, 2.0]], First::Smallest), Ok(vec![1.0]));
    }

    #[test]
    fn no_groups_and_empty_groups_are_refused() {
        assert!(matches!(shares(&[], First::Largest), Err(StatsError::TooFew { .. })));
        assert!(matches!(shares(&[&[1.0], &[]], First::Largest), Err(StatsError::TooFew { .. })));
        assert_eq!(
            shares(&[&[1.0, f64::NAN]], First::Largest),
            Err(StatsError::NotFinite { value_index: 1 })
        );
    }
}
