//! What each request does: one kind of request, or several drawn by their weights.
//!
//! Hot path: a draw is one random number and one look into a table.

use super::random::{RandomPurpose, stream};
use crate::assignment::Assignment;
use narrows_model::units::saturate_u32;
use narrows_model::{Bytes, Op};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// One kind of request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OpKind {
    pub(super) op: Op,
    /// Bytes of the object that the request is about; 0 for one that concerns the whole of it.
    pub(super) length_bytes: u32,
    weight: f64,
}

impl OpKind {
    /// Bytes that a whole transfer reports; `None` for requests that move no data, whose report is not checked.
    pub(super) fn moved_bytes(&self) -> Option<u32> {
        match self.op {
            Op::Sync | Op::Trim => None,
            _ => Some(self.length_bytes),
        }
    }
}

/// The kinds of a workload.
#[derive(Debug)]
pub(super) struct OpMix {
    kinds: Vec<OpKind>,
    /// `None` where the next request is of the first kind: what is written back is not drawn, nor is what is done to whole
    /// objects.
    draws: Option<KindSampler>,
}

impl OpMix {
    /// The kinds of the assignment's workload, drawn from its seed.
    pub(super) fn new(assignment: &Assignment, worker_index: u32) -> Self {
        let kinds = kinds_of(assignment);
        let workload = &assignment.cell.workload;
        let are_drawn = kinds.len() > 1 && workload.write_back_every.is_none() && workload.objects.is_none();
        let draws = are_drawn.then(|| KindSampler {
            table: alias_table(&kinds),
            random: stream(assignment, worker_index, RandomPurpose::Kinds),
        });
        Self { kinds, draws }
    }

    /// Whether requests differ.
    pub(super) fn are_several(&self) -> bool {
        self.kinds.len() > 1
    }

    /// All of them, with their operations and block sizes.
    pub(super) fn labels(&self) -> Vec<(Op, Bytes)> {
        self.kinds.iter().map(|kind| (kind.op, Bytes(u64::from(kind.length_bytes)))).collect()
    }

    /// The kind of the next request, by index.
    #[inline]
    pub(super) fn draw(&mut self) -> u32 {
        match &mut self.draws {
            None => 0,
            Some(draws) => draws.next(),
        }
    }

    /// The kind of this index, which a draw gave.
    #[inline]
    pub(super) fn get(&self, index: u32) -> &OpKind {
        &self.kinds[index as usize]
    }
}

/// Each operation with each block size; operations without a block once. Never empty.
fn kinds_of(assignment: &Assignment) -> Vec<OpKind> {
    let workload = &assignment.cell.workload;
    let (ops, blocks) = (workload.ops(), workload.blocks());
    let mut kinds = Vec::with_capacity(ops.len() * blocks.len());
    for op in &ops {
        if matches!(op.op, Op::Sync | Op::Stat | Op::Delete | Op::Rename | Op::Ping) {
            kinds.push(OpKind { op: op.op, length_bytes: 0, weight: op.weight });
            continue;
        }
        let all: f64 = blocks.iter().map(|block| block.weight).sum();
        kinds.extend(blocks.iter().map(|block| OpKind {
            op: op.op,
            length_bytes: saturate_u32(block.block_bytes.0),
            weight: op.weight * block.weight / all,
        }));
    }
    kinds
}

#[derive(Debug)]
struct KindSampler {
    table: Vec<AliasColumn>,
    random: Xoshiro256PlusPlus,
}

/// One column of the alias table: its own kind below the threshold, another one above.
#[derive(Debug, Clone, Copy)]
struct AliasColumn {
    threshold: u64,
    own: u32,
    other: u32,
}

impl KindSampler {
    #[inline]
    fn next(&mut self) -> u32 {
        // The high half of the product chooses a column, the low half is uniform within it.
        let product = u128::from(self.random.next_u64()) * self.table.len() as u128;
        let column = &self.table[usize::try_from(product >> 64).unwrap_or(0)];
        let within = u64::try_from(product & u128::from(u64::MAX)).unwrap_or(0);
        if within < column.threshold { column.own } else { column.other }
    }
}

