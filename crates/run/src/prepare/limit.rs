//! How long preparation may take: each object by itself, and all of a trial before its load has to start.

use crate::error::RunError;
use narrows_model::Nanos;

/// Longest preparation of one object that is large enough to be used at all.
pub(super) const PREPARE_NS_MAX: u64 = narrows_model::plan::PREFILL_NS_MAX.0;

/// How much faster than its last step the rest of an object may be written.
const FASTER_MAX: f64 = 1.25;

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
        Err(RunError::PreparedTooLong { takes_ns: Nanos(now_ns.saturating_sub(self.began_ns)) })
    }

    /// Fails where it is plain after a quarter of the time that the objects will not be done in it, which leaves the rest to
    /// smaller loads. Of each the load needs `needed_bytes`, and the first `done_bytes` of this one are on the device; it fails
    /// where even a quarter more than `bytes_per_s` is too slow.
    pub(super) fn check_rate(
        self,
        now_ns: u64,
        bytes_per_s: f64,
        done_bytes: u64,
        needed_bytes: u64,
    ) -> Result<(), RunError> {
        let elapsed_ns = now_ns.saturating_sub(self.began_ns);
        let rest_bytes = needed_bytes.saturating_mul(self.objects_left).saturating_sub(done_bytes);
        if elapsed_ns < self.give_up_ns.saturating_sub(self.began_ns) / 4 || done_bytes >= needed_bytes {
            return Ok(());
        }
        let rest_s = rest_bytes as f64 / bytes_per_s;
        if rest_s <= Nanos(self.give_up_ns.saturating_sub(now_ns)).as_secs_f64() * FASTER_MAX {
            return Ok(());
        }
        Err(RunError::PreparedTooLong {
            takes_ns: Nanos(elapsed_ns).saturating_add(Nanos::from_secs_f64(rest_s)),
        })
    }
}
