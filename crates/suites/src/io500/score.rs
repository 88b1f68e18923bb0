//! The score of IO500, from the scores of its phases.

use super::figures::Io500Figure;
use narrows_stats::moments::mean;

/// The score of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Io500Score {
    /// The geometric mean of the four phases of ior, in GiB/s.
    pub(super) gib_per_s: f64,
    /// The geometric mean of the seven phases of mdtest and the find, in thousands of operations a second.
    pub(super) kops_per_s: f64,
    /// The geometric mean of both.
    pub(super) total: f64,
}

impl Io500Score {
    /// That of a run with these phases; `None` where one of them was not measured to its end, which would make it another
    /// score.
    pub(super) fn from_figures(figures: &[Io500Figure<'_>]) -> Option<Self> {
        if !figures.iter().all(|figure| figure.is_whole) {
            return None;
        }
        let scores = |of_bytes: bool| -> Vec<f64> {
            let group = figures.iter().filter(|figure| figure.phase.is_of_bytes() == of_bytes);
            group.map(|figure| figure.score).collect()
        };
        Self::from_scores(&scores(true), &scores(false))
    }

    /// The same from the scores of both groups: `sqrt(GM(gib_per_s) GM(kops_per_s))`, where the geometric mean GM of n values
    /// is the n-th root of their product.
    ///
    /// # Source
    /// IO500, `calc_score` of its program; the example of its `README.md` is a test.
    fn from_scores(gib_per_s: &[f64], kops_per_s: &[f64]) -> Option<Self> {
        let (gib_per_s, kops_per_s) = (geometric_mean(gib_per_s)?, geometric_mean(kops_per_s)?);
        Some(Self { gib_per_s, kops_per_s, total: (gib_per_s * kops_per_s).sqrt() })
    }
}

/// The n-th root of the product of n `values`; `None` of none, and where one is not above 0.
fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logarithms).filter(|mean| mean.is_finite()).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(value: f64, expected: f64, tolerance: f64) -> bool {
        (value / expected - 1.0).abs() < tolerance
    }

    #[test]
    fn the_score_is_the_root_of_the_product_of_two_geometric_means() {
        // By hand: (1 2 4 8)^(1/4) = 2^1.5, (2^28)^(1/8) = 2^3.5, sqrt(2^5) = 5.656854.
        let rates: Vec<f64> = (0..8).map(|power| 2_f64.powi(power)).collect();
        let score = Io500Score::from_scores(&rates[..4], &rates).unwrap();
        assert!(is_near(score.gib_per_s, 2.828_427_124_746, 1e-12), "{score:?}");
        assert!(is_near(score.kops_per_s, 11.313_708_498_985, 1e-12), "{score:?}");
        assert!(is_near(score.total, 5.656_854_249_492, 1e-12), "{score:?}");
    }

    #[test]
    fn the_published_example_has_its_score() {
        // The example output of IO500's README.md; its scores of phases are rounded to six digits, one of them to four figures.
        let ior = [0.186_620, 0.001_313, 1.575_557, 2.272_671];
        let others = [
            103.300_821,
            58.939_081,
            1_486.435_084,
            839.392_805,
            1_212.558_124,
            160.765_642,
            275.011_939,
            132.015_851,
        ];
        let score = Io500Score::from_scores(&ior, &others).unwrap();
        assert!(is_near(score.gib_per_s, 0.172_092, 2e-4), "{score:?}");
        assert!(is_near(score.kops_per_s, 292.625_029, 1e-6), "{score:?}");
        assert!(is_near(score.total, 7.096_374, 1e-4), "{score:?}");
    }

    #[test]
    fn there_is_no_score_without_a_phase_or_with_one_that_did_nothing() {
        assert_eq!(geometric_mean(&[3.0]).map(|mean| (mean * 1e9).round()), Some(3e9));
        for values in [&[][..], &[1.0, 0.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY]] {
            assert_eq!(geometric_mean(values), None, "{values:?}");
        }
    }
}
