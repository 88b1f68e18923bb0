//! What each factor of a study did to the rate: which of its values was best and worst, by how much, and from where
//! on more of it added nothing.
//!
//! Cells are compared only along lines: cells of the path that differ in that one factor alone. Not here: fits over
//! block sizes, and whether a single figure can be trusted.

use narrows_model::cell::FactorValue;
use narrows_model::factor::{Factor, FactorUnit};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Summary};
use std::collections::BTreeMap;

/// Doubling a factor that adds less than this is taken to add nothing (METHODS: saturation).
pub const SATURATED_GAIN_RATIO: f64 = 0.03;
/// Factors of which more is more load: those that can saturate.
const LOAD_FACTORS: [&str; 5] = ["block", "depth", "workers", "clients", "batch"];

/// What one factor did.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Its name.
    pub factor: String,
    /// What its numbers count.
    pub unit: FactorUnit,
    /// The value with the highest rate over all lines.
    pub best: FactorValue,
    /// The value with the lowest rate over all lines.
    pub worst: FactorValue,
    /// How many times the rate at the worst value the rate at the best one is: over the lines that have both.
    pub gain: Gain,
    /// In how many of these lines the intervals of the two lie apart; `None` where an interval is missing.
    pub apart_count: Option<usize>,
    /// From where on more of it added nothing; `None` for a factor of which more is no more load.
    pub saturation: Option<Saturation>,
}

/// A ratio of rates over several lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// Geometric mean over the lines.
    pub mean_ratio: f64,
    /// The smallest of a line.
    pub low_ratio: f64,
    /// The largest of a line.
    pub high_ratio: f64,
    /// Lines.
    pub line_count: usize,
}

/// From where on doubling a factor added under [`SATURATED_GAIN_RATIO`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saturation {
    /// Lines with two values or more.
    pub line_count: usize,
    /// Lines that saturate below their last value.
    pub saturated_count: usize,
    /// The smallest value from which a line is saturated, and the largest; `None` where no line is.
    pub from: Option<(f64, f64)>,
}

/// The effects of the factors of `summary`'s study, in the order of its sweep.
///
/// # Shape
/// A factor of which no line has two measured values is left out; empty without a study.
///
/// # Source
/// Means over ratios are geometric (Fleming and Wallace 1986), so that best over worst is the inverse of worst over best.
#[must_use]
pub fn effects(summary: &Summary) -> Vec<Effect> {
    let factors = summary.study.iter().flat_map(|study| &study.factors);
    factors.filter_map(|factor| effect(factor, &lines(&summary.cells, &factor.name))).collect()
}

/// Cells that differ in one factor alone, by the place of its value in the sweep.
type Line<'a> = Vec<(&'a FactorValue, f64, &'a CellSummary)>;

fn lines<'a>(cells: &'a [CellSummary], factor: &str) -> Vec<Line<'a>> {
    let mut lines: BTreeMap<String, Line<'a>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.cut == Cut::Path) {
        let Some(value) = cell.factors.get(factor) else { continue };
        let Some(rate) = cell.rate_bytes_per_s.map(|rate| rate.0).filter(|rate| *rate > 0.0) else {
            continue;
        };
        let others: Vec<String> = cell
            .factors
            .iter()
            .filter(|(name, _)| *name != factor)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        lines.entry(others.join("\u{1f}")).or_default().push((value, rate, cell));
    }
    lines.into_values().filter(|line| line.len() > 1).collect()
}

