//! Intervals against `crates/stats/tests/known_answers/runs.py`; how often equal runs are called different, and a true
//! difference is found, on runs drawn from a normal distribution.

use super::*;
use crate::compare::MARGIN_RATIO;

const RATE: FigureKey = FigureKey { id: FigureId::RateBytesPerS, role: None };
const NOISE: [f64; 5] = [1.0, 1.01, 0.99, 1.02, 0.98];

/// Runs that do not show the variation inside them.
fn side(values: &[f64]) -> SideFigure {
    SideFigure {
        logarithms: values.iter().map(|value| value.ln()).collect(),
        within: values.iter().map(|_| Err("too short")).collect(),
    }
}

fn sides(a: &[f64], b: &[f64], noise: &[f64]) -> SidesOfFigure {
    let noise = (!noise.is_empty()).then(|| side(noise));
    SidesOfFigure { a: side(a), b: side(b), noise, is_steady: false, is_disturbed: false }
}

#[track_caller]
fn assert_interval(sides: &SidesOfFigure, expected: [f64; 3], source: SpreadSource) {
    let found = sides.compared(RATE).unwrap();
    let interval = found.interval.unwrap();
    let all = [interval.low, found.ratio, interval.high];
    let is_near = all.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 1e-5);
    assert!(is_near, "{all:?} is not {expected:?}");
    assert_eq!(found.spread.unwrap().source, source);
}

#[test]
fn three_runs_a_side_are_compared_by_welch_and_fewer_by_all_there_are() {
    let (a, b) = ([1.00, 1.02, 0.99], [1.05, 1.06, 1.045]);
    assert_interval(&sides(&a, &b, &NOISE), [1.015_471, 1.048_235, 1.082_056], SpreadSource::Runs);
    assert_interval(&sides(&a[..1], &b[..1], &NOISE), [0.986_787, 1.05, 1.117_262], SpreadSource::Pooled);
    assert_interval(
        &sides(&a[..2], &b[..1], &NOISE),
        [0.990_238, 1.039_655, 1.091_538],
        SpreadSource::Pooled,
    );
    assert_interval(&sides(&a[..1], &b[..1], &[]), [0.285_708, 1.05, 3.858_839], SpreadSource::Assumed);
    assert_interval(
        &sides(&a[..1], &b[..1], &NOISE[..2]),
        [0.285_708, 1.05, 3.858_839],
        SpreadSource::Assumed,
    );
}

#[test]
fn the_variation_inside_single_runs_is_added() {
    let inside = Estimate { value: 1.0, relative_error: 0.03, degrees_of_freedom: 9.0 };
    let mut found = sides(&[1.0], &[1.0], &NOISE);
    let bare = found.compared(RATE).unwrap().spread.unwrap().deviation_ratio;
    found.a.within = vec![Ok(inside)];
    found.b.within = vec![Ok(inside)];
    let both = found.compared(RATE).unwrap().spread.unwrap().deviation_ratio;
    assert!((both - bare.hypot(0.03)).abs() < 1e-9, "{bare} {both}");
}

#[test]
fn single_runs_at_a_steady_rate_are_the_same_within_the_margin_and_no_others_are() {
    let inside = Estimate { value: 1.0, relative_error: 0.002, degrees_of_freedom: 9.0 };
    let mut found = sides(&[1.0], &[1.004], &[]);
    (found.a.within, found.b.within) = (vec![Ok(inside)], vec![Ok(inside)]);
    let width = |found: &SidesOfFigure| found.compared(RATE).unwrap().interval.unwrap().high;
    assert!(width(&found) > 1.5);
    found.is_steady = true;
    assert!(width(&found) < 1.0 + MARGIN_RATIO, "{}", width(&found));
    found.is_disturbed = true;
    assert!(found.compared(RATE).unwrap().interval.is_none());
}

/// Draws from a normal distribution: a linear congruential generator (Knuth's MMIX) and the sum of twelve uniform numbers.
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / 2f64.powi(53)
    }

    fn runs(&mut self, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        let normal = |draws: &mut Self| (0..12).map(|_| draws.uniform()).sum::<f64>() - 6.0;
        (0..count).map(|_| (mean.ln() + deviation * normal(self)).exp()).collect()
    }
}

const PAIRS: usize = 2000;

/// The share of pairs with a difference beyond chance and the margin, of runs that deviate by `deviation`.
fn found_ratio(counts: [usize; 3], b: f64, deviation: f64, margin_ratio: f64) -> f64 {
    let mut draws = Draws(1);
    let found = (0..PAIRS).filter(|_| {
        let [a, b, noise] = [(counts[0], 1.0), (counts[1], b), (counts[2], 1.0)]
            .map(|(count, mean)| draws.runs(count, mean, deviation));
        let found = sides(&a, &b, &noise).compared(RATE).unwrap();
        let is_beyond = found.ratio.ln().abs() > margin_ratio.ln_1p();
        is_beyond && found.p_value_adjusted.unwrap() < 0.05
    });
    found.count() as f64 / PAIRS as f64
}

#[test]
fn equal_runs_are_called_different_in_at_most_a_twentieth_even_without_a_margin() {
    // Two thousand pairs at 5 % have a standard error of 0.5 %.
    for counts in [[3, 3, 0], [5, 5, 0], [3, 10, 0], [1, 1, 5], [2, 2, 3], [1, 3, 0]] {
        for deviation in [0.002, 0.05, 0.3] {
            let ratio = found_ratio(counts, 1.0, deviation, 0.0);
            assert!(ratio < 0.065, "{counts:?} runs at {deviation}: {ratio}");
        }
    }
}

#[test]
fn five_runs_a_side_find_five_percent_up_to_a_deviation_of_two_percent() {
    // Computed with normal draws in Python: 0.82 at 2.3 %.
    let ratio = found_ratio([5, 5, 0], 1.05, 0.023, MARGIN_RATIO);
    assert!((0.78..0.86).contains(&ratio), "{ratio}");
    assert!(found_ratio([5, 5, 0], 1.05, 0.01, MARGIN_RATIO) > 0.98);
    assert!(found_ratio([1, 1, 5], 1.05, 0.008, MARGIN_RATIO) > 0.8);
}
