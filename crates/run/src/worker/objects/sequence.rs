//! What comes next in a load of objects: the next to make, the next to visit, the next half of a transaction.

use super::pool::{LiveObject, ObjectPool};
use super::transactions::{TransactionSequence, append};
use super::{ObjectRequest, transaction_stream};
use crate::assignment::ObjectStep;
use crate::worker::blocks::Permutation;
use crate::worker::random::{RandomPurpose, stream_of};
use narrows_model::Op;
use narrows_model::units::saturate_u32;
use narrows_model::workload::{NameForm, Order};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

/// What decides the next request.
#[derive(Debug)]
pub(super) enum ObjectSequence {
    Make(SinglePass),
    Visit(ObjectVisits),
    Transact(Box<TransactionSequence>),
}

/// Visits so many places once.
#[derive(Debug)]
pub(super) struct SinglePass {
    /// The place that is given next; `None` after the last.
    ahead: Option<u64>,
    /// What is left behind it, before the permutation.
    left: Range<u64>,
    /// `None` is in their order.
    permutation: Option<Permutation>,
    /// Whether the last one comes first.
    is_backwards: bool,
}

impl SinglePass {
    fn new(count: u64, order: Order, random: &mut Xoshiro256PlusPlus) -> Self {
        let permutation = (order == Order::Random).then(|| Permutation::new(count, random));
        Self { ahead: None, left: 0..count, permutation, is_backwards: false }.begun()
    }

    /// The last of so many comes first.
    fn backwards(count: u64) -> Self {
        Self { ahead: None, left: 0..count, permutation: None, is_backwards: true }.begun()
    }

    /// With the first place ahead.
    fn begun(mut self) -> Self {
        self.next();
        self
    }

    fn next(&mut self) -> Option<u64> {
        let permuted = |index| self.permutation.as_ref().map_or(index, |permutation| permutation.at(index));
        let next = if self.is_backwards { self.left.next_back() } else { self.left.next() };
        std::mem::replace(&mut self.ahead, next.map(permuted))
    }
}

/// Visits of what is there.
#[derive(Debug)]
pub(super) struct ObjectVisits {
    op: Op,
    turn: SinglePass,
    is_listed: bool,
    /// Most bytes of an object that a get reads.
    get_bytes_max: u32,
    /// Draws how much is appended.
    random: Xoshiro256PlusPlus,
    /// The places whose objects have been deleted, of a load that deletes.
    gone: Vec<bool>,
    /// The object that has another name now and gets its own back next, of a load that renames.
    renamed: Option<u32>,
}

impl ObjectVisits {
    fn next(&mut self, pool: &mut ObjectPool) -> Option<ObjectRequest> {
        if let Some(number) = self.renamed.take() {
            return Some(ObjectRequest { op: Op::Rename, number, length_bytes: 0 });
        }
        // Bounded: each turn takes a place.
        loop {
            let place = usize::try_from(self.turn.next()?).ok()?;
            if self.is_listed {
                return Some(ObjectRequest::listed(self.op));
            }
            let LiveObject { number, bytes } = pool.at(place);
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
                Op::Rename => self.renamed = Some(number),
                _ => {}
            }
            let length_bytes = if self.op == Op::Get { bytes.min(self.get_bytes_max) } else { 0 };
            return Some(ObjectRequest { op: self.op, number, length_bytes });
        }
    }
}

impl ObjectSequence {
    /// The law of `step` for one worker with what is in `pool`.
    pub(super) fn new(step: &ObjectStep, client_index: u32, worker_index: u32, pool: &ObjectPool) -> Self {
        if let Some(transactions) = step.set.transactions {
            let random = transaction_stream(step, client_index, worker_index);
            let share = super::part_of(transactions.count, worker_index, step.workers);
            return ObjectSequence::Transact(Box::new(TransactionSequence::new(
                transactions,
                share.block_count,
                random,
            )));
        }
        let mut random = stream_of(step.seed, client_index, worker_index, RandomPurpose::Objects);
        if step.op == Op::Put {
            return ObjectSequence::Make(SinglePass::new(pool.own_count(), step.order, &mut random));
        }
        let count = pool.len() as u64;
        let turn = if step.op == Op::Delete && step.set.names == NameForm::MdtestTree {
            // A folder is deleted after those in it, whose numbers are greater.
            SinglePass::backwards(count)
        } else {
            SinglePass::new(count, step.order, &mut random)
        };
        let gone = if step.op == Op::Delete { vec![false; pool.len()] } else { Vec::new() };
        ObjectSequence::Visit(ObjectVisits {
            op: step.op,
            turn,
            is_listed: step.order == Order::Listing,
            get_bytes_max: step.set.get_bytes.map_or(u32::MAX, |bytes| saturate_u32(bytes.0)),
            random,
            gone,
            renamed: None,
        })
    }

    /// The next request, which changes `pool` as if it had been done; `None` after the last.
    pub(super) fn next(&mut self, pool: &mut ObjectPool) -> Option<ObjectRequest> {
        match self {
            ObjectSequence::Make(turn) => Some(pool.make_own(turn.next()?)),
            ObjectSequence::Visit(visit) => visit.next(pool),
            ObjectSequence::Transact(transacting) => transacting.next(pool),
        }
    }

    /// Brings `pool` to what the requests so far have left.
    pub(super) fn settle(self, pool: &mut ObjectPool) {
        let ObjectSequence::Visit(ObjectVisits { op: Op::Delete, turn, is_listed, mut gone, .. }) = self
        else {
            return;
        };
        if is_listed && turn.ahead.is_none() {
            // Which places they were in is not known while some are left; that is refused before it comes here.
            gone.fill(true);
        }
        pool.keep_all_but(&gone);
    }
}