fn effect(factor: &Factor, lines: &[Line<'_>]) -> Option<Effect> {
    let scores: Vec<(&FactorValue, f64)> =
        factor.values.iter().filter_map(|value| Some((value, score(value, lines)?))).collect();
    let (best, _) = scores.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (worst, _) = scores.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let pairs: Vec<_> = lines.iter().filter_map(|line| Some((at(line, best)?, at(line, worst)?))).collect();
    let gain = gain(&pairs)?;
    let sweeps_load = LOAD_FACTORS.contains(&factor.name.as_str());
    Some(Effect {
        factor: factor.name.clone(),
        unit: factor.unit,
        best: (*best).clone(),
        worst: (*worst).clone(),
        gain,
        apart_count: pairs.iter().map(|(best, worst)| apart(best.2, worst.2)).sum(),
        saturation: sweeps_load.then(|| saturation(lines)),
    })
}

type Entry<'a, 'b> = &'b (&'a FactorValue, f64, &'a CellSummary);

fn at<'a, 'b>(line: &'b Line<'a>, value: &FactorValue) -> Option<Entry<'a, 'b>> {
    line.iter().find(|(known, ..)| *known == value)
}

/// The mean over lines of how far the rate at `value` lies above the line's own, in logarithms.
fn score(value: &FactorValue, lines: &[Line<'_>]) -> Option<f64> {
    let above: Vec<f64> = lines
        .iter()
        .filter_map(|line| {
            let level = line.iter().map(|(_, rate, _)| rate.ln()).sum::<f64>() / line.len() as f64;
            Some(at(line, value)?.1.ln() - level)
        })
        .collect();
    narrows_stats::moments::mean(&above)
}

fn gain(pairs: &[(Entry<'_, '_>, Entry<'_, '_>)]) -> Option<Gain> {
    let ratios: Vec<f64> = pairs.iter().filter_map(|(best, worst)| ratio(best.1, worst.1)).collect();
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    Some(Gain {
        mean_ratio: narrows_stats::moments::mean(&logarithms)?.exp(),
        low_ratio: ratios.iter().copied().reduce(f64::min)?,
        high_ratio: ratios.iter().copied().reduce(f64::max)?,
        line_count: ratios.len(),
    })
}

/// 1 when the intervals of two cells lie apart, else 0; `None` where one of them has none.
fn apart(one: &CellSummary, other: &CellSummary) -> Option<usize> {
    let (one, other) = (one.interval.as_ref()?, other.interval.as_ref()?);
    Some(usize::from(one.low > other.high || other.low > one.high))
}

fn saturation(lines: &[Line<'_>]) -> Saturation {
    let numeric: Vec<Vec<(f64, f64)>> = lines.iter().map(numbers).filter(|line| line.len() > 1).collect();
    let starts: Vec<f64> = numeric.iter().filter_map(|line| saturated_from(line)).collect();
    let low = starts.iter().copied().reduce(f64::min);
    Saturation {
        line_count: numeric.len(),
        saturated_count: starts.len(),
        from: low.zip(starts.iter().copied().reduce(f64::max)),
    }
}

/// The numbers of a line with their rates, the smallest first.
fn numbers(line: &Line<'_>) -> Vec<(f64, f64)> {
    let mut numbers: Vec<(f64, f64)> = line
        .iter()
        .filter_map(|(value, rate, _)| match value {
            FactorValue::Number(number) if *number > 0.0 => Some((*number, *rate)),
            _ => None,
        })
        .collect();
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    numbers
}

/// The smallest number from which every further doubling adds under [`SATURATED_GAIN_RATIO`]; `None` when the last step
/// still added more.
fn saturated_from(line: &[(f64, f64)]) -> Option<f64> {
    let flat_steps = line.windows(2).rev().take_while(|pair| is_flat(pair[0], pair[1])).count();
    if flat_steps == 0 { None } else { line.get(line.len() - 1 - flat_steps).map(|(number, _)| *number) }
}

/// Whether the rate grew by less than [`SATURATED_GAIN_RATIO`] a doubling; a step of x4 is two doublings.
fn is_flat((from, slow): (f64, f64), (to, fast): (f64, f64)) -> bool {
    let doublings = (to / from).log2();
    (fast / slow).ln() < (1.0 + SATURATED_GAIN_RATIO).ln() * doublings
}

#[cfg(test)]
mod tests;
