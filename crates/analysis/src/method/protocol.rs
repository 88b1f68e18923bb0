//! What requests of a storage protocol show of the way to a server on which nothing of ours runs: the cuts that are classes
//! of its operations, and how full the wire is.
//!
//! Not here: which segment is blamed, which is the rules' to say.

mod connections;

pub(crate) use connections::{
    best_of_one_connection, gains_from_connections, is_gain_of_chance, is_server_or_connection,
    more_connections, over_more_connections,
};

use super::one_more::shares_one_rate;
use super::{is_single, metric};
use crate::facts::{reads, time_per_op_s};
use crate::summary::{
    RECEIVED_BYTES_PER_S, REPLY_ARRIVAL_BYTES_PER_S, TCP_BUSY_S, TCP_RECEIVE_WINDOW_LIMITED_S,
    TCP_ROUND_TRIP_S,
};
use crate::text;
use crate::thresholds::{DOMINANT_RATIO, FREE_RATIO, FULL_RATIO, STRONG_GAIN_RATIO};
use crate::view::SummaryView;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::workload::SyncPolicy;
use narrows_model::{Cut, Nanos};

/// From this share of the rate at which replies arrive a wire counts as full: arrivals are known to a tenth, and a request
/// that comes late leaves a gap.
const ARRIVING_RATIO: f64 = 0.8;
/// Data that waits for the wire inflates the round trip by half or more; data that waits for the server does not.
const QUEUED_RATIO: f64 = 1.5;
/// Below this a round trip is the time of the stack: what it grows by is no queue of a link.
const STACK_S: f64 = 0.5e-3;

/// Whether the wire is full under a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireState {
    Full,
    Free,
    Open,
}

/// How full the wire is under a load, and what shows it.
#[derive(Debug, Clone)]
pub(crate) struct WireUse {
    pub state: WireState,
    pub load_ratio: f64,
    pub text: String,
    pub counter: &'static str,
}

/// Reads of the same few blocks, or writes of them that need not be durable, at the settings of `cell`.
pub(crate) fn hot<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Option<&'v CellSummary> {
    view.ceiling(Cut::HotBlocks, cell).filter(|found| found.same_settings).map(|found| found.cell)
}

/// Reads of the same few blocks at the settings of a cell that writes.
pub(crate) fn hot_reads<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Option<&'v CellSummary> {
    let same = |other: &&CellSummary| {
        other.cut == Cut::HotBlocks
            && reads(other.op)
            && (other.block_bytes, other.queue_depth, other.clients)
                == (cell.block_bytes, cell.queue_depth, cell.clients)
    };
    view.summary.cells.iter().find(same)
}

/// The same writes, of which none needs to be durable.
pub(crate) fn early<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Option<&'v CellSummary> {
    view.ceiling(Cut::EarlyPath, cell).filter(|found| found.same_settings).map(|found| found.cell)
}

/// The mean time of the protocol's cheapest round trip, one at a time, in seconds.
pub(crate) fn round_trip_s(view: &SummaryView<'_>) -> Option<f64> {
    let single = |cell: &&CellSummary| cell.cut == Cut::RoundTrip && is_single(cell);
    view.summary.cells.iter().filter(single).find_map(time_per_op_s)
}

/// The network's smallest round trip under a load, in seconds.
fn network_s(cell: &CellSummary) -> Option<f64> {
    cell.rtt_min_ns.filter(|rtt| rtt.0 > 0).map(Nanos::as_secs_f64)
}

/// How full the wire is under `cell`; `None` where nothing shows it, or more connections refute that it is full.
pub(crate) fn wire(view: &SummaryView<'_>, cell: &CellSummary) -> Option<WireUse> {
    let sender =
        || by_sharing(view, cell).or_else(|| by_sender(cell)).filter(|_| !is_faster_back(view, cell));
    let own = if reads(cell.op) { by_arrival(cell) } else { sender() };
    let known = own.filter(|own| own.state != WireState::Open).or_else(|| by_others(view, cell))?;
    // What more connections add, the wire had to spare.
    let is_refuted = known.state == WireState::Full && has_room(view, reads(cell.op));
    (!is_refuted).then_some(known)
}

