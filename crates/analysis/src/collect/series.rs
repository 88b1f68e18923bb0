//! The rate over time inside the measured windows, from the workers' interval samples.
//!
//! Workers report intervals of different lengths that end at different moments (an operation may be longer than the
//! plan's interval): what a sample did is spread evenly over the slots of the plan's interval that it overlaps.
//!
//! Bounded memory: past [`SLOTS_KEPT_MAX`] slots, neighbours become one, as often as it takes.

use narrows_model::Nanos;
use narrows_model::trial::IntervalSample;
use std::collections::BTreeMap;

/// A slot counts when the workers cover this share of what they cover in the fullest one: the torn ends of a window do
/// not.
const COVERED_RATIO: f64 = 0.9;

/// Most slots that one sample may overlap.
const SLOTS_MAX: u64 = 100_000;

/// Most slots of a trial: a hundred batches of MSER-5; from half of them on the statistics gain little by more.
const SLOTS_KEPT_MAX: usize = 512;

/// One slot of time: what all workers did in it, and the time that their samples cover of it, summed.
#[derive(Debug, Clone, Copy, Default)]
struct TimeSlot {
    bytes: f64,
    ops: f64,
    covered_ns: f64,
}

/// The slots of one trial.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    slots: BTreeMap<u64, TimeSlot>,
    interval_ns: u64,
}

/// A rate in one slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SlotRate {
    pub bytes_per_s: f64,
    /// Operations in the slot; a part of one counts as such.
    pub op_count: f64,
}

impl Series {
    /// Adds one worker's sample, in slots of `interval_ns`.
    pub(crate) fn add(&mut self, sample: &IntervalSample, interval_ns: u64) {
        // Once neighbours were made one, slots stay as long as they are.
        let interval_ns = self.interval_ns.max(interval_ns).max(1);
        self.interval_ns = interval_ns;
        let start = sample.start_ns.0;
        let end = sample.end_ns.0.max(start.saturating_add(1));
        if start == end || (end - start) / interval_ns > SLOTS_MAX {
            return; // No worker of a run reports so seldom, or at the end of time: a record that is no run's.
        }
        let length = (end - start) as f64;
        for key in start / interval_ns..=(end - 1) / interval_ns {
            let from = start.max(key * interval_ns);
            let to = end.min((key + 1).saturating_mul(interval_ns));
            let part = to.saturating_sub(from) as f64;
            let slot = self.slots.entry(key).or_default();
            slot.bytes += sample.bytes.as_f64() * part / length;
            slot.ops += sample.op_count as f64 * part / length;
            slot.covered_ns += part;
        }
        while self.slots.len() > SLOTS_KEPT_MAX && self.interval_ns < u64::MAX {
            self.coarsen();
        }
    }

    /// Makes two neighbouring slots one.
    fn coarsen(&mut self) {
        let mut merged: BTreeMap<u64, TimeSlot> = BTreeMap::new();
        for (key, slot) in std::mem::take(&mut self.slots) {
            let both = merged.entry(key / 2).or_default();
            both.bytes += slot.bytes;
            both.ops += slot.ops;
            both.covered_ns += slot.covered_ns;
        }
        self.slots = merged;
        self.interval_ns = self.interval_ns.saturating_mul(2);
    }

    /// Length of a slot in seconds.
    pub(crate) fn slot_s(&self) -> f64 {
        Nanos(self.interval_ns).as_secs_f64()
    }

    /// The rates in order of time; slots that the workers cover less than others (the torn ends of a window) are left
    /// out.
    pub(crate) fn rates(&self) -> Vec<SlotRate> {
        let most = self.slots.values().map(|slot| slot.covered_ns).fold(0.0, f64::max);
        let slot_s = self.slot_s();
        self.slots
            .values()
            .filter(|slot| slot.covered_ns > 0.0 && slot.covered_ns >= most * COVERED_RATIO)
            .map(|slot| {
                let seconds = slot_s * (slot.covered_ns / most);
                SlotRate { bytes_per_s: slot.bytes / seconds, op_count: slot.ops }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::{Bytes, CellId, Histogram};

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
    fn sixteen_workers_of_slow_operations_give_an_even_rate() {
        const OP_NS: u64 = 130_000_000;
        let mut series = Series::default();
        for worker in 0..16_u32 {
            let first = u64::from(worker) * OP_NS / 16;
            for op in 0..12 {
                let start_ns = if op == 0 { 0 } else { first + op * OP_NS };
                let bytes = 1_000_000 * (first + (op + 1) * OP_NS - start_ns) / OP_NS;
                series.add(&sample(worker, start_ns, first + (op + 1) * OP_NS, bytes), 100_000_000);
            }
        }
        let exact = 16.0 * 1e6 / 0.13;
        let rates = series.rates();
        assert!(rates.len() >= 14, "{}", rates.len());
        assert!(rates.iter().all(|rate| (rate.bytes_per_s / exact - 1.0).abs() < 0.02), "{rates:?}");
    }

    #[test]
    fn a_long_run_keeps_its_rate_in_a_bounded_number_of_slots() {
        let mut series = Series::default();
        for index in 0..100_000_u64 {
            series.add(&sample(0, index * 1_000, (index + 1) * 1_000, 500 + index % 3), 1_000);
            assert!(series.slots.len() <= SLOTS_KEPT_MAX);
        }
        let rates = series.rates();
        assert!(rates.len() > SLOTS_KEPT_MAX / 4, "{}", rates.len());
        assert!(rates.iter().all(|rate| (rate.bytes_per_s / 501e6 - 1.0).abs() < 0.01), "{rates:?}");
    }

    #[test]
    fn samples_far_apart_in_time_take_no_more_slots() {
        let mut series = Series::default();
        for index in 0..2_000_u64 {
            let start_ns = index * (u64::MAX / 2_001);
            series.add(&sample(0, start_ns, start_ns + 10, 1), 1);
        }
        assert!(series.slots.len() <= SLOTS_KEPT_MAX);
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

    #[test]
    fn a_sample_at_the_end_of_time_is_no_runs() {
        let mut series = Series::default();
        series.add(&sample(0, u64::MAX, u64::MAX, 1000), 100);
        series.add(&sample(0, u64::MAX - 1, u64::MAX, 1000), u64::MAX);
        series.add(&sample(0, 5, 3, 1000), u64::MAX);
        assert!(series.rates().iter().all(|rate| rate.bytes_per_s.is_finite()), "{series:?}");
    }
}
