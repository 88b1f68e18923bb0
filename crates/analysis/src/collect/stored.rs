//! A histogram that grows trial by trial, small while its cell does not run.
//!
//! Bounded memory: open it takes tens of kilobytes, stored a hundredth of that, however many trials it contains.

use narrows_model::Histogram;

/// The latencies of all trials of a cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredHistogram {
    open: Option<Histogram>,
    stored: String,
}

impl StoredHistogram {
    /// Adds all counts of `more`.
    pub(crate) fn merge(&mut self, more: &Histogram) {
        self.open.get_or_insert_default().merge(more);
    }

    /// All latencies.
    pub(crate) fn whole(&self) -> Histogram {
        let mut all = Histogram::decode(&self.stored).unwrap_or_default();
        if let Some(open) = &self.open {
            all.merge(open);
        }
        all
    }

    /// Puts the open histogram into its stored form.
    pub(crate) fn pack(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.count() > 0) {
            self.stored = self.whole().encode();
        }
        self.open = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_any_number_of_times_loses_no_latency() {
        let mut stored = StoredHistogram::default();
        for latency_ns in 1..=50_u64 {
            let mut one = Histogram::new();
            one.record(latency_ns * 1_000);
            stored.merge(&one);
            stored.pack();
        }
        assert_eq!(stored.whole().count(), 50);
        assert!(stored.whole().max_ns().unwrap() >= 49_000 && stored.stored.len() < 4_096);
        assert_eq!(StoredHistogram::default().whole().count(), 0);
    }
}
