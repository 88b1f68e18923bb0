//! Counts of calls by procedure, for engines of any protocol.
//!
//! Hot path: additions to an array.

use narrows_model::rpc::ProcedureCounters;
use narrows_model::{Bytes, Nanos};

/// Counts of one procedure.
#[derive(Debug, Clone, Copy, Default)]
struct ProcedureCounts {
    calls: u64,
    replies: u64,
    errors: u64,
    retransmits: u64,
    sent_bytes: u64,
    received_bytes: u64,
    latency_sum_ns: u64,
}

/// Counts of `N` procedures, by their index.
#[derive(Debug, Clone)]
pub(crate) struct ProcedureTable<const N: usize>([ProcedureCounts; N]);

impl<const N: usize> Default for ProcedureTable<N> {
    fn default() -> Self {
        Self([ProcedureCounts::default(); N])
    }
}

impl<const N: usize> ProcedureTable<N> {
    /// Counts a call of `bytes` that is sent, for the first time or again.
    pub(crate) fn sent(&mut self, index: usize, bytes: usize, is_again: bool) {
        let counts = &mut self.0[index];
        counts.calls += u64::from(!is_again);
        counts.retransmits += u64::from(is_again);
        counts.sent_bytes += bytes as u64;
    }

    /// Counts a reply of `bytes`.
    pub(crate) fn received(&mut self, index: usize, bytes: usize, latency_ns: u64, is_error: bool) {
        let counts = &mut self.0[index];
        counts.replies += 1;
        counts.errors += u64::from(is_error);
        counts.received_bytes += bytes as u64;
        counts.latency_sum_ns = counts.latency_sum_ns.saturating_add(latency_ns);
    }

    /// Adds what others did.
    pub(crate) fn add(&mut self, other: &Self) {
        for (counts, more) in self.0.iter_mut().zip(&other.0) {
            counts.calls += more.calls;
            counts.replies += more.replies;
            counts.errors += more.errors;
            counts.retransmits += more.retransmits;
            counts.sent_bytes += more.sent_bytes;
            counts.received_bytes += more.received_bytes;
            counts.latency_sum_ns = counts.latency_sum_ns.saturating_add(more.latency_sum_ns);
        }
    }

    /// Calls and retransmissions, and replies, of the first `count` procedures.
    pub(crate) fn totals(&self, count: usize) -> (u64, u64) {
        let counted = || self.0.iter().take(count);
        let sent = counted().map(|counts| counts.calls + counts.retransmits).sum();
        (sent, counted().map(|counts| counts.replies).sum())
    }

    /// Procedures that were called or answered, by their names.
    pub(crate) fn to_model(&self, name: impl Fn(usize) -> &'static str) -> Vec<ProcedureCounters> {
        let used = self.0.iter().enumerate().filter(|(_, counts)| counts.calls + counts.replies > 0);
        let procedures = used.map(|(index, counts)| ProcedureCounters {
            procedure: name(index).to_owned(),
            call_count: counts.calls,
            reply_count: counts.replies,
            error_count: counts.errors,
            retransmit_count: counts.retransmits,
            sent_bytes: Bytes(counts.sent_bytes),
            received_bytes: Bytes(counts.received_bytes),
            latency_sum_ns: Nanos(counts.latency_sum_ns),
        });
        procedures.collect()
    }
}
