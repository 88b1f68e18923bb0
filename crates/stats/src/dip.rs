//! Whether values come from more than one mode: Hartigan's dip test.
//!
//! It deliberately does not say how many modes there are or where: see [`crate::modes`]. Chosen over comparing Gaussian
//! mixtures by an information criterion, because rates and latencies are skewed, and a skewed single mode is taken for
//! two Gaussians by any such criterion, while the dip is blind to shape as long as there is one mode.

use crate::error::{StatsError, require_finite};
use crate::normal;
use crate::resample::Resampler;

/// Fewest values that can show two modes at all.
pub const VALUES_MIN: usize = 8;
/// Autocorrelations beyond this leave no information; the null's own series would never forget.
const AUTOCORRELATION_LIMIT: f64 = 0.98;
/// Bound of the iteration; each turn narrows the modal interval by at least one value.
const TURNS_MAX: usize = 10_000;

/// How the null distribution of the dip is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DipPlan {
    /// How many series of the null are drawn, at least 100; the smallest p-value is one over one more.
    pub resample_count: usize,
    /// The seed; the same seed and data give the same p-value.
    pub seed: u64,
    /// Correlation of a value with the next; 0 for independent values. A series that wanders spends time here and there
    /// by itself, which the null has to do as well.
    pub lag1_autocorrelation: f64,
}

/// The outcome of a dip test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DipTest {
    /// The dip, the largest distance between the values' distribution and the closest one with a single mode: from
    /// 1/(2n) to 1/4.
    pub dip: f64,
    /// The probability that the null reaches this dip.
    pub p_value: f64,
}

/// The dip of values in any order: the distance to the closest distribution with one mode.
///
/// # Shape
/// At least one finite value. Equal values are one mode: their dip is 1/(2n), the least.
///
/// # Errors
/// [`StatsError::TooFew`] for no values, [`StatsError::NotFinite`] for NaN or infinity.
///
/// # Cost
/// Sorts a copy, then O(n) for each turn; a few turns as a rule.
///
/// # Source
/// Hartigan and Hartigan, Annals of Statistics 13 (1985): within a modal interval that shrinks, the greatest convex
/// minorant and the least concave majorant of the distribution are compared. Checked against the Python package
/// `diptest` (`mixture.json`).
pub fn dip(values: &[f64]) -> Result<f64, StatsError> {
    require_finite(values.iter().copied(), 1)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(dip_of_sorted(&sorted))
}

impl DipPlan {
    fn check(&self) -> Result<(), StatsError> {
        if self.resample_count < 100 {
            return Err(StatsError::BadArgument { requirement: "at least 100 resamples are needed" });
        }
        if !(-1.0..=1.0).contains(&self.lag1_autocorrelation) {
            return Err(StatsError::BadArgument { requirement: "an autocorrelation is between -1 and 1" });
        }
        Ok(())
    }
}

/// Tests values against having a single mode.
///
/// # Shape
/// At least [`VALUES_MIN`] finite values, in the order of measurement where the plan names an autocorrelation.
///
/// # Errors
/// [`StatsError::TooFew`], [`StatsError::NotFinite`], and [`StatsError::BadArgument`] for fewer than 100 resamples or an
/// autocorrelation that is not between -1 and 1.
///
/// # Cost
/// `resample_count` times the cost of [`dip`].
///
/// # Source
/// The null is the uniform distribution, of all with one mode the one whose dip is largest in the limit (Hartigan and
/// Hartigan 1985); with autocorrelation, a first-order autoregressive Gaussian series brought to uniform marginals.
/// p = (1 + how many reach the dip) / (1 + draws). A correlation below 0 counts as 0, one above 0.98 as 0.98. Checked
/// against `diptest` (`mixture.json`); rate of false alarms, with and without autocorrelation, in `tests/it/coverage.rs`.
pub fn dip_test(values: &[f64], plan: DipPlan) -> Result<DipTest, StatsError> {
    plan.check()?;
    require_finite(values.iter().copied(), VALUES_MIN)?;
    let dip = dip(values)?;
    Ok(DipTest { dip, p_value: DipNull::draw(values.len(), plan)?.p_value(dip) })
}

/// The null distribution of the dip of so many values: drawn once where many samples of one size are tested.
#[derive(Debug, Clone, PartialEq)]
pub struct DipNull {
    value_count: usize,
    dips: Vec<f64>,
}

