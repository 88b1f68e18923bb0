//! Counts of requests by kind, and the times of their phases.

use super::wire::WireCounts;
use narrows_model::rpc::{PhaseCounters, ProcedureCounters, RpcEvents};
use narrows_model::{Bytes, Nanos, RpcCounters};

/// What a request asks for, by its name in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum S3Call {
    Put,
    Get,
    Head,
    Delete,
    DeleteMany,
    List,
    CreateUpload,
    UploadPart,
    CompleteUpload,
    AbortUpload,
    ListUploads,
}

impl S3Call {
    const ALL: [Self; 11] = [
        Self::Put,
        Self::Get,
        Self::Head,
        Self::Delete,
        Self::DeleteMany,
        Self::List,
        Self::CreateUpload,
        Self::UploadPart,
        Self::CompleteUpload,
        Self::AbortUpload,
        Self::ListUploads,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Put => "PutObject",
            Self::Get => "GetObject",
            Self::Head => "HeadObject",
            Self::Delete => "DeleteObject",
            Self::DeleteMany => "DeleteObjects",
            Self::List => "ListObjectsV2",
            Self::CreateUpload => "CreateMultipartUpload",
            Self::UploadPart => "UploadPart",
            Self::CompleteUpload => "CompleteMultipartUpload",
            Self::AbortUpload => "AbortMultipartUpload",
            Self::ListUploads => "ListMultipartUploads",
        }
    }
}

/// Phases of a request, in their order.
const PHASES: [&str; 5] = ["connect", "TLS", "send", "first byte", "body"];
/// The first phases, in which a connection is made.
const CONNECTING_COUNT: usize = 2;

#[derive(Debug, Clone, Copy, Default)]
struct CallCount {
    calls: u64,
    replies: u64,
    errors: u64,
    sent_bytes: u64,
    received_bytes: u64,
    latency_sum_ns: u64,
}

/// Counts of one client.
#[derive(Debug, Clone, Default)]
pub(super) struct S3Counts {
    calls: [CallCount; S3Call::ALL.len()],
    /// Count and sum of nanoseconds of each phase.
    phases: [(u64, u64); PHASES.len()],
    /// Those of the connections that were made before the load.
    opening: [(u64, u64); PHASES.len()],
    reconnects: u64,
}

/// One request that is over.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndedCall {
    pub(super) call: S3Call,
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    pub(super) before: WireCounts,
    pub(super) after: WireCounts,
    /// Whether an answer came, and whether it was an error.
    pub(super) is_answered: bool,
    pub(super) is_error: bool,
}

impl S3Counts {
    /// Counts a request that is over, with its phases.
    pub(super) fn add(&mut self, ended: &EndedCall) {
        let EndedCall { call, began_ns, ended_ns, before, after, .. } = *ended;
        let connects = after.connect_count - before.connect_count;
        let connect_ns = after.connect_ns - before.connect_ns;
        let tls_ns = after.tls_ns - before.tls_ns;
        self.reconnects += if before.connect_count == 0 { connects.saturating_sub(1) } else { connects };
        let place = S3Call::ALL.iter().position(|known| *known == call).unwrap_or(0);
        let counts = &mut self.calls[place];
        counts.calls += 1;
        counts.sent_bytes += after.sent_bytes - before.sent_bytes;
        counts.received_bytes += after.received_bytes - before.received_bytes;
        self.phases[0].0 += connects;
        self.phases[0].1 += connect_ns;
        self.phases[1].0 += after.tls_count - before.tls_count;
        self.phases[1].1 += tls_ns;
        if !ended.is_answered {
            return;
        }
        let counts = &mut self.calls[place];
        counts.replies += 1;
        counts.errors += u64::from(ended.is_error);
        counts.latency_sum_ns += ended_ns.saturating_sub(began_ns);
        let send_ns = after.sent_at_ns.saturating_sub(began_ns).saturating_sub(connect_ns + tls_ns);
        let first_byte_ns = after.first_byte_at_ns.saturating_sub(after.sent_at_ns);
        let body_ns = ended_ns.saturating_sub(after.first_byte_at_ns);
        for (phase, took_ns) in
            self.phases[CONNECTING_COUNT..].iter_mut().zip([send_ns, first_byte_ns, body_ns])
        {
            phase.0 += 1;
            phase.1 += took_ns;
        }
    }

    /// The load begins: what was counted until now belongs to its opening, of which the making of connections is kept.
    pub(super) fn begin_load(&mut self) {
        let mut opening = self.phases;
        opening[CONNECTING_COUNT..].fill((0, 0));
        *self = Self { opening, ..Self::default() };
    }

    /// Requests and answers of all kinds.
    pub(super) fn totals(&self) -> (u64, u64) {
        let sent = self.calls.iter().map(|counts| counts.calls).sum();
        (sent, self.calls.iter().map(|counts| counts.replies).sum())
    }

    /// All of it, as records have it. No request is ever sent again, so that none is counted as such.
    pub(super) fn to_model(&self) -> RpcCounters {
        let used = S3Call::ALL.iter().zip(&self.calls).filter(|(_, counts)| counts.calls > 0);
        let procedures = used.map(|(call, counts)| ProcedureCounters {
            procedure: call.name().to_owned(),
            call_count: counts.calls,
            reply_count: counts.replies,
            error_count: counts.errors,
            retransmit_count: 0,
            sent_bytes: Bytes(counts.sent_bytes),
            received_bytes: Bytes(counts.received_bytes),
            latency_sum_ns: Nanos(counts.latency_sum_ns),
        });
        RpcCounters {
            procedures: procedures.collect(),
            events: RpcEvents { reconnect_count: self.reconnects, ..RpcEvents::default() },
            arrivals: Vec::new(),
            phases: named_phases(&self.opening, true).chain(named_phases(&self.phases, false)).collect(),
        }
    }
}

fn named_phases(
    phases: &[(u64, u64); PHASES.len()],
    before_load: bool,
) -> impl Iterator<Item = PhaseCounters> {
    let used = PHASES.iter().zip(phases).filter(|(_, (count, _))| *count > 0);
    used.map(move |(phase, (count, sum_ns))| PhaseCounters {
        phase: (*phase).to_owned(),
        before_load,
        count: *count,
        latency_sum_ns: Nanos(*sum_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phases_of_a_request_add_up_to_its_time() {
        let mut counts = S3Counts::default();
        let after = WireCounts {
            connect_count: 1,
            connect_ns: 10,
            tls_count: 1,
            tls_ns: 20,
            sent_bytes: 5,
            received_bytes: 7,
            sent_at_ns: 140,
            first_byte_at_ns: 190,
        };
        counts.add(&EndedCall {
            call: S3Call::Get,
            began_ns: 100,
            ended_ns: 200,
            before: WireCounts::default(),
            after,
            is_answered: true,
            is_error: false,
        });
        let model = counts.to_model();
        let times: Vec<u64> = model.phases.iter().map(|phase| phase.latency_sum_ns.0).collect();
        assert_eq!((times.as_slice(), times.iter().sum::<u64>()), (&[10, 20, 10, 50, 10][..], 100));
        assert_eq!((model.procedures[0].procedure.as_str(), model.events.reconnect_count), ("GetObject", 0));
        counts.begin_load();
        let model = counts.to_model();
        assert_eq!((counts.totals(), model.phases.len()), ((0, 0), 2));
        assert!(model.phases.iter().all(|phase| phase.before_load), "{:?}", model.phases);
    }
}
