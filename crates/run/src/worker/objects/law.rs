//! What comes next in a load of objects: the next to make, the next to visit, the next half of a transaction.

use super::pool::{Object, Pool};
use super::transactions::Transacting;
use super::{Draw, transaction_stream};
use crate::assignment::ObjectStep;
use crate::worker::blocks::Permutation;
use crate::worker::random::{Purpose, below, stream_of};
use narrows_model::Op;
use narrows_model::units::saturate_u32;
use narrows_model::workload::Order;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

/// What decides the next request.
#[derive(Debug)]
pub(super) enum Law {
    Make(Turn),
    Visit(Visit),
    Transact(Box<Transacting>),
}

/// Goes once over so many places.
#[derive(Debug)]
pub(super) struct Turn {
    /// The place that is given next; `None` after the last.
    ahead: Option<u64>,
    /// What is left behind it, before the permutation.
    left: Range<u64>,
    /// `None` is in their order.
    permutation: Option<Permutation>,
}

impl Turn {
    fn new(count: u64, order: Order, random: &mut Xoshiro256PlusPlus) -> Self {
        let permutation = (order == Order::Random).then(|| Permutation::new(count, random));
        let mut turn = Self { ahead: None, left: 0..count, permutation };
        turn.next();
        turn
    }

    fn next(&mut self) -> Option<u64> {
        let permuted = |index| self.permutation.as_ref().map_or(index, |permutation| permutation.at(index));
        std::mem::replace(&mut self.ahead, self.left.next().map(permuted))
    }
}

/// Visits of what is there.
#[derive(Debug)]
pub(super) struct Visit {
    op: Op,
    turn: Turn,
    is_listed: bool,
    /// Draws how much is appended.
    random: Xoshiro256PlusPlus,
    /// The places whose objects have been deleted, of a load that deletes.
    gone: Vec<bool>,
}

impl Visit {
    fn next(&mut self, pool: &mut Pool) -> Option<Draw> {
        // Bounded: each turn takes a place.
        loop {
            let place = usize::try_from(self.turn.next()?).ok()?;
            if self.is_listed {
                return Some(Draw::listed(self.op));
            }
            let Object { number, bytes } = pool.at(place);
            // A random place of many is in no cache; the operation that comes first gives time to fetch it.
            if let Some(ahead) = self.turn.ahead {
                pool.prefetch(ahead);
            }
            match self.op {
                Op::Append => match append(pool, place, &mut self.random) {
                    Some(draw) => return Some(draw),
                    None => continue,
                },
                Op::Delete => self.gone[place] = true,
                _ => {}
            }
            let length_bytes = if self.op == Op::Get { bytes } else { 0 };
            return Some(Draw { op: self.op, number, length_bytes });
        }
    }
}

/// An append of a drawn length to the object in this place; `None` where it is as large as any may be.
pub(super) fn append(pool: &mut Pool, place: usize, random: &mut Xoshiro256PlusPlus) -> Option<Draw> {
    let room = pool.max_bytes().checked_sub(u64::from(pool.at(place).bytes)).filter(|room| *room > 0)?;
    let bytes = saturate_u32(below(random, room) + 1);
    Some(pool.grow(place, bytes))
}

impl Law {
    /// The law of `step` for one worker with what is in `pool`.
    pub(super) fn new(step: &ObjectStep, client_index: u32, worker_index: u32, pool: &Pool) -> Self {
        if let Some(transactions) = step.set.transactions {
            let random = transaction_stream(step, client_index, worker_index);
            let share = super::part_of(transactions.count, worker_index, step.workers);
            return Law::Transact(Box::new(Transacting::new(transactions, share.block_count, random)));
        }
        let mut random = stream_of(step.seed, client_index, worker_index, Purpose::Objects);
        if step.op == Op::Put {
            return Law::Make(Turn::new(pool.own_count(), step.order, &mut random));
        }
        let turn = Turn::new(pool.len() as u64, step.order, &mut random);
        let gone = if step.op == Op::Delete { vec![false; pool.len()] } else { Vec::new() };
        Law::Visit(Visit { op: step.op, turn, is_listed: step.order == Order::Listing, random, gone })
    }

    /// The next request, which changes `pool` as if it had been done; `None` after the last.
    pub(super) fn next(&mut self, pool: &mut Pool) -> Option<Draw> {
        match self {
            Law::Make(turn) => Some(pool.make_own(turn.next()?)),
            Law::Visit(visit) => visit.next(pool),
            Law::Transact(transacting) => transacting.next(pool),
        }
    }

    /// Brings `pool` to what the requests so far have left.
    pub(super) fn settle(self, pool: &mut Pool) {
        let Law::Visit(Visit { op: Op::Delete, turn, is_listed, mut gone, .. }) = self else { return };
        if is_listed && turn.ahead.is_none() {
            // Which places they were in is not known while some are left; that is refused before it comes here.
            gone.fill(true);
        }
        pool.keep_all_but(&gone);
    }
}
