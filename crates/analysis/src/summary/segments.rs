//! What is known of each segment of the path: its ceiling over the grid, its law, how full the path made it.
//!
//! A segment is measured by a cut or by a counter; `source` states which.

use super::binding::binding;
use super::laws;
use super::{Machines, SERVER_WORKER_BUSY_RATIO};
use crate::facts::flags::{WIRE_BY_INTERFACES, has};
use crate::facts::network::{
    loopback, network_share, passing_bytes_per_s, sustained_bytes_per_s, transferred_bytes_per_s as rate,
};
use crate::facts::offered_load::is_delivered;
use crate::facts::{CellSettings, StripeMembers, reads};
use crate::thresholds::RAISED_RATIO;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, CurvePoint, SegmentFit, SegmentSummary};
use narrows_model::{BytesPerSec, Cut, OpsPerSec, Segment};
use std::collections::{BTreeSet, HashMap};

/// Shortest window whose counters may raise a ceiling: they are read up to 20 ms beyond it, 2 % of a second.
const RAISING_WINDOW_MIN_S: f64 = 1.0;

/// The segments of the path, in its order.
pub(super) fn summaries(
    segments: &[Segment],
    cells: &[CellSummary],
    machines: &Machines<'_>,
    seed: u64,
) -> Vec<SegmentSummary> {
    let loopback = loopback(cells);
    let of = |segment: &Segment| {
        let network = segment.is_within(Segment::Network);
        if network && loopback {
            return SegmentSummary::unmeasured(*segment);
        }
        summary(*segment, cells, machines, seed)
    };
    segments.iter().map(of).collect()
}

fn summary(segment: Segment, cells: &[CellSummary], machines: &Machines<'_>, seed: u64) -> SegmentSummary {
    let cut = cut_of(segment, cells, machines);
    let measured: Vec<&CellSummary> = cells.iter().filter(|cell| Some(cell.cut) == cut).collect();
    let best =
        measured.iter().filter(|c| c.rate_bytes_per_s.is_some()).max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let counter = counter_of(segment, cells, machines);
    let members = cut.and_then(|cut| of_members(cut, cells));
    let carried = members.as_ref().map(StripeMembers::combined_bytes_per_s).or(best.map(|best| rate(best)));
    let raised = carried.and_then(|carried| raised(segment, carried, cells));
    let binding_result = best.map(|best| binding(best, &measured, seed));
    let (binds, binds_because) =
        binding_result.map_or((None, None), |(binds, because)| (binds, Some(because)));
    SegmentSummary {
        id: segment,
        measured: best.is_some() || counter.is_some(),
        ceiling_bytes_per_s: raised.map(|(_, rate)| BytesPerSec(rate)).or(carried.map(BytesPerSec)),
        ceiling_ops_per_s: measured
            .iter()
            .filter_map(|c| c.ops_per_s)
            .map(|r| r.0)
            .reduce(f64::max)
            .map(OpsPerSec),
        interval: best
            .filter(|cell| raised.is_none() && members.is_none() && network_share(cell) >= 1.0)
            .and_then(|cell| cell.interval.clone()),
        source: best.map(|cell| source(cell, members.as_ref(), raised.map(|(cell, _)| cell))).or(counter),
        utilisation_ratio: utilisation(segment, &measured, cells),
        uses: Vec::new(),
        curve: measured.iter().copied().filter_map(point).collect(),
        fit: fit(&measured),
        binds,
        binds_because,
    }
}

/// The cut behind a ceiling, whether a cap on the load kept it below what the segment sustains, and the cell of the
/// path that was seen to get more through.
fn source(
    cell: &CellSummary,
    members: Option<&StripeMembers<'_>>,
    raised_by: Option<&CellSummary>,
) -> String {
    let each =
        members.map(|members| format!(", {} times the slowest member's", members.len())).unwrap_or_default();
    let capped = if is_delivered(cell) { ", limited by the cap on the load" } else { "" };
    let raised = raised_by
        .map(|path| format!(", raised to the rate that {} reached through it", path.id))
        .unwrap_or_default();
    format!("cut {}{each}{capped}{raised}", cell.cut.name())
}

