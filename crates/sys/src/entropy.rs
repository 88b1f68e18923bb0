//! Bytes that no device, link or file system can compress or deduplicate, made at about half the speed of memory.
//!
//! They are reproducible from a seed and are not secret: never use them as a key or a token.

/// Fills `bytes` with a full-entropy pattern that depends on nothing but `seed` and the position.
///
/// # Shape
/// Any length, also 0; a shorter slice gets a prefix of what a longer one gets.
///
/// # Cost
/// No allocation; about 1.1 ns for 8 bytes (7 GB/s on the machine where a copy from memory ran at 15 GB/s). Four
/// generators side by side were slower there (5.7 GB/s): their states do not fit the registers.
///
/// # Source
/// Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021: the outputs of xoshiro256++ in
/// little-endian order, its state being the first four outputs of `SplitMix64` from `seed`, as the authors advise.
pub fn fill_entropy(bytes: &mut [u8], seed: u64) {
    let mut seeder = seed;
    let mut state = [0; 4].map(|_: u64| split_mix(&mut seeder));
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        word.copy_from_slice(&next_word(&mut state).to_le_bytes());
    }
    let tail = words.into_remainder();
    let last = next_word(&mut state).to_le_bytes();
    tail.copy_from_slice(&last[..tail.len()]);
}

/// The seed of member `index` of the family of `seed`: no two members are alike, and members of different families are
/// only by the chance of two random numbers of 64 bits.
///
/// Sums of seeds and indexes do not have this property: where families are 256 apart, member 256 of one is member 0 of
/// the next.
///
/// # Source
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014: output `index` of `SplitMix64`, which
/// is a bijection of its state.
#[must_use]
pub fn member_seed(seed: u64, index: u64) -> u64 {
    let mut state = seed.wrapping_add(index.wrapping_mul(SPLIT_MIX_STEP));
    split_mix(&mut state)
}

/// The index of the member of the family of `seed` that is `member`: the inverse of [`member_seed`].
///
/// # Shape
/// Every number is a member of every family; one that was not drawn from it has an index that means nothing.
#[must_use]
pub fn member_of(seed: u64, member: u64) -> u64 {
    let mut z = member ^ (member >> 31) ^ (member >> 62);
    z = z.wrapping_mul(inverse(SPLIT_MIX_FACTORS[1]));
    z = z ^ (z >> 27) ^ (z >> 54);
    z = z.wrapping_mul(inverse(SPLIT_MIX_FACTORS[0]));
    z = z ^ (z >> 30) ^ (z >> 60);
    z.wrapping_sub(seed).wrapping_mul(inverse(SPLIT_MIX_STEP)).wrapping_sub(1)
}

/// The number whose product with the odd `factor` is 1, modulo 2^64, by Newton's iteration: `factor` itself is right in
/// the lowest 3 bits, and each of the five steps doubles those that are.
const fn inverse(factor: u64) -> u64 {
    let mut guess = factor;
    let mut step = 0;
    while step < 5 {
        guess = guess.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(guess)));
        step += 1;
    }
    guess
}

#[inline]
fn next_word(s: &mut [u64; 4]) -> u64 {
    let word = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
    let shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = s[3].rotate_left(45);
    word
}

/// The odd number nearest to 2^64 over the golden ratio.
const SPLIT_MIX_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The published multipliers, both odd.
const SPLIT_MIX_FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(SPLIT_MIX_STEP);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(SPLIT_MIX_FACTORS[0]);
    z = (z ^ (z >> 27)).wrapping_mul(SPLIT_MIX_FACTORS[1]);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_the_published_sequence() {
        // The check values in circulation for the authors' splitmix64.c with the seed 1234567.
        let mut state = 1_234_567;
        let words: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        assert_eq!(words, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn members_of_a_family_are_the_published_sequence_at_their_index() {
        let words: Vec<u64> = (0..3).map(|index| member_seed(1_234_567, index)).collect();
        assert_eq!(words, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_members_index_is_found_from_the_member_alone() {
        for (seed, index) in [(0, 0), (1_234_567, 2), (u64::MAX, u64::MAX), (7, 1 << 63), (9, 6_291_455)] {
            assert_eq!(member_of(seed, member_seed(seed, index)), index);
        }
    }

    #[test]
    fn the_generator_gives_the_reference_sequence() {
        // The authors' xoshiro256plusplus.c from the state {1, 2, 3, 4}.
        let mut state = [1, 2, 3, 4];
        let words: Vec<u64> = (0..4).map(|_| next_word(&mut state)).collect();
        assert_eq!(words, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn a_shorter_fill_is_a_prefix_of_a_longer_one() {
        let mut long = [0; 200];
        fill_entropy(&mut long, 7);
        for length in 0..long.len() {
            let mut short = vec![0; length];
            fill_entropy(&mut short, 7);
            assert_eq!(short, long[..length]);
        }
    }

    #[test]
    fn another_seed_gives_other_bytes() {
        let (mut one, mut two) = ([0; 64], [0; 64]);
        fill_entropy(&mut one, 1);
        fill_entropy(&mut two, 2);
        assert_ne!(one, two);
    }

    #[test]
    fn all_byte_values_are_equally_common() {
        let mut bytes = vec![0; 1 << 20];
        fill_entropy(&mut bytes, 42);
        let mut counts = [0_u32; 256];
        for byte in &bytes {
            counts[usize::from(*byte)] += 1;
        }
        let expected = bytes.len() as f64 / 256.0;
        let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: 377 is the 1 - 1e-6 quantile; the seed is fixed, so this never flickers.
        assert!(chi_square < 377.0, "chi-square {chi_square}");
    }
}
