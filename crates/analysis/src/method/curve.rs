//! A curve of observations, step by step: whether the rate follows what is raised, follows it less than half, not at all,
//! or falls.
//!
//! By Little's law the response time grows by what the rate does not. Below half of its share most of what is added only
//! waits for what all share; from half on most of it is served, and what asks for too little limits.
//!
//! Not here: which segment is blamed for it.
//!
//! # Source
//! Little, Operations Research 9 (1961); Denning and Buzen, ACM Computing Surveys 10 (1978); Gunther, Guerrilla Capacity
//! Planning (2007).

use crate::case::table::{self, Bracket, ObservationTable, RisingSeries, times, with_other_differences};
use crate::thresholds::{FOLLOWS_ELASTICITY, NO_EFFECT_RATIO};
use narrows_model::Observation;
use std::collections::BTreeSet;

/// Values closer than this are no step: runs repeat within a few percent, and half as much more can add as little.
const STEP_MIN_RATIO: f64 = 1.5;

/// What the rate does in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepShape {
    /// It grows by half of what is added or more, on a logarithmic scale.
    Follows,
    /// It grows, by less than that.
    Contends,
    /// It stays.
    Flat,
    /// It falls.
    Falls,
}

/// Two observations of a curve.
#[derive(Debug)]
pub(crate) struct CurveStep<'s, 'a> {
    pub series: &'s RisingSeries<'a>,
    pub fewer: &'a Observation,
    pub more: &'a Observation,
    pub faster: Bracket,
    pub shape: StepShape,
}

impl CurveStep<'_, '_> {
    /// It in words: `8 clients reach 1.10 times the rate of 4 (n4, n8)`.
    pub(crate) fn text(&self) -> String {
        let text = format!(
            "{} reach {} times the rate of {} ({}, {})",
            self.series.describe(self.more),
            times(self.faster),
            self.series.value(self.fewer).unwrap_or_default(),
            self.fewer.id,
            self.more.id
        );
        with_other_differences(self.fewer, self.more, text)
    }

    /// Whether the fewer are one at a time, whose requests may take one stage after the other with none of them full.
    pub(crate) fn is_from_one(&self) -> bool {
        self.series.value(self.fewer).is_some_and(|value| value <= 1.0)
    }
}

/// The steps of a curve: each row with the next that has clearly more, and with the last that has clearly less.
///
/// # Shape
/// No pair twice; without rows whose clients are of several kinds, and steps of which it is open what the rate does.
pub(crate) fn steps<'s, 'a>(
    table: &ObservationTable<'a>,
    series: &'s RisingSeries<'a>,
) -> Vec<CurveStep<'s, 'a>> {
    let rows: Vec<&'a Observation> =
        series.rows.iter().copied().filter(|one| table.modes(one).is_none()).collect();
    let is_step = |less: usize, more: usize| {
        let pair = rows.get(less).zip(rows.get(more));
        pair.and_then(|(less, more)| series.grown(less, more)).is_some_and(|grown| grown >= STEP_MIN_RATIO)
    };
    let next =
        (0..rows.len()).filter_map(|at| Some((at, (at + 1..rows.len()).find(|more| is_step(at, *more))?)));
    let last = (0..rows.len()).filter_map(|at| Some(((0..at).rev().find(|less| is_step(*less, at))?, at)));
    let pairs: BTreeSet<(usize, usize)> = next.chain(last).collect();
    let of_pair = |(fewer, more): (usize, usize)| step(series, rows.get(fewer)?, rows.get(more)?);
    pairs.into_iter().filter_map(of_pair).collect()
}

fn step<'s, 'a>(
    series: &'s RisingSeries<'a>,
    fewer: &'a Observation,
    more: &'a Observation,
) -> Option<CurveStep<'s, 'a>> {
    let faster = table::speed_up(fewer, more)?;
    let grown = series.grown(fewer, more)?;
    let shape = shape(faster, grown, table::doubt_ratio(fewer).max(table::doubt_ratio(more)))?;
    Some(CurveStep { series, fewer, more, faster, shape })
}

/// What a rate does that becomes `faster` where something grows `grown` times; `None` where its bounds, or the doubt of
/// the figures, leave that open.
fn shape(faster: Bracket, grown: f64, doubt_ratio: f64) -> Option<StepShape> {
    let follows = |ratio: f64| ratio.max(f64::MIN_POSITIVE).ln() / grown.ln() >= FOLLOWS_ELASTICITY;
    let is_more = faster.low > NO_EFFECT_RATIO + doubt_ratio;
    if is_more && follows(faster.low) {
        Some(StepShape::Follows)
    } else if is_more && !follows(faster.high) {
        Some(StepShape::Contends)
    } else if faster.high < 1.0 / NO_EFFECT_RATIO - doubt_ratio {
        Some(StepShape::Falls)
    } else {
        (faster.high < NO_EFFECT_RATIO + doubt_ratio).then_some(StepShape::Flat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_what_its_bounds_and_its_doubt_leave() {
        let of = |low: f64, high: f64, doubt: f64| shape(Bracket { low, high }, 4.0, doubt);
        assert_eq!(of(2.0, 2.0, 0.0), Some(StepShape::Follows));
        assert_eq!(of(1.9, 1.9, 0.0), Some(StepShape::Contends));
        assert_eq!(of(1.9, 2.1, 0.0), None);
        assert_eq!(of(1.04, 1.04, 0.0), Some(StepShape::Flat));
        assert_eq!(of(1.08, 1.08, 0.05), Some(StepShape::Flat));
        assert_eq!(of(0.9, 0.9, 0.0), Some(StepShape::Falls));
        assert_eq!(of(0.9, 0.9, 0.1), Some(StepShape::Flat));
    }
}
