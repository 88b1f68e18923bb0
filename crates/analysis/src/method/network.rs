//! The path against the raw stream over the same connections, and what other than the wire limited that stream.

use super::{
    EvidenceSource, SegmentRate, evaluate_segment_rate, is_single, metric, relief, server_host, time_share,
    unless_cut_was_limited,
};
use crate::facts::network::{direction_share, network_bytes_per_s, network_share};
use crate::facts::time_per_op_s;
use crate::summary::{TCP_BUSY_S, TCP_RECEIVE_WINDOW_LIMITED_S, TCP_SEND_BUFFER_LIMITED_S};
use crate::text;
use crate::thresholds::{ELIMINATED_CONFIDENCE, FULL_RATIO, RAISED_RATIO};
use crate::verdict::{SegmentVerdict, Stance};
use crate::view::{CutCeiling, SummaryView};
use narrows_model::counters::Role;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Nanos, Segment};

/// A stream limited by a window or a buffer from this share of its busy time on measured these, not the wire.
pub(crate) const LIMITED_RATIO: f64 = 0.5;

/// A request that takes hardly longer than a round trip waits in no queue and for no window: nothing but a shorter round
/// trip, or more requests in flight, makes it faster.
const ROUND_TRIP_RATIO: f64 = 0.8;

/// Whether the requests of this load take hardly longer than one round trip, so that relieving a window or a queue on the
/// way gains less than a quarter.
pub(crate) fn is_mostly_round_trip(cell: &CellSummary) -> bool {
    round_trip_share(cell).is_some_and(|share| share >= ROUND_TRIP_RATIO)
}

/// The share of a request's time that one round trip of an idle network takes.
pub(crate) fn round_trip_share(cell: &CellSummary) -> Option<f64> {
    let round_trip = cell.rtt_min_ns.filter(|rtt| rtt.0 > 0).map(Nanos::as_secs_f64);
    round_trip.zip(time_per_op_s(cell)).and_then(|(rtt_s, op_s)| ratio(rtt_s, op_s))
}

/// The raw stream that shows what the network sustains: the one past a proxy on the path where that was measured, since
/// the one through the proxy transfers no more than the proxy does.
pub(crate) fn stream_cut(view: &SummaryView<'_>, cell: &CellSummary) -> Cut {
    match view.ceiling(Cut::DirectStream, cell) {
        Some(_) => Cut::DirectStream,
        None => Cut::NetworkStream,
    }
}

/// The path against the raw stream, whatever limited that.
pub(crate) fn compare_with_stream(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let cut = stream_cut(view, cell);
    let verdict = compare_with_cut(view, cell, cut)?;
    let passed = cut == Cut::NetworkStream && view.passes_proxy(cell);
    Some(if passed && verdict.stance == Stance::Limits { open_between(verdict) } else { verdict })
}

/// The path against one of the raw streams.
pub(crate) fn compare_with_cut(
    view: &SummaryView<'_>,
    cell: &CellSummary,
    cut: Cut,
) -> Option<SegmentVerdict> {
    let ceiling = if is_single(cell) {
        view.ceiling_at_any_block(cut, cell)
    } else {
        view.ceiling(cut, cell).map(|found| at_least_path(view, cell, found))
    }?;
    let command = format!("ss -ti dst {}; ip -s link", server_host(view));
    let shown = EvidenceSource { counter: "payload acknowledged or received (TCP_INFO)", command: &command };
    if is_single(cell) {
        // The best rate of the wire in this direction at any block: what the block's bytes alone cost, on each leg.
        let best = view.best_of(cut, cell).unwrap_or(ceiling.bytes_per_s) * direction_share(cell);
        let passes_proxy = cut == Cut::NetworkStream && view.passes_proxy(cell);
        let legs = if passes_proxy { 2.0 } else { 1.0 };
        let part_s = legs * cell.block_bytes.as_f64() / best;
        let verdict =
            time_share(Segment::NetworkBandwidth, cell, part_s, "moving the block over the wire", shown)?;
        return unless_cut_was_limited(verdict, ceiling);
    }
    cell.rate_bytes_per_s?;
    let (one_way, in_all) = (direction_share(cell), network_bytes_per_s(cell));
    let carried = SegmentRate { segment: Segment::NetworkBandwidth, cell, rate: in_all * one_way };
    let ceiling = CutCeiling { bytes_per_s: ceiling.bytes_per_s * one_way, ..ceiling };
    let verdict = evaluate_segment_rate(carried, ceiling, text::network_rate, shown)?;
    let stayed = 1.0 - network_share(cell);
    let verdict = if stayed <= 0.0 {
        verdict
    } else {
        verdict.with_evidence(of_loopback(stayed), "payload of connections within a host", "")
    };
    let verdict = if one_way < 1.0 {
        let text = format!(
            "only what it {} is counted: a network passes each direction on its own",
            if cell.op.moves_towards_device() { "writes" } else { "reads" },
        );
        verdict.with_evidence(text, "bytes of each kind of request", "")
    } else {
        verdict
    };
    Some(verdict.with_relief_gain(relief(view, cell, &[Cut::ServerStorage, Cut::MemoryCopy])))
}

