//! One cell's figures.

use super::bytes::Traffic;
use super::mixture::Search;
use super::quality::RateWindow;
use super::{
    Machines, block_trace, bytes, clients, commit, connection, cpu, exported, flagging, foreign,
    foreign_transfers, load, mixture, protocol, quality, rates, repeat, service, stalls, time_shares,
};
use crate::collect::CellData;
use crate::facts::flags::{COUNT_NOT_REACHED, WIRE_BY_INTERFACES};
use narrows_model::nfs_mount::NfsMountCounters;
use narrows_model::plan::{SUITE_PHASE, SUITE_TEST};
use narrows_model::summary::{CellSummary, ClientSummary, ForeignTransfer, Metric};
use narrows_model::trial::ClientTotals;
use narrows_model::{BytesPerSec, Cut, Histogram, OpsPerSec, Plan, Role};

/// The summary of one cell.
pub(super) fn summary(data: &CellData, plan: &Plan, machines: &Machines<'_>, search: Search) -> CellSummary {
    let basis = CellBasis {
        traffic: bytes::traffic(data, machines),
        response: data.response.whole(),
        windows: quality::windows(data),
    };
    let mut cell = figures(data, plan, machines, &basis);
    let searched = search.response_if_searched(&basis.response);
    cell.mixtures = mixture::mixtures(data, &basis.windows, searched, plan.seed);
    cell.time_shares = time_shares::of_cell(&cell);
    cell.flags = flags(data, &cell, plan, machines, &basis.traffic);
    cell
}

/// What several of a cell's figures are computed from.
struct CellBasis {
    traffic: Traffic,
    response: Histogram,
    windows: Vec<RateWindow>,
}

/// Its figures, without its mixtures, the shares of its time and its flags.
fn figures(data: &CellData, plan: &Plan, machines: &Machines<'_>, basis: &CellBasis) -> CellSummary {
    let (rates, CellBasis { traffic, response, windows }) = (rates::rates(data), basis);
    let ((rate, ops), steadiness) = (delivered(data, &rates, traffic), quality::steadiness(data, windows));
    CellSummary {
        id: data.cell.id.0.clone(),
        suite: plan.suite.as_ref().map(|suite| suite.name.clone()),
        test: of_suite(data, plan, SUITE_TEST),
        phase: of_suite(data, plan, SUITE_PHASE),
        driver: None,
        cut: data.cell.cut,
        site: data.cell.site,
        target: data.cell.target.clone(),
        more_targets: data.cell.more_targets.clone(),
        topology: plan.topology,
        factors: data.cell.factors.clone(),
        confirms: data.cell.confirms.clone(),
        refines: data.cell.refines,
        op: data.cell.workload.op,
        block_bytes: data.cell.workload.block_bytes,
        file_bytes: data.file_bytes.unwrap_or(data.cell.workload.file_bytes),
        queue_depth: u64::from(data.cell.workload.workers) * u64::from(data.cell.workload.queue_depth),
        clients: data.cell.workload.clients,
        requested: data.cell.workload.clone(),
        effective: data.effective.clone(),
        elapsed_s: rates.elapsed,
        rate_bytes_per_s: rate,
        ops_per_s: ops,
        interval: rate.and_then(|rate| quality::interval(data, rate.0, windows, plan.seed)),
        warm_up: quality::warm_up(windows),
        steady: steadiness.as_ref().map(quality::is_steady),
        steadiness,
        mixtures: Vec::new(),
        repeat: repeat::outcome(data),
        offered_ops_per_s: load::offered(data),
        open_loop: load::open_loop(data, &rates),
        in_flight: load::in_flight(data, &rates),
        latency_ns: load::response(data, response),
        service_ns: load::service(data),
        commit: commit::of_cell(data, response),
        kinds: load::kinds(data, &rates),
        trials: rates.trials,
        metrics: metrics(data, machines),
        per_client: data.clients.iter().map(client).collect(),
        errors: data.errors.clone(),
        verification: data.verification.clone(),
        protocol_events: data.rpc.as_ref().map(|rpc| rpc.events),
        protocol: data.rpc.as_ref().map(|rpc| rpc.procedures.clone()).unwrap_or_default(),
        protocol_phases: data.rpc.as_ref().map(|rpc| rpc.phases.clone()).unwrap_or_default(),
        nfs_mounts: nfs_mounts(data),
        round_trip_count: None,
        message_count: None,
        io_count: None,
        io_size_histogram: None,
        cpu: cpu::by_role(data, machines),
        foreign_cpu: foreign::loads(data, machines),
        foreign_transfers: foreign_transfers(data, plan, machines),
        memory_stalls: stalls::memory(data),
        daemon: stalls::daemon(data),
        time_shares: None,
        server_shares: time_shares::of_server(data, machines),
        bytes: traffic.triangle,
        rtt_min_ns: connection::round_trip(data),
        retransmit_count: retransmit_count(data),
        device_busy_ratio: device_busy_ratio(data, machines, traffic),
        block_trace: block_trace::of_cell(data),
        cache_served_ratio: traffic.cache_served_ratio,
        flags: Vec::new(),
        limiting: None,
    }
}

