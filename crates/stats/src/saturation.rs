//! From which concurrency on a rate grows no more: the knee of a saturation curve, with its uncertainty.
//!
//! It deliberately fits no law of scaling and extrapolates nothing: beyond the last point nothing is known.

use crate::error::{StatsError, require_finite};
use crate::interval::{ConfidenceInterval, IntervalMethod};
use crate::quantile::quantile_of_sorted;
use crate::resample::{BootstrapPlan, Resampler};

/// What doubling must add to count as growth.
pub const GAIN_LIMIT_RATIO: f64 = 0.03;
/// Two points are a doubling apart when their ratio is at least this: steps such as 1, 3, 5 or 10, 19 must count too.
pub const DOUBLING_MIN: f64 = 1.9;

/// A last step of more than this many times hides where the growth was: on a curve that bends, the last doubling may add
/// nothing although the step as a whole adds much.
const LAST_STEP_MAX: f64 = 4.0;

/// The rate at one concurrency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// Requests in flight, clients, or whatever was increased; above 0.
    pub concurrency: f64,
    /// The rate reached; above 0.
    pub rate: f64,
    /// Standard error of the rate over the rate; `None` where it is not known.
    pub relative_error: Option<f64>,
}

/// Whether the rate stops growing within the points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaturationVerdict {
    /// Doubling adds under 3 % from the knee on.
    Reached,
    /// The last doubling still adds 3 % or more.
    NotReached,
    /// The errors of the points allow both, or the last step is of more than two doublings and adds.
    Undecided,
}

/// Where a curve saturates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SaturationResult {
    /// Whether it does, at the level of the plan where errors are known.
    pub verdict: SaturationVerdict,
    /// The smallest concurrency measured from which no doubling adds 3 %; `None` unless reached.
    pub knee: Option<f64>,
    /// Interval of the knee; `None` unless reached with known errors.
    pub knee_interval: Option<ConfidenceInterval>,
    /// What doubling added last: per doubling, from the last point at half the largest concurrency or below.
    pub last_gain_ratio: f64,
    /// Interval of that; `None` unless all errors are known.
    pub last_gain_interval: Option<ConfidenceInterval>,
}

/// Where the rate stops growing with the concurrency.
///
/// # Shape
/// At least two points in any order, the largest concurrency at least 1.9 times the smallest; steps need not be powers of
/// two. Points of one concurrency are averaged. A falling rate is saturated.
///
/// # Errors
/// [`StatsError::TooFew`], [`StatsError::NotFinite`], [`StatsError::OutOfRange`] for a concurrency, a rate or an error
/// that is not above 0 (an error may be 0), [`StatsError::Degenerate`] where no doubling was measured,
/// [`StatsError::BadArgument`] for too few resamples.
///
/// # Cost
/// `resample_count` searches of O(n²).
///
/// # Source
/// The gain of a doubling between concurrencies n and m is (X(m)/X(n))^(1/log2(m/n)) - 1. The knee is the smallest n from
/// which the gain to every m >= 1.9 n stays under 3 %, as long as one such m was measured. With known errors the search is
/// repeated on rates drawn from normal laws around the measured ones: the verdict is what all but a = 1 - level of the
/// draws agree on, the knee's interval the quantiles a/2 and 1-a/2 over the draws that have one (a parametric bootstrap).
/// Checked against closed forms; rate of false verdicts in `tests/it/coverage.rs`.
pub fn saturation(points: &[LoadPoint], plan: BootstrapPlan) -> Result<SaturationResult, StatsError> {
    let plan = plan.checked()?;
    let curve = merged(points)?;
    let rates: Vec<f64> = curve.iter().map(|point| point.rate).collect();
    let no_doubling = StatsError::Degenerate { reason: "no concurrency is twice another" };
    let (from, to) = last_doubling(&curve, &rates).ok_or(no_doubling)?;
    let last_gain_ratio = gain(from, to);
    let knee = knee(&curve, &rates);
    let measured = SaturationResult {
        verdict: match knee {
            Some(_) => SaturationVerdict::Reached,
            None if to.0 <= from.0 * LAST_STEP_MAX => SaturationVerdict::NotReached,
            None => SaturationVerdict::Undecided,
        },
        knee,
        knee_interval: None,
        last_gain_ratio,
        last_gain_interval: None,
    };
    let errors: Option<Vec<f64>> = curve.iter().map(|point| point.relative_error).collect();
    match errors {
        Some(errors) => with_errors(measured, &curve, &errors, plan).ok_or(no_doubling),
        None => Ok(measured),
    }
}

