//! Counts of PDUs: of each command, with what is sent with it and its status, and of each other kind.
//!
//! Every PDU is counted once: a Data-In with the status of its command as the reply of that command. Hot path: additions to
//! an array.

use crate::arrivals::ReplyArrivals;
use crate::procedure_counts::ProcedureTable;
use narrows_model::RpcCounters;
use narrows_model::rpc::RpcEvents;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CountedPdu {
    Read,
    Write,
    Synchronize,
    Unmap,
    /// NOP-Out of the load, with the NOP-In that answers it.
    Ping,
    /// Commands before and after the load.
    OtherCommand,
    DataOut,
    /// Without a status.
    DataIn,
    ReadyToTransfer,
    /// Answers to pings of the target.
    NopOut,
    NopIn,
    Login,
    Logout,
    Async,
    Reject,
}

/// The names, in the order of the kinds.
const NAMES: [&str; 15] = [
    "READ",
    "WRITE",
    "SYNCHRONIZE CACHE",
    "UNMAP",
    "NOP-Out",
    "other commands",
    "Data-Out",
    "Data-In",
    "R2T",
    "NOP-Out answers",
    "NOP-In",
    "Login",
    "Logout",
    "Async Message",
    "Reject",
];
/// How many of them are requests of a load.
const REQUEST_KINDS: usize = 5;

/// Counts of a worker.
#[derive(Debug, Clone, Default)]
pub(super) struct PduCounts {
    kinds: ProcedureTable<{ NAMES.len() }>,
    pub(super) reconnects: u64,
    pub(super) strays: u64,
    pub(super) attentions: u64,
    pub(super) window_waits: u64,
    pub(super) arrivals: ReplyArrivals,
}

impl PduCounts {
    /// Counts a PDU of `bytes` that is sent, for the first time or again.
    pub(super) fn sent(&mut self, kind: CountedPdu, bytes: usize, is_again: bool) {
        self.kinds.sent(kind as usize, bytes, is_again);
    }

    /// Counts a PDU of `bytes` that has arrived.
    pub(super) fn received(&mut self, kind: CountedPdu, bytes: usize, latency_ns: u64, is_error: bool) {
        self.kinds.received(kind as usize, bytes, latency_ns, is_error);
    }

    /// Adds what another session has counted.
    pub(super) fn add(&mut self, other: &Self) {
        self.kinds.add(&other.kinds);
        self.reconnects += other.reconnects;
        self.strays += other.strays;
        self.attentions += other.attentions;
        self.window_waits += other.window_waits;
        self.arrivals.add(&other.arrivals);
    }

    /// Requests of the load that were sent, and that were answered.
    pub(super) fn totals(&self) -> (u64, u64) {
        self.kinds.totals(REQUEST_KINDS)
    }

    /// All of it, as records have it.
    pub(super) fn to_model(&self) -> RpcCounters {
        RpcCounters {
            procedures: self.kinds.to_model(|index| NAMES[index]),
            arrivals: self.arrivals.to_model(),
            phases: Vec::new(),
            events: RpcEvents {
                reconnect_count: self.reconnects,
                stray_reply_count: self.strays,
                unit_attention_count: self.attentions,
                window_full_count: self.window_waits,
                ..RpcEvents::default()
            },
        }
    }
}
