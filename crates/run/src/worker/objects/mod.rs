//! Which object each request of a load of objects is about: those to make, those that are there, those of transactions.
//!
//! What is there at the start is known from what earlier trials of the run have done, which is gone through again without
//! a request: all of it follows from seeds. Hot path: no allocation but while transactions add to what was ever there at
//! once, for which there is room from the start.

use super::blocks::WorkerPartition;
use super::random::{RandomPurpose, stream_of};
use super::state::WorkerState;
use crate::assignment::{Assignment, ObjectStep};
use narrows_engines::request::OBJECT_LISTED;
use narrows_engines::{Clock, IoRequest, Slot};
use narrows_model::Op;
use narrows_model::workload::{ObjectDraws, ObjectSet};
use pool::ObjectPool;
use postmark::PostmarkDraws;
use sequence::ObjectSequence;

pub(crate) use pool::object_bytes;

mod mersenne;
mod one_by_one;
mod pool;
mod postmark;
mod sequence;
#[cfg(test)]
mod tests;
mod transactions;

/// A request about one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectRequest {
    pub(super) op: Op,
    /// The object's number, or [`OBJECT_LISTED`].
    pub(super) number: u32,
    pub(super) length_bytes: u32,
}

impl ObjectRequest {
    fn listed(op: Op) -> Self {
        Self { op, number: OBJECT_LISTED, length_bytes: 0 }
    }
}

/// The objects of one worker, and what it does to them.
#[derive(Debug)]
pub(super) struct ObjectLoad {
    choices: ObjectChoices,
    /// What kinds of requests there are, in the order in which they are counted.
    ops: Vec<Op>,
    /// The request that is in flight, or was last.
    last: Option<ObjectRequest>,
}

/// What is there, and what decides the next request.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one for each worker, made once and never moved")]
enum ObjectChoices {
    Own { pool: ObjectPool, law: ObjectSequence },
    Postmark(Box<PostmarkDraws>),
}

impl ObjectChoices {
    /// Those of a worker with `part` of the set, where earlier trials have left them.
    fn own(assignment: &Assignment, set: &ObjectSet, worker_index: u32) -> Self {
        let workers = assignment.cell.workload.workers.max(1);
        let part = part_of(set.count, worker_index, workers);
        // What decides sizes and orders belongs to the objects, whichever client visits them.
        let owner = assignment.object_owner();
        let mut pool = ObjectPool::new(set, owner, part, (worker_index, workers));
        for step in &assignment.object_steps {
            let mut law = ObjectSequence::new(step, owner, worker_index, &pool);
            for _ in 0..step.done_by(worker_index) {
                if law.next(&mut pool).is_none() {
                    break;
                }
            }
            law.settle(&mut pool);
        }
        let own = ObjectStep::from_assignment(assignment);
        Self::Own { law: ObjectSequence::new(&own, owner, worker_index, &pool), pool }
    }

    /// The same by PostMark's draws.
    fn postmark(assignment: &Assignment, set: &ObjectSet, worker_index: u32) -> Self {
        let mut draws = Box::new(PostmarkDraws::new(set, assignment.object_owner()));
        for step in &assignment.object_steps {
            draws.begin(step);
            for _ in 0..step.done_by(worker_index) {
                if draws.next().is_none() {
                    break;
                }
            }
        }
        draws.begin(&ObjectStep::from_assignment(assignment));
        Self::Postmark(draws)
    }
}

impl ObjectLoad {
    /// Those of worker `worker_index`; `None` where the load is not of objects.
    pub(super) fn new(assignment: &Assignment, worker_index: u32) -> Option<Self> {
        let set = assignment.cell.workload.objects?;
        let choices = match set.draws {
            ObjectDraws::Own => ObjectChoices::own(assignment, &set, worker_index),
            ObjectDraws::Postmark => ObjectChoices::postmark(assignment, &set, worker_index),
        };
        let ops = assignment.cell.workload.ops().iter().map(|share| share.op).collect();
        Some(Self { choices, ops, last: None })
    }

    /// The next request; `None` when each object was visited or all transactions are done.
    fn next(&mut self) -> Option<ObjectRequest> {
        self.last = match &mut self.choices {
            ObjectChoices::Own { pool, law } => law.next(pool),
            ObjectChoices::Postmark(draws) => draws.next(),
        };
        self.last
    }

    /// The place of an operation among the kinds.
    fn kind_of(&self, op: Op) -> u32 {
        (0..).zip(&self.ops).find(|(_, known)| **known == op).map_or(0, |(index, _)| index)
    }

    /// Bytes that the last request moves when all succeeds; `None` where that is not known.
    pub(super) fn expected_bytes(&self) -> Option<u32> {
        self.last.and_then(|last| expected_bytes(last.op, last.length_bytes))
    }

    /// Takes back what the last request has not done.
    #[cold]
    pub(super) fn failed(&mut self) {
        if let Some(last) = self.last.take() {
            match &mut self.choices {
                ObjectChoices::Own { pool, .. } => pool.undo(last),
                ObjectChoices::Postmark(draws) => draws.undo(last),
            }
        }
    }
}

impl<C: Clock + ?Sized> super::Worker<'_, C> {
    /// Draws the next request, for the free place of this tag; `None` when nothing is left to ask for, which is noted.
    #[inline]
    fn draw_request(&mut self, flight: &mut WorkerState, tag: u32) -> Option<IoRequest> {
        let objects = flight.objects.as_mut().filter(|_| flight.left.take(0));
        let Some(ObjectRequest { op, number, length_bytes }) = objects.and_then(|objects| objects.next())
        else {
            (flight.exhausted, flight.ending) = (true, true);
            return None;
        };
        let request = IoRequest { tag, op, object: number, offset_bytes: 0, length_bytes, slot: Slot(tag) };
        if op.moves_towards_device() && length_bytes > 0 {
            // The stamp distinguishes objects, and their numbers even those that are made together.
            self.stamp(&IoRequest { offset_bytes: u64::from(number), ..request }, flight.stamp);
        }
        Some(request)
    }
}

impl WorkerState {
    /// Takes the place that is free for `request`, which is about an object.
    fn occupy(&mut self, request: &IoRequest) {
        let tag = self.free.pop();
        debug_assert_eq!(tag, Some(request.tag), "the request was made for the last free place");
        let kind = self.objects.as_ref().map_or(0, |objects| objects.kind_of(request.op));
        self.places[request.tag as usize].kind = kind;
    }
}

/// Bytes that a request for an object moves when all succeeds; `None` where that is not known.
#[inline]
fn expected_bytes(op: Op, length_bytes: u32) -> Option<u32> {
    (op != Op::Stat).then_some(length_bytes)
}

/// The part of worker `worker_index` of `workers`; nothing where there are fewer objects than workers before it.
fn part_of(count: u64, worker_index: u32, workers: u32) -> WorkerPartition {
    let (index, workers) = (u64::from(worker_index), u64::from(workers.max(1)));
    if index >= count {
        return WorkerPartition { first_block: count, block_count: 0 };
    }
    WorkerPartition::for_worker(count, index, workers)
}

/// The choices of one worker in transactions: from the set's own seed, so that a seed repeats them in any cell.
fn transaction_stream(
    step: &ObjectStep,
    client_index: u32,
    worker_index: u32,
) -> rand_xoshiro::Xoshiro256PlusPlus {
    stream_of(step.set.seed, client_index, worker_index, RandomPurpose::Objects)
}
