//! Transactions as PostMark draws them.
//!
//! Where PostMark 1.5 does nothing, nothing is done here: an append to an object that is as large as any may be, and the
//! making of an object when twice as many are there as at first. Transactions end when no object is left.
//! Hot path: two random numbers a half.

use super::ObjectRequest;
use super::pool::ObjectPool;
use crate::worker::random::below;
use narrows_model::Op;
use narrows_model::units::saturate_u32;
use narrows_model::workload::{BIAS_MAX, Transactions};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The transactions of one worker under way.
#[derive(Debug)]
pub(super) struct TransactionSequence {
    law: Transactions,
    left: u64,
    /// The first half of the present transaction is done.
    is_half_done: bool,
    random: Xoshiro256PlusPlus,
}

impl TransactionSequence {
    pub(super) fn new(law: Transactions, count: u64, random: Xoshiro256PlusPlus) -> Self {
        Self { law, left: count, is_half_done: false, random }
    }

    /// The next half that does something; `None` when all are done or no object is left.
    pub(super) fn next(&mut self, pool: &mut ObjectPool) -> Option<ObjectRequest> {
        // Bounded: each turn takes a half of those that are left.
        loop {
            let draw = if self.is_half_done {
                self.is_half_done = false;
                self.law.create_bias.and_then(|bias| self.create_or_delete(bias, pool))
            } else {
                if self.left == 0 || pool.len() == 0 {
                    return None;
                }
                self.left -= 1;
                self.is_half_done = true;
                self.law.read_bias.and_then(|bias| self.read_or_append(bias, pool))
            };
            if draw.is_some() {
                return draw;
            }
        }
    }

    fn read_or_append(&mut self, bias: u8, pool: &mut ObjectPool) -> Option<ObjectRequest> {
        let reads = self.is_first(bias);
        let place = self.place(pool)?;
        if !reads {
            return append(pool, place, &mut self.random);
        }
        let object = pool.at(place);
        Some(ObjectRequest { op: Op::Get, number: object.number, length_bytes: object.bytes })
    }

    fn create_or_delete(&mut self, bias: u8, pool: &mut ObjectPool) -> Option<ObjectRequest> {
        if self.is_first(bias) {
            return pool.make_more();
        }
        let place = self.place(pool)?;
        Some(pool.delete(place))
    }

    fn is_first(&mut self, bias: u8) -> bool {
        below(&mut self.random, u64::from(BIAS_MAX)) < u64::from(bias)
    }

    /// The place of an object that is there, drawn uniformly.
    fn place(&mut self, pool: &ObjectPool) -> Option<usize> {
        let count = pool.len() as u64;
        if count == 0 { None } else { usize::try_from(below(&mut self.random, count)).ok() }
    }
}

/// An append of a drawn length to the object in this place; `None` where it is as large as any may be.
pub(super) fn append(
    pool: &mut ObjectPool,
    place: usize,
    random: &mut Xoshiro256PlusPlus,
) -> Option<ObjectRequest> {
    let room = pool.max_bytes().checked_sub(u64::from(pool.at(place).bytes)).filter(|room| *room > 0)?;
    let bytes = saturate_u32(below(random, room) + 1);
    Some(pool.grow(place, bytes))
}
