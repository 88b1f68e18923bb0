//! PostMark's own draws: one stream of random numbers for a whole run, so that a seed gives the counts and the bytes that
//! PostMark 1.5 reports for it.
//!
//! Deliberately ours: which location and which folder an object is in, and what is in it. The numbers that PostMark draws for them are taken
//! from the stream, and not used.
//! Hot path: no allocation; the choice of an object takes as many numbers as it takes to meet one that is there.

use super::ObjectRequest;
use super::mersenne::MersenneTwister;
use super::pool::LiveObject;
use crate::assignment::ObjectStep;
use narrows_model::Op;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{BIAS_MAX, ObjectSet, Transactions};

/// How often the table is drawn from for an object that is there, for each of its slots: with one object alone that none
/// is met has a probability of e to the power of -64, and then the first one is taken.
const DRAWS_PER_SLOT: u64 = 64;

/// A run of PostMark as far as it is drawn.
///
/// # Source
/// Katcher, PostMark 1.51 (2001): its text of twice the largest size is drawn first, a character a number; then, for each
/// object, its location, its subdirectory and its size; then the halves of each transaction: which of the two, an object by its slot in
/// a table of twice the objects at the start, and the bytes that are appended.
#[derive(Debug)]
pub(super) struct PostmarkDraws {
    random: MersenneTwister,
    /// The table; a slot without bytes is free.
    slots: Vec<LiveObject>,
    live_count: u64,
    /// The slot behind the one that was taken last.
    next_slot: usize,
    /// No slot below is free.
    first_free: usize,
    made: u32,
    min_bytes: u32,
    max_bytes: u32,
    folders: u32,
    /// The sum of the weights of all locations; 0 where there is one alone.
    weights_sum: u32,
    phase: DrawPhase,
}

/// What is drawn at present.
#[derive(Debug, Clone, Copy)]
enum DrawPhase {
    Make { left: u64 },
    Transact { law: Transactions, left: u64, is_half_done: bool },
    Delete { slot: usize },
}

impl PostmarkDraws {
    /// The stream of a client's `set` before its first object; nothing to do yet.
    pub(super) fn new(set: &ObjectSet, client_index: u32) -> Self {
        let mut random = MersenneTwister::new(saturate_u32(set.seed).wrapping_add(client_index));
        random.skip(set.max_bytes.0.saturating_mul(2));
        let free = LiveObject { number: 0, bytes: 0 };
        Self {
            random,
            slots: vec![free; saturate_usize(set.count.saturating_mul(2))],
            live_count: 0,
            next_slot: 0,
            first_free: 0,
            made: 0,
            min_bytes: saturate_u32(set.min_bytes.0),
            max_bytes: saturate_u32(set.max_bytes.0),
            folders: set.folders,
            weights_sum: set.member_weights.sum(),
            phase: DrawPhase::Make { left: 0 },
        }
    }

    /// Goes on with what `step` does.
    pub(super) fn begin(&mut self, step: &ObjectStep) {
        self.phase = match step.set.transactions {
            Some(law) => DrawPhase::Transact { law, left: law.count, is_half_done: false },
            None if step.op == Op::Put => DrawPhase::Make { left: step.set.count },
            None => DrawPhase::Delete { slot: 0 },
        };
    }

    /// The next request; `None` after the last of what has begun.
    pub(super) fn next(&mut self) -> Option<ObjectRequest> {
        match self.phase {
            DrawPhase::Make { left } => {
                self.phase = DrawPhase::Make { left: left.checked_sub(1)? };
                self.make()
            }
            DrawPhase::Transact { law, left, is_half_done } => self.transact(law, left, is_half_done),
            DrawPhase::Delete { slot } => {
                let found = (slot..self.slots.len()).find(|slot| self.slots[*slot].bytes > 0)?;
                self.phase = DrawPhase::Delete { slot: found + 1 };
                Some(self.delete(found))
            }
        }
    }

    /// Takes back what a request has not done; what could not be deleted is not asked for again.
    pub(super) fn undo(&mut self, failed: ObjectRequest) {
        let Some(slot) = self.slots.iter().position(|one| one.bytes > 0 && one.number == failed.number)
        else {
            return;
        };
        match failed.op {
            Op::Put => drop(self.delete(slot)),
            Op::Append => {
                let bytes = &mut self.slots[slot].bytes;
                *bytes = bytes.saturating_sub(failed.length_bytes).max(1);
            }
            _ => {}
        }
    }

