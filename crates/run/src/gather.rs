//! Joins the outputs of a trial's clients into one.

use crate::assignment::{ClientOutput, WindowTimes, WorkerOutput};
use narrows_model::counters::{Combine, ProcessCpu, TcpCounters};
use narrows_model::fault::{ErrorCount, merge_errors};
use narrows_model::trial::{ClientTotals, InFlightAtEnd, OpTotals};
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
    let times = began_times(cell, times, workers());
    let (from_ns, until_ns) = span_ns(times, clients);
    let done = |worker: &WorkerOutput| Nanos(worker.done_at_ns.min(until_ns).saturating_sub(from_ns));
    let mut output = TrialOutput {
        cell: cell.id.clone(),
        trial,
        complete: workers().all(|worker| worker.complete),
        start_ns: Nanos(from_ns),
        first_done_ns: first_done(clients).map(done).min().unwrap_or_default(),
        last_done_ns: workers().map(done).max().unwrap_or_default(),
        ended_ns: workers()
            .filter_map(|worker| worker.ended_at_ns)
            .max()
            .map(|ended_ns| Nanos(ended_ns.saturating_sub(from_ns))),
        op_count: 0,
        bytes: Bytes(0),
        response: Histogram::new(),
        response_sum_ns: 0,
        by_kind: Vec::new(),
        open_loop: None,
        in_flight_at_end: Some(in_flight_at_end(clients)),
        effective: workers().find_map(|worker| worker.effective.clone()),
        clients: clients.iter().map(|client| client_totals(client, cell, times, hostname)).collect(),
        errors: Vec::new(),
        counters: Vec::new(),
        file_bytes: cell.workload.file_bytes,
        resident_ratio: None,
        verification: None,
        rpc: None,
        syncs: None,
    };
    for worker in workers() {
        output.op_count += worker.op_count;
        output.bytes = output.bytes.saturating_add(worker.bytes);
        output.response.merge(&worker.response);
        output.response_sum_ns = output.response_sum_ns.saturating_add(worker.response_sum_ns);
        merge_kinds(&mut output.by_kind, &worker.by_kind);
        if let Some(more) = &worker.open_loop {
            match &mut output.open_loop {
                Some(known) => known.add(more),
                none => *none = Some(more.clone()),
            }
        }
        merge_errors(&mut output.errors, &worker.errors);
        if let Some(rpc) = &worker.rpc {
            output.rpc.get_or_insert_default().add(rpc);
        }
        if let Some(syncs) = &worker.syncs {
            output.syncs.get_or_insert_default().merge(syncs);
        }
        if let Some(verification) = &worker.verification {
            output.verification.get_or_insert_default().add(verification);
        }
    }
    if let Some(error) = empty_window(cell, times, &output) {
        output.complete = false;
        output.errors.push(error);
    }
    output
}

/// That the requests took longer than the window, in which none completed; `None` where one did, or a failure says why none did.
fn empty_window(cell: &Cell, times: WindowTimes, output: &TrialOutput) -> Option<ErrorCount> {
    let found = output.in_flight_at_end.filter(|found| found.count > 0)?;
    let is_empty = output.op_count == 0 && output.complete && output.errors.is_empty();
    if !is_empty || !cell.ends_by_time() || output.open_loop.is_some() {
        return None;
    }
    let window = Nanos(times.measure_until_ns.saturating_sub(times.measure_from_ns));
    let first_message = format!(
        "no request completed in the {:.1} s of the trial, at the end of which {} were in flight for up to {:.1} s: measure for \
         longer (--cell-seconds, or stop.measure of a study), or with smaller requests",
        window.as_secs_f64(),
        found.count,
        found.longest_in_flight_ns.as_secs_f64()
    );
    Some(ErrorCount { op: cell.workload.op, errno: "NO_COMPLETION".to_owned(), first_message, count: 1 })
}

/// Adds the clients `more` to `all`: what is large of them (distributions, counts of calls and checked blocks) is
/// moved to the first worker there, and what belongs to one client stays with it. `trial_output` of all is the same as
/// before.
pub fn merge_outputs(all: &mut Vec<ClientOutput>, more: Vec<ClientOutput>) {
    for mut client in more {
        let Some(first) = all.iter_mut().flat_map(|client| &mut client.workers).next() else {
            all.push(client);
            continue;
        };
        client.workers.iter_mut().for_each(|worker| move_large(first, worker));
        all.push(client);
    }
}

fn move_large(into: &mut WorkerOutput, from: &mut WorkerOutput) {
    into.response.merge(&std::mem::take(&mut from.response));
    merge_kinds(&mut into.by_kind, &std::mem::take(&mut from.by_kind));
    if let Some(rpc) = from.rpc.take() {
        into.rpc.get_or_insert_default().add(&rpc);
    }
    if let Some(syncs) = from.syncs.take() {
        into.syncs.get_or_insert_default().merge(&syncs);
    }
    if let Some(verification) = from.verification.take() {
        into.verification.get_or_insert_default().add(&verification);
    }
    if let (Some(known), Some(open)) = (&mut into.open_loop, &mut from.open_loop) {
        known.censored.merge(&std::mem::take(&mut open.censored));
        known.service.merge(&std::mem::take(&mut open.service));
    }
}

/// The workers of which the first to end counts: a count that is smaller than the number of workers leaves some without
/// anything to do.
fn first_done(clients: &[ClientOutput]) -> impl Iterator<Item = &WorkerOutput> {
    let workers = || clients.iter().flat_map(|client| &client.workers);
    let worked = |worker: &WorkerOutput| worker.op_count > 0 || !worker.errors.is_empty();
    let is_any = workers().any(worked);
    workers().filter(move |worker| worked(worker) || !is_any)
}

