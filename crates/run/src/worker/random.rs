//! The random choices of one worker: a stream for each purpose, all from the trial's seed.
//!
//! Each purpose has a stream of its own, so that a mix of operations does not change which blocks are visited.

use crate::assignment::Assignment;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What is decided by chance.
#[derive(Debug, Clone, Copy)]
pub(super) enum RandomPurpose {
    /// The blocks that are requested.
    Blocks,
    /// What they do.
    Kinds,
    /// When they start.
    Arrivals,
    /// Which whole objects they are about.
    Objects,
}

/// The stream of worker `worker_index` for one purpose.
pub(super) fn stream(
    assignment: &Assignment,
    worker_index: u32,
    purpose: RandomPurpose,
) -> Xoshiro256PlusPlus {
    stream_of(assignment.seed, assignment.client_index, worker_index, purpose)
}

/// The stream of a worker of a client for one purpose, from a seed.
pub(super) fn stream_of(
    seed: u64,
    client_index: u32,
    worker_index: u32,
    purpose: RandomPurpose,
) -> Xoshiro256PlusPlus {
    let worker = (u64::from(client_index) << 32) | u64::from(worker_index);
    let own =
        worker.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (purpose as u64).wrapping_mul(0xD1B5_4A32_D192_ED03);
    Xoshiro256PlusPlus::seed_from_u64(seed ^ own)
}

/// A number from 0 to below 1, with all 53 bits of its digits drawn.
#[inline]
pub(super) fn unit(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// A number below `count`: the high half of a product, whose bias is under count / 2^64.
#[inline]
pub(super) fn below(random: &mut impl Rng, count: u64) -> u64 {
    let product = u128::from(random.next_u64()) * u128::from(count);
    u64::try_from(product >> 64).unwrap_or(0)
}
