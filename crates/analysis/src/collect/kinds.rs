//! What a cell's trials report beyond their totals: the kinds of a mix, and what an open loop adds.

use super::stored::StoredHistogram;
use narrows_model::trial::{OpTotals, OpenLoopTotals};
use narrows_model::{Bytes, Op};

/// Most kinds kept apart: every operation with every block of a mix; a record that names more is no run's.
const KINDS_MAX: usize = 256;

/// The requests of one kind over all trials.
#[derive(Debug, Clone)]
pub(crate) struct KindData {
    pub op: Op,
    pub block_bytes: Bytes,
    pub op_count: u64,
    pub bytes: Bytes,
    pub response: StoredHistogram,
}

/// Adds one trial's kinds to those known.
pub(super) fn add_kinds(known: &mut Vec<KindData>, more: &[OpTotals]) {
    for kind in more {
        let same = |data: &&mut KindData| data.op == kind.op && data.block_bytes == kind.block_bytes;
        if let Some(data) = known.iter_mut().find(same) {
            data.op_count = data.op_count.saturating_add(kind.op_count);
            data.bytes = data.bytes.saturating_add(kind.bytes);
            data.response.merge(&kind.response);
        } else if known.len() < KINDS_MAX {
            let mut response = StoredHistogram::default();
            response.merge(&kind.response);
            known.push(KindData {
                op: kind.op,
                block_bytes: kind.block_bytes,
                op_count: kind.op_count,
                bytes: kind.bytes,
                response,
            });
        }
    }
}

/// What the open loops of all trials did.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenLoopData {
    pub scheduled_count: u64,
    pub unstarted_count: u64,
    pub held_up_count: u64,
    pub censored: StoredHistogram,
    pub service: StoredHistogram,
    pub service_sum_ns: f64,
}

impl OpenLoopData {
    /// Puts the open histograms into their stored form.
    pub(super) fn pack(&mut self) {
        self.service.pack();
        self.censored.pack();
    }

    /// Adds one trial.
    pub(super) fn add(&mut self, more: &OpenLoopTotals) {
        self.scheduled_count = self.scheduled_count.saturating_add(more.scheduled_count);
        self.unstarted_count = self.unstarted_count.saturating_add(more.unstarted_count);
        self.held_up_count = self.held_up_count.saturating_add(more.held_up_count);
        self.censored.merge(&more.censored);
        self.service.merge(&more.service);
        self.service_sum_ns += more.service_sum_ns as f64;
    }
}