/// The members of a stripe where a cut was measured at each of them alone and not at all together.
fn of_members(cut: Cut, cells: &[CellSummary]) -> Option<StripeMembers<'_>> {
    let at_once: BTreeSet<usize> =
        cells.iter().filter(|cell| cell.cut == cut).map(|cell| cell.target.members().len()).collect();
    let measured_at_all = |path: &CellSummary| at_once.contains(&path.target.members().len());
    let paths = cells.iter().filter(|cell| cell.cut == Cut::Path && !measured_at_all(cell));
    let alone = paths.filter_map(|path| StripeMembers::new(cells, cut, path));
    alone.max_by(|a, b| a.combined_bytes_per_s().total_cmp(&b.combined_bytes_per_s()))
}

/// The cell of the path that got the most through a segment, with the rate there, where that is above the segment's own
/// ceiling: a measured ceiling is a lower bound. Only bytes counted at the segment show it, since a cache before it may
/// have served the application. What a device moved beyond the application's bytes is a journal's or somebody else's,
/// and no rate of this load: cuts report ceilings in the application's bytes too.
fn raised(segment: Segment, ceiling: f64, cells: &[CellSummary]) -> Option<(&CellSummary, f64)> {
    let carried = |cell: &CellSummary| {
        let by_interfaces = has(cell, WIRE_BY_INTERFACES);
        let bytes = match segment {
            Segment::NetworkBandwidth => cell.bytes.wire.filter(|_| !by_interfaces),
            Segment::DeviceBandwidth => cell.bytes.device.map(|device| device.min(cell.bytes.application)),
            _ => None,
        }?;
        let elapsed_s = cell.elapsed_s.last_done;
        narrows_model::units::ratio(bytes.as_f64(), elapsed_s).filter(|_| elapsed_s >= RAISING_WINDOW_MIN_S)
    };
    cells
        .iter()
        .filter(|cell| cell.cut == Cut::Path)
        .filter_map(|cell| Some((cell, carried(cell)?)))
        .filter(|(_, rate)| *rate > ceiling * RAISED_RATIO)
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The cut that isolates a segment. A device's bandwidth, operations and latency are three readings of one cut,
/// whichever side the device is on.
fn cut_of(segment: Segment, cells: &[CellSummary], machines: &Machines<'_>) -> Option<Cut> {
    // The stream past a proxy shows what the network sustains, and the one through it what the proxy does.
    let is_direct = cells.iter().any(|cell| cell.cut == Cut::DirectStream && cell.rate_bytes_per_s.is_some());
    match segment {
        Segment::Generator => Some(Cut::Generator),
        Segment::ClientMemory => Some(Cut::MemoryCopy),
        Segment::NetworkBandwidth if is_direct => Some(Cut::DirectStream),
        Segment::NetworkBandwidth => Some(Cut::NetworkStream),
        Segment::ProxyQueue if is_direct => Some(Cut::NetworkStream),
        Segment::ServerProtocol => Some(Cut::ServerMemory),
        Segment::ServerCommit => Some(Cut::EarlyPath),
        Segment::ServerCache if cells.iter().any(|cell| cell.cut == Cut::HotBlocks) => Some(Cut::HotBlocks),
        Segment::DeviceBandwidth | Segment::DeviceIops | Segment::DeviceLatency
            if machines.server.is_some() =>
        {
            Some(Cut::ServerStorage)
        }
        Segment::DeviceBandwidth | Segment::DeviceIops | Segment::DeviceLatency => Some(Cut::LocalDevice),
        _ => None,
    }
}

/// The counter by which a segment without a cut of its own was seen.
fn counter_of(segment: Segment, cells: &[CellSummary], machines: &Machines<'_>) -> Option<String> {
    let path = || cells.iter().filter(|cell| cell.cut == Cut::Path);
    let has_cpu = |role: Role| path().any(|cell| cell.cpu.contains_key(&role));
    let text = match segment {
        Segment::ClientCpu if has_cpu(Role::Client) => "CPU time of the client",
        Segment::ProxyCpu if has_cpu(Role::Proxy) => "CPU time of the proxy",
        Segment::ServerCpu if has_cpu(Role::Server) => "CPU time of the server",
        Segment::HostCpu if machines.sharing.one_machine && has_cpu(Role::Server) => "CPU time of both roles",
        Segment::HostCpu if path().any(|cell| !cell.foreign_cpu.is_empty()) => "CPU time of all programs",
        Segment::NetworkLatency if path().any(|cell| cell.rtt_min_ns.is_some()) => {
            "TCP_INFO minimum round trip"
        }
        Segment::NetworkLoss if path().any(|cell| cell.retransmit_count.is_some()) => "TCP_INFO retransmits",
        Segment::ClientCache | Segment::ServerCache if path().any(|c| c.cache_served_ratio.is_some()) => {
            "bytes at application, wire and device"
        }
        Segment::ServerThreads if path().any(|cell| counted(cell, SERVER_WORKER_BUSY_RATIO)) => {
            "busy and waiting time of the server's workers"
        }
        Segment::WorkloadConcurrency if path().any(|cell| cell.in_flight.measured.is_some()) => {
            "Little's law"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

fn counted(cell: &CellSummary, id: &str) -> bool {
    cell.metrics.iter().any(|metric| metric.id == id)
}

fn point(cell: &CellSummary) -> Option<CurvePoint> {
    Some(CurvePoint {
        op: cell.op,
        block_bytes: cell.block_bytes,
        queue_depth: cell.queue_depth,
        clients: cell.clients,
        value: cell.rate_bytes_per_s?,
        interval: cell.interval.clone(),
    })
}

/// How far the path fills a segment, at the settings of the path's fastest cell that the segment was measured at: there
/// it matters. The generator must keep clear of every cell, so its fullest counts. Through a page cache the
/// application's operations are not the device's, so only direct cells show operations at the device.
fn utilisation(segment: Segment, measured: &[&CellSummary], cells: &[CellSummary]) -> Option<f64> {
    let ceilings: HashMap<CellSettings, &CellSummary> = measured
        .iter()
        .filter(|cell| !is_delivered(cell) && cell.rate_bytes_per_s.is_some())
        .map(|cell| (CellSettings::from_cell(cell), *cell))
        .collect();
    let cut = measured.first()?.cut;
    let share = |path: &CellSummary| {
        let ceiling = ceilings.get(&CellSettings::from_cell(path).at(cut))?;
        path.rate_bytes_per_s?;
        narrows_model::units::ratio(passing_bytes_per_s(path, cut), sustained_bytes_per_s(ceiling, path))
    };
    let path = cells.iter().filter(|cell| cell.cut == Cut::Path);
    let fastest = |speed: fn(&CellSummary) -> f64, path: Vec<(&CellSummary, f64)>| {
        path.into_iter().max_by(|a, b| speed(a.0).total_cmp(&speed(b.0))).map(|(_, share)| share)
    };
    let shares = path.filter_map(|cell| Some((cell, share(cell)?)));
    match segment {
        Segment::Generator => shares.map(|(_, share)| share).reduce(f64::max),
        Segment::DeviceIops => {
            let direct =
                |cell: &CellSummary| cell.requested.access == narrows_model::workload::Access::Direct;
            let ops = |cell: &CellSummary| cell.ops_per_s.unwrap_or_default().0;
            fastest(ops, shares.filter(|(cell, _)| direct(cell)).collect())
        }
        _ => fastest(rate, shares.collect()),
    }
}

/// The latency-bandwidth law over the blocks at depth 1, for reads where there are any.
fn fit(measured: &[&CellSummary]) -> Option<SegmentFit> {
    let single = || measured.iter().copied().filter(|cell| cell.in_flight.configured == 1);
    let read = single().any(|cell| reads(cell.op));
    laws::fit(&single().filter(|cell| reads(cell.op) == read).collect::<Vec<_>>())
}
