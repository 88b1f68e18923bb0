//! A random order that visits every block once, in constant memory: a keyed permutation, with a new key each pass.

use rand_xoshiro::rand_core::Rng;

/// Rounds of mixing. With three, the distances from one block to the next were not uniform (chi-square of 33 to 43 where
/// chance gives 15, passes of 4096 to 65,536); with four, five and six they were.
const ROUNDS: usize = 4;
/// Values made together: those beyond the count are then left out without an unpredictable branch.
const TOGETHER: usize = 64;

/// Every number below a count once, in a random order, pass after pass.
///
/// # Cost
/// 3 to 8 ns a number, the more the less of its range the count fills.
#[derive(Debug)]
pub(super) struct Pass {
    permutation: Permutation,
    /// Where the permutation is evaluated next; beyond its mask the pass is over.
    index: u64,
    values: [u64; TOGETHER],
    made: usize,
    taken: usize,
}

impl Pass {
    /// Passes over `count` numbers, at least one.
    pub(super) fn new(count: u64, random: &mut impl Rng) -> Self {
        let permutation = Permutation::new(count, random);
        Self { permutation, index: 0, values: [0; TOGETHER], made: 0, taken: 0 }
    }

    /// The next number; a new pass draws its key from `random`.
    #[inline]
    pub(super) fn next(&mut self, random: &mut impl Rng) -> u64 {
        // Bounded: the numbers below the count are over half of those that are evaluated.
        while self.taken == self.made {
            self.make(random);
        }
        let value = self.values[self.taken];
        self.taken += 1;
        value
    }

    fn make(&mut self, random: &mut impl Rng) {
        if self.index > self.permutation.mask {
            self.permutation = Permutation::new(self.permutation.count, random);
            self.index = 0;
        }
        (self.made, self.taken) = (0, 0);
        let end = (self.permutation.mask + 1).min(self.index + TOGETHER as u64);
        for index in self.index..end {
            let value = self.permutation.turn(index);
            // There are at most as many values as places, so that the place is the made one's own.
            self.values[self.made % TOGETHER] = value;
            self.made += usize::from(value < self.permutation.count);
        }
        self.index = end;
    }
}

/// A bijection of the numbers below a count.
///
/// A round adds a key, folds the high half onto the low one and multiplies by an odd number, each of which is a
/// bijection of the numbers of that many bits. Values at or beyond the count are walked through (cycle walking):
/// fewer than two evaluations on average, since the count is over half of the range.
///
/// # Source
/// Black and Rogaway, Ciphers with Arbitrary Finite Domains (2002), for the cycle walking. The rounds are those of
/// integer hash functions, not of a cipher: the order has to look random to a device, not to an enemy.
#[derive(Debug)]
pub(in crate::worker) struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
    rounds: [MixingRound; ROUNDS],
}

/// What one round mixes with.
#[derive(Debug, Clone, Copy)]
struct MixingRound {
    key: u64,
    /// Odd.
    factor: u64,
}

impl Permutation {
    /// A permutation of the numbers below `count` (at least 1), its keys drawn from `random`.
    pub(in crate::worker) fn new(count: u64, random: &mut impl Rng) -> Self {
        // No object has 2^62 blocks; the range must leave room for its own end.
        let count = count.clamp(1, 1 << 62);
        let bits = u64::BITS - (count - 1).leading_zeros();
        let keys = [(); ROUNDS].map(|()| random.next_u64());
        let rounds = keys.map(|key| MixingRound { key, factor: random.next_u64() | 1 });
        Self { count, mask: (1 << bits) - 1, shift: bits.div_ceil(2).max(1), rounds }
    }

    /// The value at `index`, which is below the count.
    pub(in crate::worker) fn at(&self, index: u64) -> u64 {
        let mut value = self.turn(index);
        while value >= self.count {
            value = self.turn(value);
        }
        value
    }

    /// One evaluation over the whole range up to the mask.
    #[inline]
    fn turn(&self, index: u64) -> u64 {
        let mut value = index;
        // Not two arrays in a `zip`: without link-time optimization that is two calls per evaluation.
        for MixingRound { key, factor } in &self.rounds {
            value = value.wrapping_add(*key) & self.mask;
            value ^= value >> self.shift;
            value = value.wrapping_mul(*factor) & self.mask;
        }
        value ^ (value >> self.shift)
    }
}
