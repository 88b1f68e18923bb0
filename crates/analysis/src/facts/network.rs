//! What of a cell passed a network: whether its connections did, which share of its bytes, at which rate.

use super::cell::is_stream;
use crate::verdict::OWN_CONNECTIONS;
use narrows_model::rpc::PhaseCounters;
use narrows_model::summary::{CellSummary, KindSummary};
use narrows_model::units::ratio;
use narrows_model::{Bytes, Cut, Nanos};

/// Share of the bytes of the load's connections that stayed on one host; none where all passed a network.
pub(crate) const TCP_LOOPBACK_RATIO: &str = "tcp_loopback_ratio";

/// From this share of the requests on they make a connection of their own.
const OWN_CONNECTION_RATIO: f64 = 0.5;

/// The time that a request spends between client and server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TravelTime {
    /// The smallest round trip, in seconds.
    pub round_trip_s: f64,
    /// What making a connection, and opening its window, takes where most requests make one of their own, in seconds; else 0.
    pub connecting_s: f64,
}

impl TravelTime {
    /// That of the requests of `cell`; `None` where its round trip is not known.
    pub(crate) fn of_cell(cell: &CellSummary) -> Option<Self> {
        let round_trip_s = cell.rtt_min_ns.filter(|rtt| rtt.0 > 0).map(Nanos::as_secs_f64)?;
        Some(Self { round_trip_s, connecting_s: connecting_s(cell, round_trip_s).unwrap_or(0.0) })
    }

    /// All of it, in seconds.
    pub(crate) fn whole_s(self) -> f64 {
        self.round_trip_s + self.connecting_s
    }

    /// Which part of the way took it besides the request's own round trip.
    pub(crate) fn scope(self) -> Option<&'static str> {
        (self.connecting_s > 0.0).then_some(OWN_CONNECTIONS)
    }

    /// What it is, in words.
    pub(crate) fn words(self) -> &'static str {
        if self.connecting_s > 0.0 {
            "one round trip, and a new connection, for its server closes each after one request,"
        } else {
            "one round trip"
        }
    }
}

/// What a request waits for its own connection: `connect` lasts a round trip, of which a queue before a full link is no part, and
/// TLS 1.3 asks for one more.
fn connecting_s(cell: &CellSummary, round_trip_s: f64) -> Option<f64> {
    let count = |phase: &PhaseCounters| phase.count as f64;
    let named =
        |name: &str| cell.protocol_phases.iter().find(|phase| phase.phase == name && !phase.before_load);
    let connect = named("connect").filter(|phase| phase.count > 0)?;
    let requests = cell.ops_per_s?.0 * cell.elapsed_s.last_done;
    let share = ratio(count(connect), requests).filter(|share| *share >= OWN_CONNECTION_RATIO)?;
    let secured = named("TLS").map_or(0.0, |tls| count(tls) / count(connect)).min(1.0);
    let body_s = named("body").and_then(|body| ratio(body.latency_sum_ns.as_secs_f64(), count(body)));
    let opening_s = body_s.unwrap_or(0.0).min(slow_start_s(cell.block_bytes, round_trip_s));
    Some((round_trip_s * (1.0 + secured) + opening_s) * share.min(1.0))
}

/// The round trips in which the window of a new connection doubles until so many bytes have passed.
///
/// # Source
/// RFC 5681 (slow start), RFC 6928 (an initial window of ten segments).
fn slow_start_s(bytes: Bytes, round_trip_s: f64) -> f64 {
    const INITIAL_WINDOW_BYTES: f64 = 10.0 * 1448.0;
    round_trip_s * (1.0 + bytes.as_f64() / INITIAL_WINDOW_BYTES).log2()
}

/// Whether the load's connections ran over loopback: those of the path where it has some, for a node that is client and
/// server reaches itself so, alone, and the others over a network.
pub(crate) fn loopback(cells: &[CellSummary]) -> bool {
    let connection = |cell: &CellSummary| {
        cell.effective.as_ref().and_then(|granted| granted.connection.as_ref()).map(|c| c.loopback)
    };
    let of_path = || cells.iter().filter(|cell| cell.cut == Cut::Path).filter_map(connection);
    match of_path().next() {
        Some(_) => of_path().any(|loopback| loopback),
        None => cells.iter().filter_map(connection).any(|loopback| loopback),
    }
}

/// Share of a cell's bytes that passed a network: below 1 where a client is beside one of several servers, and 1 where it
/// is beside all of them, whose rate is loopback's.
pub(crate) fn network_share(cell: &CellSummary) -> f64 {
    let stayed =
        cell.metrics.iter().find(|metric| metric.id == TCP_LOOPBACK_RATIO).map(|metric| metric.value);
    stayed.filter(|share| *share < 1.0).map_or(1.0, |share| 1.0 - share)
}

/// Rate that a cell's cut transferred, in bytes a second: for a stream, what passed the network.
pub(crate) fn transferred_bytes_per_s(cell: &CellSummary) -> f64 {
    passing_bytes_per_s(cell, cell.cut)
}

/// Rate of a cell that passes `cut`, in bytes a second, 0 where nothing completed: past a stream what passes a network.
pub(crate) fn passing_bytes_per_s(cell: &CellSummary, cut: Cut) -> f64 {
    if is_stream(cut) { network_bytes_per_s(cell) } else { cell.rate_bytes_per_s.unwrap_or_default().0 }
}

/// Rate of what a cell moved over a network, in bytes a second; 0 where nothing completed.
pub(crate) fn network_bytes_per_s(cell: &CellSummary) -> f64 {
    cell.rate_bytes_per_s.unwrap_or_default().0 * network_share(cell)
}

/// The most that passes a cut ([`passing_bytes_per_s`]) of a load of the path like `cell`: of a mix of reads and writes a stream
/// shows one direction, and a network passes each on its own.
pub(crate) fn sustained_bytes_per_s(cut: &CellSummary, cell: &CellSummary) -> f64 {
    let share = if is_stream(cut.cut) { direction_share(cell) } else { 1.0 };
    ratio(transferred_bytes_per_s(cut), share).unwrap_or_default()
}

/// Share of a cell's bytes that its main operation's direction moved: below 1 for a mix of reads and writes.
pub(crate) fn direction_share(cell: &CellSummary) -> f64 {
    let bytes = |kind: &KindSummary| kind.rate_bytes_per_s.unwrap_or_default().0;
    let same = |kind: &&KindSummary| kind.op.moves_towards_device() == cell.op.moves_towards_device();
    let main: f64 = cell.kinds.iter().filter(same).map(bytes).sum();
    ratio(main, cell.kinds.iter().map(bytes).sum()).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mebibyte_over_a_new_connection_takes_six_round_trips_of_a_growing_window() {
        assert!((slow_start_s(Bytes(1 << 20), 0.03) / 0.03 - 6.2).abs() < 0.05);
        assert!(slow_start_s(Bytes(0), 0.03).abs() < 1e-12);
    }
}
