//! Whether a cell's rate over time, or its response times, have more than one mode.
//!
//! A finding takes three things: the dip test refuses a single mode, each mode has a share worth naming, and the modes
//! are as far apart as a reader would care for.

use super::quality::RateWindow;
use crate::collect::CellData;
use narrows_model::Histogram;
use narrows_model::summary::{MixedFigure, Mixture, Mode};
use narrows_stats::autocorrelation::lag1_autocorrelation;
use narrows_stats::dip::{DipNull, DipPlan, dip};
use narrows_stats::modes::{ModeOfValues, modes, parts_at_first_sight};
use narrows_stats::resample::Resampler;
use std::sync::OnceLock;

/// Level of significance: a run has hundreds of cells, and a mixture is a strong word.
const SIGNIFICANCE: f64 = 0.01;
/// Draws of the null; the smallest p-value is a five hundredth.
const RESAMPLES: usize = 499;
/// Seed of the null of latencies, the same in every run.
const NULL_SEED: u64 = 1;
/// Below this, dip times the root of the count is not significant at 0.05 for any count: no null need be drawn.
const SCALED_DIP_MIN: f64 = 0.42;
/// Fewest slots of a rate: below, two modes and noise look alike.
const SLOTS_MIN: usize = 30;
/// Fewest operations in a slot: the grain of whole operations makes modes of its own, a twentieth apart at most here.
const SLOT_OPS_MIN: f64 = 20.0;
/// Latencies drawn from the histogram: enough to see a mode of a tenth of them.
const LATENCY_SAMPLE: usize = 400;
/// Fewest operations from which latencies are drawn.
const LATENCIES_MIN: u64 = 400;
/// Latencies below a microsecond are mostly the clock's own grain.
const MEDIAN_NS_MIN: u64 = 1_000;
/// Smallest share of a mode.
const SHARE_MIN: f64 = 0.05;
/// Modes of a rate are this factor apart or are one: the range that the SNIA rule still calls steady.
const RATE_FACTOR_MIN: f64 = 1.2;
/// Modes of a latency are this factor apart or are one: a cache and what is behind it differ by more.
const LATENCY_FACTOR_MIN: f64 = 2.0;

/// Cells whose response times are searched for modes: a search takes up to half a millisecond, and a verdict on a long
/// run must not take minutes.
const CELLS_MAX: usize = 1000;

/// Whether a cell's response times are searched for modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// They are.
    Latencies,
    /// They are not: enough cells were before it.
    RatesAlone,
}

impl Search {
    /// What is searched of the measured cell of this index, from 0.
    pub(super) fn of_cell(index: usize) -> Self {
        if index < CELLS_MAX { Search::Latencies } else { Search::RatesAlone }
    }

    /// The response times, where they are searched.
    pub(super) fn response_if_searched(self, response: &Histogram) -> Option<&Histogram> {
        (self == Search::Latencies).then_some(response)
    }
}

/// The figures of the cell that have more than one mode; `response` is `None` where it is not searched.
pub(super) fn mixtures(
    data: &CellData,
    windows: &[RateWindow],
    response: Option<&Histogram>,
    seed: u64,
) -> Vec<Mixture> {
    // Where kinds of requests are mixed on purpose their latencies differ: each kind has its own figures.
    let alike = response.filter(|_| !data.cell.workload.is_mixed());
    let latency = alike.and_then(|response| of_latency(response, seed));
    of_rate(windows, seed).into_iter().chain(latency).collect()
}

fn of_rate(windows: &[RateWindow], seed: u64) -> Option<Mixture> {
    let slots = || windows.iter().flat_map(RateWindow::settled);
    let rates: Vec<f64> = slots().map(|rate| rate.bytes_per_s).collect();
    let op_count: f64 = slots().map(|rate| rate.op_count).sum();
    if rates.len() < SLOTS_MIN || op_count < SLOT_OPS_MIN * rates.len() as f64 {
        return None;
    }
    let correlation = lag1_autocorrelation(&rates)?;
    let p_value = significant(&rates, |dip| Some(null(rates.len(), seed, correlation)?.p_value(dip)))?;
    let found = separated_modes(&rates, RATE_FACTOR_MIN, |rate| rate)?;
    Some(Mixture { figure: MixedFigure::RateBytesPerS, p_value, modes: found })
}

/// Tested on the logarithm, in which a latency's buckets are about equally wide.
fn of_latency(response: &Histogram, seed: u64) -> Option<Mixture> {
    if response.count() < LATENCIES_MIN || response.quantile_ns(0.5)? < MEDIAN_NS_MIN {
        return None;
    }
    let logarithms = drawn(response, seed);
    let p_value = significant(&logarithms, |dip| Some(null_of_latencies(logarithms.len())?.p_value(dip)))?;
    let found = separated_modes(&logarithms, LATENCY_FACTOR_MIN, f64::exp)?;
    Some(Mixture { figure: MixedFigure::LatencyNs, p_value, modes: found })
}

/// The p-value of having a single mode, where it is significant; `p_value` gives that of a dip.
fn significant(values: &[f64], p_value: impl FnOnce(f64) -> Option<f64>) -> Option<f64> {
    let found = dip(values).ok()?;
    if found * (values.len() as f64).sqrt() < SCALED_DIP_MIN {
        return None;
    }
    p_value(found).filter(|p_value| *p_value <= SIGNIFICANCE)
}

fn null(value_count: usize, seed: u64, lag1_autocorrelation: f64) -> Option<DipNull> {
    DipNull::draw(value_count, DipPlan { resample_count: RESAMPLES, seed, lag1_autocorrelation }).ok()
}

