//! What one load gets more than another, weighed with the errors of both rates.
//!
//! Not here: what a gain means for a segment, which is the rules' to say.

use crate::summary::laws;
use crate::thresholds::GAIN_RATIO;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// The rate of one load over that of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateGain {
    /// How many times the rate.
    pub ratio: f64,
    /// By how much chance alone may raise that: two standard errors of both rates together.
    pub noise_ratio: f64,
}

impl RateGain {
    /// What `to` gets over `from`; `None` where nothing completed.
    pub(crate) fn between(from: &CellSummary, to: &CellSummary) -> Option<Self> {
        let found = ratio(to.rate_bytes_per_s?.0, from.rate_bytes_per_s?.0)?;
        let noise_ratio = 2.0 * laws::standard_error(from).hypot(laws::standard_error(to));
        Some(Self { ratio: found, noise_ratio })
    }

    /// Whether it is a tenth or more, and more than chance explains.
    pub(crate) fn is_real(self) -> bool {
        self.ratio >= GAIN_RATIO && self.ratio > 1.0 + self.noise_ratio
    }

    /// Whether it is under a tenth.
    pub(crate) fn is_none(self) -> bool {
        self.ratio < GAIN_RATIO
    }
}

#[cfg(test)]
mod tests {
    use super::RateGain;
    use crate::testing::builtin;
    use narrows_model::summary::{CellSummary, Elapsed};
    use narrows_model::{BytesPerSec, OpsPerSec};

    /// A cell of one second in which this many requests of 256 KiB completed with `depth` in flight, too short for an
    /// interval or rounds.
    fn short(depth: u64, ops: f64) -> CellSummary {
        let mut cell = builtin("local-ssd").cells.remove(0);
        (cell.in_flight.configured, cell.in_flight.measured) = (depth, Some(depth as f64));
        cell.elapsed_s = Elapsed { first_done: 1.0, last_done: 1.0 };
        cell.ops_per_s = Some(OpsPerSec(ops));
        cell.rate_bytes_per_s = Some(BytesPerSec(ops * 262_144.0));
        (cell.interval, cell.steadiness) = (None, None);
        cell.trials.truncate(1);
        cell
    }

    #[test]
    fn twenty_seven_operations_of_sixteen_in_flight_are_no_gain_of_a_fifth() {
        // Of two turns of the queue in the window, chance decides about one: 21 % are well within that.
        let gain = RateGain::between(&short(8, 22.3), &short(16, 27.0)).unwrap();
        assert!((gain.ratio - 1.21).abs() < 0.005);
        let known = (16.0_f64 / 27.0).hypot(8.0 / 22.3);
        assert!((gain.noise_ratio - known).abs() < 1e-12, "{gain:?}");
        assert!(!gain.is_real() && !gain.is_none());
    }

    #[test]
    fn the_same_fifth_of_many_operations_is_a_gain() {
        let gain = RateGain::between(&short(8, 2_230.0), &short(16, 2_700.0)).unwrap();
        assert!(gain.noise_ratio < 0.01 && gain.is_real());
    }

    #[test]
    fn a_gain_is_real_from_where_it_passes_its_noise_and_a_tenth() {
        // One in flight: 1/ops each, so sqrt(2)/10 of two cells of ten operations.
        let noise = 2.0_f64.sqrt() / 10.0;
        let of = |ratio: f64| RateGain { ratio, noise_ratio: noise };
        assert!(!of(1.0 + noise).is_real() && of(1.0 + noise + 1e-9).is_real());
        let found = RateGain::between(&short(1, 10.0), &short(1, 10.0)).unwrap();
        assert!((found.noise_ratio - noise).abs() < 1e-12);
        let quiet = |ratio: f64| RateGain { ratio, noise_ratio: 0.001 };
        assert!(quiet(1.10).is_real() && !quiet(1.0999).is_real() && quiet(1.0999).is_none());
    }

    #[test]
    fn rounds_that_range_widely_hide_a_gain() {
        let mut deep = short(16, 2_700.0);
        let flat = short(8, 2_230.0);
        let mut steadiness = |range_ratio: f64| {
            let found = narrows_model::summary::Steadiness {
                round_count: 5,
                of_trials: false,
                range_ratio,
                drift_ratio: 0.0,
            };
            deep.steadiness = Some(found);
            RateGain::between(&flat, &deep).unwrap().is_real()
        };
        assert!(steadiness(0.4) && !steadiness(0.5));
    }
}