    /// The next half of a transaction that does something.
    fn transact(
        &mut self,
        law: Transactions,
        mut left: u64,
        mut is_half_done: bool,
    ) -> Option<ObjectRequest> {
        // Bounded: each turn takes a half of those that are left.
        loop {
            let drawn = if is_half_done {
                is_half_done = false;
                law.create_bias.and_then(|bias| self.create_or_delete(bias))
            } else {
                if left == 0 || self.live_count == 0 {
                    self.phase = DrawPhase::Transact { law, left: 0, is_half_done: false };
                    return None;
                }
                left -= 1;
                is_half_done = true;
                law.read_bias.and_then(|bias| self.read_or_append(bias))
            };
            if drawn.is_some() {
                self.phase = DrawPhase::Transact { law, left, is_half_done };
                return drawn;
            }
        }
    }

    fn read_or_append(&mut self, bias: u8) -> Option<ObjectRequest> {
        let reads = self.is_first(bias);
        let slot = self.used_slot()?;
        let LiveObject { number, bytes } = self.slots[slot];
        if reads {
            return Some(ObjectRequest { op: Op::Get, number, length_bytes: bytes });
        }
        let room = self.max_bytes.checked_sub(bytes).filter(|room| *room > 0)?;
        let length_bytes = self.random.below(room) + 1;
        self.slots[slot].bytes += length_bytes;
        Some(ObjectRequest { op: Op::Append, number, length_bytes })
    }

    fn create_or_delete(&mut self, bias: u8) -> Option<ObjectRequest> {
        if self.is_first(bias) {
            return self.make();
        }
        let slot = self.used_slot()?;
        Some(self.delete(slot))
    }

    fn is_first(&mut self, bias: u8) -> bool {
        self.random.below(u32::from(BIAS_MAX)) < u32::from(bias)
    }

    /// Makes an object; `None`, without a draw, where the table is full or no number is left.
    fn make(&mut self) -> Option<ObjectRequest> {
        let slot = self.free_slot()?;
        let number = self.made;
        if number == u32::MAX {
            return None;
        }
        self.random.below(self.weights_sum);
        if self.folders > 1 {
            self.random.below(self.folders);
        }
        let bytes = self.min_bytes + self.random.below(self.max_bytes.saturating_sub(self.min_bytes));
        self.slots[slot] = LiveObject { number, bytes };
        (self.made, self.next_slot, self.live_count) = (number + 1, slot + 1, self.live_count + 1);
        Some(ObjectRequest { op: Op::Put, number, length_bytes: bytes })
    }

    /// The slot behind the one that was taken last, or the first that is free.
    fn free_slot(&mut self) -> Option<usize> {
        if self.slots.get(self.next_slot).is_some_and(|slot| slot.bytes == 0) {
            return Some(self.next_slot);
        }
        let found = self.slots[self.first_free..].iter().position(|slot| slot.bytes == 0);
        self.first_free = found.map_or(self.slots.len(), |found| self.first_free + found);
        found.map(|_| self.first_free)
    }

    /// A slot with an object, drawn as often as it takes; `None` where there is none.
    fn used_slot(&mut self) -> Option<usize> {
        let count = saturate_u32(self.slots.len() as u64);
        let draws_max = if self.live_count == 0 { 0 } else { DRAWS_PER_SLOT * u64::from(count) };
        for _ in 0..draws_max {
            let slot = self.random.below(count) as usize;
            if self.slots[slot].bytes > 0 {
                return Some(slot);
            }
        }
        self.slots.iter().position(|slot| slot.bytes > 0)
    }

    fn delete(&mut self, slot: usize) -> ObjectRequest {
        let LiveObject { number, .. } = self.slots[slot];
        self.slots[slot].bytes = 0;
        self.live_count = self.live_count.saturating_sub(1);
        self.first_free = self.first_free.min(slot);
        ObjectRequest { op: Op::Delete, number, length_bytes: 0 }
    }
}

#[cfg(test)]
#[path = "postmark_tests.rs"]
mod tests;
