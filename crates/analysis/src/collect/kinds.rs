//! What a cell's trials report beyond their totals: the kinds of a mix, and what an open loop adds.
//!
//! Counts are added by `model`; times are kept in their stored form.

use super::stored::StoredHistogram;
use narrows_model::trial::{OpCounts, OpTotals, OpenLoopCounts, OpenLoopTotals};

/// Most kinds kept apart: every operation with every block of a mix; a record that names more is no run's.
const KINDS_MAX: usize = 256;

/// The requests of one kind over all trials.
#[derive(Debug, Clone)]
pub(crate) struct KindData {
    pub counts: OpCounts,
    pub response: StoredHistogram,
}

/// Adds one trial's kinds to those known.
pub(super) fn add_kinds(known: &mut Vec<KindData>, more: &[OpTotals]) {
    for kind in more {
        let counts = kind.counts();
        if let Some(data) = known.iter_mut().find(|data| data.counts.is_same_kind(&counts)) {
            data.counts.add(&counts);
            data.response.merge(&kind.response);
        } else if known.len() < KINDS_MAX {
            let mut response = StoredHistogram::default();
            response.merge(&kind.response);
            known.push(KindData { counts, response });
        }
    }
}

/// What the open loops of all trials did.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenLoopData {
    pub counts: OpenLoopCounts,
    pub censored: StoredHistogram,
    pub service: StoredHistogram,
}

impl OpenLoopData {
    /// Puts the open histograms into their stored form.
    pub(super) fn pack(&mut self) {
        self.service.pack();
        self.censored.pack();
    }

    /// Adds one trial.
    pub(super) fn add(&mut self, more: &OpenLoopTotals) {
        self.counts.add(&more.counts());
        self.censored.merge(&more.censored);
        self.service.merge(&more.service);
    }
}
