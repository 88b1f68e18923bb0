//! What remote procedure calls did: counts of a window, by procedure.

use crate::units::{Bytes, Nanos};
use crate::workload::is_false;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Calls of one procedure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ProcedureCounters {
    /// Its name, such as `READ`.
    pub procedure: String,
    /// Calls that were sent, without retransmissions.
    pub call_count: u64,
    /// Replies that arrived.
    pub reply_count: u64,
    /// Of these, replies with an error.
    pub error_count: u64,
    /// Calls that were sent again, because their connection ended without a reply.
    pub retransmit_count: u64,
    /// Bytes of calls, headers and retransmissions included.
    pub sent_bytes: Bytes,
    /// Bytes of replies, headers included.
    pub received_bytes: Bytes,
    /// Sum of the times from the first sending of a call to its reply: divided by the replies it is the mean latency.
    pub latency_sum_ns: Nanos,
}

/// One phase of calls, such as the making of a connection or the wait for the first byte of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct PhaseCounters {
    /// Its name, such as `connect`.
    pub phase: String,
    /// Whether it belongs to the opening of connections before the load, which is in no window.
    #[serde(default, skip_serializing_if = "is_false")]
    pub before_load: bool,
    /// How often it was gone through to its end.
    pub count: u64,
    /// Sum of its times: divided by the count it is the mean.
    pub latency_sum_ns: Nanos,
}

/// What happened to remote procedure calls beyond their replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RpcEvents {
    /// Connections that ended and were made again.
    pub reconnect_count: u64,
    /// Changes of the write verifier: the server has restarted, and unstable data may be lost.
    pub verifier_change_count: u64,
    /// Unstable writes that were sent again after such a change.
    pub rewritten_count: u64,
    /// Bytes of these.
    pub rewritten_bytes: Bytes,
    /// COMMITs that were sent because the memory for unstable data was full.
    pub forced_commit_count: u64,
    /// Reads of which the server returned a part, so that the rest was asked for again.
    pub short_read_count: u64,
    /// Replies that no call waited for.
    pub stray_reply_count: u64,
    /// Calls that were sent again and answered as one is that was executed before: CREATE with `NFS3ERR_EXIST`, REMOVE with
    /// `NFS3ERR_NOENT`. They count as executed.
    #[serde(default)]
    pub done_before_count: u64,
    /// Commands that were sent again, because a unit reported something that had happened to it (unit attention).
    #[serde(default)]
    pub unit_attention_count: u64,
    /// Commands that waited, because the target took no more at a time.
    #[serde(default)]
    pub window_full_count: u64,
}

/// Long replies by the rate at which their bytes arrived, from the first to the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ArrivalCount {
    /// The rate, to a tenth.
    pub rate_bytes_per_s: u64,
    /// Replies that arrived at this rate.
    pub reply_count: u64,
}

/// What remote procedure calls did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RpcCounters {
    /// Procedures that were called, each once.
    pub procedures: Vec<ProcedureCounters>,
    /// What happened to calls beyond their replies.
    pub events: RpcEvents,
    /// At which rates long replies arrived, each rate once.
    #[serde(default)]
    pub arrivals: Vec<ArrivalCount>,
    /// Phases of calls, in their order; empty where a protocol has none that are distinguished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseCounters>,
}

impl RpcCounters {
    /// What was counted after `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let procedures = self.procedures.iter().map(|after| {
            let known = before.procedures.iter().find(|known| known.procedure == after.procedure);
            after.combined(known, u64::saturating_sub)
        });
        Self {
            procedures: procedures.filter(|one| !one.is_empty()).collect(),
            events: self.events.combined(before.events, u64::saturating_sub),
            arrivals: self.arrivals.iter().filter_map(|after| after.since(&before.arrivals)).collect(),
            phases: self.phases.iter().map(|after| after.since(&before.phases)).collect(),
        }
    }

    /// Adds what others did.
    pub fn add(&mut self, other: &Self) {
        for more in &other.procedures {
            match self.procedures.iter_mut().find(|known| known.procedure == more.procedure) {
                Some(known) => *known = known.combined(Some(more), u64::saturating_add),
                None => self.procedures.push(more.clone()),
            }
        }
        self.events = self.events.combined(other.events, u64::saturating_add);
        for more in &other.arrivals {
            match self.arrivals.iter_mut().find(|known| known.rate_bytes_per_s == more.rate_bytes_per_s) {
                Some(known) => known.reply_count = known.reply_count.saturating_add(more.reply_count),
                None => self.arrivals.push(*more),
            }
        }
        for more in &other.phases {
            match self.phases.iter_mut().find(|known| known.is_same(more)) {
                Some(known) => known.add(more),
                None => self.phases.push(more.clone()),
            }
        }
    }

    /// The rate at or below which this share of the long replies arrived; `None` without any.
    #[must_use]
    pub fn arrival_quantile(&self, share: f64) -> Option<f64> {
        let mut counts = self.arrivals.clone();
        counts.sort_by_key(|count| count.rate_bytes_per_s);
        let all: u64 = counts.iter().map(|count| count.reply_count).sum();
        let mut seen = 0.0;
        let reached = |count: &&ArrivalCount| {
            seen += count.reply_count as f64;
            seen >= share * all as f64
        };
        counts.iter().find(reached).map(|count| count.rate_bytes_per_s as f64)
    }
}