/// Whether more connections moved clearly more in a direction.
fn has_room(view: &SummaryView<'_>, is_read: bool) -> bool {
    let mut paths =
        view.summary.cells.iter().filter(|cell| cell.cut == Cut::Path && reads(cell.op) == is_read);
    paths.any(|cell| gains_from_connections(view, cell))
}

/// What the connections transferred; the load's own rate where that is not known.
///
/// Of few long requests in flight the number of those that ended in the window is a matter of chance: 16 of 1 MiB take 1.3 s
/// of a link of 100 Mbit/s. The bytes that were received are not.
fn transferred_bytes_per_s(cell: &CellSummary) -> Option<f64> {
    metric(cell, RECEIVED_BYTES_PER_S).or(cell.rate_bytes_per_s.map(|rate| rate.0))
}

/// By how fast long replies arrive.
fn by_arrival(cell: &CellSummary) -> Option<WireUse> {
    let arrival = metric(cell, REPLY_ARRIVAL_BYTES_PER_S)?;
    let rate = transferred_bytes_per_s(cell)?;
    let load = ratio(rate, arrival)?;
    let state = match load {
        load if load >= ARRIVING_RATIO => WireState::Full,
        load if load < FREE_RATIO => WireState::Free,
        _ => WireState::Open,
    };
    let text = format!(
        "{}: {} in all, and nine of ten long replies arrive at no more than {} while their bytes come ({})",
        cell.id,
        text::network_rate(rate),
        text::network_rate(arrival),
        text::percent(load.min(1.0)),
    );
    let counter = "arrival of the replies' bytes";
    Some(WireUse { state, load_ratio: load.min(1.0), text, counter })
}

/// The share of the time in which data was on the way and the server's window was open.
fn sending_ratio(cell: &CellSummary) -> Option<f64> {
    let (busy, window) = (metric(cell, TCP_BUSY_S)?, metric(cell, TCP_RECEIVE_WINDOW_LIMITED_S)?);
    Some(ratio((busy - window).max(0.0), cell.elapsed_s.last_done)?.min(1.0))
}

/// Whether `cell` uploads over a connection for each request, and reads of the same server move clearly more. The body of such
/// a request fits into the server's receive buffer, so that its window stays open also where the server is what is slow; and a
/// link that is slower in one direction is left open.
fn is_faster_back(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    let may_be = cell.op.is_of_objects() && view.connects_per_request();
    let Some(rate) = cell.rate_bytes_per_s.filter(|_| may_be) else {
        return false;
    };
    let mut back = view
        .summary
        .cells
        .iter()
        .filter(|other| matches!(other.cut, Cut::Path | Cut::HotBlocks) && reads(other.op));
    back.any(|other| transferred_bytes_per_s(other).is_some_and(|moved| moved >= STRONG_GAIN_RATIO * rate.0))
}

/// By what the sender of writes waits for: the link, the server's window, or replies.
fn by_sender(cell: &CellSummary) -> Option<WireUse> {
    let load = sending_ratio(cell)?;
    // Of connections that are closed by then it is not known.
    let smoothed = metric(cell, TCP_ROUND_TRIP_S).filter(|smoothed| *smoothed > 0.0)?;
    let least = network_s(cell)?;
    let is_queued = smoothed >= least * QUEUED_RATIO && smoothed - least >= STACK_S;
    let state = match load {
        load if load >= ARRIVING_RATIO && is_queued => WireState::Full,
        load if load < DOMINANT_RATIO || !is_queued => WireState::Free,
        _ => WireState::Open,
    };
    let text = format!(
        "{}: for {} of the time data was on the way and the server's window was open; a round trip of {} grew to {}",
        cell.id,
        text::percent(load),
        text::seconds(least),
        text::seconds(smoothed),
    );
    // Without a queue the wire had room, however long data was on its way.
    let load_ratio = if is_queued { load } else { 0.0 };
    Some(WireUse {
        state,
        load_ratio,
        text,
        counter: "limited times and round trips of the sender (TCP_INFO)",
    })
}

