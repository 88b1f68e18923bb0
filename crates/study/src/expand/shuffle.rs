//! The random order of cells, from a seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Brings `items` into a random order in which every order is as likely as any other.
///
/// # Source
/// The shuffle of Fisher and Yates (1938) in Durstenfeld's form (1964), with xoshiro256++ and the high half of a
/// product as draw, whose bias is under `items.len() / 2^64`.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for last in (1..items.len()).rev() {
        let product = u128::from(random.next_u64()) * (last as u128 + 1);
        let other = usize::try_from(product >> 64).unwrap_or(last);
        items.swap(last, other.min(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn one_seed_gives_one_order_and_another_seed_another() {
        let shuffled = |seed| {
            let mut items: Vec<u32> = (0..100).collect();
            shuffle(&mut items, seed);
            items
        };
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
        let mut sorted = shuffled(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn every_order_of_three_comes_about_as_often() {
        let mut counts: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        for seed in 0..6000 {
            let mut items = vec![1, 2, 3];
            shuffle(&mut items, seed);
            *counts.entry(items).or_default() += 1;
        }
        // 1000 each; the standard deviation is 29, and the seeds are fixed.
        assert!(counts.len() == 6 && counts.values().all(|count| (880..1120).contains(count)), "{counts:?}");
    }
}
