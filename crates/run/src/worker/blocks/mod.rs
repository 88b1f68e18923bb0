//! The blocks of its object that one worker requests: the order of blocks, a file for each family.
//!
//! The object is seen as a grid of the workload's largest block. Walks and passes divide the grid among the workers of
//! a client, and of all clients where these share the object; drawn orders all range over the whole of it. A smaller
//! block of a mix is within the grid at a multiple of its own size. Hot path: no allocation, no lock; memory does not
//! grow with the object.

use crate::assignment::Assignment;
use crate::worker::random::{RandomPurpose, below, stream};
use narrows_model::workload::Order;
use permutation::Pass;
pub(super) use permutation::Permutation;
use rand_xoshiro::Xoshiro256PlusPlus;
use walk::{SequentialWalk, Stride, StrideTurns};
use zipf::Zipf;

mod permutation;
#[cfg(test)]
mod tests;
mod walk;
mod zipf;

/// The block offsets of one worker, without end.
#[derive(Debug)]
pub(super) struct Blocks {
    family: BlockSequence,
    first_bytes: u64,
    grid_bytes: u64,
    /// The client that the blocks belong to and how many clients share their file, block by block; `None` of other files.
    interleave: Option<(u64, u64)>,
    random: Xoshiro256PlusPlus,
}

/// What decides the next block.
#[derive(Debug)]
enum BlockSequence {
    Walk(SequentialWalk),
    Stride(Stride),
    Pass(Box<Pass>),
    Uniform { block_count: u64 },
    Zipf(Zipf),
}

/// The part of a grid that one worker visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkerPartition {
    pub(super) first_block: u64,
    pub(super) block_count: u64,
}

impl WorkerPartition {
    /// The part of worker `index` of `workers`: where blocks do not divide the first workers have one more, and with
    /// fewer blocks than workers some share one.
    pub(super) fn for_worker(total: u64, index: u64, workers: u64) -> Self {
        let (share, more) = (total / workers, total % workers);
        if share == 0 {
            return WorkerPartition { first_block: index % total, block_count: 1 };
        }
        WorkerPartition {
            first_block: index * share + index.min(more),
            block_count: share + u64::from(index < more),
        }
    }
}

/// Where the first block of a worker's part is.
pub(crate) fn first_offset_bytes(assignment: &Assignment, worker_index: u32) -> u64 {
    let blocks = Blocks::new(assignment, worker_index);
    blocks.in_file(blocks.first_bytes)
}

impl Blocks {
    /// The order of worker `worker_index`, drawn from the assignment's seed where it is random.
    pub(super) fn new(assignment: &Assignment, worker_index: u32) -> Self {
        let workload = &assignment.cell.workload;
        let sizes = workload.blocks();
        let grid_bytes = sizes.iter().map(|share| share.block_bytes.0).max().unwrap_or(1).max(1);
        let total = (assignment.object_bytes.0 / grid_bytes).max(1);
        let workers = u64::from(workload.workers.max(1));
        let (sharer, sharers) = assignment.sharer();
        let own =
            WorkerPartition::for_worker(total, sharer * workers + u64::from(worker_index), sharers * workers);
        let whole = WorkerPartition { first_block: 0, block_count: total };
        let mut random = stream(assignment, worker_index, RandomPurpose::Blocks);
        let own_bytes = own.block_count * grid_bytes;
        let mixed = sizes.len() > 1;
        let (family, part) = match workload.order {
            // Nothing lists blocks: a load of them in that order is refused before it starts.
            Order::Sequential | Order::Listing => {
                (BlockSequence::Walk(SequentialWalk::forward(own_bytes, mixed)), own)
            }
            Order::Backward => (BlockSequence::Walk(SequentialWalk::backward(own_bytes, mixed)), own),
            Order::Stride { stride_bytes, ends_early } => {
                let turns = if ends_early { StrideTurns::EndEarly } else { StrideTurns::Whole };
                let stride = Stride::new(own.block_count, stride_bytes / grid_bytes, turns);
                (BlockSequence::Stride(stride), own)
            }
            Order::Random => (BlockSequence::Pass(Box::new(Pass::new(own.block_count, &mut random))), own),
            Order::RandomWithReplacement => (BlockSequence::Uniform { block_count: total }, whole),
            Order::Zipf { theta } => (BlockSequence::Zipf(Zipf::new(total, theta)), whole),
            Order::OneBlock => (BlockSequence::Walk(SequentialWalk::forward(grid_bytes, mixed)), own),
        };
        let interleave = assignment.interleave();
        Self { family, first_bytes: part.first_block * grid_bytes, grid_bytes, interleave, random }
    }

    /// The offset of the next request of `length_bytes` (at least 1, at most the grid's block).
    pub(super) fn next_offset_bytes(&mut self, length_bytes: u64) -> u64 {
        let own_bytes = self.next_own_bytes(length_bytes);
        self.in_file(own_bytes)
    }

    /// Where in its file an offset among the blocks of the client is.
    #[inline]
    fn in_file(&self, own_bytes: u64) -> u64 {
        let Some((index, count)) = self.interleave else { return own_bytes };
        let (block, within) = (own_bytes / self.grid_bytes, own_bytes % self.grid_bytes);
        (block * count + index) * self.grid_bytes + within
    }

    /// The same among the blocks of the client, as if no other had any.
    #[inline]
    fn next_own_bytes(&mut self, length_bytes: u64) -> u64 {
        let random = &mut self.random;
        let block = match &mut self.family {
            BlockSequence::Walk(walk) => return self.first_bytes + walk.next(length_bytes),
            BlockSequence::Stride(stride) => stride.next(),
            BlockSequence::Pass(pass) => pass.next(random),
            BlockSequence::Uniform { block_count } => below(random, *block_count),
            BlockSequence::Zipf(zipf) => zipf.next(random),
        };
        let within = if length_bytes < self.grid_bytes {
            below(random, self.grid_bytes / length_bytes) * length_bytes
        } else {
            0
        };
        self.first_bytes + block * self.grid_bytes + within
    }
}
