//! The objects of one worker that are there: their numbers and sizes, in bounded memory.
//!
//! Hot path: making, choosing and deleting take the same time however many there are.

use super::ObjectRequest;
use crate::worker::blocks::WorkerPartition;
use narrows_model::Op;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::ObjectSet;
use narrows_sys::entropy::member_seed;
use narrows_sys::memory::prefetch;

/// Places ahead of which the memory is fetched when objects are made: those of a line of the cache, twice.
const OBJECTS_AHEAD: usize = 16;

/// One object that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LiveObject {
    pub(super) number: u32,
    pub(super) bytes: u32,
}

/// What is there.
#[derive(Debug)]
pub(super) struct ObjectPool {
    live: Vec<LiveObject>,
    /// The worker's own numbers among those of the set.
    part: WorkerPartition,
    count: u64,
    /// The worker among those of its client, and how many these are.
    worker: (u32, u32),
    /// Objects made beyond the set's own.
    more: u64,
    capacity: usize,
    sizes: ObjectSizes,
}

/// How large objects are when they are made: uniform from the least to the most, by their numbers.
#[derive(Debug, Clone, Copy)]
struct ObjectSizes {
    seed: u64,
    min_bytes: u64,
    max_bytes: u64,
}

impl ObjectSizes {
    fn new(set: &ObjectSet, client_index: u32) -> Self {
        Self {
            seed: member_seed(set.seed, u64::from(client_index)),
            min_bytes: set.min_bytes.0,
            max_bytes: set.max_bytes.0,
        }
    }

    fn bytes_of(self, number: u32) -> u32 {
        let sizes = self.max_bytes.saturating_sub(self.min_bytes).saturating_add(1);
        let product = u128::from(member_seed(self.seed, u64::from(number))) * u128::from(sizes);
        saturate_u32(self.min_bytes + u64::try_from(product >> 64).unwrap_or(0))
    }
}

/// Bytes of the object of this number of a client's set when it is made.
pub(crate) fn object_bytes(set: &ObjectSet, client_index: u32, number: u32) -> u32 {
    ObjectSizes::new(set, client_index).bytes_of(number)
}

impl ObjectPool {
    /// Nothing yet, with room for twice the worker's part of the set.
    pub(super) fn new(set: &ObjectSet, client_index: u32, part: WorkerPartition, worker: (u32, u32)) -> Self {
        let capacity = saturate_usize(part.block_count.saturating_mul(2));
        let transacted = set.transactions.is_some();
        Self {
            live: Vec::with_capacity(if transacted { capacity } else { saturate_usize(part.block_count) }),
            part,
            count: set.count,
            worker,
            more: 0,
            capacity,
            sizes: ObjectSizes::new(set, client_index),
        }
    }

    /// The most bytes that any object may have.
    pub(super) fn max_bytes(&self) -> u64 {
        self.sizes.max_bytes
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.live.len()
    }

    /// The object in this place, which is below the number of objects.
    pub(super) fn at(&self, place: usize) -> LiveObject {
        self.live[place]
    }

    /// Has the object in this place fetched, where there is one, for an [`ObjectPool::at`] that comes later.
    pub(super) fn prefetch(&self, place: u64) {
        if let Some(object) = usize::try_from(place).ok().and_then(|place| self.live.get(place)) {
            prefetch(object);
        }
    }

    /// Objects of the set that this worker makes.
    pub(super) fn own_count(&self) -> u64 {
        self.part.block_count
    }

    /// Makes the object of this index among the worker's own of the set.
    pub(super) fn make_own(&mut self, index: u64) -> ObjectRequest {
        self.make(saturate_u32(self.part.first_block + index))
    }

    /// Makes an object beyond those of the set; `None` where as many are there as ever may, or no number is left.
    pub(super) fn make_more(&mut self) -> Option<ObjectRequest> {
        let (index, workers) = self.worker;
        let number = self.more.checked_mul(u64::from(workers))?.checked_add(self.count + u64::from(index))?;
        let number = u32::try_from(number).ok().filter(|number| *number < u32::MAX)?;
        if self.live.len() >= self.capacity {
            return None;
        }
        self.more += 1;
        Some(self.make(number))
    }

    fn make(&mut self, number: u32) -> ObjectRequest {
        let bytes = self.sizes.bytes_of(number);
        self.live.push(LiveObject { number, bytes });
        // What loads the request that has just been stored would wait until this one's place has come from memory.
        if let Some(ahead) = self.live.spare_capacity_mut().get(OBJECTS_AHEAD) {
            prefetch(ahead);
        }
        ObjectRequest { op: Op::Put, number, length_bytes: bytes }
    }

    /// Adds to the object in this place.
    pub(super) fn grow(&mut self, place: usize, bytes: u32) -> ObjectRequest {
        let object = &mut self.live[place];
        object.bytes = object.bytes.saturating_add(bytes);
        ObjectRequest { op: Op::Append, number: object.number, length_bytes: bytes }
    }

    /// Deletes the object in this place; the last one takes it.
    pub(super) fn delete(&mut self, place: usize) -> ObjectRequest {
        let LiveObject { number, .. } = self.live.swap_remove(place);
        ObjectRequest { op: Op::Delete, number, length_bytes: 0 }
    }

    /// Keeps those whose places are not among `gone`, in their order.
    pub(super) fn keep_all_but(&mut self, gone: &[bool]) {
        let mut gone = gone.iter();
        self.live.retain(|_| !gone.next().copied().unwrap_or(false));
    }

    /// Takes back a request that failed: what was to be made is not there, what was to be added neither. What could not
    /// be deleted is not asked for again.
    pub(super) fn undo(&mut self, failed: ObjectRequest) {
        match failed.op {
            Op::Put if self.live.last().is_some_and(|last| last.number == failed.number) => {
                self.live.pop();
            }
            Op::Append => {
                // A failure may cost time, and nothing else is in flight.
                if let Some(object) = self.live.iter_mut().find(|object| object.number == failed.number) {
                    object.bytes = object.bytes.saturating_sub(failed.length_bytes);
                }
            }
            _ => {}
        }
    }
}
