//! Objects of sessions, each with what it is charged: in memory, and the charge of one on disk.

use crate::quota::Reservation;
use narrows_model::units::saturate_usize;
use std::sync::{Mutex, PoisonError, RwLock};

/// Memory of an object is taken in stripes of this size when they are first written, each with a lock of its own.
const STRIPE_BYTES: usize = 1 << 20;

/// Memory of an object besides its bytes, in memory and on disk: its name, its places in tables, its locks.
pub(crate) const OBJECT_BYTES: u64 = 1024;

/// A file takes whole blocks of its file system, and one more for itself.
const FILE_BLOCK_BYTES: u64 = 4096;

/// What is shown of a stripe that was never written.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

type StripeLock = RwLock<Option<Box<[u8]>>>;

/// An object in memory. What was never written reads as zeros and takes no memory.
#[derive(Debug)]
pub(crate) struct MemoryObject {
    length_bytes: u64,
    stripes: Vec<StripeLock>,
    _charged: Reservation,
}

impl MemoryObject {
    /// Most memory that an object of this length takes.
    pub(crate) fn charge_bytes(length_bytes: u64) -> u64 {
        let table = length_bytes.div_ceil(STRIPE_BYTES as u64) * size_of::<StripeLock>() as u64;
        length_bytes.saturating_add(table).saturating_add(OBJECT_BYTES)
    }

    /// An object of `length_bytes` for which its charge was reserved.
    pub(crate) fn new(length_bytes: u64, charged: Reservation) -> Self {
        let count = saturate_usize(length_bytes).div_ceil(STRIPE_BYTES);
        let stripes = (0..count).map(|_| RwLock::new(None)).collect();
        Self { length_bytes, stripes, _charged: charged }
    }

    pub(crate) fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// Fills `into` from `offset_bytes`; the range must be within the object.
    pub(crate) fn read(&self, offset_bytes: u64, into: &mut [u8]) {
        for (stripe, within, part) in parts(offset_bytes, into.len()) {
            let Some(lock) = self.stripes.get(stripe) else { return };
            let guard = lock.read().unwrap_or_else(PoisonError::into_inner);
            match guard.as_ref() {
                Some(bytes) => into[part.clone()].copy_from_slice(&bytes[within..within + part.len()]),
                None => into[part].fill(0),
            }
        }
    }

    /// Passes `look` the front of a range in memory, up to `length` bytes of it and at least one; the range must be
    /// within the object. Writers to that part wait meanwhile, so `look` must not.
    pub(crate) fn with_bytes<R>(&self, offset_bytes: u64, length: usize, look: impl FnOnce(&[u8]) -> R) -> R {
        let Some((stripe, within, part)) = parts(offset_bytes, length).next() else { return look(&[]) };
        let guard = self.stripes.get(stripe).map(|lock| lock.read().unwrap_or_else(PoisonError::into_inner));
        match guard.as_deref() {
            Some(Some(bytes)) => look(&bytes[within..within + part.len()]),
            _ => look(&ZEROS[..part.len().min(ZEROS.len())]),
        }
    }

    /// Stores `from` at `offset_bytes`; the range must be within the object.
    pub(crate) fn write(&self, offset_bytes: u64, from: &[u8]) {
        for (stripe, within, part) in parts(offset_bytes, from.len()) {
            let Some(lock) = self.stripes.get(stripe) else { return };
            let mut guard = lock.write().unwrap_or_else(PoisonError::into_inner);
            let bytes = guard.get_or_insert_with(|| vec![0; self.stripe_bytes(stripe)].into_boxed_slice());
            bytes[within..within + part.len()].copy_from_slice(&from[part]);
        }
    }

    /// The last stripe ends with the object.
    fn stripe_bytes(&self, stripe: usize) -> usize {
        (saturate_usize(self.length_bytes) - stripe * STRIPE_BYTES).min(STRIPE_BYTES)
    }
}

