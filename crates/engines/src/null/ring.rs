//! Completions in the order of their requests, in a ring of fixed size.
//!
//! Hot path: no allocation, nothing moves but what is put in and taken out.

use crate::request::IoCompletion;

/// What a place contains before its first completion.
const VACANT: IoCompletion = IoCompletion { tag: 0, result: Ok(0) };

/// A queue of completions, of which those that are committed can be taken out.
#[derive(Debug)]
pub(super) struct CompletionRing {
    /// A power of two of places, at least `depth`.
    places: Box<[IoCompletion]>,
    depth: usize,
    /// Completions taken out, put in, and put in before the last commit, since the start; they wrap together.
    taken: usize,
    put: usize,
    committed: usize,
}

impl CompletionRing {
    /// An empty queue for `depth` completions.
    pub(super) fn with_capacity(depth: usize) -> Self {
        let places = vec![VACANT; depth.next_power_of_two()].into_boxed_slice();
        Self { places, depth, taken: 0, put: 0, committed: 0 }
    }

    /// How many more it takes.
    pub(super) fn room(&self) -> usize {
        self.depth - self.put.wrapping_sub(self.taken)
    }

    /// Puts one in; the caller has looked for room.
    #[inline]
    pub(super) fn push(&mut self, completion: IoCompletion) {
        let mask = self.places.len() - 1;
        self.places[self.put & mask] = completion;
        self.put = self.put.wrapping_add(1);
    }

    /// Lets all that are in be taken out.
    pub(super) fn commit(&mut self) {
        self.committed = self.put;
    }

    /// Takes out the oldest of the committed ones, `count` at most: in two parts where the ring turns.
    pub(super) fn take(&mut self, count: usize) -> [&[IoCompletion]; 2] {
        let count = count.min(self.committed.wrapping_sub(self.taken));
        let start = self.taken & (self.places.len() - 1);
        self.taken = self.taken.wrapping_add(count);
        let first = count.min(self.places.len() - start);
        [&self.places[start..start + first], &self.places[..count - first]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(ring: &mut CompletionRing, count: usize) -> Vec<u32> {
        ring.take(count).concat().iter().map(|completion| completion.tag).collect()
    }

    #[test]
    fn what_is_committed_leaves_in_its_order_however_often_the_ring_turns() {
        for depth in [1, 3, 4, 7] {
            let mut ring = CompletionRing::with_capacity(depth);
            let (mut next_in, mut next_out) = (0, 0);
            for round in 0..200 {
                while ring.room() > 0 {
                    ring.push(IoCompletion { tag: next_in, result: Ok(1) });
                    next_in += 1;
                }
                ring.commit();
                for tag in tags(&mut ring, round % (depth + 1)) {
                    assert_eq!(tag, next_out);
                    next_out += 1;
                }
            }
            assert!(next_out > 50, "depth {depth}: {next_out}");
        }
    }

    #[test]
    fn what_is_not_committed_stays() {
        let mut ring = CompletionRing::with_capacity(4);
        ring.push(IoCompletion { tag: 1, result: Ok(1) });
        ring.commit();
        ring.push(IoCompletion { tag: 2, result: Ok(1) });
        assert_eq!((tags(&mut ring, 9), ring.room()), (vec![1], 3));
        ring.commit();
        assert_eq!((tags(&mut ring, 9), ring.room()), (vec![2], 4));
    }
}
