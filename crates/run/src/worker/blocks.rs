//! The order in which one worker visits the blocks of its object.

use crate::assignment::Assignment;
use narrows_model::workload::Order;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The block offsets of one worker, without end.
#[derive(Debug)]
pub(super) struct Blocks {
    order: Order,
    block_bytes: u64,
    first_block: u64,
    block_count: u64,
    next: u64,
    random: Xoshiro256PlusPlus,
}

impl Blocks {
    /// Sequential workers share the object out among them; random ones all visit the whole of it.
    pub(super) fn new(assignment: &Assignment, worker_index: u32) -> Self {
        let workload = &assignment.cell.workload;
        let block_bytes = workload.block_bytes.0.max(1);
        let total = (assignment.object_bytes.0 / block_bytes).max(1);
        let workers = u64::from(workload.workers.max(1));
        let share = (total / workers).max(1);
        let (first_block, block_count) = match workload.order {
            Order::Sequential | Order::Backward | Order::Stride { .. } => {
                (u64::from(worker_index) * share % total, share)
            }
            Order::Random | Order::RandomWithReplacement | Order::Zipf { .. } => (0, total),
        };
        let stream = (u64::from(assignment.client_index) << 32) | u64::from(worker_index);
        Self {
            order: workload.order,
            block_bytes,
            first_block,
            block_count,
            next: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(
                assignment.seed ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            ),
        }
    }

    /// Where the next request goes.
    pub(super) fn next_offset_bytes(&mut self) -> u64 {
        let block = match self.order {
            Order::Sequential | Order::Backward | Order::Stride { .. } => {
                let block = self.next;
                self.next = if block + 1 == self.block_count { 0 } else { block + 1 };
                block
            }
            // The high half of a product draws below the count with a bias under count / 2^64.
            Order::Random | Order::RandomWithReplacement | Order::Zipf { .. } => {
                let product = u128::from(self.random.next_u64()) * u128::from(self.block_count);
                u64::try_from(product >> 64).unwrap_or(0)
            }
        };
        (self.first_block + block) * self.block_bytes
    }
}
