//! Limits a worker's rate to a cap.
//!
//! Hot path: two additions an operation.

/// When the next operation may start under a cap in units (bytes or operations) per second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    ns_per_unit: f64,
    due_ns: f64,
}

/// A pause of the worker may be caught up by at most this much, so that a stall is not followed by a burst.
const CATCH_UP_NS: f64 = 10e6;

impl Pace {
    /// A pace of `units_per_s` from `now_ns` on, whose first operation starts when the cap has let `units_before` pass.
    pub(crate) fn new(units_per_s: f64, now_ns: u64, units_before: f64) -> Self {
        let ns_per_unit = 1e9 / units_per_s.max(1e-3);
        Self { ns_per_unit, due_ns: now_ns as f64 + units_before * ns_per_unit }
    }

    /// When the next operation may start; not after `now_ns` means at once.
    pub(crate) fn due_ns(&self) -> u64 {
        narrows_model::units::round_to_u64(self.due_ns)
    }

    /// Counts an operation of `units` started at `now_ns`.
    pub(crate) fn started(&mut self, units: u64, now_ns: u64) {
        self.due_ns = self.due_ns.max(now_ns as f64 - CATCH_UP_NS) + units as f64 * self.ns_per_unit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_bytes_a_second_are_a_byte_every_millisecond() {
        let mut pace = Pace::new(1000.0, 0, 0.0);
        pace.started(5, 0);
        assert_eq!(pace.due_ns(), 5_000_000);
    }

    #[test]
    fn the_first_operation_waits_until_the_cap_allows_it() {
        assert_eq!(Pace::new(1000.0, 1_000_000, 5.0).due_ns(), 6_000_000);
    }

    #[test]
    fn a_long_pause_is_not_caught_up_in_a_burst() {
        let mut pace = Pace::new(1000.0, 0, 0.0);
        pace.started(1, 60_000_000_000);
        assert_eq!(pace.due_ns(), 60_000_000_000 - 10_000_000 + 1_000_000);
    }
}