impl DipNull {
    /// The null for `value_count` values.
    ///
    /// # Errors
    /// [`StatsError::BadArgument`] as [`dip_test`].
    ///
    /// # Cost
    /// `resample_count` times the cost of [`dip`].
    ///
    /// # Source
    /// As [`dip_test`].
    pub fn draw(value_count: usize, plan: DipPlan) -> Result<Self, StatsError> {
        plan.check()?;
        let phi = plan.lag1_autocorrelation.clamp(0.0, AUTOCORRELATION_LIMIT);
        let mut resampler = Resampler::new(plan.seed);
        let mut values = Vec::with_capacity(value_count);
        let mut dips = Vec::with_capacity(plan.resample_count);
        for _ in 0..plan.resample_count {
            draw_null(&mut resampler, phi, value_count, &mut values)?;
            values.sort_unstable_by(f64::total_cmp);
            dips.push(dip_of_sorted(&values));
        }
        dips.sort_unstable_by(f64::total_cmp);
        Ok(Self { value_count, dips })
    }

    /// How many values it is for.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.value_count
    }

    /// The probability that the null reaches `dip`: (1 + how many do) / (1 + draws).
    #[must_use]
    pub fn p_value(&self, dip: f64) -> f64 {
        let reached_count = self.dips.len() - self.dips.partition_point(|drawn| *drawn < dip);
        (1 + reached_count) as f64 / (1 + self.dips.len()) as f64
    }
}

/// A series of the null: uniform values, correlated with their neighbours by `phi`.
fn draw_null(
    resampler: &mut Resampler,
    phi: f64,
    count: usize,
    null: &mut Vec<f64>,
) -> Result<(), StatsError> {
    null.clear();
    if phi <= 0.0 {
        null.extend((0..count).map(|_| resampler.uniform()));
        return Ok(());
    }
    let innovation = (1.0 - phi * phi).sqrt();
    let mut state = resampler.normal();
    for _ in 0..count {
        null.push(1.0 - normal::upper_tail(state)?);
        state = phi * state + innovation * resampler.normal();
    }
    Ok(())
}

/// One distinct value: how many values are below it, and how many at or below.
#[derive(Debug, Clone, Copy)]
struct CdfStep {
    x: f64,
    below: f64,
    through: f64,
}

fn dip_of_sorted(sorted: &[f64]) -> f64 {
    let steps = steps(sorted);
    let (mut low, mut high) = (0, steps.len() - 1);
    // A distribution of n values is at least one half of a step from any continuous one.
    let mut distance: f64 = 1.0;
    for _ in 0..TURNS_MAX {
        let minorant = hull(&steps, low, high, |step| step.below, |turn| turn <= 0.0);
        let majorant = hull(&steps, low, high, |step| step.through, |turn| turn >= 0.0);
        let widest = widest_gap(&steps, &minorant, &majorant);
        if widest.gap <= distance {
            break;
        }
        // An atom at the end of the modal interval belongs to the mode: it is no distance.
        let left = (low..widest.low)
            .map(|index| steps[index].through - along(&steps, &minorant, index, |step| step.below));
        let right = (widest.high + 1..=high)
            .map(|index| along(&steps, &majorant, index, |step| step.through) - steps[index].below);
        distance = left.chain(right).fold(distance, f64::max);
        if (low, high) == (widest.low, widest.high) {
            break;
        }
        (low, high) = (widest.low, widest.high);
    }
    distance / (2.0 * sorted.len() as f64)
}

/// The distinct values with their counts.
fn steps(sorted: &[f64]) -> Vec<CdfStep> {
    let mut steps: Vec<CdfStep> = Vec::with_capacity(sorted.len());
    for (index, &x) in sorted.iter().enumerate() {
        let through = (index + 1) as f64;
        match steps.last_mut() {
            Some(last) if last.x >= x => last.through = through,
            _ => steps.push(CdfStep { x, below: index as f64, through }),
        }
    }
    steps
}

/// Indices of the vertices of a hull over `low..=high`; `bends_away` decides by the turn (positive to the left) whether
/// a vertex between two others is outside of it.
fn hull(
    steps: &[CdfStep],
    low: usize,
    high: usize,
    height: impl Fn(&CdfStep) -> f64,
    bends_away: impl Fn(f64) -> bool,
) -> Vec<usize> {
    let mut vertices: Vec<usize> = Vec::new();
    for index in low..=high {
        while let [.., first, second] = vertices[..] {
            let (a, b, c) = (&steps[first], &steps[second], &steps[index]);
            let turn = (b.x - a.x) * (height(c) - height(a)) - (height(b) - height(a)) * (c.x - a.x);
            if !bends_away(turn) {
                break;
            }
            vertices.pop();
        }
        vertices.push(index);
    }
    vertices
}

