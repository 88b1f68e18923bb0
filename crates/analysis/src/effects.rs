//! What each factor of a study did to the rate: which of its values was best and worst, and by how much.
//!
//! Cells are compared only along the sweeps of the summary: cells that differ in that one factor alone. Not here: fits
//! and saturation along a sweep, which are the summary's own.

use narrows_model::Summary;
use narrows_model::cell::FactorValue;
use narrows_model::factor::{Factor, FactorUnit};
use narrows_model::summary::{Interval, Sweep};
use narrows_model::units::ratio;

/// What one factor did.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Its name.
    pub factor: String,
    /// What its numbers count.
    pub unit: FactorUnit,
    /// The value with the highest rate over all sweeps.
    pub best: FactorValue,
    /// The value with the lowest rate over all sweeps.
    pub worst: FactorValue,
    /// How many times the rate at the worst value the rate at the best one is: over the sweeps that have both.
    pub gain: Gain,
    /// In how many of these sweeps the intervals of the two do not overlap; `None` where an interval is missing.
    pub apart_count: Option<usize>,
}

/// A ratio of rates over several sweeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// Geometric mean over the sweeps.
    pub mean_ratio: f64,
    /// The smallest of a sweep.
    pub low_ratio: f64,
    /// The largest of a sweep.
    pub high_ratio: f64,
    /// Sweeps.
    pub sweep_count: usize,
}

/// The effects of the factors of `summary`'s study, in the order of its sweep.
///
/// # Shape
/// A factor of which no sweep has two measured values is left out; empty without a study.
///
/// # Source
/// Means over ratios are geometric (Fleming and Wallace 1986), so that best over worst is the inverse of worst over best.
#[must_use]
pub fn effects(summary: &Summary) -> Vec<Effect> {
    let factors = summary.study.iter().flat_map(|study| &study.factors);
    factors.filter_map(|factor| effect(factor, &lines(&summary.sweeps, &factor.name))).collect()
}

/// A measured point of a sweep.
#[derive(Debug, Clone, Copy)]
struct EffectPoint<'a> {
    value: &'a FactorValue,
    rate: f64,
    interval: Option<&'a Interval>,
}

/// The measured points of every sweep over `factor` that has two or more.
fn lines<'a>(sweeps: &'a [Sweep], factor: &str) -> Vec<Vec<EffectPoint<'a>>> {
    let points = |sweep: &'a Sweep| -> Vec<EffectPoint<'a>> {
        let measured = sweep.points.iter().filter_map(|point| {
            let rate = point.rate_bytes_per_s.map(|rate| rate.0).filter(|rate| *rate > 0.0)?;
            Some(EffectPoint { value: &point.value, rate, interval: point.interval.as_ref() })
        });
        measured.collect()
    };
    sweeps.iter().filter(|sweep| sweep.factor == factor).map(points).filter(|line| line.len() > 1).collect()
}

fn effect(factor: &Factor, lines: &[Vec<EffectPoint<'_>>]) -> Option<Effect> {
    let scores: Vec<(&FactorValue, f64)> =
        factor.values.iter().filter_map(|value| Some((value, score(value, lines)?))).collect();
    let (best, _) = scores.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (worst, _) = scores.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let pairs: Vec<(EffectPoint<'_>, EffectPoint<'_>)> =
        lines.iter().filter_map(|line| Some((at(line, best)?, at(line, worst)?))).collect();
    Some(Effect {
        factor: factor.name.clone(),
        unit: factor.unit,
        best: (*best).clone(),
        worst: (*worst).clone(),
        gain: gain(&pairs)?,
        apart_count: pairs.iter().map(|(best, worst)| intervals_apart(*best, *worst)).sum(),
    })
}

fn at<'a>(line: &[EffectPoint<'a>], value: &FactorValue) -> Option<EffectPoint<'a>> {
    line.iter().find(|point| point.value == value).copied()
}

/// The mean over sweeps of how far the rate at `value` is above the sweep's own, in logarithms.
fn score(value: &FactorValue, lines: &[Vec<EffectPoint<'_>>]) -> Option<f64> {
    let above: Vec<f64> = lines
        .iter()
        .filter_map(|line| {
            let level = line.iter().map(|point| point.rate.ln()).sum::<f64>() / line.len() as f64;
            Some(at(line, value)?.rate.ln() - level)
        })
        .collect();
    narrows_stats::moments::mean(&above)
}

fn gain(pairs: &[(EffectPoint<'_>, EffectPoint<'_>)]) -> Option<Gain> {
    let ratios: Vec<f64> = pairs.iter().filter_map(|(best, worst)| ratio(best.rate, worst.rate)).collect();
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    Some(Gain {
        mean_ratio: narrows_stats::moments::mean(&logarithms)?.exp(),
        low_ratio: ratios.iter().copied().reduce(f64::min)?,
        high_ratio: ratios.iter().copied().reduce(f64::max)?,
        sweep_count: ratios.len(),
    })
}

/// 1 when the intervals of two points do not overlap, else 0; `None` where one of them has none.
fn intervals_apart(one: EffectPoint<'_>, other: EffectPoint<'_>) -> Option<usize> {
    let (one, other) = (one.interval?, other.interval?);
    Some(usize::from(one.low > other.high || other.low > one.high))
}

#[cfg(test)]
mod tests;
