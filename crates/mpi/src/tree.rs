//! The tree by which outputs are merged on their way to rank 0: binomial, so that no rank receives more than log2(N) messages.

use narrows_run::assignment::ClientOutput;
use narrows_run::merge_outputs;

/// The rank above `rank`, which is not 0: its number without its lowest bit.
pub(crate) fn parent(rank: u32) -> u32 {
    rank & rank.wrapping_sub(1)
}

/// How many ranks of `count` are directly below `rank`.
pub(crate) fn child_count(rank: u32, count: u32) -> u32 {
    let lowest = if rank == 0 { u32::BITS } else { rank.trailing_zeros() };
    let below = (0..lowest).filter(|bit| rank.checked_add(1 << bit).is_some_and(|child| child < count));
    u32::try_from(below.count()).unwrap_or(u32::MAX)
}

/// The outputs of one trial on their way through one rank.
#[derive(Debug, Default)]
pub(crate) struct MergePoint {
    /// How many clients the trial has, once this rank knows.
    pub(crate) client_count: Option<u32>,
    has_own: bool,
    below_count: u32,
    outputs: Vec<ClientOutput>,
}

impl MergePoint {
    /// Whether this rank's own outputs are there, and others are waited for.
    pub(crate) fn has_own(&self) -> bool {
        self.has_own
    }

    /// Adds this rank's own outputs, or none of one that has failed.
    pub(crate) fn add_own(&mut self, own: Vec<ClientOutput>) {
        self.has_own = true;
        merge_outputs(&mut self.outputs, own);
    }

    /// Adds those of a rank directly below.
    pub(crate) fn add_below(&mut self, below: Vec<ClientOutput>) {
        self.below_count += 1;
        merge_outputs(&mut self.outputs, below);
    }

    /// All outputs of `rank` and below, in the order of the clients, once they are there.
    pub(crate) fn complete(&mut self, rank: u32) -> Option<Vec<ClientOutput>> {
        let expected = child_count(rank, self.client_count?);
        if !self.has_own || self.below_count < expected {
            return None;
        }
        self.has_own = false;
        Some(std::mem::take(&mut self.outputs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_below_its_parent_once_whatever_their_number() {
        for count in 1..70 {
            let mut seen = vec![0; count as usize];
            for rank in 1..count {
                assert!(parent(rank) < rank);
                seen[parent(rank) as usize] += 1;
            }
            let expected: Vec<u32> = (0..count).map(|rank| child_count(rank, count)).collect();
            assert_eq!(seen, expected, "{count} ranks");
            assert!(expected.iter().all(|children| *children <= count.ilog2() + 1));
        }
    }
}