impl ArrivalCount {
    fn since(self, before: &[ArrivalCount]) -> Option<Self> {
        let known = before.iter().find(|known| known.rate_bytes_per_s == self.rate_bytes_per_s);
        let count = self.reply_count.saturating_sub(known.map_or(0, |known| known.reply_count));
        (count > 0).then_some(Self { reply_count: count, ..self })
    }
}

impl PhaseCounters {
    fn is_same(&self, other: &Self) -> bool {
        (self.phase.as_str(), self.before_load) == (other.phase.as_str(), other.before_load)
    }

    fn since(&self, before: &[Self]) -> Self {
        let none = Self::default();
        let before = before.iter().find(|known| known.is_same(self)).filter(|_| !self.before_load);
        let before = before.unwrap_or(&none);
        Self {
            count: self.count.saturating_sub(before.count),
            latency_sum_ns: Nanos(self.latency_sum_ns.0.saturating_sub(before.latency_sum_ns.0)),
            ..self.clone()
        }
    }

    fn add(&mut self, more: &Self) {
        self.count = self.count.saturating_add(more.count);
        self.latency_sum_ns = Nanos(self.latency_sum_ns.0.saturating_add(more.latency_sum_ns.0));
    }
}

impl RpcEvents {
    fn combined(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            reconnect_count: join(self.reconnect_count, other.reconnect_count),
            verifier_change_count: join(self.verifier_change_count, other.verifier_change_count),
            rewritten_count: join(self.rewritten_count, other.rewritten_count),
            rewritten_bytes: Bytes(join(self.rewritten_bytes.0, other.rewritten_bytes.0)),
            forced_commit_count: join(self.forced_commit_count, other.forced_commit_count),
            short_read_count: join(self.short_read_count, other.short_read_count),
            stray_reply_count: join(self.stray_reply_count, other.stray_reply_count),
            done_before_count: join(self.done_before_count, other.done_before_count),
            unit_attention_count: join(self.unit_attention_count, other.unit_attention_count),
            window_full_count: join(self.window_full_count, other.window_full_count),
        }
    }
}

impl ProcedureCounters {
    fn combined(&self, other: Option<&Self>, join: fn(u64, u64) -> u64) -> Self {
        let none = Self::default();
        let other = other.unwrap_or(&none);
        Self {
            procedure: self.procedure.clone(),
            call_count: join(self.call_count, other.call_count),
            reply_count: join(self.reply_count, other.reply_count),
            error_count: join(self.error_count, other.error_count),
            retransmit_count: join(self.retransmit_count, other.retransmit_count),
            sent_bytes: Bytes(join(self.sent_bytes.0, other.sent_bytes.0)),
            received_bytes: Bytes(join(self.received_bytes.0, other.received_bytes.0)),
            latency_sum_ns: Nanos(join(self.latency_sum_ns.0, other.latency_sum_ns.0)),
        }
    }

    fn is_empty(&self) -> bool {
        self.call_count == 0 && self.reply_count == 0 && self.retransmit_count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(procedure: &str, call_count: u64) -> ProcedureCounters {
        ProcedureCounters { procedure: procedure.to_owned(), call_count, ..ProcedureCounters::default() }
    }

    #[test]
    fn arrivals_of_a_window_are_the_new_ones_and_quantiles_are_of_replies() {
        let of = |counts: &[(u64, u64)]| RpcCounters {
            arrivals: counts
                .iter()
                .map(|&(rate_bytes_per_s, reply_count)| ArrivalCount { rate_bytes_per_s, reply_count })
                .collect(),
            ..RpcCounters::default()
        };
        let mut window = of(&[(100, 5), (200, 9)]).since(&of(&[(100, 5), (200, 1)]));
        assert_eq!(window, of(&[(200, 8)]));
        window.add(&of(&[(50, 2), (200, 10)]));
        assert_eq!(window.arrival_quantile(0.1), Some(50.0));
        assert_eq!(window.arrival_quantile(0.5), Some(200.0));
        assert_eq!(RpcCounters::default().arrival_quantile(0.5), None);
    }

    #[test]
    fn a_window_has_what_was_counted_in_it_and_procedures_of_several_workers_are_added() {
        let before = RpcCounters { procedures: vec![counted("READ", 3)], ..RpcCounters::default() };
        let phase = |before_load, count| PhaseCounters {
            phase: "connect".to_owned(),
            before_load,
            count,
            latency_sum_ns: Nanos(7 * count),
        };
        let before = RpcCounters { phases: vec![phase(true, 4), phase(false, 1)], ..before };
        let after = RpcCounters {
            procedures: vec![counted("READ", 3), counted("WRITE", 5)],
            events: RpcEvents { reconnect_count: 1, ..RpcEvents::default() },
            arrivals: Vec::new(),
            phases: vec![phase(true, 4), phase(false, 3)],
        };
        let mut window = after.since(&before);
        assert_eq!(window.procedures, [counted("WRITE", 5)]);
        assert_eq!(window.phases, [phase(true, 4), phase(false, 2)], "the opening is in no window");
        window.add(&after);
        assert_eq!(window.procedures, [counted("WRITE", 10), counted("READ", 3)]);
        assert_eq!(window.events.reconnect_count, 2);
        assert_eq!(window.phases, [phase(true, 8), phase(false, 5)]);
    }
}
