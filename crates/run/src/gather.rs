//! Joins the outputs of a trial's clients into one.

use crate::assignment::{ClientOutput, WindowTimes, WorkerOutput};
use narrows_model::counters::{ProcessCpu, TcpCounters};
use narrows_model::fault::merge_errors;
use narrows_model::trial::ClientTotals;
use narrows_model::{Bytes, Cell, Histogram, Nanos, TrialOutput};

/// The trial of `cell` as its clients report it, without counters of machines.
pub(crate) fn trial_output(
    cell: &Cell,
    trial: u32,
    times: WindowTimes,
    clients: &[ClientOutput],
    hostname: &str,
) -> TrialOutput {
    let workers = || clients.iter().flat_map(|client| &client.workers);
    let (from_ns, until_ns) = span_ns(times, clients);
    let done = |worker: &WorkerOutput| Nanos(worker.done_at_ns.min(until_ns).saturating_sub(from_ns));
    let mut output = TrialOutput {
        cell: cell.id.clone(),
        trial,
        complete: workers().all(|worker| worker.complete),
        start_ns: Nanos(from_ns),
        first_done_ns: workers().map(done).min().unwrap_or_default(),
        last_done_ns: workers().map(done).max().unwrap_or_default(),
        op_count: 0,
        bytes: Bytes(0),
        response: Histogram::new(),
        response_sum_ns: 0,
        effective: workers().find_map(|worker| worker.effective.clone()),
        clients: clients.iter().map(|client| client_totals(client, times, hostname)).collect(),
        errors: Vec::new(),
        counters: Vec::new(),
        file_bytes: cell.workload.file_bytes,
        resident_ratio: None,
    };
    for worker in workers() {
        output.op_count += worker.op_count;
        output.bytes = output.bytes.saturating_add(worker.bytes);
        output.response.merge(&worker.response);
        output.response_sum_ns = output.response_sum_ns.saturating_add(worker.response_sum_ns);
        merge_errors(&mut output.errors, &worker.errors);
    }
    output
}

/// The time that the counted completions took: from the last one before the window to the last one in it.
///
/// The window's own length counts a block that straddles a border as whole or not at all, which is a seventh of the
/// rate when seven blocks fit; between two completions there are whole blocks only. A trial that a count ends has no
/// such border, and neither has one without a completion before its window.
fn span_ns(times: WindowTimes, clients: &[ClientOutput]) -> (u64, u64) {
    let workers = || clients.iter().flat_map(|client| &client.workers);
    let last_before_ns = workers().map(|worker| worker.last_before_ns).max().unwrap_or_default();
    let last_within_ns = workers().map(|worker| worker.last_within_ns).max().unwrap_or_default();
    let timed = workers().all(|worker| worker.done_at_ns == times.measure_until_ns);
    if timed && last_before_ns > 0 && last_within_ns > last_before_ns {
        (last_before_ns, last_within_ns)
    } else {
        (times.measure_from_ns, u64::MAX)
    }
}

fn client_totals(client: &ClientOutput, times: WindowTimes, hostname: &str) -> ClientTotals {
    let mut totals = ClientTotals {
        client_index: client.client_index,
        host: hostname.to_owned(),
        op_count: 0,
        bytes: Bytes(0),
        elapsed_ns: Nanos(0),
        user_ns: Nanos(0),
        system_ns: Nanos(0),
    };
    for worker in &client.workers {
        let ProcessCpu { user_ns, system_ns } = worker.cpu;
        totals.op_count += worker.op_count;
        totals.bytes = totals.bytes.saturating_add(worker.bytes);
        totals.user_ns = totals.user_ns.saturating_add(user_ns);
        totals.system_ns = totals.system_ns.saturating_add(system_ns);
        totals.elapsed_ns =
            totals.elapsed_ns.max(Nanos(worker.done_at_ns.saturating_sub(times.measure_from_ns)));
    }
    totals
}

/// `TCP_INFO` of all workers at the window's start and at its end; `None` without connections.
pub(crate) fn tcp_sums(clients: &[ClientOutput]) -> Option<(TcpCounters, TcpCounters)> {
    let workers = || clients.iter().flat_map(|client| &client.workers);
    let before = sum(workers().filter_map(|worker| worker.tcp_before.as_ref()))?;
    let after = sum(workers().filter_map(|worker| worker.tcp_after.as_ref()))?;
    Some((before, after))
}

fn sum<'a>(parts: impl Iterator<Item = &'a TcpCounters>) -> Option<TcpCounters> {
    let mut total = TcpCounters::default();
    let mut parts_count = 0_u64;
    let add = |a: Bytes, b: Bytes| a.saturating_add(b);
    for part in parts {
        total.connection_count += part.connection_count;
        total.acked_bytes = add(total.acked_bytes, part.acked_bytes);
        total.received_bytes = add(total.received_bytes, part.received_bytes);
        total.segments_out_count += part.segments_out_count;
        total.segments_in_count += part.segments_in_count;
        total.retransmit_count += part.retransmit_count;
        total.rtt_min_ns =
            if parts_count == 0 { part.rtt_min_ns } else { total.rtt_min_ns.min(part.rtt_min_ns) };
        total.rtt_ns = total.rtt_ns.saturating_add(part.rtt_ns);
        total.congestion_window_bytes = add(total.congestion_window_bytes, part.congestion_window_bytes);
        total.busy_ns = total.busy_ns.saturating_add(part.busy_ns);
        total.receive_window_limited_ns =
            total.receive_window_limited_ns.saturating_add(part.receive_window_limited_ns);
        total.send_buffer_limited_ns =
            total.send_buffer_limited_ns.saturating_add(part.send_buffer_limited_ns);
        parts_count += 1;
    }
    total.rtt_ns = Nanos(total.rtt_ns.0.checked_div(parts_count)?);
    total.congestion_window_bytes = Bytes(total.congestion_window_bytes.0 / parts_count);
    Some(total)
}
