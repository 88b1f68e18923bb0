//! How long preparation may take: each object by itself, and all of a trial before its load has to start.

use crate::error::RunError;
use narrows_model::Nanos;

/// Longest preparation of one object that is large enough to be used at all.
pub(super) const PREPARE_NS_MAX: u64 = narrows_model::plan::PREFILL_NS_MAX.0;

/// How long the objects of one trial may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PrepareLimit {
    began_ns: u64,
    give_up_ns: u64,
    /// Objects that are still to be made in this time.
    objects_left: u64,
}

impl PrepareLimit {
    /// From `now_ns` until the load has to start. A load that is late already is not so because of its preparation,
    /// and is put on.
    pub(crate) fn starting(now_ns: u64, start_by_ns: u64) -> Self {
        let give_up_ns = if now_ns > start_by_ns { u64::MAX } else { start_by_ns };
        Self { began_ns: now_ns, give_up_ns, objects_left: 1 }
    }

    /// The limit of the first of `count` parts, each with as many objects as this has.
    pub(crate) fn first_of(self, count: usize) -> Self {
        Self { objects_left: self.objects_left.saturating_mul(count.max(1) as u64), ..self }
    }

    /// How long an object that need not be whole is filled from `now_ns` on: all together take half of the time until the
    /// load has to start, for the last step of each, and caches, take some too.
    pub(super) fn fill_ns(self, now_ns: u64) -> u64 {
        let end_ns = self.began_ns + self.give_up_ns.saturating_sub(self.began_ns) / 2;
        PREPARE_NS_MAX.min(end_ns.saturating_sub(now_ns) / self.objects_left)
    }

    pub(super) fn check(self, now_ns: u64) -> Result<(), RunError> {
        if now_ns <= self.give_up_ns {
            return Ok(());
        }
        Err(RunError::PreparedTooLong { took_ns: Nanos(now_ns.saturating_sub(self.began_ns)) })
    }
}