/// Adds a worker's totals by kind; all workers of a cell have the same kinds.
fn merge_kinds(into: &mut Vec<OpTotals>, from: &[OpTotals]) {
    for totals in from {
        match into.iter_mut().find(|known| known.counts().is_same_kind(&totals.counts())) {
            Some(known) => known.add(totals),
            None => into.push(totals.clone()),
        }
    }
}

/// The window's times of `workers`, whose load begins with it and ends by itself: from when the first of them could start. Who
/// wakes late, and reads its counters before, takes as long for a file of 64 KiB as for one of a megabyte otherwise.
fn began_times<'a>(
    cell: &Cell,
    times: WindowTimes,
    workers: impl Iterator<Item = &'a WorkerOutput>,
) -> WindowTimes {
    let begins_with_load = times.start_ns == times.measure_from_ns;
    let began_ns =
        workers.map(|worker| worker.began_at_ns).filter(|began_ns| *began_ns > times.start_ns).min();
    match began_ns {
        Some(began_ns) if begins_with_load && !cell.ends_by_time() => {
            WindowTimes { start_ns: began_ns, measure_from_ns: began_ns, ..times }
        }
        _ => times,
    }
}

/// The time that the counted completions took: from the last one before the window to the last one in it.
///
/// The window's own length counts a block that straddles a border as whole or not at all, which is a seventh of the
/// rate when seven blocks fit; between two completions there are whole blocks only. A trial that a count or a sync ends
/// has no such border at its end. Without a warm-up nothing straddles the window's start, at which the load starts. A window after
/// a warm-up in which nothing completed begins with a part of a block and ends with one. Where nothing came for longer than blocks
/// straddle, the target stalled: that time is the window's like all other.
fn span_ns(times: WindowTimes, clients: &[ClientOutput]) -> (u64, u64) {
    let workers = || clients.iter().flat_map(|client| &client.workers);
    let last_before_ns = workers().map(|worker| worker.last_before_ns).max().unwrap_or_default();
    let last_within_ns = workers().map(|worker| worker.last_within_ns).max().unwrap_or_default();
    let timed = workers().all(|worker| worker.done_at_ns == times.measure_until_ns);
    if !timed && last_before_ns > 0 && last_within_ns > last_before_ns {
        return (last_before_ns, u64::MAX);
    }
    let begins_with_load = last_before_ns == 0 && times.start_ns == times.measure_from_ns;
    let from_ns = if begins_with_load { times.measure_from_ns } else { last_before_ns };
    let is_whole = timed && (begins_with_load || last_before_ns > 0);
    if !is_whole || last_within_ns <= from_ns {
        return (times.measure_from_ns, u64::MAX);
    }
    let silent_ns = times.measure_until_ns.saturating_sub(last_within_ns);
    let straddled_ns = straddled_ns(clients, last_within_ns - from_ns);
    let until_ns = if silent_ns as f64 > straddled_ns { times.measure_until_ns } else { last_within_ns };
    (from_ns, until_ns)
}

/// The longest that a window's end waits for its next completion while requests come as they came for `span_ns`: twice
/// the time that a request takes, or twice the time between two of them where they seldom are in flight.
fn straddled_ns(clients: &[ClientOutput], span_ns: u64) -> f64 {
    let workers = || clients.iter().flat_map(|client| &client.workers);
    let op_count = workers().map(|worker| worker.op_count).sum::<u64>().max(1) as f64;
    let time_ns = |worker: &WorkerOutput| match &worker.open_loop {
        Some(open) => open.service_sum_ns as f64,
        None => worker.response_sum_ns as f64,
    };
    2.0 * workers().map(time_ns).sum::<f64>().max(span_ns as f64) / op_count
}

fn in_flight_at_end(clients: &[ClientOutput]) -> InFlightAtEnd {
    let mut all = InFlightAtEnd::default();
    clients.iter().flat_map(|client| &client.workers).for_each(|worker| all.add(&worker.in_flight_at_end));
    all
}

fn client_totals(client: &ClientOutput, cell: &Cell, times: WindowTimes, hostname: &str) -> ClientTotals {
    let times = began_times(cell, times, client.workers.iter());
    let mut cpu = ProcessCpu::default();
    client.workers.iter().for_each(|worker| cpu.add_beside(&worker.cpu));
    let mut totals = ClientTotals {
        client_index: client.client_index,
        host: client.host.clone().unwrap_or_else(|| hostname.to_owned()),
        op_count: 0,
        bytes: Bytes(0),
        elapsed_ns: Nanos(0),
        user_ns: cpu.user_ns,
        system_ns: cpu.system_ns,
        waiting_ns: client
            .workers
            .iter()
            .try_fold(Nanos(0), |sum, worker| Some(sum.saturating_add(worker.waiting_ns?))),
    };
    for worker in &client.workers {
        totals.op_count += worker.op_count;
        totals.bytes = totals.bytes.saturating_add(worker.bytes);
        totals.elapsed_ns =
            totals.elapsed_ns.max(Nanos(worker.done_at_ns.saturating_sub(times.measure_from_ns)));
    }
    totals
}

/// `TCP_INFO` of all workers at the window's start and at its end; `None` without connections. A worker counts only
/// with both: the life of its connection before the window is not the window's.
pub(crate) fn tcp_sums(clients: &[ClientOutput]) -> Option<(TcpCounters, TcpCounters)> {
    let workers = clients.iter().flat_map(|client| &client.workers);
    let pairs = workers.filter_map(|worker| worker.tcp_before.as_ref().zip(worker.tcp_after.as_ref()));
    let (mut before, mut after) = (TcpCounters::default(), TcpCounters::default());
    for (first, last) in pairs {
        before.add_beside(first);
        after.add_beside(last);
    }
    (before.connection_count > 0).then_some((before, after))
}