/// The points by rising concurrency, those of one concurrency made one.
fn merged(points: &[LoadPoint]) -> Result<Vec<LoadPoint>, StatsError> {
    let parts = |point: &LoadPoint| [point.concurrency, point.rate, point.relative_error.unwrap_or(0.0)];
    require_finite(points.iter().map(|point| parts(point).iter().sum()), 2)?;
    let refused = |point: &LoadPoint| {
        point.concurrency <= 0.0 || point.rate <= 0.0 || point.relative_error.is_some_and(|error| error < 0.0)
    };
    if let Some(value_index) = points.iter().position(refused) {
        let requirement = "a concurrency and a rate must be above 0, an error not below";
        return Err(StatsError::OutOfRange { value_index, requirement });
    }
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.concurrency.total_cmp(&b.concurrency));
    Ok(sorted.chunk_by(|a, b| a.concurrency >= b.concurrency).filter_map(mean_point).collect())
}

/// The mean of points of one concurrency; their errors are taken as independent.
fn mean_point(same: &[LoadPoint]) -> Option<LoadPoint> {
    let count = same.len() as f64;
    let rate = same.iter().map(|point| point.rate).sum::<f64>() / count;
    let variances: Option<Vec<f64>> =
        same.iter().map(|point| Some((point.relative_error? * point.rate).powi(2))).collect();
    let relative_error = variances.map(|all| all.iter().sum::<f64>().sqrt() / count / rate);
    Some(LoadPoint { concurrency: same.first()?.concurrency, rate, relative_error })
}

/// What one doubling adds between two points.
fn gain(from: (f64, f64), to: (f64, f64)) -> f64 {
    (to.1 / from.1).powf(1.0 / (to.0 / from.0).log2()) - 1.0
}

fn knee(curve: &[LoadPoint], rates: &[f64]) -> Option<f64> {
    let at = |index: usize| Some((curve.get(index)?.concurrency, *rates.get(index)?));
    (0..curve.len()).find_map(|index| {
        let from = at(index)?;
        let later = || (index + 1..curve.len()).filter_map(at).filter(|to| to.0 >= from.0 * DOUBLING_MIN);
        let flat = later().next().is_some() && later().all(|to| gain(from, to) < GAIN_LIMIT_RATIO);
        flat.then_some(from.0)
    })
}

/// The last point, and the one before it that is a doubling or more away.
fn last_doubling(curve: &[LoadPoint], rates: &[f64]) -> Option<((f64, f64), (f64, f64))> {
    let to = (curve.last()?.concurrency, *rates.last()?);
    let mut pairs = curve.iter().zip(rates).map(|(point, &rate)| (point.concurrency, rate)).rev();
    let from = pairs.find(|from| to.0 >= from.0 * DOUBLING_MIN)?;
    Some((from, to))
}

/// The verdict on which draws of the rates agree, with the intervals over them.
fn with_errors(
    measured: SaturationResult,
    curve: &[LoadPoint],
    errors: &[f64],
    plan: BootstrapPlan,
) -> Option<SaturationResult> {
    let mut resampler = Resampler::new(plan.seed);
    let (mut knees, mut gains) = (Vec::new(), Vec::new());
    for _ in 0..plan.resample_count {
        let mut draw = |(point, error): (&LoadPoint, &f64)| point.rate * (error * resampler.normal()).exp();
        let rates: Vec<f64> = curve.iter().zip(errors).map(&mut draw).collect();
        knees.extend(knee(curve, &rates));
        let (from, to) = last_doubling(curve, &rates)?;
        gains.push(gain(from, to));
    }
    let share = knees.len() as f64 / plan.resample_count as f64;
    let level = plan.level.ratio();
    let verdict = match measured.knee {
        Some(_) if share >= level => SaturationVerdict::Reached,
        None if 1.0 - share >= level => measured.verdict,
        _ => SaturationVerdict::Undecided,
    };
    let between = |values: &mut Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        let tail = plan.level.upper_tail();
        let low = quantile_of_sorted(values, tail)?;
        let high = quantile_of_sorted(values, 1.0 - tail)?;
        Some(ConfidenceInterval { low, high, level: plan.level, method: IntervalMethod::ParametricBootstrap })
    };
    let reached = verdict == SaturationVerdict::Reached;
    Some(SaturationResult {
        verdict,
        knee: measured.knee.filter(|_| reached),
        knee_interval: between(&mut knees).filter(|_| reached),
        last_gain_interval: between(&mut gains),
        ..measured
    })
}

