//! The rate of a simulated path: its completions in batches of one length, after a warm-up.
//!
//! Hot path: a completion is counted without allocation, but for 20 batches in all.

use super::SimulationPlan;
use crate::error::StatsError;
use crate::moments::Moments;

/// Batches of completions that are measured.
const BATCH_COUNT: u64 = 20;
/// Requests in flight for each completion of a batch: all batches together measure each request 2.5 times.
const BATCH_SHARE: u64 = 8;
/// Completions that are left out, beyond one of each request.
const WARM_UP_COUNT: u64 = 10_000;

/// Completions since the measurement began, in batches of one length.
#[derive(Debug)]
pub(super) struct Batches {
    warm_up_left: u64,
    batch_len: u64,
    left: u64,
    start_s: f64,
    lengths_s: Vec<f64>,
}

impl Batches {
    /// None yet, of so many requests in flight.
    pub(super) fn new(in_flight: usize, plan: SimulationPlan) -> Self {
        let in_flight = in_flight as u64;
        let batch_len = plan.completions_min.div_ceil(BATCH_COUNT).max(in_flight.div_ceil(BATCH_SHARE));
        Self {
            warm_up_left: in_flight + WARM_UP_COUNT,
            batch_len,
            left: batch_len,
            start_s: 0.0,
            lengths_s: Vec::new(),
        }
    }

    /// Counts a completion at `now_s`.
    pub(super) fn count(&mut self, now_s: f64) {
        if self.warm_up_left > 0 {
            self.warm_up_left -= 1;
            self.start_s = now_s;
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            self.lengths_s.push(now_s - self.start_s);
            (self.left, self.start_s) = (self.batch_len, now_s);
        }
    }

    /// Whether enough is measured.
    pub(super) fn is_complete(&self) -> bool {
        self.lengths_s.len() as u64 >= BATCH_COUNT
    }

    /// Completions a second, and the standard error of that over it.
    ///
    /// # Errors
    /// [`StatsError::Degenerate`] where completions take no time, or no finite one.
    pub(super) fn rate(&self) -> Result<(f64, f64), StatsError> {
        let no_time = StatsError::Degenerate { reason: "requests are done in no time, or in no finite one" };
        let moments = Moments::from_values(&self.lengths_s).ok_or(no_time)?;
        let (mean_s, deviation_s) = (moments.mean(), moments.standard_deviation().ok_or(no_time)?);
        if !(mean_s > 0.0 && mean_s.is_finite()) {
            return Err(no_time);
        }
        Ok((self.batch_len as f64 / mean_s, deviation_s / mean_s / (moments.count() as f64).sqrt()))
    }
}
