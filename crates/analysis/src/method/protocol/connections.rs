//! The same requests over more connections: what one connection limits, and what all of them share.
//!
//! Not here: how full the wire is.

use super::{by_arrival, hot};
use crate::facts::{TravelTime, reads};
use crate::method::connections;
use crate::method::gain::RateGain;
use crate::thresholds::BUSY_RATIO;
use crate::view::SummaryView;
use narrows_model::Cut;
use narrows_model::counters::Role;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// Below this share of the rate at which replies arrive the wire is idle most of the time, with room for a few times as much.
const IDLE_RATIO: f64 = 0.25;
/// From this gain on twice the connections gain as much as twice the slots or threads do, within a tenth of the second.
const DOUBLED_RATIO: f64 = 1.9;

/// As many requests in flight over twice as many connections, or twice as many where each has a connection of its own; `None`
/// where that was not measured.
pub(crate) fn over_more_connections<'v>(
    view: &SummaryView<'v>,
    cell: &CellSummary,
) -> Option<&'v CellSummary> {
    let factor = if view.probe()?.connection_per_request { 2 } else { 1 };
    let is_beside = |other: &&CellSummary| {
        other.cut == Cut::MoreConnections
            && (other.op, other.block_bytes) == (cell.op, cell.block_bytes)
            && other.in_flight.configured == cell.in_flight.configured.saturating_mul(factor)
    };
    view.summary.cells.iter().find(is_beside).filter(|_| cell.cut == Cut::Path)
}

/// What [`over_more_connections`] gains over [`best_of_one_connection`]; `None` where that was not measured.
pub(crate) fn more_connections(view: &SummaryView<'_>, cell: &CellSummary) -> Option<RateGain> {
    RateGain::between(best_of_one_connection(view, cell), over_more_connections(view, cell)?)
}

/// The faster of `cell` and the same requests for hot blocks over as many connections: these can move as much, however slow
/// the server was (by a quota, by its other work) in the window of the load.
pub(crate) fn best_of_one_connection<'v>(view: &SummaryView<'v>, cell: &'v CellSummary) -> &'v CellSummary {
    let rate = |cell: &CellSummary| cell.rate_bytes_per_s.map_or(0.0, |rate| rate.0);
    hot(view, cell).filter(|hot| rate(hot) > rate(cell)).unwrap_or(cell)
}

/// Whether more connections, with as many requests in flight on each, gain less than half of what as many requests over
/// twice as many connections gained: what one connection limits, more of them would raise by as much at least, so that the
/// gain was one of a window, and what all connections share is full.
///
/// A wider load that moves clearly less than the load itself shows no such thing: what all connections share would move as much
/// as before. More requests than the server serves well took the rest (its requests take longer by more than their number),
/// whatever limited before. And of several wider loads the one that gains the most counts: one that repeats the gain is not
/// refuted by one that is wider still.
pub(crate) fn is_gain_of_chance(view: &SummaryView<'_>, cell: &CellSummary, gain: RateGain) -> bool {
    let base = best_of_one_connection(view, cell);
    let connections = |cell: &CellSummary| u64::from(cell.requested.workers) * u64::from(cell.clients);
    let depth = |cell: &CellSummary| cell.in_flight.configured / connections(cell).max(1);
    let is_wider = |other: &&CellSummary| {
        other.cut == Cut::Path
            && (other.op, other.block_bytes, depth(other)) == (cell.op, cell.block_bytes, depth(cell))
            && connections(other) > connections(cell)
            && !RateGain::between(other, base).is_some_and(RateGain::is_real)
    };
    let wider = view.summary.cells.iter().filter(is_wider).filter_map(|other| RateGain::between(base, other));
    let most = wider.map(|wider| wider.ratio - 1.0).reduce(f64::max);
    most.is_some_and(|added| added < (gain.ratio - 1.0) / 2.0)
}

/// Whether more connections moved clearly more under this load, and not by chance.
pub(crate) fn gains_from_connections(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    more_connections(view, cell).is_some_and(|gain| gain.is_real() && !is_gain_of_chance(view, cell, gain))
}

/// Whether a gain of more connections leaves it open what one connection waits for: the server (its CPU needs less for each
/// request of several connections), or the connection (its slots, or the server's thread for it). Long replies arrive at more
/// than four times their rate and less than half a request is on its way at a time, so that no window is full, and the rate
/// is not nearly doubled, as it would be by twice the slots or threads.
///
/// False where each request has a connection of its own, and where the client's CPU time may be what separates the replies.
pub(crate) fn is_server_or_connection(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    if !reads(cell.op) || view.connects_per_request() {
        return false;
    }
    let base = best_of_one_connection(view, cell);
    let is_idle =
        by_arrival(base).or_else(|| by_arrival(cell)).is_some_and(|wire| wire.load_ratio < IDLE_RATIO);
    let is_doubled = more_connections(view, cell).is_none_or(|gain| gain.ratio >= DOUBLED_RATIO);
    is_idle && !is_doubled && !is_window_full(base) && !is_client_busy(base)
}

/// Whether half a request or more is on its way at a time: a window of about one request would be full. By the smallest round
/// trip: the smoothed one contains what a server delays its acknowledgements by.
fn is_window_full(cell: &CellSummary) -> bool {
    let travel = TravelTime::of_cell(cell).zip(cell.rate_bytes_per_s);
    let on_the_way_bytes = travel.map(|(travel, rate)| travel.whole_s() * rate.0);
    on_the_way_bytes.is_none_or(|bytes| bytes >= cell.block_bytes.as_f64() / 2.0)
}

/// Whether the client uses most of a CPU for each connection, or this is not known.
fn is_client_busy(cell: &CellSummary) -> bool {
    let window_s = cell.elapsed_s.last_done * connections(cell);
    let used = cell.cpu.get(&Role::Client).and_then(|cpu| ratio(cpu.user_s + cpu.system_s, window_s));
    used.is_none_or(|used| used >= BUSY_RATIO)
}