/// The ceiling of a wire, which passes bytes: where the path moves more than the stream did at its block, that of the best
/// block. A stream of small blocks is no faster for it, and a short window of a slow one is off by the blocks in flight.
fn at_least_path<'v>(view: &SummaryView<'v>, cell: &CellSummary, found: CutCeiling<'v>) -> CutCeiling<'v> {
    let is_above = network_bytes_per_s(cell) > found.bytes_per_s * RAISED_RATIO;
    let best = view.best_at_any_block(found.cell.cut, cell).filter(|_| is_above);
    let best = best.filter(|best| best.bytes_per_s > found.bytes_per_s);
    best.map_or(found, |best| CutCeiling { raised: true, ..best })
}

/// A verdict on the network by a stream that passed the proxy.
pub(crate) fn open_between(verdict: SegmentVerdict) -> SegmentVerdict {
    let text =
        "this stream passed the proxy: whether the proxy or a leg of the network limited it is not known";
    let counter = "payload acknowledged or received (TCP_INFO)";
    verdict.with_confidence_max(ELIMINATED_CONFIDENCE).with_evidence(text.to_owned(), counter, "")
}

/// The rate of the raw stream through the proxy, where the path moves nearly as much.
pub(crate) fn proxied_stream_rate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<f64> {
    let carried = view.ceiling(Cut::NetworkStream, cell)?.bytes_per_s;
    (network_bytes_per_s(cell) >= carried * FULL_RATIO && !is_single(cell)).then_some(carried)
}

fn of_loopback(stayed: f64) -> String {
    let share = text::percent(stayed);
    format!(
        "{share} of what the path moves stays on one host, where a client and a server run on the same host; only the \
        rest is counted"
    )
}

/// What other than the wire limited a stream, in words; `None` where nothing did, or its link was full by declaration.
pub(crate) fn stream_limit(view: &SummaryView<'_>, stream: &CellSummary) -> Option<String> {
    stream_limit_from(view, stream, LIMITED_RATIO)
}

/// The same from another share of the busy time on.
pub(crate) fn stream_limit_from(view: &SummaryView<'_>, stream: &CellSummary, least: f64) -> Option<String> {
    let seconds = |id: &str| metric(stream, id);
    let (window, buffer) = (seconds(TCP_RECEIVE_WINDOW_LIMITED_S)?, seconds(TCP_SEND_BUFFER_LIMITED_S)?);
    let busy = seconds(TCP_BUSY_S)?;
    let limited = ratio(window + buffer, busy).is_some_and(|share| share >= least);
    (limited && !link_full(view, stream)).then(|| {
        format!(
            "{}: of {} with data to send, it was limited by the peer's receive window for {} and by the send buffer \
            for {}",
            stream.id,
            text::seconds(busy),
            text::seconds(window),
            text::seconds(buffer),
        )
    })
}

/// Whether a stream reached the declared speed of a link at either end.
fn link_full(view: &SummaryView<'_>, stream: &CellSummary) -> bool {
    let ends = view
        .summary
        .hosts
        .iter()
        .filter(|host| host.roles.contains(&Role::Client) || host.roles.contains(&Role::Server))
        .filter(|host| !host.inventory.has_clients_elsewhere());
    let links = ends
        .flat_map(|host| &host.inventory.host.nics)
        .filter(|nic| !nic.is_virtual && nic.operstate == "up");
    let declared = links.filter_map(|nic| nic.link_bits_per_s).min();
    let rate = network_bytes_per_s(stream);
    declared.is_some_and(|bits| rate >= bits as f64 / 8.0 * FULL_RATIO)
}