/// The stripes of a range: index, place in the stripe, place in the range.
fn parts(offset_bytes: u64, length: usize) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let start = saturate_usize(offset_bytes);
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = start.saturating_add(done);
        let within = at % STRIPE_BYTES;
        let part = done..length.min(done + STRIPE_BYTES - within);
        done = part.end;
        (!part.is_empty()).then_some((at / STRIPE_BYTES, within, part))
    })
}

/// The charge of an object on disk; it stays while anybody has the file open, removed or not.
#[derive(Debug)]
pub(crate) struct DiskObject {
    charged: Mutex<Reservation>,
    _name: Reservation,
}

impl DiskObject {
    /// Most space that a file of this length takes.
    pub(crate) fn charge_bytes(length_bytes: u64) -> u64 {
        length_bytes.max(1).checked_next_multiple_of(FILE_BLOCK_BYTES).unwrap_or(u64::MAX)
    }

    /// An object whose file is charged `charged` and its name `name`.
    pub(crate) fn new(charged: Reservation, name: Reservation) -> Self {
        Self { charged: Mutex::new(charged), _name: name }
    }

    pub(crate) fn charged_bytes(&self) -> u64 {
        self.charged.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }

    pub(crate) fn grow(&self, by: Reservation) {
        self.charged.lock().unwrap_or_else(PoisonError::into_inner).add(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota::Quota;

    fn object(length_bytes: u64) -> MemoryObject {
        let charge = MemoryObject::charge_bytes(length_bytes);
        MemoryObject::new(length_bytes, Quota::new("memory", charge).reserve(charge).unwrap())
    }

    #[test]
    fn an_object_reads_what_was_written_across_stripes_and_zeros_elsewhere() {
        let object = object(3 * STRIPE_BYTES as u64);
        let written: Vec<u8> = (0..=255).cycle().take(STRIPE_BYTES + 10).collect();
        object.write(STRIPE_BYTES as u64 - 5, &written);
        let mut read = vec![1; written.len() + 10];
        object.read(STRIPE_BYTES as u64 - 10, &mut read);
        assert_eq!(read[..5], [0; 5]);
        assert_eq!(read[5..5 + written.len()], written);
        assert_eq!(read[5 + written.len()..], [0; 5]);
    }

    #[test]
    fn a_range_is_shown_stripe_by_stripe_and_zeros_where_nothing_was_written() {
        let object = object(3 * STRIPE_BYTES as u64);
        object.write(STRIPE_BYTES as u64 - 2, &[1, 2, 3]);
        let shown = |offset: usize, length| object.with_bytes(offset as u64, length, <[u8]>::to_vec);
        assert_eq!(shown(STRIPE_BYTES - 2, 10), [1, 2]);
        assert_eq!(shown(STRIPE_BYTES, 3), [3, 0, 0]);
        let unwritten = shown(2 * STRIPE_BYTES, STRIPE_BYTES);
        assert!(!unwritten.is_empty() && unwritten.iter().all(|byte| *byte == 0));
        assert_eq!(shown(2 * STRIPE_BYTES, 7), [0; 7]);
        assert!(shown(0, 0).is_empty());
    }

    #[test]
    fn an_object_takes_no_more_memory_than_it_is_charged() {
        for length in [1, 4096, STRIPE_BYTES as u64 - 1, STRIPE_BYTES as u64 + 1, 5 * STRIPE_BYTES as u64] {
            let object = object(length);
            for at in 0..length.div_ceil(4096) {
                object.write(at * 4096, &[1]);
            }
            let stripes = object.stripes.iter().map(|stripe| {
                stripe.read().unwrap().as_ref().map_or(0, |bytes| bytes.len()) + size_of::<StripeLock>()
            });
            let taken: usize = stripes.sum::<usize>() + size_of::<MemoryObject>();
            let charge = MemoryObject::charge_bytes(length);
            assert!(taken as u64 <= charge && charge <= length + length / 1000 + 2048, "{length}: {taken}");
        }
        assert_eq!(MemoryObject::charge_bytes(u64::MAX), u64::MAX);
        assert_eq!((DiskObject::charge_bytes(0), DiskObject::charge_bytes(4097)), (4096, 8192));
    }
}
