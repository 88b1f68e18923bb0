//! The bounds of one trial: how many requests it submits, how many are enough, how long its intervals are.

use narrows_model::{Cell, Nanos};

/// Requests after which a trial has seen enough: rates are then within 1 % for any spread up to 1.
const REQUESTS_MAX: u64 = 20_000;
/// Requests per slot that a trial completes at the least before that bound ends it.
const ROUNDS_MIN: u64 = 20;
/// Requests per slot that a warm-up completes at the least before that bound ends it.
const WARM_UP_ROUNDS_MIN: u64 = 2;
/// Most interval samples of one trial, each with a histogram; intervals grow where there would be more.
const SAMPLES_MAX: u64 = 1_024;

/// The bounds of one trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialLimits {
    /// Requests that may be submitted in all.
    pub(crate) allowed_count: u64,
    /// Requests after which the warm-up ends before its time.
    pub(crate) warm_up_count: u64,
    /// Requests after which the window ends before its time.
    pub(crate) enough_count: u64,
    /// Length of an interval.
    pub(crate) interval_ns: u64,
}

impl TrialLimits {
    /// The bounds of a trial of `cell` in a plan of these intervals.
    pub(crate) fn for_cell(cell: &Cell, interval_ns: Nanos) -> Self {
        let in_flight = cell.workload.in_flight_configured();
        let by_bytes = cell.stop.bytes_max.and_then(|most| most.0.checked_div(cell.workload.block_bytes.0));
        let allowed_count = by_bytes.unwrap_or(u64::MAX).min(cell.stop.ops_max.unwrap_or(u64::MAX));
        let warm_up_count = in_flight.saturating_mul(WARM_UP_ROUNDS_MIN).max(REQUESTS_MAX / 10);
        let workers = u64::from(cell.workload.clients) * u64::from(cell.workload.workers);
        let trial_ns = cell.stop.warm_up_ns.saturating_add(cell.stop.measure_ns).0;
        Self {
            allowed_count,
            // The warm-up counts as load, yet must leave most of what is allowed to the window.
            warm_up_count: warm_up_count.min(allowed_count / 10),
            enough_count: in_flight.saturating_mul(ROUNDS_MIN).max(REQUESTS_MAX),
            interval_ns: interval_ns.0.max(trial_ns / (SAMPLES_MAX / workers.clamp(1, SAMPLES_MAX))).max(1),
        }
    }
}
