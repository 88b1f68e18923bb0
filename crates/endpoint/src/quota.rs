//! Limits on bytes and open files that several sessions share, and what was reserved of them.
//!
//! A reservation belongs to a value that lives as long as the bytes do, so that no message of a client releases what is
//! still in use.

use narrows_wire::{Error, ErrorKind, Refusal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a quota counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotaUnit {
    /// Bytes.
    Bytes,
    /// Descriptors of this process.
    OpenFiles,
}

impl QuotaUnit {
    fn name(self) -> &'static str {
        match self {
            QuotaUnit::Bytes => "bytes",
            QuotaUnit::OpenFiles => "open files",
        }
    }

    /// What to do where there are too few.
    fn hint(self) -> &'static str {
        match self {
            QuotaUnit::Bytes => "ask for less, or raise its limit",
            QuotaUnit::OpenFiles => {
                "open fewer objects or connections, or raise ulimit -n where the server starts"
            }
        }
    }
}

/// A limit that several sessions share.
#[derive(Debug)]
pub(crate) struct Quota {
    unit: QuotaUnit,
    name: &'static str,
    limit: u64,
    used: AtomicU64,
}

impl Quota {
    pub(crate) fn new(name: &'static str, limit_bytes: u64) -> Arc<Self> {
        Self::counting(QuotaUnit::Bytes, name, limit_bytes)
    }

    /// A limit on `unit`.
    pub(crate) fn counting(unit: QuotaUnit, name: &'static str, limit: u64) -> Arc<Self> {
        Arc::new(Self { unit, name, limit, used: AtomicU64::new(0) })
    }

    /// Its maximum.
    #[cfg(test)]
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn reserve(self: &Arc<Self>, amount: u64) -> Result<Reservation, Error> {
        let grow = |used: u64| used.checked_add(amount).filter(|sum| *sum <= self.limit);
        match self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, grow) {
            Ok(_) => Ok(Reservation { quota: Arc::clone(self), amount }),
            Err(used) => Err(Error::new(
                ErrorKind::Refused(Refusal::NoSpace),
                format!(
                    "{amount} {unit} were asked for; {used} of the {} {unit} of the {} are in use; {}",
                    self.limit,
                    self.name,
                    self.unit.hint(),
                    unit = self.unit.name()
                ),
            )),
        }
    }
}

/// A part of a quota; it is freed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    quota: Arc<Quota>,
    amount: u64,
}

impl Reservation {
    /// How many bytes it is.
    pub(crate) fn bytes(&self) -> u64 {
        self.amount
    }

    /// Parts with up to `bytes` of it.
    pub(crate) fn take(&mut self, bytes: u64) -> Self {
        let taken = bytes.min(self.amount);
        self.amount -= taken;
        Self { quota: Arc::clone(&self.quota), amount: taken }
    }

    /// Adds another reservation of the same quota.
    pub(crate) fn add(&mut self, mut other: Self) {
        debug_assert!(Arc::ptr_eq(&self.quota, &other.quota), "reservations of two quotas");
        self.amount += std::mem::take(&mut other.amount);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.quota.used.fetch_sub(self.amount, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_gives_back_what_went_and_never_more_than_it_has() {
        let quota = Quota::new("memory", 100);
        let reservation = quota.reserve(60).unwrap();
        let message = quota.reserve(41).unwrap_err().to_string();
        assert!(message.contains("41 bytes") && message.contains("60 of the 100"), "{message}");
        assert!(quota.reserve(u64::MAX).is_err());
        drop(reservation);
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
