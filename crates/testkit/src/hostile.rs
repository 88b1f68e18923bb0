//! Bytes that a hostile peer may send: valid ones that are changed, and now and then wholly random ones.
//!
//! A case follows from a seed and its index alone, so that a failure is repeated by these two. Not here: what reads the
//! bytes, and what it must not do with them.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Most changes of one case.
const CHANGES_MAX: u64 = 4;
/// One case of so many is random bytes alone.
const RANDOM_EVERY: u64 = 16;
/// Longest random bytes.
const RANDOM_BYTES_MAX: u64 = 400;
/// Most bytes that one change adds or removes.
const MOVED_BYTES_MAX: u64 = 64;
/// Cases unless a campaign is asked for others.
const CAMPAIGN_CASES: u64 = 10_000_000;
/// Seed unless a campaign is asked for another.
const USUAL_SEED: u64 = 0x5EED;
/// Numbers that lengths and counts are replaced by, beside those near the length of the case.
const EXTREMES: [u64; 16] = [
    0,
    1,
    3,
    4,
    255,
    0xffff,
    0x1_0000,
    0xf_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffc,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];
/// What decimal numbers in a text are replaced by.
const EXTREME_TEXTS: [&str; 10] = [
    "",
    "0",
    "-1",
    "00000000000000000001",
    "65536",
    "4294967296",
    "0xffffffff",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999999999",
];

/// Cases made of valid bytes.
#[derive(Debug, Clone)]
pub struct HostileBytes {
    seed: u64,
    valid: Vec<Vec<u8>>,
}

/// Which cases a campaign runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostileCampaign {
    /// The seed.
    pub seed: u64,
    /// How many cases.
    pub case_count: u64,
}

impl HostileCampaign {
    /// What `NARROWS_HOSTILE_SEED` and `NARROWS_HOSTILE_CASES` say; ten million cases without them.
    ///
    /// # Panics
    /// A variable that is no whole number.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "the environment says which cases a campaign runs")]
    #[allow(clippy::panic, reason = "a campaign with other cases than were asked for proves something else")]
    pub fn from_environment() -> Self {
        let number = |name: &str, usual: u64| match std::env::var(name) {
            Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is no whole number: {text}")),
            Err(_) => usual,
        };
        Self {
            seed: number("NARROWS_HOSTILE_SEED", USUAL_SEED),
            case_count: number("NARROWS_HOSTILE_CASES", CAMPAIGN_CASES),
        }
    }

    /// Some cases, for a test that runs always.
    #[must_use]
    pub fn short(case_count: u64) -> Self {
        Self { seed: USUAL_SEED, case_count }
    }
}

impl HostileBytes {
    /// Cases that follow from `seed` and these valid messages.
    ///
    /// # Panics
    /// Without a message.
    #[must_use]
    pub fn new(seed: u64, valid: Vec<Vec<u8>>) -> Self {
        assert!(!valid.is_empty(), "cases are made of valid messages");
        Self { seed, valid }
    }