/// The height at `index` of the polygon through `vertices`.
fn along(steps: &[CdfStep], vertices: &[usize], index: usize, height: impl Fn(&CdfStep) -> f64) -> f64 {
    let after = vertices.partition_point(|&vertex| vertex < index);
    match (after.checked_sub(1).and_then(|before| vertices.get(before)), vertices.get(after)) {
        (_, Some(&vertex)) if vertex == index => height(&steps[index]),
        (Some(&before), Some(&after)) => {
            let (a, b) = (&steps[before], &steps[after]);
            height(a) + (height(b) - height(a)) * (steps[index].x - a.x) / (b.x - a.x)
        }
        _ => height(&steps[index]),
    }
}

/// Where minorant and majorant are furthest apart, and the modal interval that follows from it.
struct WidestGap {
    gap: f64,
    low: usize,
    high: usize,
}

fn widest_gap(steps: &[CdfStep], minorant: &[usize], majorant: &[usize]) -> WidestGap {
    let mut widest = WidestGap { gap: 0.0, low: 0, high: 0 };
    for &vertex in minorant {
        let gap = along(steps, majorant, vertex, |step| step.through) - steps[vertex].below;
        if gap > widest.gap {
            let next = majorant.partition_point(|&other| other < vertex);
            widest = WidestGap { gap, low: vertex, high: majorant.get(next).copied().unwrap_or(vertex) };
        }
    }
    for &vertex in majorant {
        let gap = steps[vertex].through - along(steps, minorant, vertex, |step| step.below);
        if gap > widest.gap {
            let after = minorant.partition_point(|&other| other <= vertex);
            let before = after.checked_sub(1).and_then(|index| minorant.get(index)).copied();
            widest = WidestGap { gap, low: before.unwrap_or(vertex), high: vertex };
        }
    }
    widest
}

#[cfg(test)]
mod tests {
    use super::{DipNull, DipPlan, dip, dip_test};
    use crate::error::StatsError;

    const PLAN: DipPlan = DipPlan { resample_count: 200, seed: 1, lag1_autocorrelation: 0.0 };

    #[test]
    fn equal_values_have_the_least_dip() {
        assert_eq!(dip(&[3.0; 10]), Ok(0.05));
        assert_eq!(dip(&[3.0]), Ok(0.5));
    }

    #[test]
    fn two_points_far_apart_have_the_largest_dip() {
        let values: Vec<f64> = (0..100).map(|i| if i < 50 { 1.0 } else { 9.0 }).collect();
        assert!((dip(&values).unwrap() - 0.25).abs() < 0.011);
        assert!(dip_test(&values, PLAN).unwrap().p_value < 0.005);
    }

    #[test]
    fn a_null_drawn_once_gives_the_p_value_of_the_test() {
        let values: Vec<f64> = (0..40).map(|index| f64::from(index % 7) + f64::from(index) * 0.01).collect();
        let test = dip_test(&values, PLAN).unwrap();
        let null = DipNull::draw(values.len(), PLAN).unwrap();
        assert_eq!(null.value_count(), 40);
        assert!((null.p_value(test.dip) - test.p_value).abs() < f64::EPSILON);
        assert!((null.p_value(0.0) - 1.0).abs() < f64::EPSILON, "every dip reaches none");
        assert!((null.p_value(1.0) - 1.0 / 201.0).abs() < f64::EPSILON, "no dip reaches one");
    }

    #[test]
    fn order_does_not_change_the_dip() {
        let values: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 61)).collect();
        let mut turned = values.clone();
        turned.reverse();
        assert_eq!(dip(&values), dip(&turned));
    }

    #[test]
    fn input_that_cannot_be_tested_is_named() {
        assert_eq!(dip(&[]), Err(StatsError::TooFew { needed_count: 1, given_count: 0 }));
        assert!(matches!(dip_test(&[1.0; 3], PLAN), Err(StatsError::TooFew { .. })));
        assert!(matches!(dip_test(&[f64::NAN; 9], PLAN), Err(StatsError::NotFinite { .. })));
        let few = DipPlan { resample_count: 10, ..PLAN };
        assert!(matches!(dip_test(&[1.0; 9], few), Err(StatsError::BadArgument { .. })));
        let wild = DipPlan { lag1_autocorrelation: f64::NAN, ..PLAN };
        assert!(matches!(dip_test(&[1.0; 9], wild), Err(StatsError::BadArgument { .. })));
    }
}
