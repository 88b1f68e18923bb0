//! When the requests of an open loop are to start, whatever becomes of them.
//!
//! Hot path: an addition, and for Poisson arrivals a logarithm, a request.

use super::random::{RandomPurpose, stream, unit};
use crate::assignment::Assignment;
use narrows_model::units::round_to_u64;
use narrows_model::workload::Arrivals;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Arrivals of a backlog that are counted one by one; beyond them, their expected number replaces the drawn one,
/// which differs from it by less than a thousandth.
const BACKLOG_DRAWN_MAX: f64 = 2e7;
/// The steps in which such a backlog is reported, evenly spread like the backlog itself: as fine as a histogram's
/// buckets.
const BACKLOG_STEPS: u64 = 1000;

/// The scheduled starts of one worker.
///
/// Workers share the offered load equally. Constant arrivals of several workers interleave evenly; Poisson ones are
/// independent of each other, which makes their sum Poisson again.
#[derive(Debug)]
pub(super) struct Schedule {
    start_ns: u64,
    law: ArrivalLaw,
    due_ns: u64,
}

/// Times are counted from the schedule's start, in nanoseconds.
#[derive(Debug)]
enum ArrivalLaw {
    Constant { first_ns: f64, period_ns: f64, index: u64 },
    Poisson { mean_ns: f64, place_ns: f64, random: Xoshiro256PlusPlus },
}

impl Schedule {
    /// The schedule of worker `worker_index`, from `start_ns` on; `None` in a closed loop.
    pub(super) fn new(assignment: &Assignment, worker_index: u32, start_ns: u64) -> Option<Self> {
        let workload = &assignment.cell.workload;
        let offered = workload.arrivals.offered_ops_per_s()?;
        let workers = workload.workers.max(1);
        let between_ns = 1e9 / offered.max(1e-9);
        let period_ns = between_ns * f64::from(workers) * f64::from(workload.clients.max(1));
        let law = if matches!(workload.arrivals, Arrivals::Constant { .. }) {
            let place = f64::from(assignment.client_index) * f64::from(workers) + f64::from(worker_index);
            ArrivalLaw::Constant { first_ns: place * between_ns, period_ns, index: 0 }
        } else {
            let random = stream(assignment, worker_index, RandomPurpose::Arrivals);
            ArrivalLaw::Poisson { mean_ns: period_ns, place_ns: 0.0, random }
        };
        let mut schedule = Self { start_ns, law, due_ns: 0 };
        schedule.advance();
        Some(schedule)
    }

    /// When the next request is to start.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Continues with the request after the next.
    pub(super) fn advance(&mut self) {
        let place_ns = match &mut self.law {
            ArrivalLaw::Constant { first_ns, period_ns, index } => {
                // A product, so that no error adds up.
                let place_ns = *first_ns + *index as f64 * *period_ns;
                *index += 1;
                place_ns
            }
            ArrivalLaw::Poisson { mean_ns, place_ns, random } => {
                *place_ns -= (1.0 - unit(random)).ln() * *mean_ns;
                *place_ns
            }
        };
        self.due_ns = self.start_ns.saturating_add(round_to_u64(place_ns));
    }

    /// How many requests are due before `until_ns` and have not been started; skips them and reports to `passed` when
    /// how many of them were due.
    pub(super) fn pass_over(&mut self, until_ns: u64, mut passed: impl FnMut(u64, u64)) -> u64 {
        let period_ns = match &self.law {
            ArrivalLaw::Constant { period_ns, .. } => *period_ns,
            ArrivalLaw::Poisson { mean_ns, .. } => *mean_ns,
        };
        let expected = until_ns.saturating_sub(self.due_ns) as f64 / period_ns;
        if expected > BACKLOG_DRAWN_MAX {
            let (from_ns, steps) = (self.due_ns, BACKLOG_STEPS);
            let until = |step: u64| round_to_u64(expected * step as f64 / steps as f64);
            for step in 0..steps {
                // The last of the part has waited for the shortest time.
                let at_ns = from_ns + (until_ns - from_ns) / steps * (step + 1);
                passed(at_ns, until(step + 1) - until(step));
            }
            self.due_ns = until_ns;
            return round_to_u64(expected);
        }
        let mut count = 0;
        while self.due_ns < until_ns {
            count += 1;
            passed(self.due_ns, 1);
            self.advance();
        }
        count
    }
}

#[cfg(test)]
mod tests;
