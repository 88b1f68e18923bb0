//! The rate over time inside the measured windows, from the workers' interval samples.
//!
//! Workers report intervals that end at slightly different moments: samples whose middle lies in the same slot
//! of the plan's interval are summed.

use narrows_model::trial::IntervalSample;
use std::collections::BTreeMap;

/// One slot of time: what all workers did in it, and the span they reported on.
#[derive(Debug, Clone, Copy)]
struct Slot {
    bytes: u64,
    ops: u64,
    start_ns: u64,
    end_ns: u64,
}

/// The slots of one trial.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    slots: BTreeMap<u64, Slot>,
}

/// A rate in one slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub bytes_per_s: f64,
    pub op_count: u64,
}

impl Series {
    /// Adds one worker's sample, in slots of `interval_ns`.
    pub(crate) fn add(&mut self, sample: &IntervalSample, interval_ns: u64) {
        let middle = sample.start_ns.0 / 2 + sample.end_ns.0 / 2;
        let key = middle / interval_ns.max(1);
        let slot = self.slots.entry(key).or_insert(Slot { bytes: 0, ops: 0, start_ns: u64::MAX, end_ns: 0 });
        slot.bytes = slot.bytes.saturating_add(sample.bytes.0);
        slot.ops = slot.ops.saturating_add(sample.op_count);
        slot.start_ns = slot.start_ns.min(sample.start_ns.0);
        slot.end_ns = slot.end_ns.max(sample.end_ns.0);
    }

    /// The rates in order of time; slots that cover less than half of the longest one (the torn ends of a window)
    /// are left out.
    pub(crate) fn rates(&self) -> Vec<Rate> {
        let covered = |slot: &Slot| slot.end_ns.saturating_sub(slot.start_ns);
        let longest = self.slots.values().map(covered).max().unwrap_or(0);
        self.slots
            .values()
            .filter(|slot| covered(slot) > 0 && covered(slot) >= longest / 2)
            .map(|slot| {
                let seconds = narrows_model::Nanos(covered(slot)).as_secs_f64();
                Rate { bytes_per_s: slot.bytes as f64 / seconds, op_count: slot.ops }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::{Bytes, CellId, Histogram, Nanos};

    fn sample(worker_index: u32, start_ns: u64, end_ns: u64, bytes: u64) -> IntervalSample {
        IntervalSample {
            cell: CellId("c".into()),
            trial: 0,
            measured: true,
            client_index: 0,
            worker_index,
            start_ns: Nanos(start_ns),
            end_ns: Nanos(end_ns),
            op_count: 1,
            bytes: Bytes(bytes),
            error_count: 0,
            response: Histogram::new(),
        }
    }

    #[test]
    fn workers_of_one_slot_are_summed() {
        let mut series = Series::default();
        series.add(&sample(0, 0, 1_000_000_000, 100), 1_000_000_000);
        series.add(&sample(1, 10, 1_000_000_000, 300), 1_000_000_000);
        let rates = series.rates();
        assert_eq!(rates.len(), 1);
        assert!((rates[0].bytes_per_s - 400.0).abs() < 1e-6);
    }

    #[test]
    fn a_torn_last_slot_is_left_out() {
        let mut series = Series::default();
        series.add(&sample(0, 0, 1000, 100), 1000);
        series.add(&sample(0, 1000, 1100, 100), 1000);
        assert_eq!(series.rates().len(), 1);
    }
}