    /// Puts case `index` into `out`, whose content is dropped; the index of the message that it is made of.
    pub fn put_case(&self, index: u64, out: &mut Vec<u8>) -> usize {
        let mut draws = Draws(self.seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        draws.next();
        out.clear();
        let base = draws.below(self.valid.len());
        if draws.one_in(RANDOM_EVERY) {
            let length = draws.next() % RANDOM_BYTES_MAX;
            draws.put_bytes(out, length);
            return base;
        }
        out.extend_from_slice(&self.valid[base]);
        for _ in 0..=draws.next() % CHANGES_MAX {
            self.change(&mut draws, out);
        }
        base
    }

    fn change(&self, draws: &mut Draws, out: &mut Vec<u8>) {
        match draws.next() % 10 {
            0 => flip_bit(draws, out),
            1 => {
                let at = draws.position(out);
                if let Some(byte) = out.get_mut(at) {
                    *byte = draws.byte();
                }
            }
            2 => out.truncate(draws.position(out)),
            3..=5 => put_extreme(draws, out),
            6 => replace_number(draws, out),
            7 => {
                // The beginning of one message and the end of another.
                let other = &self.valid[draws.below(self.valid.len())];
                out.truncate(draws.position(out));
                out.extend_from_slice(&other[draws.position(other)..]);
            }
            8 => {
                let at = draws.position(out);
                let end = out.len().min(at + draws.below(64));
                out.drain(at..end);
            }
            _ => {
                let at = draws.position(out);
                let mut added = Vec::new();
                let length = draws.next() % MOVED_BYTES_MAX;
                draws.put_bytes(&mut added, length);
                out.splice(at..at, added);
            }
        }
    }

    /// Has `read` read the cases of a campaign, each with the index of the message that it is made of.
    ///
    /// # Panics
    /// Where `read` panics: with the seed, the index of the case and its bytes.
    #[allow(clippy::panic, reason = "it is how a test fails")]
    pub fn run(valid: Vec<Vec<u8>>, campaign: HostileCampaign, mut read: impl FnMut(usize, &[u8])) {
        let HostileCampaign { seed, case_count } = campaign;
        let cases = Self::new(seed, valid);
        let mut bytes = Vec::new();
        for index in 0..case_count {
            let base = cases.put_case(index, &mut bytes);
            if catch_unwind(AssertUnwindSafe(|| read(base, &bytes))).is_err() {
                let shown = bytes.escape_ascii();
                panic!("case {index} of seed {seed}, made of message {base}, is read with a panic: {shown}");
            }
        }
    }
}

fn flip_bit(draws: &mut Draws, out: &mut [u8]) {
    let at = draws.position(out);
    if let Some(byte) = out.get_mut(at) {
        *byte ^= 1 << (draws.next() % 8);
    }
}

/// Replaces a number of 1, 2, 3, 4 or 8 bytes, most of them where the units of XDR begin, by an extreme.
fn put_extreme(draws: &mut Draws, out: &mut [u8]) {
    let mut at = draws.position(out);
    if !draws.one_in(4) {
        at -= at % 4;
    }
    let width = [4, 4, 4, 8, 3, 2, 1][draws.below(7)].min(out.len() - at);
    let near = (out.len() as u64).wrapping_sub(at as u64).wrapping_add(draws.next() % 9).wrapping_sub(4);
    let value = if draws.one_in(4) { near } else { EXTREMES[draws.below(EXTREMES.len())] };
    out[at..at + width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
}

/// Replaces a decimal number of a text by an extreme; without one it flips a bit.
fn replace_number(draws: &mut Draws, out: &mut Vec<u8>) {
    let from = draws.position(out);
    let Some(at) = out[from..].iter().position(u8::is_ascii_digit).map(|found| from + found) else {
        return flip_bit(draws, out);
    };
    let length = out[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = EXTREME_TEXTS[draws.below(EXTREME_TEXTS.len())];
    out.splice(at..at + length, text.bytes());
}

/// Numbers that follow from a seed.
///
/// # Source
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014: `SplitMix64`.
#[derive(Debug)]
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count.max(1) as u64).unwrap_or(0)
    }

    /// A position in `bytes`, or their end.
    fn position(&mut self, bytes: &[u8]) -> usize {
        self.below(bytes.len() + 1)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.next().is_multiple_of(count)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    fn put_bytes(&mut self, out: &mut Vec<u8>, length: u64) {
        for _ in 0..length {
            let byte = self.byte();
            // Small numbers and zeros are read further than others.
            out.push(if byte < 160 { byte % 4 } else { byte });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn valid() -> Vec<Vec<u8>> {
        vec![vec![7; 40], b"length=4096; name=x".to_vec(), Vec::new()]
    }

    #[test]
    fn a_case_follows_from_its_seed_and_index_and_most_cases_differ() {
        let cases = |seed: u64| {
            let bytes = HostileBytes::new(seed, valid());
            let case = |index: u64| {
                let mut out = vec![1];
                bytes.put_case(index, &mut out);
                out
            };
            (0..500).map(case).collect::<Vec<_>>()
        };
        assert_eq!(cases(1), cases(1));
        assert_ne!(cases(1), cases(2));
        assert!(cases(3).into_iter().collect::<BTreeSet<_>>().len() > 300, "one message in three is empty");
    }

    #[test]
    fn lengths_become_extreme_messages_are_spliced_and_texts_get_other_numbers() {
        let bytes = HostileBytes::new(5, valid());
        let mut out = Vec::new();
        let mut found = [false; 3];
        for index in 0..20_000 {
            bytes.put_case(index, &mut out);
            found[0] |= out.windows(4).any(|word| word == [0xff; 4]) && out.contains(&7);
            found[1] |= out.starts_with(&[7; 9]) && out.ends_with(b"; name=x");
            found[2] |= out.as_slice() == b"length=18446744073709551615; name=x";
        }
        assert_eq!(found, [true; 3]);
    }

    #[test]
    fn a_panic_is_reported_with_the_seed_the_case_and_its_bytes() {
        let campaign = HostileCampaign::short(1000);
        let run = || HostileBytes::run(vec![b"ab\n".to_vec()], campaign, |_, read| assert!(!read.is_empty()));
        let panic = catch_unwind(run).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("of seed 24301, made of message 0, is read with a panic: "), "{message}");
    }
}
