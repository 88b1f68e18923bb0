//! What of a cell passed a network: whether its connections did, which share of its bytes, at which rate.

use narrows_model::Cut;
use narrows_model::summary::CellSummary;

/// Share of the bytes of the load's connections that stayed on one host; none where all passed a network.
pub(crate) const TCP_LOOPBACK_RATIO: &str = "tcp_loopback_ratio";

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
    match cell.cut {
        Cut::NetworkStream | Cut::DirectStream => network_bytes_per_s(cell),
        _ => cell.rate_bytes_per_s.unwrap_or_default().0,
    }
}

/// Rate of what a cell moved over a network, in bytes a second; 0 where nothing completed.
pub(crate) fn network_bytes_per_s(cell: &CellSummary) -> f64 {
    cell.rate_bytes_per_s.unwrap_or_default().0 * network_share(cell)
}
