//! The rate of the running cell over the last half second, from what its workers report.

use narrows_model::trial::IntervalSample;
use narrows_model::{Bytes, BytesPerSec, CellId, Nanos, OpsPerSec};
use narrows_report::text::live::RATE_OVER_NS;
use narrows_report::text::progress::LiveRate;

/// Sums up intervals of all workers of one trial.
#[derive(Debug, Default)]
pub(super) struct RateMeter {
    trial: Option<(CellId, u32)>,
    from_ns: Nanos,
    to_ns: Nanos,
    op_count: u64,
    bytes: u64,
}

impl RateMeter {
    /// Adds what a worker did; the rate of the time before where that was long enough.
    pub(super) fn add(&mut self, sample: &IntervalSample) -> Option<LiveRate> {
        if self.trial.as_ref().is_none_or(|(cell, trial)| (cell, *trial) != (&sample.cell, sample.trial)) {
            *self = Self {
                trial: Some((sample.cell.clone(), sample.trial)),
                from_ns: sample.start_ns,
                to_ns: sample.end_ns,
                ..Self::default()
            };
        }
        // Workers report the same interval one after the other: it is over once one reports the next.
        let is_over = sample.start_ns >= self.from_ns.saturating_add(RATE_OVER_NS);
        let rate = is_over.then(|| self.take()).flatten();
        self.op_count = self.op_count.saturating_add(sample.op_count);
        self.bytes = self.bytes.saturating_add(sample.bytes.0);
        self.to_ns = self.to_ns.max(sample.end_ns);
        rate
    }

    /// The rate of what was added, and a new beginning after it.
    fn take(&mut self) -> Option<LiveRate> {
        let over = self.to_ns.saturating_sub(self.from_ns);
        let rate = LiveRate {
            bytes_per_s: BytesPerSec::over(Bytes(self.bytes), over)?,
            ops_per_s: OpsPerSec::over(self.op_count, over)?,
        };
        (self.from_ns, self.op_count, self.bytes) = (self.to_ns, 0, 0);
        Some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Histogram;

    fn sample(worker_index: u32, number: u64, bytes: u64) -> IntervalSample {
        IntervalSample {
            cell: CellId("path".to_owned()),
            trial: 0,
            measured: true,
            client_index: 0,
            worker_index,
            start_ns: Nanos::from_millis(1000 + number * 100),
            end_ns: Nanos::from_millis(1100 + number * 100),
            op_count: bytes / 10,
            bytes: Bytes(bytes),
            error_count: 0,
            response: Histogram::new(),
        }
    }

    #[test]
    fn the_rate_of_half_a_second_is_that_of_all_workers() {
        let mut meter = RateMeter::default();
        let mut rates = Vec::new();
        for number in 0..11 {
            for worker in 0..2 {
                rates.extend(meter.add(&sample(worker, number, if number < 5 { 1000 } else { 3000 })));
            }
        }
        let shown: Vec<(u64, u64)> = rates
            .iter()
            .map(|rate| {
                let whole = narrows_model::units::round_to_u64;
                (whole(rate.bytes_per_s.0), whole(rate.ops_per_s.0))
            })
            .collect();
        assert_eq!(shown, [(20_000, 2_000), (60_000, 6_000)]);
    }

    #[test]
    fn another_trial_begins_anew() {
        let mut meter = RateMeter::default();
        assert_eq!(meter.add(&sample(0, 0, 1000)), None);
        assert_eq!(meter.add(&IntervalSample { trial: 1, ..sample(0, 50, 1000) }), None);
    }
}
