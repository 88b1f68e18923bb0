//! How long preparation may take: each object by itself, and all of a trial before its load has to start.

use crate::error::RunError;
use narrows_model::Nanos;

/// Longest preparation of one object that is large enough to be used at all.
pub(super) const PREPARE_NS_MAX: u64 = narrows_model::plan::PREFILL_NS_MAX.0;

/// How much faster than so far the rest of an object may be written: rates of slow paths vary, and rise by less than that.
const FASTER_MAX: f64 = 1.25;

/// The part of the time after which the rate is believed, as one of so many: the first requests are the slowest.
const DECIDED_AFTER: u64 = 4;

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

    /// Fails early where an object cannot be written in time, so that smaller loads get the rest of it. It decides only after a
    /// quarter of the object's time, for the object alone, and allows for a rate a quarter higher than that of `progress`.
    pub(super) fn check_rate(self, now_ns: u64, progress: FillProgress) -> Result<(), RunError> {
        let time_ns = self.give_up_ns.saturating_sub(progress.began_ns);
        if now_ns.saturating_sub(progress.began_ns) < time_ns / DECIDED_AFTER {
            return Ok(());
        }
        let elapsed_ns = now_ns.saturating_sub(self.began_ns);
        let rest_s = progress.rest_bytes as f64 / progress.bytes_per_s;
        if rest_s <= Nanos(self.give_up_ns.saturating_sub(now_ns)).as_secs_f64() * FASTER_MAX {
            return Ok(());
        }
        let takes_ns = Nanos(elapsed_ns).saturating_add(Nanos::from_secs_f64(rest_s));
        Err(RunError::PreparesTooSlowly { takes_ns })
    }
}

/// How far an object is.
#[derive(Debug, Clone, Copy)]
pub(super) struct FillProgress {
    /// When its first byte was sent.
    pub(super) began_ns: u64,
    /// What the load needs and is not on the device yet.
    pub(super) rest_bytes: u64,
    /// The faster of the last step and the mean, with the step that is under way counted as done.
    pub(super) bytes_per_s: f64,
}
