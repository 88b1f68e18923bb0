//! How long the load waited for its data to be durable, apart from the time of the writes where both are known.

use super::load::latency;
use crate::collect::CellData;
use narrows_model::summary::{CommitCall, CommitLatency};
use narrows_model::workload::{Acknowledgement, SyncPolicy};
use narrows_model::{Histogram, Op};

/// The times of a cell's commits; `None` where it waits for none, or they are not timed by themselves.
///
/// Of a load that syncs, the syncs; of one whose writes return when they are durable, the writes, of which no other part is
/// known. `response` are the response times of the whole load.
pub(super) fn of_cell(data: &CellData, response: &Histogram) -> Option<CommitLatency> {
    let of = |call: CommitCall, times: &Histogram| {
        let is_any = times.count() > 0;
        is_any.then(|| CommitLatency { call, count: times.count(), latency_ns: latency(times) })
    };
    let of_kind = |op: Op| {
        let mut times = Histogram::new();
        let of_op = data.kinds.iter().filter(|kind| kind.counts.op == op);
        of_op.for_each(|kind| times.merge(&kind.response.whole()));
        times
    };
    let workload = &data.cell.workload;
    let is_durable_each =
        workload.sync == SyncPolicy::Dsync || workload.acknowledgement == Acknowledgement::Late;
    let syncs = data.syncs.whole();
    if syncs.count() > 0 {
        return of(CommitCall::Sync, &syncs);
    }
    if is_durable_each {
        // In a mix only the writes wait; in an open loop the time from the submission, not the wait for it.
        return match (&data.open_loop, data.kinds.is_empty()) {
            (_, false) => of(CommitCall::Write, &of_kind(Op::Write)),
            _ if workload.op != Op::Write => None,
            (Some(open), true) => of(CommitCall::Write, &open.service.whole()),
            (None, true) => of(CommitCall::Write, response),
        };
    }
    of(CommitCall::Sync, &of_kind(Op::Sync))
}
