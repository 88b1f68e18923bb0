//! Counts of calls by procedure.
//!
//! Hot path: additions to an array.

use crate::arrivals::ReplyArrivals;
use crate::procedure_counts::ProcedureTable;
use narrows_model::rpc::RpcEvents;
use narrows_model::{Bytes, RpcCounters};
use narrows_wire::nfs::Procedure;

const COUNT: usize = Procedure::ALL.len();

/// Counts of all calls of a connection or a worker.
#[derive(Debug, Clone, Default)]
pub(super) struct CallCounts {
    procedures: ProcedureTable<COUNT>,
    pub(super) reconnects: u64,
    pub(super) verifier_changes: u64,
    pub(super) rewritten: u64,
    pub(super) rewritten_bytes: u64,
    pub(super) forced_commits: u64,
    pub(super) short_reads: u64,
    pub(super) strays: u64,
    /// Calls that were sent again, of which the server had executed the first.
    pub(super) done_before: u64,
    pub(super) arrivals: ReplyArrivals,
}

impl CallCounts {
    /// Counts a call of `bytes` that is sent, for the first time or again.
    pub(super) fn sent(&mut self, procedure: Procedure, bytes: usize, is_again: bool) {
        self.procedures.sent(procedure.index(), bytes, is_again);
    }

    /// Counts a reply of `bytes`.
    pub(super) fn received(&mut self, procedure: Procedure, bytes: usize, latency_ns: u64, is_error: bool) {
        self.procedures.received(procedure.index(), bytes, latency_ns, is_error);
    }

    /// Calls and retransmissions, and replies, of all procedures.
    pub(super) fn totals(&self) -> (u64, u64) {
        self.procedures.totals(COUNT)
    }

    /// All of it, as records have it.
    pub(super) fn to_model(&self) -> RpcCounters {
        RpcCounters {
            procedures: self.procedures.to_model(|index| Procedure::ALL[index].name()),
            events: RpcEvents {
                reconnect_count: self.reconnects,
                verifier_change_count: self.verifier_changes,
                rewritten_count: self.rewritten,
                rewritten_bytes: Bytes(self.rewritten_bytes),
                forced_commit_count: self.forced_commits,
                short_read_count: self.short_reads,
                stray_reply_count: self.strays,
                done_before_count: self.done_before,
                ..RpcEvents::default()
            },
            arrivals: self.arrivals.to_model(),
            phases: Vec::new(),
        }
    }
}
