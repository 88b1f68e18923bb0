//! Limits on bytes that several sessions share, and what was reserved of them.
//!
//! What is reserved belongs to a value that lives as long as the bytes do, so that no message of a client gives
//! back what is still held.

use crate::channel::refused;
use narrows_wire::{Error, Refusal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A limit on bytes that several sessions share.
#[derive(Debug)]
pub(crate) struct Quota {
    name: &'static str,
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl Quota {
    pub(crate) fn new(name: &'static str, limit_bytes: u64) -> Arc<Self> {
        Arc::new(Self { name, limit_bytes, used_bytes: AtomicU64::new(0) })
    }

    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Result<Reservation, Error> {
        let grow = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.limit_bytes);
        match self.used_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, grow) {
            Ok(_) => Ok(Reservation { quota: Arc::clone(self), bytes }),
            Err(used) => Err(refused(
                Refusal::NoSpace,
                format!(
                    "{bytes} bytes were asked for; the server's {} holds {used} of {} bytes; ask for less, or raise its limit",
                    self.name, self.limit_bytes
                ),
            )),
        }
    }
}

/// Bytes of a quota; they are free again when this value goes.
#[derive(Debug)]
pub(crate) struct Reservation {
    quota: Arc<Quota>,
    bytes: u64,
}

impl Reservation {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Parts with up to `bytes` of it.
    pub(crate) fn take(&mut self, bytes: u64) -> Self {
        let taken = bytes.min(self.bytes);
        self.bytes -= taken;
        Self { quota: Arc::clone(&self.quota), bytes: taken }
    }

    /// Adds another reservation of the same quota.
    pub(crate) fn add(&mut self, mut other: Self) {
        debug_assert!(Arc::ptr_eq(&self.quota, &other.quota), "reservations of two quotas");
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.quota.used_bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_gives_back_what_went_and_never_more_than_it_has() {
        let quota = Quota::new("memory", 100);
        let held = quota.reserve(60).unwrap();
        let message = quota.reserve(41).unwrap_err().to_string();
        assert!(message.contains("41 bytes") && message.contains("60 of 100"), "{message}");
        assert!(quota.reserve(u64::MAX).is_err());
        drop(held);
        quota.reserve(100).unwrap();
    }

    #[test]
    fn a_reservation_in_parts_is_as_much_as_the_whole() {
        let quota = Quota::new("memory", 100);
        let mut whole = quota.reserve(100).unwrap();
        let mut part = whole.take(30);
        part.add(whole.take(20));
        assert_eq!((whole.bytes(), part.bytes(), whole.take(1000).bytes()), (50, 50, 50));
        drop(whole);
        assert!(quota.reserve(51).is_err());
        drop(part);
        quota.reserve(100).unwrap();
    }
}
