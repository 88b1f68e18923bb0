//! Blocks of which few are asked for often: ranks by Zipf's law, scattered over the file.

use super::permutation::Permutation;
use crate::worker::random::unit;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Key of the scattering. It is a constant and not drawn from the seed, so that all workers, clients and trials have
/// the same hot blocks.
const SCATTER_KEY: u64 = 0x5A69_7066;

/// Numbers below a count, drawn by Zipf's law over ranks that are scattered among them.
///
/// # Source
/// Ranks by rejection-inversion: Hörmann and Derflinger, Rejection-inversion to generate variates from monotone
/// discrete distributions, ACM TOMACS 6(3), 1996; `theta` is its exponent, `integral` its H, `density` its h,
/// `shortcut` its s. Over nine of ten draws are taken at the first attempt, whatever the count.
#[derive(Debug)]
pub(super) struct Zipf {
    count: f64,
    theta: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
    scatter: Permutation,
}

impl Zipf {
    /// Draws among `count` numbers (at least 1) with the probability of rank r in proportion to `1 / r^theta`.
    pub(super) fn new(count: u64, theta: f64) -> Self {
        let mut law = Self {
            count: count as f64,
            theta: theta.max(0.0),
            integral_first: 0.0,
            integral_last: 0.0,
            shortcut: 0.0,
            scatter: Permutation::new(count, &mut Xoshiro256PlusPlus::seed_from_u64(SCATTER_KEY)),
        };
        law.integral_first = law.integral(1.5) - 1.0;
        law.integral_last = law.integral(law.count + 0.5);
        law.shortcut = 2.0 - law.inverse(law.integral(2.5) - law.density(2.0));
        law
    }

    /// The next number.
    pub(super) fn next(&mut self, random: &mut impl Rng) -> u64 {
        self.number_of(self.rank(random))
    }

    /// A rank from 1.
    pub(super) fn rank(&self, random: &mut impl Rng) -> u64 {
        loop {
            let share = unit(random);
            let area = self.integral_last + share * (self.integral_first - self.integral_last);
            let place = self.inverse(area);
            let rank = place.round().clamp(1.0, self.count);
            if rank - place <= self.shortcut || area >= self.integral(rank + 0.5) - self.density(rank) {
                return narrows_model::units::round_to_u64(rank);
            }
        }
    }

    /// The number that has `rank`.
    pub(super) fn number_of(&self, rank: u64) -> u64 {
        self.scatter.at(rank - 1)
    }

    fn density(&self, place: f64) -> f64 {
        (-self.theta * place.ln()).exp()
    }

    /// (place^(1 - theta) - 1) / (1 - theta), and ln(place) in the limit of theta = 1.
    fn integral(&self, place: f64) -> f64 {
        let log = place.ln();
        let power = (1.0 - self.theta) * log;
        // The series near 0, where the quotient loses its digits.
        let quotient = if power.abs() > 1e-8 { power.exp_m1() / power } else { 1.0 + power / 2.0 };
        quotient * log
    }

    fn inverse(&self, area: f64) -> f64 {
        let power = (area * (1.0 - self.theta)).max(-1.0);
        let quotient = if power.abs() > 1e-8 { power.ln_1p() / power } else { 1.0 - power / 2.0 };
        (quotient * area).exp()
    }
}
