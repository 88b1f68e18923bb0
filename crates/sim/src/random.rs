//! Random service times: a gamma law by its mean and its relative spread.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded source of service times.
#[derive(Debug, Clone)]
pub(crate) struct Randomness {
    bits: Xoshiro256PlusPlus,
}

impl Randomness {
    /// The source that `seed` gives.
    pub(crate) fn new(seed: u64) -> Self {
        Self { bits: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// A number drawn uniformly from 0 (excluded) to 1 (included).
    pub(crate) fn uniform(&mut self) -> f64 {
        // A double has 53 bits of precision; the half step up keeps the logarithm finite.
        ((self.bits.next_u64() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    /// Whether an event of this probability happens; draws nothing where it is certain either way.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        probability >= 1.0 || (probability > 0.0 && self.uniform() <= probability)
    }

    /// A time from the gamma law with this mean and this coefficient of variation; the mean itself when that is 0.
    ///
    /// # Source
    /// Shape `k = 1/variation^2`, scale `mean/k`.
    pub(crate) fn service_ns(&mut self, mean_ns: f64, variation: f64) -> f64 {
        if variation <= 0.0 || mean_ns <= 0.0 {
            return mean_ns.max(0.0);
        }
        let shape = 1.0 / (variation * variation);
        mean_ns * self.gamma(shape) / shape
    }

    /// A gamma variate of scale 1.
    ///
    /// # Source
    /// Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000), with their
    /// section 6 for shapes below 1.
    fn gamma(&mut self, shape: f64) -> f64 {
        let boost = if shape < 1.0 { self.uniform().powf(1.0 / shape) } else { 1.0 };
        let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return boost * d * v;
            }
        }
    }

    /// A standard normal variate (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(variation: f64) -> (f64, f64) {
        let mut randomness = Randomness::new(7);
        let draws: Vec<f64> = (0..200_000).map(|_| randomness.service_ns(1_000.0, variation)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn the_gamma_law_has_the_declared_mean_and_spread() {
        for variation in [0.1, 0.5, 1.0, 1.5] {
            let (mean, spread) = moments(variation);
            assert!((mean / 1_000.0 - 1.0).abs() < 0.02, "mean {mean} at {variation}");
            assert!((spread / variation - 1.0).abs() < 0.02, "spread {spread} at {variation}");
        }
    }

    #[test]
    fn without_variation_the_time_is_the_mean() {
        assert!((Randomness::new(1).service_ns(42.0, 0.0) - 42.0).abs() < f64::EPSILON);
    }
}