/// By what connections share, whatever their round trips, which are not those of a full link that drops what it has no room
/// for, nor of connections that were made just now: data is on the way all of the time, the server's window is open, and
/// twice as many move no more.
fn by_sharing(view: &SummaryView<'_>, cell: &CellSummary) -> Option<WireUse> {
    let load = sending_ratio(cell)?;
    (load >= ARRIVING_RATIO && shares_one_rate(view, cell)).then(|| WireUse {
        state: WireState::Full,
        load_ratio: load,
        text: format!(
            "{}: for {} of the time data was on the way and the server's window was open, and another number of \
             connections moves as much",
            cell.id,
            text::percent(load),
        ),
        counter: "limited times of the sender (TCP_INFO), rates of the path",
    })
}

/// By the rate of the loads of the same direction under which the wire was full, else by what it was seen to transfer.
fn by_others(view: &SummaryView<'_>, cell: &CellSummary) -> Option<WireUse> {
    // Its own rate shows nothing of a wire whose use by it is not known.
    let is_known = |most: &WireRate<'_>| most.cell.id != cell.id || !is_faster_back(view, cell);
    let most = best(view, cell).filter(is_known)?;
    let (rate, sustained) = (cell.rate_bytes_per_s?.0, most.bytes_per_s);
    let load = ratio(rate, sustained)?;
    let state = match load {
        load if load < FREE_RATIO => WireState::Free,
        load if load >= FULL_RATIO && most.is_full => WireState::Full,
        _ => WireState::Open,
    };
    let text = format!(
        "{}: {}, {} of the {} that {} shows of the wire",
        cell.id,
        text::network_rate(rate),
        text::percent(load.min(1.0)),
        text::network_rate(sustained),
        most.cell.id,
    );
    Some(WireUse { state, load_ratio: load.min(1.0), text, counter: "rates of the same protocol" })
}

/// What the wire was seen to transfer in a direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireRate<'v> {
    pub cell: &'v CellSummary,
    pub bytes_per_s: f64,
    /// Whether it transfers no more; else it is a lower bound.
    pub is_full: bool,
}

/// The rate of a full wire in the direction of `cell`, else the highest that it was seen to transfer for a moment.
pub(crate) fn best<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Option<WireRate<'v>> {
    let has_room = has_room(view, reads(cell.op));
    let seen = view
        .summary
        .cells
        .iter()
        .filter(|other| matches!(other.cut, Cut::Path | Cut::HotBlocks) && reads(other.op) == reads(cell.op))
        .filter_map(|other| {
            let sender = || by_sender(other).filter(|_| !is_faster_back(view, other));
            let own = if reads(other.op) { by_arrival(other) } else { sender() };
            let is_full = own.is_some_and(|own| own.state == WireState::Full) && !has_room;
            let rate = transferred_bytes_per_s(other)?;
            let arrival = metric(other, REPLY_ARRIVAL_BYTES_PER_S).filter(|_| !is_full && reads(other.op));
            Some(WireRate { cell: other, bytes_per_s: arrival.unwrap_or(rate), is_full })
        });
    seen.max_by(|a, b| {
        (a.is_full, a.bytes_per_s)
            .partial_cmp(&(b.is_full, b.bytes_per_s))
            .unwrap_or(std::cmp::Ordering::Equal)
    })
}

/// Whether each request is a write that returns once it is durable.
pub(crate) fn is_durable_each(cell: &CellSummary) -> bool {
    !reads(cell.op) && matches!(cell.requested.sync, SyncPolicy::Dsync | SyncPolicy::Every(1))
}

/// Whether writes of hot blocks, which need not be durable, take most of the time of the path's, and most of that is more
/// than a read of the same blocks takes, with room on the wire.
pub(crate) fn is_slow_to_write(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    let times = || {
        let of = |cell: &CellSummary| time_per_op_s(cell);
        Some((of(cell)?, of(hot(view, cell)?)?, of(hot_reads(view, cell)?)?))
    };
    let has_room = || wire(view, cell).is_none_or(|wire| wire.state != WireState::Full);
    !reads(cell.op)
        && times().is_some_and(|(whole_s, hot_s, read_s)| {
            hot_s >= whole_s * DOMINANT_RATIO && hot_s - read_s >= whole_s * DOMINANT_RATIO
        })
        && has_room()
}
