//! Counts of calls by procedure.
//!
//! Hot path: additions to an array.

use narrows_model::rpc::{ProcedureCounters, RpcEvents};
use narrows_model::{Bytes, Nanos, RpcCounters};
use narrows_wire::nfs::Procedure;

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

/// Counts of all calls of a connection or a worker.
#[derive(Debug, Clone)]
pub(super) struct CallCounts {
    procedures: [ProcedureCounts; Procedure::ALL.len()],
    pub(super) reconnects: u64,
    pub(super) verifier_changes: u64,
    pub(super) rewritten: u64,
    pub(super) rewritten_bytes: u64,
    pub(super) forced_commits: u64,
    pub(super) short_reads: u64,
    pub(super) strays: u64,
}

impl Default for CallCounts {
    fn default() -> Self {
        Self {
            procedures: [ProcedureCounts::default(); Procedure::ALL.len()],
            reconnects: 0,
            verifier_changes: 0,
            rewritten: 0,
            rewritten_bytes: 0,
            forced_commits: 0,
            short_reads: 0,
            strays: 0,
        }
    }
}

impl CallCounts {
    /// Counts a call of `bytes` that is sent, for the first time or again.
    pub(super) fn sent(&mut self, procedure: Procedure, bytes: usize, is_again: bool) {
        let counts = &mut self.procedures[procedure.index()];
        counts.calls += u64::from(!is_again);
        counts.retransmits += u64::from(is_again);
        counts.sent_bytes += bytes as u64;
    }

    /// Counts a reply of `bytes`.
    pub(super) fn received(&mut self, procedure: Procedure, bytes: usize, latency_ns: u64, is_error: bool) {
        let counts = &mut self.procedures[procedure.index()];
        counts.replies += 1;
        counts.errors += u64::from(is_error);
        counts.received_bytes += bytes as u64;
        counts.latency_sum_ns = counts.latency_sum_ns.saturating_add(latency_ns);
    }

    /// Calls and retransmissions, and replies, of all procedures.
    pub(super) fn totals(&self) -> (u64, u64) {
        let sent = self.procedures.iter().map(|counts| counts.calls + counts.retransmits).sum();
        (sent, self.procedures.iter().map(|counts| counts.replies).sum())
    }

    /// All of it, as records have it.
    pub(super) fn to_model(&self) -> RpcCounters {
        let used = Procedure::ALL.iter().zip(&self.procedures).filter(|(_, counts)| counts.calls > 0);
        let procedures = used.map(|(procedure, counts)| ProcedureCounters {
            procedure: procedure.name().to_owned(),
            call_count: counts.calls,
            reply_count: counts.replies,
            error_count: counts.errors,
            retransmit_count: counts.retransmits,
            sent_bytes: Bytes(counts.sent_bytes),
            received_bytes: Bytes(counts.received_bytes),
            latency_sum_ns: Nanos(counts.latency_sum_ns),
        });
        RpcCounters {
            procedures: procedures.collect(),
            events: RpcEvents {
                reconnect_count: self.reconnects,
                verifier_change_count: self.verifier_changes,
                rewritten_count: self.rewritten,
                rewritten_bytes: Bytes(self.rewritten_bytes),
                forced_commit_count: self.forced_commits,
                short_read_count: self.short_reads,
                stray_reply_count: self.strays,
            },
            phases: Vec::new(),
        }
    }
}