/// The null of latencies, which are as many in every cell and independent: one serves them all.
fn null_of_latencies(value_count: usize) -> Option<&'static DipNull> {
    static NULL: OnceLock<Option<DipNull>> = OnceLock::new();
    let drawn = NULL.get_or_init(|| null(LATENCY_SAMPLE, NULL_SEED, 0.0)).as_ref();
    drawn.filter(|null| null.value_count() == value_count)
}

/// The modes with enough share, where the outer ones are `factor_min` apart; `figure_of` gives the figure of a value.
fn separated_modes(values: &[f64], factor_min: f64, figure_of: impl Fn(f64) -> f64) -> Option<Vec<Mode>> {
    // Where less smoothing shows no two parts of any size there are none with more, which takes long to find.
    let sizeable = |part: &&ModeOfValues| part.share >= SHARE_MIN / 2.0;
    if parts_at_first_sight(values).ok()?.iter().filter(sizeable).count() < 2 {
        return None;
    }
    let found: Vec<Mode> = modes(values)
        .ok()?
        .into_iter()
        .filter(|mode| mode.share >= SHARE_MIN)
        .map(|mode| Mode { centre: figure_of(mode.centre), share_ratio: mode.share })
        .collect();
    let (first, last) = (found.first()?, found.last()?);
    (found.len() >= 2 && last.centre >= first.centre * factor_min).then_some(found)
}

/// Logarithms of latencies drawn from a histogram, spread evenly over their buckets.
fn drawn(response: &Histogram, seed: u64) -> Vec<f64> {
    let mut resampler = Resampler::new(seed);
    let total = response.count() as f64;
    let mut ranks: Vec<f64> = (0..LATENCY_SAMPLE).map(|_| resampler.uniform() * total).collect();
    ranks.sort_unstable_by(f64::total_cmp);
    let mut drawn = Vec::with_capacity(ranks.len());
    let (mut next, mut through) = (0, 0.0);
    for bucket in response.buckets() {
        through += bucket.count as f64;
        while ranks.get(next).is_some_and(|rank| *rank < through) {
            let (low, high) = (bucket.low_ns as f64, bucket.high_ns as f64 + 1.0);
            drawn.push((low + (high - low) * resampler.uniform()).ln());
            next += 1;
        }
    }
    // A rank beyond the last bucket by rounding alone belongs to it.
    while drawn.len() < LATENCY_SAMPLE
        && let Some(last) = drawn.last().copied()
    {
        drawn.push(last);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies of a law drawn by its inverse.
    fn histogram(count: u32, latency_ns: impl Fn(&mut Resampler) -> f64) -> Histogram {
        let (mut resampler, mut histogram) = (Resampler::new(6), Histogram::new());
        for _ in 0..count {
            histogram.record(narrows_model::units::round_to_u64(latency_ns(&mut resampler)));
        }
        histogram
    }

    #[test]
    fn hits_and_misses_of_a_cache_are_two_modes_where_they_are() {
        let response = histogram(20_000, |draw| {
            let mean = if draw.uniform() < 0.7 { 20_000.0 } else { 400_000.0 };
            mean * (0.2 * draw.normal()).exp()
        });
        let found = of_latency(&response, 1).unwrap();
        assert_eq!(found.modes.len(), 2, "{found:?}");
        let near = |mode: &Mode, centre: f64, share: f64| {
            (mode.centre / centre - 1.0).abs() < 0.1 && (mode.share_ratio - share).abs() < 0.1
        };
        assert!(near(&found.modes[0], 20_000.0, 0.7) && near(&found.modes[1], 400_000.0, 0.3), "{found:?}");
    }

    #[test]
    fn latencies_of_a_thousand_cells_are_searched_and_of_no_more() {
        let response = histogram(1, |_| 1.0);
        assert_eq!(Search::of_cell(999).response_if_searched(&response), Some(&response));
        assert_eq!(Search::of_cell(1000).response_if_searched(&response), None);
    }

    #[test]
    fn a_long_tail_a_constant_and_a_clocks_grain_are_one_mode() {
        let tail = |draw: &mut Resampler| 50_000.0 * (0.8 * draw.normal()).exp();
        assert_eq!(of_latency(&histogram(20_000, tail), 1), None);
        assert_eq!(of_latency(&histogram(20_000, |_| 80_000.0), 1), None);
        let grain = |draw: &mut Resampler| if draw.uniform() < 0.5 { 41.0 } else { 83.0 };
        assert_eq!(of_latency(&histogram(20_000, grain), 1), None);
    }

    #[test]
    fn identical_runs_of_one_mode_are_flagged_no_more_often_than_stated() {
        let alarms = (0..300_u64).filter(|seed| {
            let mut draw = Resampler::new(1_000 + seed);
            let mut response = Histogram::new();
            for _ in 0..5_000 {
                response
                    .record(narrows_model::units::round_to_u64(-200_000.0 * draw.uniform().ln() + 5_000.0));
            }
            of_latency(&response, *seed).is_some()
        });
        assert!(alarms.count() <= 3);
    }

    #[test]
    fn the_screen_lets_every_significant_dip_through() {
        // At 5 % and beyond the null's dips are above the screen, for few and for many values.
        for count in [30, 100, 400] {
            let mut draw = Resampler::new(77);
            let mut scaled: Vec<f64> = (0..400)
                .map(|_| {
                    let values: Vec<f64> = (0..count).map(|_| draw.uniform()).collect();
                    dip(&values).unwrap() * f64::from(count).sqrt()
                })
                .collect();
            scaled.sort_unstable_by(f64::total_cmp);
            assert!(scaled[380] > SCALED_DIP_MIN, "{count}: {}", scaled[380]);
        }
    }
}