/// Segments that TCP sent again, of all connections; `None` without any.
fn retransmit_count(data: &CellData) -> Option<u64> {
    let tcp: Vec<_> = data.deltas.iter().filter_map(|delta| delta.tcp.as_ref()).collect();
    (!tcp.is_empty()).then(|| tcp.iter().map(|tcp| tcp.counted.retransmit_count).sum())
}

/// What the kernel's NFS client did at the mounts of the path while this machine loaded it.
fn nfs_mounts(data: &CellData) -> Vec<NfsMountCounters> {
    let client = data.deltas.iter().find(|delta| delta.role == Role::Client);
    client.map(|delta| delta.nfs_mounts.clone()).unwrap_or_default()
}

/// The flags of a cell of `plan`.
fn flags(
    data: &CellData,
    cell: &CellSummary,
    plan: &Plan,
    machines: &Machines<'_>,
    traffic: &bytes::Traffic,
) -> Vec<String> {
    let mut flags = flagging::of_cell(data, cell, machines);
    if plan.study.is_none() && plan.suite.is_none() {
        // The counts of a check are the most that it moves, not what it was to move.
        flags.retain(|flag| flag != COUNT_NOT_REACHED);
    }
    flags.extend(traffic.wire_by_interfaces.then(|| WIRE_BY_INTERFACES.to_owned()));
    flags
}

/// What devices and interfaces moved for others. The phases of a suite read and write in one cell, as their own loads do.
fn foreign_transfers(data: &CellData, plan: &Plan, machines: &Machines<'_>) -> Vec<ForeignTransfer> {
    if plan.suite.is_some() { Vec::new() } else { foreign_transfers::of_cell(data, machines) }
}

/// How busy the path's device was, by its own counters or by those of a server that has one alone.
fn device_busy_ratio(data: &CellData, machines: &Machines<'_>, traffic: &bytes::Traffic) -> Option<f64> {
    traffic.device_busy_ratio.or_else(|| exported::only_device_busy_ratio(data, machines))
}

/// What connections, the server's workers, the device and several clients report about the cell.
fn metrics(data: &CellData, machines: &Machines<'_>) -> Vec<Metric> {
    [
        connection::metrics(data),
        service::metrics(data, machines),
        exported::metrics(data, machines),
        clients::metrics(data),
        protocol::metrics(data),
    ]
    .concat()
}

/// The factor of this name in a cell of a suite.
fn of_suite(data: &CellData, plan: &Plan, factor: &str) -> Option<String> {
    plan.suite.as_ref().and_then(|_| data.cell.factors.get(factor)).map(ToString::to_string)
}

/// What the cell delivered: the wire's payload for a raw stream, whose first bytes only fill socket buffers, else
/// what the application moved.
fn delivered(
    data: &CellData,
    rates: &rates::Rates,
    traffic: &bytes::Traffic,
) -> (Option<BytesPerSec>, Option<OpsPerSec>) {
    let ops = rates.ops_per_s.map(OpsPerSec);
    let bytes = rates.bytes_per_s.map(BytesPerSec);
    match traffic.wire_bytes_per_s.filter(|_| matches!(data.cell.cut, Cut::NetworkStream | Cut::DirectStream))
    {
        Some(wire) => {
            let block = data.cell.workload.block_bytes.as_f64();
            (Some(wire), narrows_model::units::ratio(wire.0, block).map(OpsPerSec).or(ops))
        }
        None => (bytes, ops),
    }
}

fn client(totals: &ClientTotals) -> ClientSummary {
    ClientSummary {
        client_index: totals.client_index,
        host: totals.host.clone(),
        bytes: totals.bytes,
        ops: totals.op_count,
        elapsed_s: totals.elapsed_ns.as_secs_f64(),
        user_s: totals.user_ns.as_secs_f64(),
        system_s: totals.system_ns.as_secs_f64(),
    }
}