#[cfg(test)]
mod tests {
    use super::{LoadPoint, SaturationResult, SaturationVerdict, saturation};
    use crate::error::StatsError;
    use crate::resample::BootstrapPlan;

    fn curve(concurrencies: &[f64], error: Option<f64>, rate: impl Fn(f64) -> f64) -> Vec<LoadPoint> {
        let point =
            |&concurrency: &f64| LoadPoint { concurrency, rate: rate(concurrency), relative_error: error };
        concurrencies.iter().map(point).collect()
    }

    fn found(points: &[LoadPoint]) -> SaturationResult {
        saturation(points, BootstrapPlan::with_seed(3)).unwrap()
    }

    #[test]
    fn a_rate_that_is_full_from_eight_on_has_its_knee_there() {
        let points = curve(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0], Some(0.002), |n| 100.0 * n.min(8.0));
        let found = found(&points);
        assert_eq!((found.verdict, found.knee), (SaturationVerdict::Reached, Some(8.0)));
        assert!(found.last_gain_ratio.abs() < 1e-12 && found.knee_interval.unwrap().contains(8.0));
    }

    #[test]
    fn steps_that_are_no_powers_of_two_find_the_same_knee() {
        let full_from_six = |n: f64| n.min(6.0);
        for steps in
            [&[1.0, 3.0, 6.0, 12.0][..], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0, 12.0], &[2.0, 6.0, 20.0]]
        {
            assert_eq!(found(&curve(steps, None, full_from_six)).knee, Some(6.0), "{steps:?}");
        }
    }

    #[test]
    fn a_rate_that_still_grows_is_not_reached() {
        let points = curve(&[1.0, 2.0, 4.0, 8.0], Some(0.01), |n| n.powf(0.5));
        let found = found(&points);
        assert_eq!((found.verdict, found.knee), (SaturationVerdict::NotReached, None));
        assert!((found.last_gain_ratio - (2.0_f64.sqrt() - 1.0)).abs() < 1e-12);
        assert!(found.last_gain_interval.unwrap().contains(found.last_gain_ratio));
    }

    #[test]
    fn large_errors_leave_it_undecided() {
        let points = curve(&[1.0, 2.0, 4.0, 8.0], Some(0.05), |n| 1.0 + 0.03 * n.log2());
        assert_eq!(found(&points).verdict, SaturationVerdict::Undecided);
    }

    #[test]
    fn one_wide_step_that_adds_reports_no_knee_and_one_that_adds_nothing_does() {
        let bent = curve(&[1.0, 16.0], Some(0.001), |n| n.min(3.0));
        assert_eq!(found(&bent).verdict, SaturationVerdict::Undecided);
        let flat = curve(&[1.0, 16.0], Some(0.001), |_| 7.0);
        assert_eq!((found(&flat).verdict, found(&flat).knee), (SaturationVerdict::Reached, Some(1.0)));
    }

    #[test]
    fn a_falling_rate_is_saturated_and_one_bad_point_moves_no_knee() {
        let points = curve(&[1.0, 2.0, 4.0, 8.0], None, |n| 100.0 / n);
        assert_eq!(found(&points).knee, Some(1.0));
        let dip = |n: f64| if (n - 16.0).abs() < 0.5 { 700.0 } else { 100.0 * n.min(8.0) };
        let points = curve(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], None, dip);
        assert_eq!(found(&points).knee, Some(8.0));
    }

    #[test]
    fn curves_without_a_doubling_and_bad_points_are_named() {
        let plan = BootstrapPlan::with_seed(1);
        let narrow = curve(&[4.0, 5.0, 6.0], None, |n| n);
        assert!(matches!(saturation(&narrow, plan), Err(StatsError::Degenerate { .. })));
        let zero = curve(&[1.0, 2.0], None, |n| n - 1.0);
        assert!(matches!(saturation(&zero, plan), Err(StatsError::OutOfRange { value_index: 0, .. })));
        assert!(matches!(saturation(&[], plan), Err(StatsError::TooFew { .. })));
    }
}
