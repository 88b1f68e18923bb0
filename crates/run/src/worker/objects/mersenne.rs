//! The Mersenne Twister MT19937 with the seeding of 1999, which PostMark 1.5 draws all random numbers from.
//!
//! Not here: the seeding of 2002, which other programs use and which gives other numbers.
//! Hot path: no allocation; the state is computed anew after every 624 numbers.

/// Words of the state.
const WORD_COUNT: usize = 624;
/// The word ahead that each word is combined with.
const AHEAD: usize = 397;
/// The last row of the matrix.
const MATRIX: u32 = 0x9908_b0df;
/// The highest bit of a word, which is combined with the others of the next one.
const HIGHEST: u32 = 0x8000_0000;
/// The factor of the congruential generator that makes the state of a seed.
const SEED_FACTOR: u32 = 69_069;

/// A stream of 32-bit numbers.
///
/// # Source
/// Matsumoto, Nishimura: Mersenne Twister, ACM TOMACS 8 (1998), with the tempering of MT19937; the seeding of the
/// authors' version of October 1999, which takes the high halves of two steps of a congruential generator for each word.
#[derive(Debug, Clone)]
pub(super) struct MersenneTwister {
    state: Box<[u32; WORD_COUNT]>,
    /// Words that were given; all of them before the first.
    given: usize,
}

impl MersenneTwister {
    pub(super) fn new(seed: u32) -> Self {
        let mut state = Box::new([0; WORD_COUNT]);
        let mut seed = seed;
        let step = |seed: u32| SEED_FACTOR.wrapping_mul(seed).wrapping_add(1);
        for word in state.iter_mut() {
            let next = step(seed);
            *word = (seed & 0xffff_0000) | (next >> 16);
            seed = step(next);
        }
        Self { state, given: WORD_COUNT }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u32 {
        if self.given == WORD_COUNT {
            self.advance();
        }
        let mut word = self.state[self.given];
        self.given += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// A number below `count`, as the rest of a division; 0 without a draw where `count` is 0.
    #[inline]
    pub(super) fn below(&mut self, count: u32) -> u32 {
        if count == 0 { 0 } else { self.next() % count }
    }

    /// Leaves out so many numbers.
    ///
    /// # Cost
    /// About a nanosecond a number: those that are left out are not tempered.
    pub(super) fn skip(&mut self, count: u64) {
        let mut left = count;
        // Bounded: each turn takes what is left of the state.
        while left > 0 {
            if self.given == WORD_COUNT {
                self.advance();
            }
            let taken = left.min((WORD_COUNT - self.given) as u64);
            self.given += usize::try_from(taken).unwrap_or(WORD_COUNT);
            left -= taken;
        }
    }

    fn advance(&mut self) {
        for index in 0..WORD_COUNT {
            let next = self.state[(index + 1) % WORD_COUNT];
            let joined = (self.state[index] & HIGHEST) | (next & !HIGHEST);
            let row = if joined & 1 == 0 { 0 } else { MATRIX };
            self.state[index] = self.state[(index + AHEAD) % WORD_COUNT] ^ (joined >> 1) ^ row;
        }
        self.given = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed, numbers left out, the four that follow: what `known_answers/mersenne.py` prints.
    const ANSWERS: [(u32, u64, [u32; 4]); 5] = [
        (42, 0, [4_179_544_424, 615_236_124, 4_165_290_828, 3_119_652_344]),
        (4357, 0, [2_867_219_139, 1_585_203_162, 3_113_124_129, 2_953_900_839]),
        (1, 0, [3_556_162_021, 4_012_392_791, 221_657_543, 586_320_575]),
        (2_147_483_647, 623, [1_066_138_119, 1_985_683_551, 3_968_820_263, 4_089_901_866]),
        (42, 20_000, [4_228_792_890, 257_796_232, 1_953_659_083, 688_224_007]),
    ];

    #[test]
    fn numbers_are_those_of_an_independent_implementation() {
        for (seed, skipped, numbers) in ANSWERS {
            let mut stream = MersenneTwister::new(seed);
            stream.skip(skipped);
            assert_eq!(std::array::from_fn(|_| stream.next()), numbers, "{seed} after {skipped}");
        }
    }

    #[test]
    fn numbers_left_out_are_those_that_would_have_come() {
        for skipped in [0, 1, 623, 624, 625, 5000] {
            let (mut one, mut other) = (MersenneTwister::new(7), MersenneTwister::new(7));
            one.next();
            other.next();
            one.skip(skipped);
            for _ in 0..skipped {
                other.next();
            }
            assert_eq!(one.next(), other.next(), "{skipped}");
        }
    }

    #[test]
    fn below_nothing_is_no_draw() {
        let (mut one, mut other) = (MersenneTwister::new(7), MersenneTwister::new(7));
        assert_eq!(one.below(0), 0);
        assert_eq!(one.below(10), other.next() % 10);
    }
}