/// Columns of equal width, each shared by at most two kinds.
///
/// Weights that are not positive numbers count as none; if all are such, all kinds are alike.
///
/// # Source
/// Vose, A linear algorithm for generating random numbers with a given distribution, IEEE TSE 17(9), 1991.
fn alias_table(kinds: &[OpKind]) -> Vec<AliasColumn> {
    let usable = |weight: f64| if weight.is_finite() && weight > 0.0 { weight } else { 0.0 };
    let all: f64 = kinds.iter().map(|kind| usable(kind.weight)).sum();
    let count = kinds.len() as f64;
    let mut left: Vec<f64> =
        kinds.iter().map(|kind| if all > 0.0 { usable(kind.weight) / all * count } else { 1.0 }).collect();
    let mut table: Vec<AliasColumn> =
        (0..).zip(kinds).map(|(own, _)| AliasColumn { threshold: u64::MAX, own, other: own }).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..kinds.len()).partition(|kind| left[*kind] < 1.0);
    while let (Some(low), Some(high)) = (small.pop(), large.pop()) {
        // 2^64 times a share below 1; the cast of the nearest float saturates.
        table[low].threshold = narrows_model::units::round_to_u64(left[low] * 18_446_744_073_709_551_616.0);
        table[low].other = table[high].own;
        left[high] -= 1.0 - left[low];
        if left[high] < 1.0 { small.push(high) } else { large.push(high) }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::tests::{assignment, device};
    use narrows_model::workload::{BlockShare, OpShare};

    fn mixed(ops: &[(Op, f64)], blocks: &[(u64, f64)]) -> Assignment {
        let folder = tempfile::tempdir().unwrap();
        let mut assignment = assignment(&device(1, Vec::new()), &folder, 1);
        let workload = &mut assignment.cell.workload;
        workload.op_mix = ops.iter().map(|(op, weight)| OpShare { op: *op, weight: *weight }).collect();
        workload.block_mix = blocks
            .iter()
            .map(|(bytes, weight)| BlockShare { block_bytes: Bytes(*bytes), weight: *weight })
            .collect();
        assignment
    }

    fn shares(assignment: &Assignment, draws: u32) -> Vec<((Op, Bytes), f64)> {
        let mut kinds = OpMix::new(assignment, 0);
        let mut counts = vec![0_u32; kinds.labels().len()];
        for _ in 0..draws {
            counts[kinds.draw() as usize] += 1;
        }
        kinds
            .labels()
            .into_iter()
            .zip(counts.iter().map(|count| f64::from(*count) / f64::from(draws)))
            .collect()
    }

    #[test]
    fn kinds_come_in_the_shares_of_their_weights() {
        let assignment =
            mixed(&[(Op::Read, 7.0), (Op::Write, 3.0)], &[(4096, 1.0), (8192, 3.0), (65_536, 1.0)]);
        let shares = shares(&assignment, 400_000);
        let expected = [0.14, 0.42, 0.14, 0.06, 0.18, 0.06];
        assert_eq!(shares[1].0, (Op::Read, Bytes(8192)));
        for ((label, share), expected) in shares.iter().zip(expected) {
            // Five standard deviations of a share.
            let noise = 5.0 * (expected * (1.0_f64 - expected) / 400_000.0).sqrt();
            assert!((share - expected).abs() < noise, "{label:?}: {share} for {expected}");
        }
    }

    #[test]
    fn a_sync_has_no_block_and_keeps_its_weight() {
        let assignment = mixed(&[(Op::Write, 9.0), (Op::Sync, 1.0)], &[(4096, 1.0), (8192, 1.0)]);
        let shares = shares(&assignment, 100_000);
        assert_eq!(shares.len(), 3);
        assert_eq!(shares[2].0, (Op::Sync, Bytes(0)));
        assert!((shares[2].1 - 0.1).abs() < 0.005, "{shares:?}");
    }

    #[test]
    fn one_kind_draws_nothing() {
        let kinds = OpMix::new(&mixed(&[], &[]), 0);
        assert!(!kinds.are_several());
        assert_eq!(kinds.labels(), [(Op::Read, Bytes(4096))]);
    }

    #[test]
    fn a_weight_of_nothing_is_never_drawn() {
        let shares = shares(&mixed(&[(Op::Read, 1.0), (Op::Write, 0.0), (Op::Trim, f64::NAN)], &[]), 10_000);
        assert_eq!(shares.iter().map(|share| share.1).collect::<Vec<_>>(), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn the_same_seed_draws_the_same_kinds_and_workers_differ() {
        let assignment = mixed(&[(Op::Read, 1.0), (Op::Write, 1.0)], &[]);
        let draw = |worker| {
            let mut kinds = OpMix::new(&assignment, worker);
            (0..64).map(|_| kinds.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
    }
}
